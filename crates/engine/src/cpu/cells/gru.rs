//! GRU, with the reset gate after the matrix or before it.

use super::{BackwardArgs, CellKernel, ForwardArgs, SegmentGradients, WriteGate};
use super::{
    CANDIDATE, add_candidate_penalty, gate_tanh, gates, input_blocks, penalised_gate_backward,
    state_blocks, tanh_backward,
};
use crate::cpu::functions::{TANH, tanh};
use crate::cpu::kernels::{Dots, Outer, ROWS, SideOutput, accumulate, rows};
use crate::cpu::panels::Panels;
use crate::cpu::prepare::PreparedLayer;
use crate::cpu::simd::{vectors, vectors_mut};
use crate::model::Gate;
use pulp::Simd;

/// ∂/∂ what was read: the input feeds r, z, n.
#[inline(always)]
fn gru_input_gradient<S: Simd>(simd: S, p: &PreparedLayer, da_in: &[f32], out: &mut [f32]) {
    simd.vectorize(Dots::<3> { out, width: p.n_in_p, n: p.n_in, y: da_in, panel: &p.panels.input });
}

/// Adds to the gradient of the table, if there is one.
#[inline(always)]
fn gru_table_gradient<S: Simd>(
    simd: S,
    p: &PreparedLayer,
    gradients: &SegmentGradients<'_>,
    d: &mut Panels,
) {
    if !gradients.table_rows.is_empty() {
        simd.vectorize(Outer::<3> {
            d_panel: &mut [],
            n: 0,
            v: &[],
            width: 0,
            units: p.d,
            da: gradients.da_in,
            side_output: SideOutput::Table(&mut d.input, gradients.table_rows),
        });
    }
}

/// GRU with the reset gate after the matrix. NS = 4: the carried vector is α, and S is a fourth
/// block that gives h; NS = 3: the carried vector is h.
pub struct Gru<const NS: usize>;

impl<const NS: usize> Gru<NS> {
    #[inline(always)]
    fn strip<S: Simd, const TILE: usize>(
        simd: S,
        p: &PreparedLayer,
        args: &mut ForwardArgs<'_>,
        q: usize,
    ) {
        let q_count = p.dp / S::F32_LANES;
        let one = simd.splat_f32s(1.0);
        let zero = simd.splat_f32s(0.0);
        let candidate_bias = vectors::<S>(&p.panels.bias)[q * 4 + 3];
        for first in (0..ROWS).step_by(TILE) {
            let a = input_blocks::<S, 3, TILE>(simd, p, args.input, q, first);
            let mut s = [[zero; NS]; TILE];
            s.iter_mut().for_each(|s| s[2] = candidate_bias);
            if !args.from_zero {
                state_blocks(simd, p, args.carry, q, first, &mut s);
            }
            for (r, (a, s)) in a.into_iter().zip(s).enumerate() {
                let at = (first + r) * q_count + q;
                let h = if NS == 4 { s[NS - 1] } else { vectors::<S>(args.carry)[at] };
                let [reset] = gates(simd, p.gate, [simd.add_f32s(a[0], s[0])]);
                let a_n = simd.mul_add_e_f32s(reset, s[2], a[2]);
                let [z, n] = gate_tanh(simd, p.gate, simd.add_f32s(a[1], s[1]), a_n);
                let u = simd.mul_add_e_f32s(z, h, simd.mul_f32s(simd.sub_f32s(one, z), n));
                vectors_mut::<S>(args.u)[at] = u;
                if !args.gates.is_empty() {
                    let kept = &mut vectors_mut::<S>(args.gates)[at * Self::GATES..][..Self::GATES];
                    kept.copy_from_slice(&[reset, z, n, s[2], h]);
                }
            }
        }
    }
}

impl<const NS: usize> CellKernel for Gru<NS> {
    const GATES: usize = 5;
    const INPUTS: usize = 3;
    const STATES: usize = NS;
    const WRITE_GATE: WriteGate = WriteGate::OneMinusUpdate;

    fn can_drop_gates(_: Gate) -> bool {
        true
    }

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &PreparedLayer, mut args: ForwardArgs<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            if S::F32_LANES == 16 {
                Self::strip::<S, 4>(simd, p, &mut args, q);
            } else {
                Self::strip::<S, 2>(simd, p, &mut args, q);
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &PreparedLayer, args: BackwardArgs<'_>, _: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, gates) = (vectors::<S>(args.du), vectors::<S>(args.gates));
        let (da_in, da_state) = (vectors_mut::<S>(args.da_in), vectors_mut::<S>(args.da_state));
        let dh = vectors_mut::<S>(args.dh);
        let one = simd.splat_f32s(1.0);
        for at in 0..ROWS * q_count {
            let gates = &gates[at * Self::GATES..][..Self::GATES];
            let (r, z, n, candidate, h) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
            let (du, penalty) = (du[at], args.penalties[at / q_count]);
            let (w, writing) =
                (simd.splat_f32s(penalty.saturation), simd.splat_f32s(penalty.writing));
            let dn = add_candidate_penalty(simd, w, n, simd.mul_f32s(du, simd.sub_f32s(one, z)));
            let dn = tanh_backward(simd, n, dn);
            let dz = simd.mul_f32s(du, simd.sub_f32s(h, n));
            let dz = penalised_gate_backward(simd, p.gate, w, z, simd.sub_f32s(dz, writing));
            let dr = penalised_gate_backward(simd, p.gate, w, r, simd.mul_f32s(dn, candidate));
            da_in[at * 3..][..3].copy_from_slice(&[dr, dz, dn]);
            let state = &mut da_state[at * NS..][..NS];
            state[..3].copy_from_slice(&[dr, dz, simd.mul_f32s(dn, r)]);
            let through = simd.mul_f32s(du, z);
            if NS == 4 {
                state[NS - 1] = through;
            } else {
                dh[at] = through;
            }
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &PreparedLayer, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<NS> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &PreparedLayer, da_in: &[f32], out: &mut [f32]) {
        gru_input_gradient(simd, p, da_in, out);
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        gradients: SegmentGradients<'_>,
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<NS> {
            d_panel: &mut d.state,
            n: p.n,
            v: &gradients.carry[gradients.initial_items * p.np..],
            width: p.np,
            units: p.d,
            da: &gradients.da_state[gradients.initial_items * p.dp * NS..],
            side_output: SideOutput::None,
        });
        gru_table_gradient(simd, p, &gradients, d);
        // The candidate's recurrent bias, inside r ∘ (·).
        let (q_count, bias) = (p.dp / S::F32_LANES, vectors_mut::<S>(&mut d.bias));
        for (at, da) in vectors::<S>(gradients.da_state).chunks_exact(NS).enumerate() {
            let into = &mut bias[at % q_count * 4 + 3];
            *into = simd.add_f32s(*into, da[CANDIDATE]);
        }
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<3> {
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

/// GRU with the reset gate before the matrix: the carried vector is h, and the candidate needs a
/// product of its own.
pub struct GruResetBefore;

impl CellKernel for GruResetBefore {
    const GATES: usize = 3;
    const INPUTS: usize = 3;
    const STATES: usize = 2;
    const WRITE_GATE: WriteGate = WriteGate::OneMinusUpdate;

    fn can_drop_gates(_: Gate) -> bool {
        false
    }

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &PreparedLayer, args: ForwardArgs<'_>) {
        let q_count = p.dp / S::F32_LANES;
        let h = vectors::<S>(args.carry);
        let kept = vectors_mut::<S>(args.gates);
        for q in 0..q_count {
            let a = input_blocks::<S, 3, ROWS>(simd, p, args.input, q, 0);
            let mut s = [[simd.splat_f32s(0.0); 2]; ROWS];
            if !args.from_zero {
                state_blocks(simd, p, args.carry, q, 0, &mut s);
            }
            for r in 0..ROWS {
                let at = r * q_count + q;
                let (a_r, a_z) = (simd.add_f32s(a[r][0], s[r][0]), simd.add_f32s(a[r][1], s[r][1]));
                let [reset, z] = gates(simd, p.gate, [a_r, a_z]);
                kept[at * 3..][..3].copy_from_slice(&[reset, z, a[r][2]]);
                vectors_mut::<S>(args.scratch)[at] = simd.mul_f32s(reset, h[at]);
            }
        }
        let reset_h = rows(args.scratch, p.dp);
        let u = vectors_mut::<S>(args.u);
        let one = simd.splat_f32s(1.0);
        for q in 0..q_count {
            let mut acc = [[simd.splat_f32s(0.0); 1]; ROWS];
            let panel = &vectors::<S>(&p.panels.candidate)[q * p.d..][..p.d];
            accumulate(simd, &mut acc, reset_h, panel);
            for (r, [product]) in acc.into_iter().enumerate() {
                let at = r * q_count + q;
                let a_n = simd.add_f32s(kept[at * 3 + 2], product);
                let n = tanh(simd, simd.mul_f32s(a_n, simd.splat_f32s(TANH)));
                let z = kept[at * 3 + 1];
                kept[at * 3 + 2] = n;
                u[at] = simd.mul_add_e_f32s(z, h[at], simd.mul_f32s(simd.sub_f32s(one, z), n));
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &PreparedLayer, args: BackwardArgs<'_>, _: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, gates, h) =
            (vectors::<S>(args.du), vectors::<S>(args.gates), vectors::<S>(args.carry));
        let (da_in, da_state) = (vectors_mut::<S>(args.da_in), vectors_mut::<S>(args.da_state));
        let one = simd.splat_f32s(1.0);
        for at in 0..ROWS * q_count {
            let (z, n) = (gates[at * 3 + 1], gates[at * 3 + 2]);
            let w = simd.splat_f32s(args.penalties[at / q_count].saturation);
            let dn =
                add_candidate_penalty(simd, w, n, simd.mul_f32s(du[at], simd.sub_f32s(one, z)));
            let dn = tanh_backward(simd, n, dn);
            da_in[at * 3 + 2] = dn;
            vectors_mut::<S>(args.scratch)[at] = dn;
        }
        // d(r∘h) in the place of dh, which the second loop computes from it.
        args.dh.fill(0.0);
        simd.vectorize(Dots::<1> {
            out: args.dh,
            width: p.dp,
            n: p.d,
            y: args.scratch,
            panel: &p.panels.candidate,
        });
        let dh = vectors_mut::<S>(args.dh);
        for at in 0..ROWS * q_count {
            let (r, z, n) = (gates[at * 3], gates[at * 3 + 1], gates[at * 3 + 2]);
            let (d_reset_h, penalty) = (dh[at], args.penalties[at / q_count]);
            let (w, writing) =
                (simd.splat_f32s(penalty.saturation), simd.splat_f32s(penalty.writing));
            let dr = penalised_gate_backward(simd, p.gate, w, r, simd.mul_f32s(d_reset_h, h[at]));
            let dz = simd.mul_f32s(du[at], simd.sub_f32s(h[at], n));
            let dz = penalised_gate_backward(simd, p.gate, w, z, simd.sub_f32s(dz, writing));
            da_in[at * 3..][..2].copy_from_slice(&[dr, dz]);
            da_state[at * 2..][..2].copy_from_slice(&[dr, dz]);
            dh[at] = simd.mul_add_e_f32s(d_reset_h, r, simd.mul_f32s(du[at], z));
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &PreparedLayer, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<2> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &PreparedLayer, da_in: &[f32], out: &mut [f32]) {
        gru_input_gradient(simd, p, da_in, out);
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        gradients: SegmentGradients<'_>,
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<2> {
            d_panel: &mut d.state,
            n: p.n,
            v: gradients.carry,
            width: p.np,
            units: p.d,
            da: gradients.da_state,
            side_output: SideOutput::None,
        });
        gru_table_gradient(simd, p, &gradients, d);
        // The gradient of the candidate's matrix: r∘h times the third block of da.
        let lanes = S::F32_LANES;
        let cells = gradients.da_in.len() / (3 * lanes);
        gradients.scratch.resize(2 * cells * lanes, 0.0);
        let (reset_h, dn) = gradients.scratch.split_at_mut(cells * lanes);
        let (gates, da_in, h) = (
            vectors::<S>(gradients.gates),
            vectors::<S>(gradients.da_in),
            vectors::<S>(gradients.carry),
        );
        for at in 0..cells {
            vectors_mut::<S>(reset_h)[at] = simd.mul_f32s(gates[at * 3], h[at]);
            vectors_mut::<S>(dn)[at] = da_in[at * 3 + 2];
        }
        simd.vectorize(Outer::<1> {
            d_panel: &mut d.candidate,
            n: p.d,
            v: reset_h,
            width: p.dp,
            units: p.d,
            da: dn,
            side_output: SideOutput::None,
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
        simd.vectorize(Outer::<3> {
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
