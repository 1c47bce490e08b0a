//! From what a scan left to the gradients of a layer's parameters, and to what the layer below is
//! sent.

use super::CudaError;
use super::device::{Address, Device};
use super::layer::{OnDevice, Reads, Shape};
use super::many::Sum;
use super::matrix::{Addend, Into, Job, Matrix, Products};
use super::scan::{SUM_BIAS, SUM_CANDIDATE, SUM_INPUT, SUM_PEEPHOLE, SUMS, Scan, by_fours};
use super::upload::Placed;
use std::ops::Range;

/// What makes the gradient of W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighed {
    /// The scan, among its sums.
    ByScan,
    /// A product with what was read.
    ByProduct,
}

impl OnDevice {
    /// Biases and peepholes, and W where the scan has weighed the input, from the sums of the blocks.
    pub fn sums(&self, grads: Address, scan: &Scan, blocks: usize, weighed: Weighed) -> Vec<Sum> {
        let Shape { layer, slots, .. } = &self.shape;
        let d = scan.d as usize;
        let at = |start: usize, block: usize| grads + 4 * (start + block * d) as u64;
        let sum = |row: usize, rows: usize, to: Address| {
            let parts = scan.sums + 4 * (row * d) as u64;
            Sum::of(parts, blocks, (rows, d), Matrix::rows(to, d), Into::Sum).apart(SUMS * d)
        };
        let (b_ih, b_hh) = (slots.b_ih.start, slots.b_hh.start);
        let mut sums = vec![];
        if layer.bias && scan.cell == 1 {
            // The recurrent bias of a GRU's candidate stays inside r∘(·).
            sums.push(sum(SUM_BIAS, 2, at(b_ih, 0)).also(at(b_hh, 0)));
            sums.push(sum(SUM_BIAS + 2, 1, at(b_ih, 2)));
            sums.push(sum(SUM_CANDIDATE, 1, at(b_hh, 2)));
        } else if layer.bias {
            sums.push(sum(SUM_BIAS, layer.cell.blocks(), at(b_ih, 0)).also(at(b_hh, 0)));
        }
        if layer.cell.has_peephole() {
            sums.push(sum(SUM_PEEPHOLE, 3, at(slots.peephole.start, 0)));
        }
        if weighed == Weighed::ByScan {
            sums.push(sum(SUM_INPUT, layer.cell.blocks(), at(slots.w_ih.start, 0)));
        }
        sums
    }

    /// R and S from the gradient of M, which is `S·Rᵀ` (and S itself, for a GRU).
    pub fn low_rank_gradients(
        &self,
        (params, grads): (Address, Address),
        scan: &Scan,
        d_m: Matrix,
    ) -> [Job; 2] {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let wide = layer.cell.blocks() * d;
        let (r, s) = (4 * slots.w_hh.start as u64, 4 * slots.centroids.start as u64);
        let (d_r, d_s) = (Matrix::rows(grads + r, d), Matrix::rows(grads + s, d));
        let (r, s) = (Matrix::rows(params + r, d), Matrix::rows(params + s, d));
        let own = match ns * d > wide {
            true => Addend::rows(d_m.at + 4 * wide as u64, d_m.row, d),
            false => Addend::NONE,
        };
        [
            Job::new((k, wide, d), d_m, r, d_s, Into::Sum).plus([own, Addend::NONE]),
            Job::new((wide, k, d), d_m.transposed(), s, d_r, Into::Place),
        ]
    }

    /// R and S; returns what is left to multiply, which waits for nothing else.
    pub fn recurrent_gradients(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        scan: &Scan,
        steps: usize,
    ) -> Result<Vec<Job>, CudaError> {
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let d_s = Matrix::rows(both.1 + 4 * self.shape.slots.centroids.start as u64, d);
        let da = Matrix::rows(if scan.da_state == 0 { scan.da_in } else { scan.da_state }, ns * d);
        let carry = Matrix::rows(scan.carry_in, by_fours(scan.n as usize));
        let u = Matrix::rows(scan.u, d);
        let (mut jobs, mut later) = (vec![], vec![]);
        if scan.low_rank != 0 {
            let d_m = Matrix::rows(self.rooms.d_m.fit(device, k * ns * d)?, ns * d);
            jobs.push(Job::new((k, steps, ns * d), carry.transposed(), da, d_m, Into::Place));
            later.extend(self.low_rank_gradients(both, scan, d_m));
        } else {
            jobs.extend(self.direct_gradients(both.1, scan, (da, carry), steps));
        }
        if k > 0 && scan.euclidean == 0 {
            let scores = Matrix::rows(scan.d_scores, by_fours(k)).transposed();
            jobs.push(Job::new((k, steps, d), scores, u, d_s, Into::Sum));
        }
        products.make(device, &jobs)?;
        if scan.euclidean != 0 {
            let what = (scan.d_scores, scan.u, scan.s);
            products.pull_centroids(device, what, (steps, k, d), d_s.at)?;
        }
        if scan.d_mixture != 0 {
            let alpha = Matrix::rows(scan.alpha, k).transposed();
            let pull = Matrix::rows(scan.d_mixture, d);
            products.product(device, (k, steps, d), alpha, pull, d_s, Into::Sum)?;
        }
        Ok(later)
    }

    /// R where h is carried.
    fn direct_gradients(
        &self,
        grads: Address,
        scan: &Scan,
        (da, carry): (Matrix, Matrix),
        steps: usize,
    ) -> Vec<Job> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, ns) = (scan.d as usize, scan.ns as usize);
        let r = grads + 4 * slots.w_hh.start as u64;
        let size = (ns * d, steps, d);
        let mut jobs =
            vec![Job::new(size, da.transposed(), carry, Matrix::rows(r, d), Into::Place)];
        if scan.cell == 2 {
            let wide = layer.cell.blocks() * d;
            let dn = Matrix::rows(scan.da_in + 4 * (2 * d) as u64, wide).transposed();
            let into = Matrix::rows(r + 4 * (2 * d * d) as u64, d);
            let rh = Matrix::rows(scan.extra, d);
            jobs.push(Job::new((d, steps, d), dn, rh, into, Into::Place));
        }
        jobs
    }

    /// W and the embedding; what the layer below is sent is left in [`OnDevice::d_below`].
    pub fn input_gradients(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        placed: &Placed,
        scan: &Scan,
        reads: Reads,
    ) -> Result<Vec<Job>, CudaError> {
        let Shape { slots, width, .. } = &self.shape;
        let wide = (scan.ni * scan.d) as usize;
        let d_w = Matrix::rows(both.1 + 4 * slots.w_ih.start as u64, *width);
        match reads {
            Reads::Tokens { embedding } => {
                let all = 0..placed.distinct;
                let d_x = self.sum_tokens(device, products, placed, scan, all.clone())?;
                Ok(vec![
                    self.w_of_tokens(both, placed, d_x, (embedding, all.clone(), Into::Place)),
                    self.embeddings_of_tokens(both, placed, d_x, (embedding, all)),
                ])
            }
            Reads::Vectors { at, .. } => {
                let da = Matrix::rows(scan.da_in, wide);
                let read = Matrix::rows(at, *width);
                let size = (wide, placed.steps, *width);
                Ok(vec![Job::new(size, da.transposed(), read, d_w, Into::Place)])
            }
        }
    }

    /// The gradients of the rows that some tokens have in the table of `E·Wᵀ`, summed over the steps
    /// that read them; returns all of the table's.
    pub fn sum_tokens(
        &mut self,
        device: &Device,
        products: &mut Products,
        placed: &Placed,
        scan: &Scan,
        tokens: Range<usize>,
    ) -> Result<Matrix, CudaError> {
        let (wide, distinct) = ((scan.ni * scan.d) as usize, placed.distinct);
        let d_x = Matrix::rows(self.rooms.d_x.fit(device, distinct * wide)?, wide);
        let first = placed.first + 4 * tokens.start as u64;
        let by = (placed.by_place, first, tokens.len());
        let count = placed.steps * tokens.len() / distinct.max(1);
        let to = d_x.at + 4 * (tokens.start * wide) as u64;
        products.sum_by_token(device, scan.da_in, (count, wide), by, to)?;
        Ok(d_x)
    }

    /// W from the gradients of some tokens' rows; placed, or added to what other tokens gave.
    pub fn w_of_tokens(
        &self,
        (_, grads): (Address, Address),
        placed: &Placed,
        d_x: Matrix,
        (embedding, tokens, into): (Address, Range<usize>, Into),
    ) -> Job {
        let (width, ids, d_x) = (self.shape.width, placed.ids_of(&tokens), d_x.from(tokens.start));
        let d_w = Matrix::rows(grads + 4 * self.shape.slots.w_ih.start as u64, width);
        let rows = Matrix::rows(embedding, width).listed(ids);
        Job::new((d_x.row, tokens.len(), width), d_x.transposed(), rows, d_w, into)
    }

    /// The embeddings of some tokens from the gradients of their rows.
    pub fn embeddings_of_tokens(
        &self,
        (params, grads): (Address, Address),
        placed: &Placed,
        d_x: Matrix,
        (embedding, tokens): (Address, Range<usize>),
    ) -> Job {
        let (width, ids, d_x) = (self.shape.width, placed.ids_of(&tokens), d_x.from(tokens.start));
        let w = Matrix::rows(params + 4 * self.shape.slots.w_ih.start as u64, width);
        // Gradients lie as the parameters do.
        let into = Matrix::rows(grads + (embedding - params), width).listed(ids);
        Job::new((tokens.len(), d_x.row, width), d_x, w, into, Into::Place)
    }

    /// What the layer below is sent, `[N,E]`.
    pub fn d_below(
        &mut self,
        device: &Device,
        products: &mut Products,
        params: Address,
        steps: usize,
    ) -> Result<Address, CudaError> {
        let Shape { layer, slots, width, .. } = &self.shape;
        let wide = layer.cell.blocks() * layer.units;
        let into = self.rooms.d_below.fit(device, steps * width)?;
        let da = Matrix::rows(self.rooms.da_in.address(device), wide);
        let w = Matrix::rows(params + 4 * slots.w_ih.start as u64, *width);
        let size = (steps, wide, *width);
        products.product(device, size, da, w, Matrix::rows(into, *width), Into::Place)?;
        Ok(into)
    }

    /// Adds what pulls h at the last steps alone to the gradients of the centroids.
    pub fn last_pull(
        &mut self,
        device: &Device,
        products: &mut Products,
        grads: Address,
        placed: &Placed,
        scan: &Scan,
    ) -> Result<(), CudaError> {
        let (d, k) = (scan.d as usize, scan.k as usize);
        let alpha = Matrix::rows(self.rooms.alpha_last.address(device), k).transposed();
        let pull = Matrix::rows(scan.dh_out, scan.out_stride as usize);
        let d_s = Matrix::rows(grads + 4 * self.shape.slots.centroids.start as u64, d);
        products.product(device, (k, placed.rows, d), alpha, pull, d_s, Into::Sum)
    }
}
