//! Prepares the inputs of a scan: the parameters in the form it needs, and the input's
//! contribution.

use super::CudaError;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::layer::{CudaLayer, LayerInput, LayerKernels, LayerShape};
use super::layer_types::CarriedVector;
use super::matrix::{Addend, DeviceMatrix, ProductSpec, WriteMode};
use super::upload::DeviceBatch;

impl CudaLayer {
    /// Prepares M `[n][ns·D]`, rows of Rᵀ or of S·Rᵀ or the first and then the second, and the
    /// candidate's matrix where it is separate. Returns the products that are still to run.
    pub fn prepare(
        &mut self,
        stream: &GpuStream,
        params: Address,
        carried: CarriedVector,
    ) -> Result<Vec<ProductSpec>, CudaError> {
        let LayerShape { layer, slots, .. } = &self.shape;
        let (d, k, blocks) = (layer.units, self.k(), layer.cell.blocks());
        let ns = carried.state_blocks(layer.cell);
        let at = |range: &std::ops::Range<usize>| params + 4 * range.start as u64;
        let (r, s) = (at(&slots.w_hh), at(&slots.centroids));
        let (direct, low_rank) = carried.len(d, k);
        let m = self.buffers.m.reserve(stream, (direct + low_rank) * ns * d)?;
        if direct > 0 {
            transpose(stream, (ns.min(blocks) * d, d), r, (m, ns * d))?;
            if ns < blocks {
                let candidate = self.buffers.candidate.reserve(stream, d * d)?;
                transpose(stream, (d, d), r + 4 * (ns * d * d) as u64, (candidate, d))?;
            }
        }
        if low_rank == 0 {
            return Ok(vec![]);
        }
        let m = DeviceMatrix::rows(m, ns * d).from(direct);
        let (s_rows, r_columns) = (DeviceMatrix::rows(s, d), DeviceMatrix::rows(r, d).transposed());
        let mut products =
            vec![ProductSpec::new((k, d, blocks * d), s_rows, r_columns, m, WriteMode::Overwrite)];
        if ns > blocks {
            let block = DeviceMatrix { at: m.at + 4 * (blocks * d) as u64, ..m };
            products.push(ProductSpec::sum((k, d), [Addend::rows(s, d, d), Addend::NONE], block));
        }
        Ok(products)
    }

    /// The biases of the input blocks: b_ih + b_hh. The recurrent bias of a GRU's candidate stays
    /// inside r∘(·).
    fn biases(&self, params: Address) -> [Addend; 2] {
        let LayerShape { layer, slots, .. } = &self.shape;
        if !layer.bias {
            return [Addend::NONE; 2];
        }
        let row_width = layer.cell.blocks() * layer.units;
        let recurrent = if self.cell() == 1 { 2 * layer.units } else { row_width };
        let at = |range: &std::ops::Range<usize>| params + 4 * range.start as u64;
        [Addend::to_all(at(&slots.b_ih), row_width), Addend::to_all(at(&slots.b_hh), recurrent)]
    }

    /// The product that computes x: a row `[ni·D]` per distinct token or per step; or only the
    /// biases, where the scan multiplies by W.
    pub fn input_product(
        &mut self,
        stream: &GpuStream,
        params: Address,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        kernels: &LayerKernels,
    ) -> Result<ProductSpec, CudaError> {
        let biases = self.biases(params);
        let LayerShape { layer, slots, width, .. } = &self.shape;
        let row_width = layer.cell.blocks() * layer.units;
        if kernels.multiplies_inputs() {
            let rows = layer.bias as usize;
            let bias = self.buffers.bias.reserve(stream, rows * row_width)?;
            return Ok(ProductSpec::sum(
                (rows, row_width),
                biases,
                DeviceMatrix::rows(bias, row_width),
            ));
        }
        let (rows, from) = match layer_input {
            LayerInput::Tokens { embedding } => {
                (batch.distinct, DeviceMatrix::rows(embedding, *width).listed(batch.ids))
            }
            LayerInput::Vectors { at, .. } => (batch.steps, DeviceMatrix::rows(at, *width)),
        };
        let x = DeviceMatrix::rows(self.buffers.x.reserve(stream, rows * row_width)?, row_width);
        let w = DeviceMatrix::rows(params + 4 * slots.w_ih.start as u64, *width).transposed();
        Ok(ProductSpec::new((rows, *width, row_width), from, w, x, WriteMode::Overwrite)
            .plus(biases))
    }
}

/// `to[column][row] = from[row][column]`.
fn transpose(
    stream: &GpuStream,
    (rows, columns): (usize, usize),
    from: Address,
    (to, to_row): (Address, usize),
) -> Result<(), CudaError> {
    let config = LaunchConfig {
        threads: (32, 8, 1),
        ..LaunchConfig::grid_3d(columns.div_ceil(32), rows.div_ceil(32), 1, 1)
    };
    launch!(stream, &stream.gpu.kernels.transpose, config;
        from, rows as i32, columns as i32, to, to_row as i64)?;
    Ok(())
}
