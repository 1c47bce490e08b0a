//! LSTM, with or without peepholes.

use super::{
    BackwardArgs, CellKernel, ForwardArgs, HARD_SLOPE, SegmentGradients, WriteGate,
    add_candidate_penalty, clamp_unit, gate_backward, input_blocks, penalised_gate_backward,
    state_blocks, tanh_backward,
};
use crate::cpu::functions::{SIGMOID, TANH, sigmoids_tanh, tanh};
use crate::cpu::kernels::{Dots, Outer, PerRow, ROWS, SideOutput};
use crate::cpu::panels::Panels;
use crate::cpu::prepare::{PreparedLayer, ReadSource};
use crate::cpu::simd::{vectors, vectors_mut};
use crate::model::Gate;
use crate::objective::GatePenalty;
use pulp::Simd;

/// LSTM, with or without peepholes, in either form.
pub struct Lstm;

impl Lstm {
    /// The pre-activations of one strip of units, scaled ([`scales`]).
    #[inline(always)]
    fn blocks<S: Simd, const TILE: usize>(
        simd: S,
        p: &PreparedLayer,
        args: &ForwardArgs<'_>,
        q: usize,
    ) -> PerRow<[S::f32s; 4]> {
        let mut blocks = [[simd.splat_f32s(0.0); 4]; ROWS];
        for first in (0..ROWS).step_by(TILE) {
            let mut a = input_blocks::<S, 4, TILE>(simd, p, args.input, q, first);
            if !args.from_zero {
                state_blocks(simd, p, args.carry, q, first, &mut a);
            }
            blocks[first..first + TILE].copy_from_slice(&a);
        }
        blocks
    }

    /// Gates, c and u of one strip of units.
    // PERF: all rows compute c first, then everything that needs c, so one row's division overlaps
    // the next row. Unrolled by hand, because the compiler does not.
    #[inline(always)]
    fn strip<S: Simd, W: GateActivations>(
        simd: S,
        p: &PreparedLayer,
        args: &mut ForwardArgs<'_>,
        q: usize,
        [a, b, c, d]: PerRow<[S::f32s; 4]>,
    ) {
        let q_count = p.dp / S::F32_LANES;
        let peephole = &vectors::<S>(&p.forward_panels().peephole)[q * 3..];
        let peephole = *peephole.first_chunk().expect("a peephole");
        let at = [q, q_count + q, 2 * q_count + q, 3 * q_count + q];
        let c_a = new_cell_state::<S, W>(simd, args, peephole, a, at[0]);
        let c_b = new_cell_state::<S, W>(simd, args, peephole, b, at[1]);
        let c_c = new_cell_state::<S, W>(simd, args, peephole, c, at[2]);
        let c_d = new_cell_state::<S, W>(simd, args, peephole, d, at[3]);
        output::<S, W>(simd, args, peephole, a, at[0], c_a);
        output::<S, W>(simd, args, peephole, b, at[1], c_b);
        output::<S, W>(simd, args, peephole, c, at[2], c_c);
        output::<S, W>(simd, args, peephole, d, at[3], c_d);
    }

    #[inline(always)]
    fn step<S: Simd, W: GateActivations>(simd: S, p: &PreparedLayer, mut args: ForwardArgs<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            // PERF: 16 sums need the 32 registers of AVX-512; 16 registers hold those of two rows.
            let blocks = match S::F32_LANES {
                16 => Self::blocks::<S, 4>(simd, p, &args, q),
                _ => Self::blocks::<S, 2>(simd, p, &args, q),
            };
            Self::strip::<S, W>(simd, p, &mut args, q, blocks);
        }
    }
}

/// The new c of row `at`, from its blocks and the old c; stores i, f and g.
#[inline(always)]
fn new_cell_state<S: Simd, W: GateActivations>(
    simd: S,
    args: &mut ForwardArgs<'_>,
    peephole: [S::f32s; 3],
    a: [S::f32s; 4],
    at: usize,
) -> S::f32s {
    let c_prev = vectors::<S>(args.c_prev)[at];
    let a_i = simd.mul_add_e_f32s(peephole[0], c_prev, a[0]);
    let a_f = simd.mul_add_e_f32s(peephole[1], c_prev, a[1]);
    let ifg = W::apply(simd, [a_i, a_f, a[2]]);
    if W::KEPT > 0 {
        vectors_mut::<S>(args.gates)[at * W::KEPT..][..3].copy_from_slice(&ifg);
    }
    let [i, f, g] = ifg;
    let c = simd.mul_add_e_f32s(f, c_prev, simd.mul_f32s(i, g));
    vectors_mut::<S>(args.c)[at] = c;
    c
}

/// u of row `at`, from its last block and the new c; stores o and tanh c.
#[inline(always)]
fn output<S: Simd, W: GateActivations>(
    simd: S,
    args: &mut ForwardArgs<'_>,
    peephole: [S::f32s; 3],
    a: [S::f32s; 4],
    at: usize,
    c: S::f32s,
) {
    let a_o = simd.mul_add_e_f32s(peephole[2], c, a[3]);
    let c = simd.mul_f32s(c, simd.splat_f32s(TANH));
    let oc = W::apply(simd, [a_o, c]);
    if W::KEPT > 0 {
        vectors_mut::<S>(args.gates)[at * W::KEPT + 3..][..2].copy_from_slice(&oc);
    }
    vectors_mut::<S>(args.u)[at] = simd.mul_f32s(oc[0], oc[1]);
}

/// The nonlinearities, applied to scaled arguments.
trait GateActivations {
    /// Vectors stored per unit strip: i, f, g, o and tanh c, or none.
    const KEPT: usize;

    /// The gates of all but the last, tanh of the last.
    fn apply<S: Simd, const N: usize>(simd: S, scaled: [S::f32s; N]) -> [S::f32s; N];
}

/// Sigmoid gates: stored for the backward pass, or not where it recomputes them.
struct SigmoidGates<const KEPT: usize>;

impl<const KEPT: usize> GateActivations for SigmoidGates<KEPT> {
    const KEPT: usize = KEPT;

    #[inline(always)]
    fn apply<S: Simd, const N: usize>(simd: S, scaled: [S::f32s; N]) -> [S::f32s; N] {
        sigmoids_tanh(simd, scaled)
    }
}

/// Hard sigmoid gates, stored.
struct HardSigmoidGates;

impl GateActivations for HardSigmoidGates {
    const KEPT: usize = Lstm::GATES;

    #[inline(always)]
    fn apply<S: Simd, const N: usize>(simd: S, mut scaled: [S::f32s; N]) -> [S::f32s; N] {
        for x in &mut scaled[..N - 1] {
            *x = clamp_unit(simd, simd.add_f32s(*x, simd.splat_f32s(0.5)));
        }
        scaled[N - 1] = tanh(simd, scaled[N - 1]);
        scaled
    }
}

/// The factors of the blocks i, f, g, o before their nonlinearities. The panels are multiplied by
/// them, so that the sums need not be.
// PERF: saves two multiplications per exponential (T=784, d=256, k=10: 192 ms).
pub fn scales(gate: Gate) -> [f32; 4] {
    let gate = match gate {
        Gate::Sigmoid => SIGMOID,
        Gate::HardSigmoid => HARD_SLOPE,
    };
    [gate, gate, TANH, gate]
}

impl CellKernel for Lstm {
    const GATES: usize = 5;
    const INPUTS: usize = 4;
    const STATES: usize = 0;
    const WRITE_GATE: WriteGate = WriteGate::Input;

    fn can_drop_gates(gate: Gate) -> bool {
        gate == Gate::Sigmoid
    }

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &PreparedLayer, args: ForwardArgs<'_>) {
        match p.gate {
            Gate::HardSigmoid => Self::step::<S, HardSigmoidGates>(simd, p, args),
            Gate::Sigmoid if args.gates.is_empty() => {
                Self::step::<S, SigmoidGates<0>>(simd, p, args)
            }
            Gate::Sigmoid => Self::step::<S, SigmoidGates<{ Lstm::GATES }>>(simd, p, args),
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &PreparedLayer, args: BackwardArgs<'_>, d: &mut Panels) {
        if args.penalties.iter().any(GatePenalty::is_some) {
            backward_step::<S, true>(simd, p, args, d);
        } else {
            backward_step::<S, false>(simd, p, args, d);
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &PreparedLayer, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<4> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &PreparedLayer, da_in: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<4> {
            out,
            width: p.n_in_p,
            n: p.n_in,
            y: da_in,
            panel: &p.panels.input,
        });
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        gradients: SegmentGradients<'_>,
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<4> {
            d_panel: &mut d.state,
            n: p.n,
            v: gradients.carry,
            width: p.np,
            units: p.d,
            da: gradients.da_in,
            side_output: match p.source {
                ReadSource::Table => SideOutput::Table(&mut d.input, gradients.table_rows),
                _ => SideOutput::None,
            },
        });
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<4> {
            d_panel: &mut d.input,
            n: p.n_in,
            v: read,
            width: p.n_in_p,
            units: p.d,
            da: da_in,
            side_output: SideOutput::BiasSums(&mut d.bias),
        });
    }
}

/// One step backward. Without PENALISED the terms of the penalty are left out.
// PERF: a third of the multiplications.
#[inline(always)]
fn backward_step<S: Simd, const PENALISED: bool>(
    simd: S,
    p: &PreparedLayer,
    args: BackwardArgs<'_>,
    d: &mut Panels,
) {
    const GATES: usize = Lstm::GATES;
    let q_count = p.dp / S::F32_LANES;
    let (du, c, c_prev) = (vectors::<S>(args.du), vectors::<S>(args.c), vectors::<S>(args.c_prev));
    let (dc, da) = (vectors_mut::<S>(args.dc), vectors_mut::<S>(args.da_in));
    let all_gates = vectors::<S>(args.gates);
    for q in 0..q_count {
        let peephole = &vectors::<S>(&p.panels.peephole)[q * 3..][..3];
        let into = &mut vectors_mut::<S>(&mut d.peephole)[q * 3..][..3];
        let mut d_peephole = [into[0], into[1], into[2]];
        for r in 0..ROWS {
            let at = r * q_count + q;
            let gates = &all_gates[at * GATES..][..GATES];
            let (i, f, g, o, tanh_c) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
            let penalty = args.penalties[r];
            let (du, c_prev) = (du[at], c_prev[at]);
            let da_o = simd.mul_f32s(du, tanh_c);
            let da_o = gate_backward_with::<S, PENALISED>(simd, p.gate, penalty, o, da_o);
            let d_tanh = tanh_backward(simd, tanh_c, simd.mul_f32s(du, o));
            let dc_now = simd.mul_add_e_f32s(da_o, peephole[2], simd.add_f32s(dc[at], d_tanh));
            let mut di = simd.mul_f32s(dc_now, g);
            let mut dg = simd.mul_f32s(dc_now, i);
            if PENALISED {
                di = simd.add_f32s(di, simd.splat_f32s(penalty.writing));
                dg = add_candidate_penalty(simd, simd.splat_f32s(penalty.saturation), g, dg);
            }
            let da_i = gate_backward_with::<S, PENALISED>(simd, p.gate, penalty, i, di);
            let df = simd.mul_f32s(dc_now, c_prev);
            let da_f = gate_backward_with::<S, PENALISED>(simd, p.gate, penalty, f, df);
            let da_g = tanh_backward(simd, g, dg);
            let dc_prev = simd.mul_add_e_f32s(da_i, peephole[0], simd.mul_f32s(dc_now, f));
            dc[at] = simd.mul_add_e_f32s(da_f, peephole[1], dc_prev);
            d_peephole[0] = simd.mul_add_e_f32s(da_i, c_prev, d_peephole[0]);
            d_peephole[1] = simd.mul_add_e_f32s(da_f, c_prev, d_peephole[1]);
            d_peephole[2] = simd.mul_add_e_f32s(da_o, c[at], d_peephole[2]);
            da[at * 4..][..4].copy_from_slice(&[da_i, da_f, da_g, da_o]);
        }
        into.copy_from_slice(&d_peephole);
    }
}

/// [`gate_backward`], with the penalty if PENALISED.
#[inline(always)]
fn gate_backward_with<S: Simd, const PENALISED: bool>(
    simd: S,
    kind: Gate,
    penalty: GatePenalty<f32>,
    y: S::f32s,
    dy: S::f32s,
) -> S::f32s {
    match PENALISED {
        true => penalised_gate_backward(simd, kind, simd.splat_f32s(penalty.saturation), y, dy),
        false => gate_backward(simd, kind, y, dy),
    }
}
