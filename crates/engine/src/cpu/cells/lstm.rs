//! LSTM, with or without peepholes.

use super::{Backward, Forward, HARD_SLOPE, Kind, Press, Segment, Writes};
use super::{
    cut, input_blocks, pressed_candidate, state_blocks, through_gate, through_pressed_gate,
    through_tanh,
};
use crate::cpu::functions::{SIGMOID, TANH, sigmoids_tanh, tanh};
use crate::cpu::kernels::{Beside, Dots, Outer, ROWS, Rows};
use crate::cpu::panels::Panels;
use crate::cpu::prepare::{Prepared, Source};
use crate::cpu::simd::{vectors, vectors_mut};
use crate::model::Gate;
use pulp::Simd;

/// LSTM, with or without peepholes, in either form.
pub struct Lstm;

impl Lstm {
    /// What gates are functions of, of one stretch of units; scaled ([`scales`]).
    #[inline(always)]
    fn blocks<S: Simd, const TILE: usize>(
        simd: S,
        p: &Prepared,
        io: &Forward<'_>,
        q: usize,
    ) -> Rows<[S::f32s; 4]> {
        let mut blocks = [[simd.splat_f32s(0.0); 4]; ROWS];
        for first in (0..ROWS).step_by(TILE) {
            let mut a = input_blocks::<S, 4, TILE>(simd, p, io.feed, q, first);
            if !io.begins {
                state_blocks(simd, p, io.carry, q, first, &mut a);
            }
            blocks[first..first + TILE].copy_from_slice(&a);
        }
        blocks
    }

    /// Gates, c and u of one stretch of units.
    // PERF: first what c depends on, of all rows, then what depends on c: while one row waits for
    // its division the next is at work. Written out, for a loop is not unrolled.
    #[inline(always)]
    fn stretch<S: Simd, W: Way>(
        simd: S,
        p: &Prepared,
        io: &mut Forward<'_>,
        q: usize,
        [a, b, c, d]: Rows<[S::f32s; 4]>,
    ) {
        let q_count = p.dp / S::F32_LANES;
        let peephole = &vectors::<S>(&p.ahead().peephole)[q * 3..];
        let peephole = *peephole.first_chunk().expect("a peephole");
        let at = [q, q_count + q, 2 * q_count + q, 3 * q_count + q];
        let c_a = remember::<S, W>(simd, io, peephole, a, at[0]);
        let c_b = remember::<S, W>(simd, io, peephole, b, at[1]);
        let c_c = remember::<S, W>(simd, io, peephole, c, at[2]);
        let c_d = remember::<S, W>(simd, io, peephole, d, at[3]);
        emit::<S, W>(simd, io, peephole, a, at[0], c_a);
        emit::<S, W>(simd, io, peephole, b, at[1], c_b);
        emit::<S, W>(simd, io, peephole, c, at[2], c_c);
        emit::<S, W>(simd, io, peephole, d, at[3], c_d);
    }

    #[inline(always)]
    fn step<S: Simd, W: Way>(simd: S, p: &Prepared, mut io: Forward<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            // PERF: 16 sums need the 32 registers of AVX-512; 16 registers hold those of two rows.
            let blocks = match S::F32_LANES {
                16 => Self::blocks::<S, 4>(simd, p, &io, q),
                _ => Self::blocks::<S, 2>(simd, p, &io, q),
            };
            Self::stretch::<S, W>(simd, p, &mut io, q, blocks);
        }
    }
}

/// The blocks and c of row `at` to its new c.
#[inline(always)]
fn remember<S: Simd, W: Way>(
    simd: S,
    io: &mut Forward<'_>,
    peephole: [S::f32s; 3],
    a: [S::f32s; 4],
    at: usize,
) -> S::f32s {
    let c_prev = vectors::<S>(io.c_prev)[at];
    let a_i = simd.mul_add_e_f32s(peephole[0], c_prev, a[0]);
    let a_f = simd.mul_add_e_f32s(peephole[1], c_prev, a[1]);
    let ifg = W::through(simd, [a_i, a_f, a[2]]);
    if W::KEPT > 0 {
        vectors_mut::<S>(io.gates)[at * W::KEPT..][..3].copy_from_slice(&ifg);
    }
    let [i, f, g] = ifg;
    let c = simd.mul_add_e_f32s(f, c_prev, simd.mul_f32s(i, g));
    vectors_mut::<S>(io.c)[at] = c;
    c
}

/// The last block and the new c of row `at` to u.
#[inline(always)]
fn emit<S: Simd, W: Way>(
    simd: S,
    io: &mut Forward<'_>,
    peephole: [S::f32s; 3],
    a: [S::f32s; 4],
    at: usize,
    c: S::f32s,
) {
    let a_o = simd.mul_add_e_f32s(peephole[2], c, a[3]);
    let c = simd.mul_f32s(c, simd.splat_f32s(TANH));
    let oc = W::through(simd, [a_o, c]);
    if W::KEPT > 0 {
        vectors_mut::<S>(io.gates)[at * W::KEPT + 3..][..2].copy_from_slice(&oc);
    }
    vectors_mut::<S>(io.u)[at] = simd.mul_f32s(oc[0], oc[1]);
}

/// A way through the nonlinearities, from scaled arguments.
trait Way {
    /// Vectors kept of each: i, f, g, o and tanh c, or none.
    const KEPT: usize;

    /// Gates of all but the last, tanh of the last.
    fn through<S: Simd, const N: usize>(simd: S, scaled: [S::f32s; N]) -> [S::f32s; N];
}

/// Sigmoid gates: all kept for backward, or none: it computes them again.
struct Sigmoid<const KEPT: usize>;

impl<const KEPT: usize> Way for Sigmoid<KEPT> {
    const KEPT: usize = KEPT;

    #[inline(always)]
    fn through<S: Simd, const N: usize>(simd: S, scaled: [S::f32s; N]) -> [S::f32s; N] {
        sigmoids_tanh(simd, scaled)
    }
}

/// Hard sigmoid gates, kept.
struct Hard;

impl Way for Hard {
    const KEPT: usize = Lstm::GATES;

    #[inline(always)]
    fn through<S: Simd, const N: usize>(simd: S, mut scaled: [S::f32s; N]) -> [S::f32s; N] {
        for x in &mut scaled[..N - 1] {
            *x = cut(simd, simd.add_f32s(*x, simd.splat_f32s(0.5)));
        }
        scaled[N - 1] = tanh(simd, scaled[N - 1]);
        scaled
    }
}

/// What the blocks i, f, g, o are multiplied with before they meet their functions: the panels
/// are, so that the sums need not be.
// PERF: two multiplications less an exponential (T=784, d=256, k=10: 192 ms, 205 without that and
// another change, since gone).
pub fn scales(gate: Gate) -> [f32; 4] {
    let gate = match gate {
        Gate::Sigmoid => SIGMOID,
        Gate::HardSigmoid => HARD_SLOPE,
    };
    [gate, gate, TANH, gate]
}

impl Kind for Lstm {
    const GATES: usize = 5;
    const INPUTS: usize = 4;
    const STATES: usize = 0;
    const WRITES: Writes = Writes::Input;

    fn may_drop(gate: Gate) -> bool {
        gate == Gate::Sigmoid
    }

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, io: Forward<'_>) {
        match p.gate {
            Gate::HardSigmoid => Self::step::<S, Hard>(simd, p, io),
            Gate::Sigmoid if io.gates.is_empty() => Self::step::<S, Sigmoid<0>>(simd, p, io),
            Gate::Sigmoid => Self::step::<S, Sigmoid<{ Lstm::GATES }>>(simd, p, io),
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, d: &mut Panels) {
        if io.press.iter().any(Press::is_some) {
            back::<S, true>(simd, p, io, d);
        } else {
            back::<S, false>(simd, p, io, d);
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<4> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<4> {
            out,
            width: p.n_in_p,
            n: p.n_in,
            y: da_in,
            panel: &p.panels.input,
        });
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels) {
        simd.vectorize(Outer::<4> {
            d_panel: &mut d.state,
            n: p.n,
            v: seg.carry,
            width: p.np,
            units: p.d,
            da: seg.da_in,
            beside: match p.source {
                Source::Table => Beside::Table(&mut d.input, seg.places),
                _ => Beside::Nothing,
            },
        });
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &Prepared,
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
            beside: Beside::Sums(&mut d.bias),
        });
    }
}

/// One step backward; where nothing presses on gates, its terms are left out.
// PERF: a third of the multiplications.
#[inline(always)]
fn back<S: Simd, const PRESSED: bool>(simd: S, p: &Prepared, io: Backward<'_>, d: &mut Panels) {
    const GATES: usize = Lstm::GATES;
    let q_count = p.dp / S::F32_LANES;
    let (du, c, c_prev) = (vectors::<S>(io.du), vectors::<S>(io.c), vectors::<S>(io.c_prev));
    let (dc, da) = (vectors_mut::<S>(io.dc), vectors_mut::<S>(io.da_in));
    let all_gates = vectors::<S>(io.gates);
    for q in 0..q_count {
        let peephole = &vectors::<S>(&p.panels.peephole)[q * 3..][..3];
        let into = &mut vectors_mut::<S>(&mut d.peephole)[q * 3..][..3];
        let mut d_peephole = [into[0], into[1], into[2]];
        for r in 0..ROWS {
            let at = r * q_count + q;
            let gates = &all_gates[at * GATES..][..GATES];
            let (i, f, g, o, tanh_c) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
            let press = io.press[r];
            let (du, c_prev) = (du[at], c_prev[at]);
            let da_o = simd.mul_f32s(du, tanh_c);
            let da_o = through::<S, PRESSED>(simd, p.gate, press, o, da_o);
            let d_tanh = through_tanh(simd, tanh_c, simd.mul_f32s(du, o));
            let dc_now = simd.mul_add_e_f32s(da_o, peephole[2], simd.add_f32s(dc[at], d_tanh));
            let mut di = simd.mul_f32s(dc_now, g);
            let mut dg = simd.mul_f32s(dc_now, i);
            if PRESSED {
                di = simd.add_f32s(di, simd.splat_f32s(press.writing));
                dg = pressed_candidate(simd, simd.splat_f32s(press.saturation), g, dg);
            }
            let da_i = through::<S, PRESSED>(simd, p.gate, press, i, di);
            let df = simd.mul_f32s(dc_now, c_prev);
            let da_f = through::<S, PRESSED>(simd, p.gate, press, f, df);
            let da_g = through_tanh(simd, g, dg);
            let back = simd.mul_add_e_f32s(da_i, peephole[0], simd.mul_f32s(dc_now, f));
            dc[at] = simd.mul_add_e_f32s(da_f, peephole[1], back);
            d_peephole[0] = simd.mul_add_e_f32s(da_i, c_prev, d_peephole[0]);
            d_peephole[1] = simd.mul_add_e_f32s(da_f, c_prev, d_peephole[1]);
            d_peephole[2] = simd.mul_add_e_f32s(da_o, c[at], d_peephole[2]);
            da[at * 4..][..4].copy_from_slice(&[da_i, da_f, da_g, da_o]);
        }
        into.copy_from_slice(&d_peephole);
    }
}

/// Through a gate, and what presses on it.
#[inline(always)]
fn through<S: Simd, const PRESSED: bool>(
    simd: S,
    kind: Gate,
    press: Press,
    y: S::f32s,
    dy: S::f32s,
) -> S::f32s {
    match PRESSED {
        true => through_pressed_gate(simd, kind, simd.splat_f32s(press.saturation), y, dy),
        false => through_gate(simd, kind, y, dy),
    }
}
