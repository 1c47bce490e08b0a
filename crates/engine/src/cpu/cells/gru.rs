//! GRU, with the reset gate after the matrix or before it.

use super::{Backward, Forward, Kind, Segment, Writes};
use super::{
    CANDIDATE, gate_tanh, gates, input_blocks, pressed_candidate, state_blocks,
    through_pressed_gate, through_tanh,
};
use crate::cpu::functions::{TANH, tanh};
use crate::cpu::kernels::{Beside, Dots, Outer, ROWS, accumulate, rows};
use crate::cpu::panels::Panels;
use crate::cpu::prepare::Prepared;
use crate::cpu::simd::{vectors, vectors_mut};
use crate::model::Gate;
use pulp::Simd;

/// What the GRUs share: the input feeds r, z, n.
#[inline(always)]
fn gru_input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
    simd.vectorize(Dots::<3> { out, width: p.n_in_p, n: p.n_in, y: da_in, panel: &p.panels.input });
}

/// Adds to the gradient of a table that is read.
#[inline(always)]
fn gru_table_gradient<S: Simd>(simd: S, p: &Prepared, seg: &Segment<'_>, d: &mut Panels) {
    if !seg.places.is_empty() {
        simd.vectorize(Outer::<3> {
            d_panel: &mut [],
            n: 0,
            v: &[],
            width: 0,
            units: p.d,
            da: seg.da_in,
            beside: Beside::Table(&mut d.input, seg.places),
        });
    }
}

/// GRU with the reset gate after the matrix. NS = 4: the carried vector is α, and S is a fourth
/// block that gives h; NS = 3: the carried vector is h.
pub struct Gru<const NS: usize>;

impl<const NS: usize> Gru<NS> {
    #[inline(always)]
    fn stretch<S: Simd, const TILE: usize>(simd: S, p: &Prepared, io: &mut Forward<'_>, q: usize) {
        let q_count = p.dp / S::F32_LANES;
        let one = simd.splat_f32s(1.0);
        let zero = simd.splat_f32s(0.0);
        let candidate_bias = vectors::<S>(&p.panels.bias)[q * 4 + 3];
        for first in (0..ROWS).step_by(TILE) {
            let a = input_blocks::<S, 3, TILE>(simd, p, io.feed, q, first);
            let mut s = [[zero; NS]; TILE];
            s.iter_mut().for_each(|s| s[2] = candidate_bias);
            if !io.begins {
                state_blocks(simd, p, io.carry, q, first, &mut s);
            }
            for (r, (a, s)) in a.into_iter().zip(s).enumerate() {
                let at = (first + r) * q_count + q;
                let h = if NS == 4 { s[NS - 1] } else { vectors::<S>(io.carry)[at] };
                let [reset] = gates(simd, p.gate, [simd.add_f32s(a[0], s[0])]);
                let a_n = simd.mul_add_e_f32s(reset, s[2], a[2]);
                let [z, n] = gate_tanh(simd, p.gate, simd.add_f32s(a[1], s[1]), a_n);
                let u = simd.mul_add_e_f32s(z, h, simd.mul_f32s(simd.sub_f32s(one, z), n));
                vectors_mut::<S>(io.u)[at] = u;
                if !io.gates.is_empty() {
                    let kept = &mut vectors_mut::<S>(io.gates)[at * Self::GATES..][..Self::GATES];
                    kept.copy_from_slice(&[reset, z, n, s[2], h]);
                }
            }
        }
    }
}

impl<const NS: usize> Kind for Gru<NS> {
    const GATES: usize = 5;
    const INPUTS: usize = 3;
    const STATES: usize = NS;
    const WRITES: Writes = Writes::NotUpdate;

    fn may_drop(_: Gate) -> bool {
        true
    }

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, mut io: Forward<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            if S::F32_LANES == 16 {
                Self::stretch::<S, 4>(simd, p, &mut io, q);
            } else {
                Self::stretch::<S, 2>(simd, p, &mut io, q);
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, _: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, gates) = (vectors::<S>(io.du), vectors::<S>(io.gates));
        let (da_in, da_state) = (vectors_mut::<S>(io.da_in), vectors_mut::<S>(io.da_state));
        let dh = vectors_mut::<S>(io.dh);
        let one = simd.splat_f32s(1.0);
        for at in 0..ROWS * q_count {
            let gates = &gates[at * Self::GATES..][..Self::GATES];
            let (r, z, n, candidate, h) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
            let (du, press) = (du[at], io.press[at / q_count]);
            let (w, writing) = (simd.splat_f32s(press.saturation), simd.splat_f32s(press.writing));
            let dn = pressed_candidate(simd, w, n, simd.mul_f32s(du, simd.sub_f32s(one, z)));
            let dn = through_tanh(simd, n, dn);
            let dz = simd.mul_f32s(du, simd.sub_f32s(h, n));
            let dz = through_pressed_gate(simd, p.gate, w, z, simd.sub_f32s(dz, writing));
            let dr = through_pressed_gate(simd, p.gate, w, r, simd.mul_f32s(dn, candidate));
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
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<NS> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
        gru_input_gradient(simd, p, da_in, out);
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels) {
        simd.vectorize(Outer::<NS> {
            d_panel: &mut d.state,
            n: p.n,
            v: &seg.carry[seg.begins * p.np..],
            width: p.np,
            units: p.d,
            da: &seg.da_state[seg.begins * p.dp * NS..],
            beside: Beside::Nothing,
        });
        gru_table_gradient(simd, p, &seg, d);
        // The candidate's recurrent bias, inside r ∘ (·).
        let (q_count, bias) = (p.dp / S::F32_LANES, vectors_mut::<S>(&mut d.bias));
        for (at, da) in vectors::<S>(seg.da_state).chunks_exact(NS).enumerate() {
            let into = &mut bias[at % q_count * 4 + 3];
            *into = simd.add_f32s(*into, da[CANDIDATE]);
        }
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &Prepared,
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
            beside: Beside::Sums(&mut d.bias),
        });
    }
}

/// GRU with the reset gate before the matrix: the carried vector is h, and the candidate needs a
/// product of its own.
pub struct GruResetBefore;

impl Kind for GruResetBefore {
    const GATES: usize = 3;
    const INPUTS: usize = 3;
    const STATES: usize = 2;
    const WRITES: Writes = Writes::NotUpdate;

    fn may_drop(_: Gate) -> bool {
        false
    }

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, io: Forward<'_>) {
        let q_count = p.dp / S::F32_LANES;
        let h = vectors::<S>(io.carry);
        let kept = vectors_mut::<S>(io.gates);
        for q in 0..q_count {
            let a = input_blocks::<S, 3, ROWS>(simd, p, io.feed, q, 0);
            let mut s = [[simd.splat_f32s(0.0); 2]; ROWS];
            if !io.begins {
                state_blocks(simd, p, io.carry, q, 0, &mut s);
            }
            for r in 0..ROWS {
                let at = r * q_count + q;
                let (a_r, a_z) = (simd.add_f32s(a[r][0], s[r][0]), simd.add_f32s(a[r][1], s[r][1]));
                let [reset, z] = gates(simd, p.gate, [a_r, a_z]);
                kept[at * 3..][..3].copy_from_slice(&[reset, z, a[r][2]]);
                vectors_mut::<S>(io.scratch)[at] = simd.mul_f32s(reset, h[at]);
            }
        }
        let reset_h = rows(io.scratch, p.dp);
        let u = vectors_mut::<S>(io.u);
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
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, _: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, gates, h) = (vectors::<S>(io.du), vectors::<S>(io.gates), vectors::<S>(io.carry));
        let (da_in, da_state) = (vectors_mut::<S>(io.da_in), vectors_mut::<S>(io.da_state));
        let one = simd.splat_f32s(1.0);
        for at in 0..ROWS * q_count {
            let (z, n) = (gates[at * 3 + 1], gates[at * 3 + 2]);
            let w = simd.splat_f32s(io.press[at / q_count].saturation);
            let dn = pressed_candidate(simd, w, n, simd.mul_f32s(du[at], simd.sub_f32s(one, z)));
            let dn = through_tanh(simd, n, dn);
            da_in[at * 3 + 2] = dn;
            vectors_mut::<S>(io.scratch)[at] = dn;
        }
        // d(r∘h) in place of dh, until the gates have taken their share.
        io.dh.fill(0.0);
        simd.vectorize(Dots::<1> {
            out: io.dh,
            width: p.dp,
            n: p.d,
            y: io.scratch,
            panel: &p.panels.candidate,
        });
        let dh = vectors_mut::<S>(io.dh);
        for at in 0..ROWS * q_count {
            let (r, z, n) = (gates[at * 3], gates[at * 3 + 1], gates[at * 3 + 2]);
            let (d_reset_h, press) = (dh[at], io.press[at / q_count]);
            let (w, writing) = (simd.splat_f32s(press.saturation), simd.splat_f32s(press.writing));
            let dr = through_pressed_gate(simd, p.gate, w, r, simd.mul_f32s(d_reset_h, h[at]));
            let dz = simd.mul_f32s(du[at], simd.sub_f32s(h[at], n));
            let dz = through_pressed_gate(simd, p.gate, w, z, simd.sub_f32s(dz, writing));
            da_in[at * 3..][..2].copy_from_slice(&[dr, dz]);
            da_state[at * 2..][..2].copy_from_slice(&[dr, dz]);
            dh[at] = simd.mul_add_e_f32s(d_reset_h, r, simd.mul_f32s(du[at], z));
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<2> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
        gru_input_gradient(simd, p, da_in, out);
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels) {
        simd.vectorize(Outer::<2> {
            d_panel: &mut d.state,
            n: p.n,
            v: seg.carry,
            width: p.np,
            units: p.d,
            da: seg.da_state,
            beside: Beside::Nothing,
        });
        gru_table_gradient(simd, p, &seg, d);
        // The candidate's matrix meets r∘h, and the third block of da.
        let lanes = S::F32_LANES;
        let cells = seg.da_in.len() / (3 * lanes);
        seg.scratch.resize(2 * cells * lanes, 0.0);
        let (reset_h, dn) = seg.scratch.split_at_mut(cells * lanes);
        let (gates, da_in, h) =
            (vectors::<S>(seg.gates), vectors::<S>(seg.da_in), vectors::<S>(seg.carry));
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
            beside: Beside::Nothing,
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
        simd.vectorize(Outer::<3> {
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
