//! LSTM, with or without peepholes.

use super::{Backward, Forward, Kind, Segment, Writes};
use super::{
    add_bias, gate_tanh, gates_tanh, input_blocks, pressed_candidate, state_blocks,
    through_pressed_gate, through_tanh,
};
use crate::engine::cpu::kernels::{Dots, Outer, ROWS};
use crate::engine::cpu::prepare::{Panels, Prepared};
use crate::engine::cpu::simd::{vectors, vectors_mut};
use pulp::Simd;

/// LSTM, with or without peepholes, in either form.
pub struct Lstm;

impl Lstm {
    #[inline(always)]
    fn stretch<S: Simd, const TILE: usize>(simd: S, p: &Prepared, io: &mut Forward<'_>, q: usize) {
        let q_count = p.dp / S::F32_LANES;
        let peephole = &vectors::<S>(&p.panels.peephole)[q * 3..][..3];
        let c_prev = vectors::<S>(io.c_prev);
        for first in (0..ROWS).step_by(TILE) {
            let mut a = input_blocks::<S, 4, TILE>(simd, p, io.feed, q, first);
            state_blocks(simd, p, io.carry, q, first, &mut a);
            for (r, a) in a.into_iter().enumerate() {
                let at = (first + r) * q_count + q;
                let c_prev = c_prev[at];
                let a_i = simd.mul_add_e_f32s(peephole[0], c_prev, a[0]);
                let a_f = simd.mul_add_e_f32s(peephole[1], c_prev, a[1]);
                let [i, f, g] = gates_tanh(simd, p.gate, a_i, a_f, a[2]);
                let c = simd.mul_add_e_f32s(f, c_prev, simd.mul_f32s(i, g));
                let a_o = simd.mul_add_e_f32s(peephole[2], c, a[3]);
                let (o, tanh_c) = gate_tanh(simd, p.gate, a_o, c);
                vectors_mut::<S>(io.c)[at] = c;
                vectors_mut::<S>(io.u)[at] = simd.mul_f32s(o, tanh_c);
                let gates = &mut vectors_mut::<S>(io.gates)[at * Self::GATES..][..Self::GATES];
                gates.copy_from_slice(&[i, f, g, o, tanh_c]);
            }
        }
    }
}

impl Kind for Lstm {
    const GATES: usize = 5;
    const INPUTS: usize = 4;
    const STATES: usize = 0;
    const WRITES: Writes = Writes::Input;

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, mut io: Forward<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            // PERF: 16 sums need the 32 registers of AVX-512; with 16 registers two rows at a
            // time keep everything in them.
            if S::F32_LANES == 16 {
                Self::stretch::<S, 4>(simd, p, &mut io, q);
            } else {
                Self::stretch::<S, 2>(simd, p, &mut io, q);
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, d: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, c, c_prev) = (vectors::<S>(io.du), vectors::<S>(io.c), vectors::<S>(io.c_prev));
        let (dc, da) = (vectors_mut::<S>(io.dc), vectors_mut::<S>(io.da_in));
        let all_gates = vectors::<S>(io.gates);
        for q in 0..q_count {
            let peephole = &vectors::<S>(&p.panels.peephole)[q * 3..][..3];
            let d_peephole = &mut vectors_mut::<S>(&mut d.peephole)[q * 3..][..3];
            for r in 0..ROWS {
                let at = r * q_count + q;
                let gates = &all_gates[at * Self::GATES..][..Self::GATES];
                let (i, f, g, o, tanh_c) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
                let w = simd.splat_f32s(io.press[r].saturation);
                let writing = simd.splat_f32s(io.press[r].writing);
                let da_o = through_pressed_gate(simd, p.gate, w, o, simd.mul_f32s(du[at], tanh_c));
                let d_tanh = through_tanh(simd, tanh_c, simd.mul_f32s(du[at], o));
                let dc_now = simd.add_f32s(dc[at], d_tanh);
                let dc_now = simd.mul_add_e_f32s(da_o, peephole[2], dc_now);
                let da_i = through_pressed_gate(
                    simd,
                    p.gate,
                    w,
                    i,
                    simd.mul_add_e_f32s(dc_now, g, writing),
                );
                let da_f =
                    through_pressed_gate(simd, p.gate, w, f, simd.mul_f32s(dc_now, c_prev[at]));
                let dg = pressed_candidate(simd, w, g, simd.mul_f32s(dc_now, i));
                let da_g = through_tanh(simd, g, dg);
                let back = simd.mul_add_e_f32s(da_i, peephole[0], simd.mul_f32s(dc_now, f));
                dc[at] = simd.mul_add_e_f32s(da_f, peephole[1], back);
                d_peephole[0] = simd.mul_add_e_f32s(da_i, c_prev[at], d_peephole[0]);
                d_peephole[1] = simd.mul_add_e_f32s(da_f, c_prev[at], d_peephole[1]);
                d_peephole[2] = simd.mul_add_e_f32s(da_o, c[at], d_peephole[2]);
                da[at * 4..][..4].copy_from_slice(&[da_i, da_f, da_g, da_o]);
            }
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
            da: seg.da_in,
        });
        if p.n_in > 0 {
            add_bias(simd, p, &mut d.bias, seg.da_in, 4, (0, 0, 4));
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
        simd.vectorize(Outer::<4> {
            d_panel: &mut d.input,
            n: p.n_in,
            v: read,
            width: p.n_in_p,
            da: da_in,
        });
    }
}
