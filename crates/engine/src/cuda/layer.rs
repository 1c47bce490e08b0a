//! One layer on the device: prepares its parameters for the scan, runs the scan forward and
//! backward, and computes the parameter gradients.

use super::CudaError;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
pub use super::layer_types::{
    CarriedVector, FirstState, LayerBuffers, LayerCall, LayerInput, LayerShape, OutputGrads,
    ParamAddresses, StoreWhen,
};
use super::matrix::MatrixOps;
use super::scan_args::{SUMS, ScanArgs, round_up_4};
use super::small_k::InputMode;
use super::upload::DeviceBatch;
use super::{cluster, small_k, stepwise, vanilla};
use crate::Transition;
use crate::form::recurrence;
use crate::layer_state::RowStart;
use crate::model::{Cell, Gate, Reset, Score};
use std::cell::RefCell;
use std::sync::Arc;

/// The kernels of a layer for one kind of call.
pub enum LayerKernels {
    /// Few centroids (`small_k`).
    SmallK(small_k::SmallKKernels),
    /// No centroids and few units (`vanilla`).
    Vanilla(vanilla::VanillaKernels),
    /// Many centroids, or no centroids and many units (`cluster`).
    Cluster(cluster::ClusterKernels),
    /// A launch per product and step (`stepwise`).
    Stepwise,
    /// The generic kernels.
    Generic,
}

impl LayerKernels {
    /// Whether the scan itself multiplies the input by W.
    pub fn multiplies_inputs(&self) -> bool {
        let input = match self {
            LayerKernels::SmallK(small_k) => small_k.input,
            LayerKernels::Cluster(cluster) => cluster.input,
            LayerKernels::Vanilla(_) | LayerKernels::Stepwise | LayerKernels::Generic => {
                InputMode::StepRows
            }
        };
        input == InputMode::Vectors
    }
}

/// Upper bound of a kernel's static shared memory, in bytes.
pub const STATIC_SHARED: usize = 1024;

/// Dynamic shared memory of a block of the backward kernel in `kernels/generic_backward.cu`, in bytes. It
/// needs more than the forward kernel.
pub fn backward_bytes(scan: &ScanArgs, rows_per_block: usize) -> usize {
    let (n, d, k, ns) = (scan.n as usize, scan.d as usize, scan.k as usize, scan.ns as usize);
    4 * (rows_per_block * (n + (4 + ns) * d + 3 * k) + SUMS * d)
}

/// What the choice of kernels depends on, besides the layer.
#[derive(PartialEq)]
struct KernelKey {
    call: LayerCall,
    distinct: usize,
    bottom: bool,
}

/// One layer on the device.
pub struct CudaLayer {
    pub shape: LayerShape,
    pub buffers: LayerBuffers,
    /// The last choice, cached because a step needs it several times.
    cached_kernels: RefCell<Option<(KernelKey, Arc<LayerKernels>)>>,
}

impl CudaLayer {
    pub fn new(shape: LayerShape) -> CudaLayer {
        CudaLayer { shape, buffers: LayerBuffers::default(), cached_kernels: RefCell::default() }
    }

    pub fn cell(&self) -> i32 {
        match self.shape.layer.cell {
            Cell::Lstm { .. } => 0,
            Cell::Gru { reset: Reset::AfterMatrix } => 1,
            Cell::Gru { reset: Reset::BeforeMatrix } => 2,
        }
    }

    pub fn k(&self) -> usize {
        self.shape.layer.centroids.map_or(0, |centroids| centroids.k)
    }

    /// The vector that these kernels carry.
    pub fn carried(&self, kernels: &LayerKernels, call: LayerCall) -> CarriedVector {
        match kernels {
            LayerKernels::Cluster(cluster) => cluster.carried(),
            _ => recurrence(&self.shape.layer, call.lambda, call.start).into(),
        }
    }

    /// The arguments of the forward scan; reserves what it writes.
    #[allow(clippy::too_many_arguments)]
    pub fn scan(
        &mut self,
        stream: &GpuStream,
        params: Address,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        carried: CarriedVector,
        call: LayerCall,
        draws: Address,
    ) -> Result<ScanArgs, CudaError> {
        let (d, k, cell) = (self.shape.layer.units, self.k(), self.cell());
        let LayerShape { layer, slots, end, .. } = &self.shape;
        let (of_states, of_alpha) = carried.len(d, k);
        let n = of_states + of_alpha;
        let (ns, ni) = (carried.state_blocks(layer.cell), layer.cell.blocks());
        let steps = batch.steps;
        let buffers = &mut self.buffers;
        let wanted = |wanted: bool, at: Address| if wanted { at } else { 0 };
        let at = |range: &std::ops::Range<usize>, first: usize| {
            wanted(!range.is_empty(), params + 4 * (range.start + first) as u64)
        };
        let memory = layer.cell.has_memory();
        Ok(ScanArgs {
            cell,
            hard: (layer.gate == Gate::HardSigmoid) as i32,
            euclidean: layer.centroids.is_some_and(|s| s.score == Score::Euclidean) as i32,
            low_rank: (carried == CarriedVector::Alpha) as i32,
            d: d as i32,
            k: k as i32,
            n: n as i32,
            ns: ns as i32,
            ni: ni as i32,
            rows: batch.rows as i32,
            end: *end as i32,
            transition: match call.transition {
                Transition::Mixture => 0,
                Transition::Sample(_) => 1,
                Transition::Argmax => 2,
            },
            has_commitment: (call.has_commitment && k > 0) as i32,
            has_entropy: (call.has_entropy && k > 0) as i32,
            gate_penalty: call.gate_penalty as i32,
            offsets: batch.offsets,
            order: batch.order,
            coefficients: call.coefficients,
            x: buffers.x.address(stream),
            places: wanted(matches!(layer_input, LayerInput::Tokens { .. }), batch.places),
            m: buffers.m.address(stream),
            candidate: buffers.candidate.address(stream),
            q_bias: wanted(cell == 1, at(&slots.b_hh, 2 * d)),
            peephole: at(&slots.peephole, 0),
            s: at(&slots.centroids, 0),
            h_first: call.first.h,
            c_first: call.first.c,
            draws,
            carry_in: if call.saves_for_backward || call.start == RowStart::Given {
                buffers.carry_in.reserve(stream, steps * round_up_4(n))?
            } else {
                0
            },
            gates: buffers.gates.reserve(stream, steps * 4 * d)?,
            gru_state: if memory { 0 } else { buffers.gru_state.reserve(stream, steps * d)? },
            c: if memory { buffers.c.reserve(stream, steps * d)? } else { 0 },
            u: buffers.u.reserve(stream, steps * d)?,
            alpha: buffers.alpha.reserve(stream, steps * k)?,
            h: if call.store_h > StoreWhen::Never {
                buffers.h.reserve(stream, steps * d)?
            } else {
                0
            },
            ..ScanArgs::default()
        })
    }

    /// The kernels for this call: specialised ones where they exist, else the generic ones.
    pub fn kernels(
        &self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
    ) -> Result<Arc<LayerKernels>, CudaError> {
        let keep = if call.stores_every_step() { StoreWhen::EveryStep } else { StoreWhen::Never };
        let cached_kernels = KernelKey {
            call: LayerCall {
                coefficients: 0,
                first: FirstState::default(),
                saves_for_backward: true,
                ..call.storing([keep; 3])
            },
            distinct: batch.distinct,
            bottom: matches!(layer_input, LayerInput::Vectors { bottom: true, .. }),
        };
        if let Some((by, kernels)) = &*self.cached_kernels.borrow()
            && *by == cached_kernels
        {
            return Ok(kernels.clone());
        }
        let kernels = Arc::new(self.choose_kernels(stream, batch, layer_input, call)?);
        self.cached_kernels.replace(Some((cached_kernels, kernels.clone())));
        Ok(kernels)
    }

    fn choose_kernels(
        &self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
    ) -> Result<LayerKernels, CudaError> {
        if self.shape.specialised && stepwise::suits(&self.shape, call) {
            return Ok(LayerKernels::Stepwise);
        }
        // Only these start from a given state.
        if !self.shape.specialised || call.start == RowStart::Given {
            return Ok(LayerKernels::Generic);
        }
        if let Some(small_k) =
            small_k::small_k_kernels(stream, &self.shape, batch, layer_input, call)?
        {
            return Ok(LayerKernels::SmallK(small_k));
        }
        if let Some(vanilla) = vanilla::vanilla_kernels(stream, &self.shape)? {
            return Ok(LayerKernels::Vanilla(vanilla));
        }
        let cluster = cluster::cluster_kernels(stream, &self.shape, layer_input, call)?;
        Ok(cluster.map_or(LayerKernels::Generic, LayerKernels::Cluster))
    }

    /// Number of blocks of a kernel whose blocks process one row after another.
    pub fn row_blocks(&self, stream: &GpuStream, batch: &DeviceBatch) -> usize {
        // Two blocks of a narrow layer fit on a multiprocessor.
        let each = if self.shape.layer.units <= 128 { 2 } else { 1 };
        batch.rows.min(each * stream.gpu.processors)
    }

    /// Rows per block of the generic kernels, and threads per block.
    pub fn rows_per_block(&self, stream: &GpuStream, scan: &ScanArgs) -> (usize, usize) {
        // Rows of one block share the loads of M.
        let streams = scan.low_rank == 0 && 4 * scan.n as usize * scan.ns as usize > 1000;
        let rows = scan.rows as usize;
        let many = rows > 2 * stream.gpu.processors || (streams && rows >= 16);
        let fits = backward_bytes(scan, 4) + STATIC_SHARED <= stream.gpu.shared;
        (if many && fits { 4 } else { 1 }, if scan.d > 256 { 512 } else { 256 })
    }

    /// The forward scan over all rows, with the preparation it needs.
    #[allow(clippy::too_many_arguments)]
    pub fn forward(
        &mut self,
        stream: &GpuStream,
        ops: &mut MatrixOps,
        params: Address,
        batch: &DeviceBatch,
        layer_input: LayerInput,
        call: LayerCall,
        draws: Address,
    ) -> Result<(), CudaError> {
        let kernels = self.kernels(stream, batch, layer_input, call)?;
        let carried = self.carried(&kernels, call);
        let mut products = self.prepare(stream, params, carried)?;
        let read = self.input_product(stream, params, batch, layer_input, &kernels)?;
        if let (LayerKernels::SmallK(small_k), LayerInput::Tokens { .. }, true) =
            (&*kernels, layer_input, batch.chunks.is_chunked())
        {
            let scan = self.scan(stream, params, batch, layer_input, carried, call, draws)?;
            let args = self.small_k_args(stream, params, scan, batch, layer_input, call)?;
            return self.small_k_forward_chunked(
                stream,
                ops,
                batch,
                (&products, read),
                small_k,
                args,
            );
        }
        products.push(read);
        ops.run_all(stream, &products)?;
        let scan = self.scan(stream, params, batch, layer_input, carried, call, draws)?;
        match &*kernels {
            LayerKernels::SmallK(small_k) => {
                self.small_k_forward(stream, params, batch, layer_input, call, small_k, scan)
            }
            LayerKernels::Cluster(cluster) => {
                let args =
                    self.cluster_arguments(stream, params, batch, layer_input, call, scan)?;
                cluster.forward(stream, batch, args)
            }
            LayerKernels::Vanilla(vanilla) => {
                let config = LaunchConfig::linear(self.row_blocks(stream, batch), vanilla.threads);
                Ok(launch!(stream, &vanilla.forward, config; scan)?)
            }
            LayerKernels::Stepwise => self.stepwise_forward(stream, batch, scan),
            LayerKernels::Generic => {
                let (rows_per_block, threads) = self.rows_per_block(stream, &scan);
                let floats = rows_per_block * (scan.n + 3 * scan.d + scan.k) as usize;
                let config = LaunchConfig::linear(batch.rows.div_ceil(rows_per_block), threads)
                    .shared(4 * floats);
                self.check_shared(stream, config)?;
                let kernel = &stream.gpu.kernels.forward[(rows_per_block > 1) as usize];
                Ok(launch!(stream, kernel, config; scan)?)
            }
        }
    }

    /// Fails where a launch needs more shared memory than a block can have.
    pub fn check_shared(&self, stream: &GpuStream, config: LaunchConfig) -> Result<(), CudaError> {
        let (need, have) = (config.shared as usize, stream.gpu.shared);
        if need + STATIC_SHARED > have { Err(CudaError::TooWide { need, have }) } else { Ok(()) }
    }
}
