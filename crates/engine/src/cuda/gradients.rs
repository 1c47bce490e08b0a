//! Computes the gradients of a layer's parameters and of its input from the outputs of the backward
//! scan.

use super::CudaError;
use super::gpu::{Address, GpuStream};
use super::grouped::SumOverBlocks;
use super::layer::{CarriedVector, CudaLayer, LayerInput, LayerShape, ParamAddresses};
use super::matrix::{Addend, DeviceMatrix, MatrixOps, ProductSpec, WriteMode};
use super::scan_args::{
    SUM_BIAS, SUM_CANDIDATE, SUM_INPUT, SUM_PEEPHOLE, SUMS, ScanArgs, round_up_4,
};
use super::upload::DeviceBatch;
use std::ops::Range;

/// Where the gradient of W is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputWeightGrad {
    /// In the scan, as one of its sums.
    ByScan,
    /// As a product with the input.
    ByProduct,
}

impl CudaLayer {
    /// The sums over blocks for the biases and peepholes, and for W if the scan sums it.
    pub fn parameter_sums(
        &self,
        grads: Address,
        scan: &ScanArgs,
        blocks: usize,
        input_weight_grad: InputWeightGrad,
    ) -> Vec<SumOverBlocks> {
        let LayerShape { layer, slots, .. } = &self.shape;
        let d = scan.d as usize;
        let at = |start: usize, block: usize| grads + 4 * (start + block * d) as u64;
        let sum = |row: usize, rows: usize, to: Address| {
            let parts = scan.sums + 4 * (row * d) as u64;
            SumOverBlocks::of(
                parts,
                blocks,
                (rows, d),
                DeviceMatrix::rows(to, d),
                WriteMode::Accumulate,
            )
            .block_stride(SUMS * d)
        };
        let (b_ih, b_hh) = (slots.b_ih.start, slots.b_hh.start);
        let mut sums = vec![];
        if layer.bias && scan.cell == 1 {
            // The recurrent bias of a GRU's candidate stays inside r∘(·).
            sums.push(sum(SUM_BIAS, 2, at(b_ih, 0)).also_to(at(b_hh, 0)));
            sums.push(sum(SUM_BIAS + 2, 1, at(b_ih, 2)));
            sums.push(sum(SUM_CANDIDATE, 1, at(b_hh, 2)));
        } else if layer.bias {
            sums.push(sum(SUM_BIAS, layer.cell.blocks(), at(b_ih, 0)).also_to(at(b_hh, 0)));
        }
        if layer.cell.has_peephole() {
            sums.push(sum(SUM_PEEPHOLE, 3, at(slots.peephole.start, 0)));
        }
        if input_weight_grad == InputWeightGrad::ByScan {
            sums.push(sum(SUM_INPUT, layer.cell.blocks(), at(slots.w_ih.start, 0)));
        }
        sums
    }

    /// The products for the gradients of R and S from that of M = `S·Rᵀ` (and S itself, for a GRU).
    pub fn low_rank_gradients(
        &self,
        ParamAddresses { params, grads }: ParamAddresses,
        scan: &ScanArgs,
        d_m: DeviceMatrix,
        into_r: WriteMode,
    ) -> [ProductSpec; 2] {
        let LayerShape { layer, slots, .. } = &self.shape;
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let row_width = layer.cell.blocks() * d;
        let (r, s) = (4 * slots.w_hh.start as u64, 4 * slots.centroids.start as u64);
        let (d_r, d_s) = (DeviceMatrix::rows(grads + r, d), DeviceMatrix::rows(grads + s, d));
        let (r, s) = (DeviceMatrix::rows(params + r, d), DeviceMatrix::rows(params + s, d));
        let own = match ns * d > row_width {
            true => Addend::rows(d_m.at + 4 * row_width as u64, d_m.row, d),
            false => Addend::NONE,
        };
        [
            ProductSpec::new((k, row_width, d), d_m, r, d_s, WriteMode::Accumulate)
                .plus([own, Addend::NONE]),
            ProductSpec::new((row_width, k, d), d_m.transposed(), s, d_r, into_r),
        ]
    }

    /// Gradients of R and S. Returns the products that are still to run; they are independent of
    /// others.
    pub fn recurrent_gradients(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        (scan, carried): (&ScanArgs, CarriedVector),
        steps: usize,
    ) -> Result<Vec<ProductSpec>, CudaError> {
        let (d, k, ns) = (scan.d as usize, scan.k as usize, scan.ns as usize);
        let d_s =
            DeviceMatrix::rows(addresses.grads + 4 * self.shape.slots.centroids.start as u64, d);
        let da =
            DeviceMatrix::rows(if scan.da_state == 0 { scan.da_in } else { scan.da_state }, ns * d);
        let carry = DeviceMatrix::rows(scan.carry_in, round_up_4(scan.n as usize));
        let u = DeviceMatrix::rows(scan.u, d);
        let (mut products, mut later) = (vec![], vec![]);
        let (of_states, of_alpha) = carried.len(d, k);
        if of_states > 0 {
            products.extend(self.direct_gradients(addresses.grads, scan, (da, carry), steps));
        }
        if of_alpha > 0 {
            // α follows u; then the gradients of R from both are added.
            let alpha = DeviceMatrix { at: carry.at + 4 * of_states as u64, ..carry };
            let into_r = if of_states > 0 { WriteMode::Accumulate } else { WriteMode::Overwrite };
            let d_m = DeviceMatrix::rows(self.buffers.d_m.reserve(stream, k * ns * d)?, ns * d);
            let (size, into) = ((k, steps, ns * d), WriteMode::Overwrite);
            products.push(ProductSpec::new(size, alpha.transposed(), da, d_m, into));
            later.extend(self.low_rank_gradients(addresses, scan, d_m, into_r));
        }
        if k > 0 && scan.euclidean == 0 {
            let scores = DeviceMatrix::rows(scan.d_scores, round_up_4(k)).transposed();
            products.push(ProductSpec::new((k, steps, d), scores, u, d_s, WriteMode::Accumulate));
        }
        ops.run_all(stream, &products)?;
        if scan.euclidean != 0 {
            let what = (scan.d_scores, scan.u, scan.s);
            ops.euclidean_centroid_grads(stream, what, (steps, k, d), d_s.at)?;
        }
        if scan.d_mixture != 0 {
            let alpha = DeviceMatrix::rows(scan.alpha, k).transposed();
            let pull = DeviceMatrix::rows(scan.d_mixture, d);
            ops.run(stream, (k, steps, d), alpha, pull, d_s, WriteMode::Accumulate)?;
        }
        Ok(later)
    }

    /// The products for the gradient of R in the direct form.
    fn direct_gradients(
        &self,
        grads: Address,
        scan: &ScanArgs,
        (da, carry): (DeviceMatrix, DeviceMatrix),
        steps: usize,
    ) -> Vec<ProductSpec> {
        let LayerShape { layer, slots, .. } = &self.shape;
        // In the mixed form of a GRU, the last block of da is that of h itself.
        let (d, ns) = (scan.d as usize, (scan.ns as usize).min(layer.cell.blocks()));
        let r = grads + 4 * slots.w_hh.start as u64;
        let size = (ns * d, steps, d);
        let mut products = vec![ProductSpec::new(
            size,
            da.transposed(),
            carry,
            DeviceMatrix::rows(r, d),
            WriteMode::Overwrite,
        )];
        if scan.cell == 2 {
            let row_width = layer.cell.blocks() * d;
            let dn = DeviceMatrix::rows(scan.da_in + 4 * (2 * d) as u64, row_width).transposed();
            let into = DeviceMatrix::rows(r + 4 * (2 * d * d) as u64, d);
            let rh = DeviceMatrix::rows(scan.gru_state, d);
            products.push(ProductSpec::new((d, steps, d), dn, rh, into, WriteMode::Overwrite));
        }
        products
    }

    /// The products for the gradients of W and of the embedding. See
    /// [`CudaLayer::input_grads_below`] for the layer below.
    pub fn input_gradients(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        batch: &DeviceBatch,
        scan: &ScanArgs,
        layer_input: LayerInput,
    ) -> Result<Vec<ProductSpec>, CudaError> {
        let LayerShape { slots, width, .. } = &self.shape;
        let row_width = (scan.ni * scan.d) as usize;
        let d_w = DeviceMatrix::rows(addresses.grads + 4 * slots.w_ih.start as u64, *width);
        match layer_input {
            LayerInput::Tokens { embedding } => {
                let all = 0..batch.distinct;
                let d_x = self.sum_token_grads(stream, ops, batch, scan, all.clone())?;
                Ok(vec![
                    self.token_w_grads(
                        addresses,
                        batch,
                        d_x,
                        (embedding, all.clone(), WriteMode::Overwrite),
                    ),
                    self.embedding_grads(addresses, batch, d_x, all),
                ])
            }
            LayerInput::Vectors { at, .. } => {
                let da = DeviceMatrix::rows(scan.da_in, row_width);
                let read = DeviceMatrix::rows(at, *width);
                let size = (row_width, batch.steps, *width);
                Ok(vec![ProductSpec::new(size, da.transposed(), read, d_w, WriteMode::Overwrite)])
            }
        }
    }

    /// Sums the gradients of the rows of `E·Wᵀ` for a range of tokens over the steps that read
    /// them. Returns the gradients of the whole table.
    pub fn sum_token_grads(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        batch: &DeviceBatch,
        scan: &ScanArgs,
        tokens: Range<usize>,
    ) -> Result<DeviceMatrix, CudaError> {
        let (row_width, distinct) = ((scan.ni * scan.d) as usize, batch.distinct);
        let d_x =
            DeviceMatrix::rows(self.buffers.d_x.reserve(stream, distinct * row_width)?, row_width);
        let first = batch.first + 4 * tokens.start as u64;
        let by = (batch.by_place, first, tokens.len());
        let count = batch.steps * tokens.len() / distinct.max(1);
        let to = d_x.at + 4 * (tokens.start * row_width) as u64;
        ops.sum_by_token(stream, scan.da_in, (count, row_width), by, to)?;
        Ok(d_x)
    }

    /// The product for the gradient of W from a range of tokens.
    pub fn token_w_grads(
        &self,
        ParamAddresses { grads, .. }: ParamAddresses,
        batch: &DeviceBatch,
        d_x: DeviceMatrix,
        (embedding, tokens, into): (Address, Range<usize>, WriteMode),
    ) -> ProductSpec {
        let (width, ids, d_x) = (self.shape.width, batch.ids_of(&tokens), d_x.from(tokens.start));
        let d_w = DeviceMatrix::rows(grads + 4 * self.shape.slots.w_ih.start as u64, width);
        let rows = DeviceMatrix::rows(embedding, width).listed(ids);
        ProductSpec::new((d_x.row, tokens.len(), width), d_x.transposed(), rows, d_w, into)
    }

    /// The product for the embedding gradients of a range of tokens.
    pub fn embedding_grads(
        &self,
        ParamAddresses { params, grads }: ParamAddresses,
        batch: &DeviceBatch,
        d_x: DeviceMatrix,
        tokens: Range<usize>,
    ) -> ProductSpec {
        let (width, ids, d_x) = (self.shape.width, batch.ids_of(&tokens), d_x.from(tokens.start));
        let w = DeviceMatrix::rows(params + 4 * self.shape.slots.w_ih.start as u64, width);
        // The embedding is the first parameter.
        let into = DeviceMatrix::rows(grads, width).listed(ids);
        ProductSpec::new((tokens.len(), d_x.row, width), d_x, w, into, WriteMode::Overwrite)
    }

    /// Computes the gradients of the input `[N,E]`, for the layer below.
    pub fn input_grads_below(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        params: Address,
        steps: usize,
    ) -> Result<Address, CudaError> {
        let LayerShape { layer, slots, width, .. } = &self.shape;
        let row_width = layer.cell.blocks() * layer.units;
        let into = self.buffers.input_grads_below.reserve(stream, steps * width)?;
        let da = DeviceMatrix::rows(self.buffers.da_in.address(stream), row_width);
        let w = DeviceMatrix::rows(params + 4 * slots.w_ih.start as u64, *width);
        let size = (steps, row_width, *width);
        ops.run(stream, size, da, w, DeviceMatrix::rows(into, *width), WriteMode::Overwrite)?;
        Ok(into)
    }

    /// Adds the centroid gradients from output gradients at last steps only.
    pub fn last_step_centroid_grads(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        grads: Address,
        batch: &DeviceBatch,
        scan: &ScanArgs,
    ) -> Result<(), CudaError> {
        let (d, k) = (scan.d as usize, scan.k as usize);
        let alpha = DeviceMatrix::rows(self.buffers.alpha_last.address(stream), k).transposed();
        let pull = DeviceMatrix::rows(scan.dh_out, scan.out_stride as usize);
        let d_s = DeviceMatrix::rows(grads + 4 * self.shape.slots.centroids.start as u64, d);
        ops.run(stream, (k, batch.rows, d), alpha, pull, d_s, WriteMode::Accumulate)
    }
}
