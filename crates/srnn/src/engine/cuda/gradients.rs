//! From what a scan left to the gradients of a layer's parameters, and to what the layer below is
//! sent.

use super::CudaError;
use super::device::{Address, Device, Grid, launch};
use super::layer::{OnDevice, Reads, Shape};
use super::matrix::{Into, Matrix, Products, copy_block};
use super::scan::{Places, SUM_BIAS, SUM_CANDIDATE, SUM_PEEPHOLE, SUMS, Scan};
use super::upload::Placed;

impl OnDevice {
    /// Biases and peepholes, from the sums of the blocks.
    pub fn sums(
        &self,
        device: &Device,
        grads: Address,
        scan: &Scan,
        blocks: usize,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let d = scan.d as usize;
        let (mut first, mut second) = ([0; SUMS], [0; SUMS]);
        let at = |start: usize, block: usize| grads + 4 * (start + block * d) as u64;
        if layer.bias {
            for block in 0..layer.cell.blocks() {
                first[SUM_BIAS + block] = at(slots.b_ih.start, block);
                second[SUM_BIAS + block] = at(slots.b_hh.start, block);
            }
            // The recurrent bias of a GRU's candidate stays inside r∘(·).
            if scan.cell == 1 {
                second[SUM_BIAS + 2] = 0;
                first[SUM_CANDIDATE] = at(slots.b_hh.start, 2);
            }
        }
        if layer.cell.has_peephole() {
            (0..3).for_each(|block| first[SUM_PEEPHOLE + block] = at(slots.peephole.start, block));
        }
        let places = Places { first, second };
        let grid = Grid::over(d.div_ceil(32), SUMS, 1, 256);
        launch!(device, &device.gpu.kernels.add_sums, grid;
            scan.sums, blocks as i32, d as i32, places)?;
        Ok(())
    }

    /// R and S from the gradient of M, which is `S·Rᵀ` (and S itself, for a GRU).
    pub fn low_rank_gradients(
        &self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        scan: &Scan,
        d_m: Matrix,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let wide = layer.cell.blocks() * d;
        let (r, s) = (4 * slots.w_hh.start as u64, 4 * slots.centroids.start as u64);
        let (d_r, d_s) = (Matrix::rows(grads + r, d), Matrix::rows(grads + s, d));
        let (r, s) = (Matrix::rows(params + r, d), Matrix::rows(params + s, d));
        products.product(device, (k, wide, d), d_m, r, d_s, Into::Sum)?;
        products.product(device, (wide, k, d), d_m.transposed(), s, d_r, Into::Sum)?;
        if ns * d > wide {
            let block = d_m.at + 4 * wide as u64;
            copy_block(device, (k, d), (block, ns * d), (d_s.at, d), Into::Sum)?;
        }
        Ok(())
    }

    /// R and S.
    pub fn recurrent_gradients(
        &mut self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        scan: &Scan,
        steps: usize,
    ) -> Result<(), CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let wide = layer.cell.blocks() * d;
        let (r, s) = (4 * slots.w_hh.start as u64, 4 * slots.centroids.start as u64);
        let d_r = Matrix::rows(grads + r, d);
        let d_s = Matrix::rows(grads + s, d);
        let da = Matrix::rows(if scan.da_state == 0 { scan.da_in } else { scan.da_state }, ns * d);
        let carry = Matrix::rows(scan.carry_in, scan.n as usize);
        if scan.low_rank != 0 {
            let d_m = Matrix::rows(self.rooms.d_m.fit(device, k * ns * d)?, ns * d);
            products.product(
                device,
                (k, steps, ns * d),
                carry.transposed(),
                da,
                d_m,
                Into::Place,
            )?;
            self.low_rank_gradients(device, products, (params, grads), scan, d_m)?;
        } else {
            let size = (ns * d, steps, d);
            products.product(device, size, da.transposed(), carry, d_r, Into::Sum)?;
            if scan.cell == 2 {
                let first = 4 * (2 * d) as u64;
                let dn = Matrix { at: scan.da_in + first, ..Matrix::rows(0, wide) }.transposed();
                let into = Matrix::rows(grads + r + 4 * (2 * d * d) as u64, d);
                let rh = Matrix::rows(scan.extra, d);
                products.product(device, (d, steps, d), dn, rh, into, Into::Sum)?;
            }
        }
        if k == 0 {
            return Ok(());
        }
        if scan.euclidean != 0 {
            let what = (scan.d_scores, scan.u, scan.s);
            products.pull_centroids(device, what, (steps, k, d), d_s.at)?;
        } else {
            let scores = Matrix::rows(scan.d_scores, k).transposed();
            let u = Matrix::rows(scan.u, d);
            products.product(device, (k, steps, d), scores, u, d_s, Into::Sum)?;
        }
        if scan.d_mixture != 0 {
            let alpha = Matrix::rows(scan.alpha, k).transposed();
            let pull = Matrix::rows(scan.d_mixture, d);
            products.product(device, (k, steps, d), alpha, pull, d_s, Into::Sum)?;
        }
        Ok(())
    }

    /// W and the embedding; what the layer below is sent is left in [`OnDevice::d_below`].
    pub fn input_gradients(
        &mut self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        placed: &Placed,
        scan: &Scan,
        reads: Reads,
    ) -> Result<(), CudaError> {
        let Shape { slots, width, .. } = &self.shape;
        let wide = (scan.ni * scan.d) as usize;
        let d_w = Matrix::rows(grads + 4 * slots.w_ih.start as u64, *width);
        match reads {
            Reads::Tokens { embedding } => {
                let (count, distinct) = (placed.steps, placed.distinct);
                let d_x = self.rooms.d_x.fit(device, distinct * wide)?;
                let by = (placed.by_place, placed.first, distinct);
                products.sum_by_token(device, scan.da_in, (count, wide), by, d_x)?;
                let d_x = Matrix::rows(d_x, wide);
                self.table_gradients(device, products, (params, grads), placed, embedding, d_x)
            }
            Reads::Vectors { at, .. } => {
                let da = Matrix::rows(scan.da_in, wide);
                let read = Matrix::rows(at, *width);
                let size = (wide, placed.steps, *width);
                products.product(device, size, da.transposed(), read, d_w, Into::Sum)
            }
        }
    }

    /// W and the embedding from the gradient of their product, a row for each distinct token.
    pub fn table_gradients(
        &self,
        device: &Device,
        products: &mut Products,
        (params, grads): (Address, Address),
        placed: &Placed,
        embedding: Address,
        d_x: Matrix,
    ) -> Result<(), CudaError> {
        let (width, distinct, wide) = (self.shape.width, placed.distinct, d_x.row);
        let at = 4 * self.shape.slots.w_ih.start as u64;
        let rows = |at: Address| Matrix::rows(at, width).listed(placed.ids);
        let (w, d_w) = (Matrix::rows(params + at, width), Matrix::rows(grads + at, width));
        let size = (wide, distinct, width);
        products.product(device, size, d_x.transposed(), rows(embedding), d_w, Into::Sum)?;
        // Gradients lie as the parameters do.
        let into = rows(grads + (embedding - params));
        products.product(device, (distinct, wide, width), d_x, w, into, Into::Sum)
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
