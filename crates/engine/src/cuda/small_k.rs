//! Kernels for few centroids (`kernels/small_k.cuh`), compiled for each layer.

use super::CudaError;
use super::chunks::{ChunkArgs, ChunkPolicy};
use super::compile::SMALL_K;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::gradients::InputWeightGrad;
use super::grouped::{SumOverBlocks, run_sums};
use super::layer::{CudaLayer, LayerCall, LayerInput, LayerShape, ParamAddresses};
use super::layer_types::{Define, flag};
use super::matrix::{DeviceMatrix, MatrixOps, ProductSpec, WriteMode};
use super::scan_args::{LOSS_TERMS, SUMS, ScanArgs};
use super::upload::DeviceBatch;
use crate::Transition;
use crate::form::{Recurrence, recurrence};
use crate::model::Score;
use cudarc::driver::CudaFunction;

/// Largest number of centroids: beyond it the backward kernel runs out of registers.
const MAX_CENTROIDS: usize = 20;
/// Largest block: one thread per unit, limited by the registers of prefetched values.
const MAX_THREADS: usize = 480;
/// Widest input that the scan multiplies by W itself.
const MAX_VECTOR_WIDTH: usize = 4;
/// Registers of a multiprocessor, and the most a thread can have.
pub const REGISTERS: usize = 65536;
const MAX_REGISTERS: usize = 255;

/// How the scan reads its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// Rows of x = W·input + b, one per step.
    StepRows,
    /// Rows of x, one per token. The tokens are so few that a block sums their gradients in shared
    /// memory.
    FewTokens,
    /// Narrow input vectors, multiplied by W inside the scan.
    Vectors,
    /// Rows of x, one per token.
    TokenRows,
}

impl InputMode {
    /// The mode for vectors of `width` numbers, or for tokens of which there may be many.
    pub fn of(layer_input: LayerInput, width: usize) -> InputMode {
        match layer_input {
            LayerInput::Tokens { .. } => InputMode::TokenRows,
            LayerInput::Vectors { bottom: true, .. } if width <= MAX_VECTOR_WIDTH => {
                InputMode::Vectors
            }
            LayerInput::Vectors { .. } => InputMode::StepRows,
        }
    }

    /// Macro definitions of the mode. The width matters only to kernels that multiply by W.
    pub fn defines(self, width: usize) -> [Define; 2] {
        let width = if self == InputMode::Vectors { width } else { 1 };
        [("INPUT", (self as u8).to_string()), ("WIDTH", width.to_string())]
    }

    /// Whether the scan stores the input gradients of every step.
    pub fn stores_step_grads(self) -> bool {
        matches!(self, InputMode::StepRows | InputMode::TokenRows)
    }
}

/// `SmallKArgs` of `kernels/small_k.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SmallKArgs {
    pub scan: ScanArgs,
    pub vectors: Address,
    pub w: Address,
    pub bias: Address,
    pub gates: Address,
    pub cells: Address,
    pub d_m: Address,
    pub d_s: Address,
    pub d_x: Address,
    pub chunks: ChunkArgs,
    pub tokens: i32,
    pub store_h: i32,
    pub store_u: i32,
    pub store_c: i32,
}

/// The compiled kernels of a layer.
pub struct SmallKKernels {
    pub input: InputMode,
    pub forward_threads: usize,
    pub backward_threads: usize,
    pub forward: CudaFunction,
    pub backward: CudaFunction,
}

/// Shared memory in which a block sums the gradients of `tokens` tokens, in bytes.
pub fn token_bytes(tokens: usize, d: usize) -> usize {
    tokens * d.next_multiple_of(32) * 16
}

/// Threads of a forward block, and the units they cover: two per thread in wide layers.
fn forward_threads(d: usize) -> (usize, usize) {
    let units = if d > 128 { 2 } else { 1 };
    let threads = d.div_ceil(units).next_multiple_of(32);
    (threads, threads * units)
}

/// Padded number of units for which each step is saved.
pub fn padded_units(d: usize) -> usize {
    forward_threads(d).1
}

/// The kernels for this call, or `None` where the layer or the call does not suit them.
pub fn small_k_kernels(
    stream: &GpuStream,
    shape: &LayerShape,
    batch: &DeviceBatch,
    layer_input: LayerInput,
    call: LayerCall,
) -> Result<Option<SmallKKernels>, CudaError> {
    let layer = &shape.layer;
    let (Some(centroids), Recurrence::LowRank) =
        (layer.centroids, recurrence(layer, call.lambda, call.start))
    else {
        return Ok(None);
    };
    let (d, k) = (layer.units, centroids.k);
    let threads = d.next_multiple_of(32);
    // The backward kernel holds 5 weights and 5 sums per centroid, and some 80 other values.
    let registers = (10 * k + 80).min(MAX_REGISTERS);
    let fits = threads <= MAX_THREADS && threads * registers <= REGISTERS && k <= MAX_CENTROIDS;
    if !fits || centroids.score != Score::Dot || call.transition != Transition::Mixture {
        return Ok(None);
    }
    let input = match layer_input {
        LayerInput::Tokens { .. }
            if shape.chunking == ChunkPolicy::WhenProfitable
                && token_bytes(batch.distinct, d) <= stream.gpu.shared / 2 =>
        {
            InputMode::FewTokens
        }
        _ => InputMode::of(layer_input, shape.width),
    };
    let Some(defines) = small_k_defines(shape, k, input, call) else { return Ok(None) };
    let [forward, backward] = stream.gpu.scan_kernels(&SMALL_K, &defines)?;
    let (forward_threads, _) = forward_threads(d);
    Ok(Some(SmallKKernels { input, forward_threads, backward_threads: threads, forward, backward }))
}

/// The macro definitions of the kernels; `None` where they do not support the cell.
fn small_k_defines(
    shape: &LayerShape,
    k: usize,
    input: InputMode,
    call: LayerCall,
) -> Option<Vec<Define>> {
    let mut defines = shape.defines()?;
    defines.extend([
        ("K", k.to_string()),
        ("END", flag(shape.end)),
        ("COMMITMENT", flag(call.has_commitment)),
        ("ENTROPY", flag(call.has_entropy)),
        ("GATE_PENALTY", flag(call.gate_penalty)),
        ("EVERY_STEP", flag(call.stores_every_step())),
    ]);
    defines.extend(input.defines(shape.width));
    Some(defines)
}

impl CudaLayer {
    /// The kernel arguments; reserves what the forward scan saves for backward.
    pub fn small_k_args(
        &mut self,
        stream: &GpuStream,
        params: Address,
        scan: ScanArgs,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
    ) -> Result<SmallKArgs, CudaError> {
        let LayerShape { layer, slots, .. } = &self.shape;
        let (d, steps) = (layer.units, batch.steps);
        // Only the backward scan reads the saved steps.
        let (gates, cells) = match (call.saves_for_backward, layer.cell.has_memory()) {
            (false, _) => (0, 0),
            (true, memory) => (
                self.buffers.gates.reserve(stream, steps * 4 * padded_units(d))?,
                self.buffers
                    .cells
                    .reserve(stream, if memory { steps * padded_units(d) } else { 0 })?,
            ),
        };
        Ok(SmallKArgs {
            scan,
            gates,
            cells,
            vectors: match layer_input {
                LayerInput::Vectors { at, .. } => at,
                LayerInput::Tokens { .. } => 0,
            },
            w: params + 4 * slots.w_ih.start as u64,
            bias: if layer.bias { self.buffers.bias.address(stream) } else { 0 },
            tokens: batch.distinct as i32,
            store_h: call.store_h as i32,
            store_u: call.store_u as i32,
            store_c: call.store_c as i32,
            ..SmallKArgs::default()
        })
    }

    /// The forward scan.
    #[allow(clippy::too_many_arguments)]
    pub fn small_k_forward(
        &mut self,
        stream: &GpuStream,
        params: Address,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
        kernels: &SmallKKernels,
        scan: ScanArgs,
    ) -> Result<(), CudaError> {
        let args = self.small_k_args(stream, params, scan, batch, layer_input, call)?;
        let config = LaunchConfig::linear(self.row_blocks(stream, batch), kernels.forward_threads);
        Ok(launch!(stream, &kernels.forward, config; args)?)
    }

    /// [`backward`](CudaLayer::backward) for few centroids: the scan itself sums the gradients of
    /// M, S and a narrow input.
    #[allow(clippy::too_many_arguments)]
    pub fn small_k_backward(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
        kernels: &SmallKKernels,
        scan: ScanArgs,
        report: Address,
    ) -> Result<(), CudaError> {
        let blocks = self.row_blocks(stream, batch);
        // Input rows or columns whose gradients the scan sums.
        let rows = match kernels.input {
            InputMode::StepRows | InputMode::TokenRows => 0,
            InputMode::FewTokens => batch.distinct,
            InputMode::Vectors => self.shape.width,
        };
        let scan = self.reserve_small_k(stream, batch, kernels, scan, (blocks, rows))?;
        let buffers = &self.buffers;
        let at =
            [&buffers.d_m_parts, &buffers.d_s_parts, &buffers.d_x_parts].map(|r| r.address(stream));
        let [d_m, d_s, d_x] = at;
        let args = SmallKArgs {
            d_m,
            d_s,
            d_x,
            ..self.small_k_args(stream, addresses.params, scan, batch, layer_input, call)?
        };
        let shared = match kernels.input {
            InputMode::FewTokens => token_bytes(rows, scan.d as usize),
            InputMode::StepRows | InputMode::TokenRows | InputMode::Vectors => 0,
        };
        let config = LaunchConfig::linear(blocks, kernels.backward_threads).shared(shared);
        let (sums, products) = self.small_k_sums(stream, addresses, &args, blocks, report)?;
        if let LayerInput::Tokens { embedding } = layer_input
            && batch.chunks.is_chunked()
        {
            let (by, rest) = ((kernels, config, args), (&sums[..], &products[..]));
            return self
                .small_k_backward_chunked(stream, ops, addresses, batch, embedding, by, rest);
        }
        launch!(stream, &kernels.backward, config; args)?;
        let what = (batch, layer_input, kernels.input, &args);
        self.small_k_finish(stream, ops, addresses, what, rows, (sums, products))
    }

    /// Reserves the outputs of `blocks` blocks, with gradients of `rows` input rows or columns.
    fn reserve_small_k(
        &mut self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        kernels: &SmallKKernels,
        scan: ScanArgs,
        (blocks, rows): (usize, usize),
    ) -> Result<ScanArgs, CudaError> {
        let (d, k, row_width) = (scan.d as usize, scan.k as usize, (scan.ni * scan.d) as usize);
        let buffers = &mut self.buffers;
        buffers.d_m_parts.reserve(stream, blocks * k * 4 * d)?;
        buffers.d_s_parts.reserve(stream, blocks * k * d)?;
        buffers.d_x_parts.reserve(stream, blocks * rows * row_width)?;
        let da_in = match kernels.input.stores_step_grads() {
            true => buffers.da_in.reserve(stream, batch.steps * row_width)?,
            false => 0,
        };
        let sums = buffers.sums.reserve(stream, blocks * SUMS * d)?;
        let loss_terms = buffers.loss_terms.reserve(stream, blocks * LOSS_TERMS)?;
        Ok(ScanArgs { da_in, sums, loss_terms, ..scan })
    }

    /// The sums over the outputs of the blocks, and the products that need these sums.
    fn small_k_sums(
        &mut self,
        stream: &GpuStream,
        addresses: ParamAddresses,
        args: &SmallKArgs,
        blocks: usize,
        report: Address,
    ) -> Result<(Vec<SumOverBlocks>, Vec<ProductSpec>), CudaError> {
        let SmallKArgs { scan, d_m: d_m_parts, d_s: d_s_parts, .. } = args;
        let (d, k) = (scan.d as usize, scan.k as usize);
        let d_s =
            DeviceMatrix::rows(addresses.grads + 4 * self.shape.slots.centroids.start as u64, d);
        let d_m = DeviceMatrix::rows(self.buffers.d_m.reserve(stream, k * 4 * d)?, 4 * d);
        let mut sums =
            self.parameter_sums(addresses.grads, scan, blocks, InputWeightGrad::ByProduct);
        sums.extend([
            SumOverBlocks::of_doubles(scan.loss_terms, blocks, LOSS_TERMS, report),
            SumOverBlocks::of(*d_s_parts, blocks, (k, d), d_s, WriteMode::Accumulate),
            SumOverBlocks::of(*d_m_parts, blocks, (k, 4 * d), d_m, WriteMode::Overwrite),
        ]);
        Ok((sums, self.low_rank_gradients(addresses, scan, d_m, WriteMode::Overwrite).to_vec()))
    }

    /// Runs the sums and products after an unchunked scan.
    fn small_k_finish(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        addresses: ParamAddresses,
        (batch, layer_input, input, args): (&DeviceBatch, LayerInput, InputMode, &SmallKArgs),
        rows: usize,
        (mut sums, mut products): (Vec<SumOverBlocks>, Vec<ProductSpec>),
    ) -> Result<(), CudaError> {
        let SmallKArgs { scan, d_x: parts, .. } = args;
        let (row_width, blocks) = ((scan.ni * scan.d) as usize, self.row_blocks(stream, batch));
        let sum = |to: DeviceMatrix| {
            SumOverBlocks::of(*parts, blocks, (rows, row_width), to, WriteMode::Overwrite)
        };
        match layer_input {
            _ if input.stores_step_grads() => {
                run_sums(&stream.fork()?, &sums)?;
                products.extend(self.input_gradients(
                    stream,
                    ops,
                    addresses,
                    batch,
                    scan,
                    layer_input,
                )?);
                stream.join()?;
            }
            LayerInput::Tokens { embedding } => {
                let d_x = DeviceMatrix::rows(
                    self.buffers.d_x.reserve(stream, rows * row_width)?,
                    row_width,
                );
                sums.push(sum(d_x));
                run_sums(stream, &sums)?;
                let what = (embedding, 0..rows, WriteMode::Overwrite);
                products.push(self.token_w_grads(addresses, batch, d_x, what));
                products.push(self.embedding_grads(addresses, batch, d_x, 0..rows));
            }
            LayerInput::Vectors { .. } => {
                let LayerShape { slots, width, .. } = &self.shape;
                let d_w = DeviceMatrix::rows(addresses.grads + 4 * slots.w_ih.start as u64, *width);
                sums.push(sum(d_w.transposed()));
                run_sums(stream, &sums)?;
            }
        }
        ops.run_all(stream, &products)
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile::{VANILLA, assert_uses_defines};
    use super::super::layer_types::testing::{CALL, shape};
    use super::*;
    use crate::model::{Cell, Gate, Layer};

    #[test]
    fn the_kernels_use_every_macro_that_is_defined() {
        let cell = Cell::Lstm { peephole: true };
        let layer = Layer { cell, units: 100, gate: Gate::Sigmoid, bias: true, centroids: None };
        let shape = shape(layer);
        let defines = small_k_defines(&shape, 5, InputMode::Vectors, CALL).unwrap();
        assert_uses_defines(&SMALL_K, &defines);
        assert_uses_defines(&VANILLA, &shape.defines().unwrap());
    }
}
