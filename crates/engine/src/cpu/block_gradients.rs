//! What the steps of a block add to the gradients of the panels.

use super::cells::{CellKernel, SegmentGradients};
use super::centroids::euclidean_centroid_gradient;
use super::kernels::{Outer, ROWS, SideOutput};
use super::panels::Panels;
use super::prepare::{PreparedLayer, ReadSource};
use super::scan::LayerScan;
use super::scan_buffers::{ScanBuffers, input_vectors};
use crate::layer_state::RowStart;
use crate::model::Score;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;
use std::ops::Range;

/// Adds the gradients of the panels over the steps of a block, in one product each.
pub struct BlockGradients<'a, C> {
    pub scan: LayerScan<'a>,
    pub buffers: &'a mut ScanBuffers,
    pub below: Option<(&'a PreparedLayer, &'a ScanBuffers)>,
    /// The first step of the block.
    pub first: usize,
    /// Its place in the segment.
    pub i: usize,
    pub count: usize,
    /// The places of the block from the first where αS has a gradient to the last.
    pub with_mixture: Range<usize>,
    pub d: &'a mut Panels,
    pub kernel: PhantomData<C>,
}

impl<C: CellKernel> WithSimd for BlockGradients<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let BlockGradients { scan, buffers, below, first, i, count, with_mixture, d, .. } = self;
        let p = scan.p;
        let (wide, kw, items) = (ROWS * p.dp, ROWS * p.kp, count * ROWS);
        let da_in = &buffers.da_in[..count * wide * C::INPUTS];
        if p.k > 0 {
            let (d_scores, u) =
                (&buffers.d_scores[..count * kw], &buffers.u[i * wide..][..count * wide]);
            match p.stochastic.expect("a layer with centroids").0 {
                Score::Dot => simd.vectorize(Outer::<1> {
                    d_panel: &mut d.s,
                    n: p.k,
                    v: d_scores,
                    width: p.kp,
                    units: p.d,
                    da: u,
                    side_output: SideOutput::None,
                }),
                Score::Euclidean => euclidean_centroid_gradient(simd, p, d_scores, u, &mut d.s),
            }
            if !with_mixture.is_empty() {
                let alpha = &buffers.alpha[(first + 1) * kw..];
                simd.vectorize(Outer::<1> {
                    d_panel: &mut d.s,
                    n: p.k,
                    v: &alpha[with_mixture.start * kw..with_mixture.end * kw],
                    width: p.kp,
                    units: p.d,
                    da: &buffers.d_mixture[with_mixture.start * wide..with_mixture.end * wide],
                    side_output: SideOutput::None,
                });
            }
        }
        if p.source != ReadSource::Table {
            let read = input_vectors(p, &buffers.read, below);
            let read = &read[first * ROWS * p.n_in_p..][..items * p.n_in_p];
            C::input_panel_gradient(simd, p, read, da_in, d);
        }
        let table_rows = match p.source {
            ReadSource::Table => buffers.d_table_rows[first..first + count].as_flattened(),
            _ => &[],
        };
        let gradients = SegmentGradients {
            initial_items: if first == 0 && scan.start == RowStart::Zero { ROWS } else { 0 },
            carry: &buffers.carry[first * ROWS * p.np..][..items * p.np],
            table_rows,
            da_in,
            da_state: &buffers.da_state[..count * wide * C::STATES],
            gates: &buffers.gates[i * wide * C::GATES..][..count * wide * C::GATES],
            scratch: &mut buffers.scratch,
        };
        C::panel_gradients(simd, p, gradients, d);
    }
}
