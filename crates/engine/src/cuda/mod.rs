//! The engine for NVIDIA GPUs, in f32. One thread block carries rows of a batch through the whole
//! sequence.
//!
//! The kernels are the `.cu` files in `kernels/`. NVRTC compiles them for the present GPU on first
//! use (`compile`) and the machine code is cached on disk. `layer` prepares a layer's parameters,
//! runs the scan and computes the gradients of both. `head` is the classifier, `matrix` does the
//! products, `update` is the optimiser, and `upload` copies batches. Sums are taken in a fixed
//! order and atomics only count, so the same seed gives the same bits on the same GPU.

#![allow(unsafe_code)]

mod buffer;
mod chunks;
mod cluster;
mod common_kernels;
mod compile;
mod dropout;
mod gpu;
mod gradients;
mod graphs;
mod grouped;
mod head;
mod kernel_cache;
mod layer;
mod layer_backward;
mod layer_types;
mod loss;
mod matrix;
mod prefetch;
mod prepare;
mod product_plan;
mod row_states;
mod scan_args;
mod small_k;
mod small_k_chunked;
mod stepwise;
mod stream;
mod sums;
mod token_order;
mod train_step;
mod update;
mod upload;
mod vanilla;

pub use crate::cuda_error::CudaError;
pub use chunks::ChunkPolicy;
pub use gpu::Gpu;

use super::objective::StepShare;
use super::{
    Batch, BatchLoss, DeviceError, Fields, Gradients, LayerState, LayerTrace, Loss, Mode,
    NextBatch, Regime, Runner, Snapshot, Step, Trace, Trainer, Transition,
};
use crate::model::{Arch, Layout, Model};
use crate::optimiser::Optimiser;
use crate::traits::loss_of_logits;
use chunks::TimeChunks;
use gpu::{Buffer, GpuStream, PinnedBuffer};
use graphs::{GraphCache, Pass, StepSpec};
use head::{Classifier, READOUT_SUMS, readouts};
use layer::{CudaLayer, LayerCall, LayerShape};
use matrix::MatrixOps;
use prefetch::Prefetched;
use scan_args::LOSS_TERMS;
use std::sync::Arc;
use update::UpdateBuffers;
use upload::{BatchUpload, DeviceBatch};

/// Settings that change speed and the last bits of results, but not what is computed.
#[derive(Clone, Copy, Debug)]
pub struct CudaTuning {
    /// Whether layers may use kernels that are compiled for their shape. Default: true.
    pub specialised: bool,
    /// When scans are split into chunks of time steps. Default: when it is faster.
    pub chunking: ChunkPolicy,
}

impl Default for CudaTuning {
    fn default() -> Self {
        CudaTuning { specialised: true, chunking: ChunkPolicy::WhenProfitable }
    }
}

/// Trains a model on an NVIDIA GPU.
pub struct CudaTrainer {
    stream: GpuStream,
    arch: Arch,
    layout: Layout,
    optimiser: Optimiser,
    params: Buffer<f32>,
    moments: Buffer<f32>,
    grads: Buffer<f32>,
    /// The embedding with dropped numbers set to zero; empty without dropout.
    masked_embedding: Buffer<f32>,
    updates: u64,
    layers: Vec<CudaLayer>,
    head: Classifier,
    ops: MatrixOps,
    upload: BatchUpload,
    /// The batch in `upload` that the next update is expected to use.
    prefetched: Option<Prefetched>,
    update: UpdateBuffers,
    /// `[1 + READOUT_SUMS + layers * LOSS_TERMS]`: the squared gradient norm, the sums over
    /// read-outs, the loss terms of each layer.
    report: Buffer<f64>,
    /// A copy of `report` in host memory.
    host_report: PinnedBuffer<f64>,
    graphs: GraphCache,
    /// B of the last batch; 0 if its rows started from zero.
    rows_with_states: usize,
}

/// Offsets in the report: the sums over read-outs, then the loss terms of the layers.
const READOUTS_AT: usize = 1;
const LAYERS_AT: usize = READOUTS_AT + READOUT_SUMS;

impl CudaTrainer {
    /// A trainer that starts from the parameters of `model`, with default tuning.
    pub fn new(
        gpu: &Arc<Gpu>,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<CudaTrainer, CudaError> {
        CudaTrainer::tuned(gpu, model, optimiser, CudaTuning::default())
    }

    /// [`new`](CudaTrainer::new) with explicit tuning, for tests and comparisons.
    pub fn tuned(
        gpu: &Arc<Gpu>,
        model: &Model<f32>,
        optimiser: Optimiser,
        tuning: CudaTuning,
    ) -> Result<CudaTrainer, CudaError> {
        let stream = GpuStream::new(gpu)?;
        let (arch, layout) = (model.arch.clone(), model.layout());
        let shape = |l: usize| LayerShape {
            layer: arch.layers[l].clone(),
            slots: layout.layers[l].clone(),
            width: arch.width_below(l),
            end: arch.input.end().is_some(),
            specialised: tuning.specialised,
            chunking: tuning.chunking,
        };
        let layers = (0..arch.layers.len()).map(|l| CudaLayer::new(shape(l))).collect();
        let mut cuda = CudaTrainer {
            stream,
            layers,
            arch,
            layout,
            optimiser,
            params: Buffer::default(),
            moments: Buffer::default(),
            grads: Buffer::default(),
            masked_embedding: Buffer::default(),
            updates: 0,
            head: Classifier::default(),
            ops: MatrixOps::default(),
            upload: BatchUpload::new(gpu)?,
            prefetched: None,
            update: UpdateBuffers::default(),
            report: Buffer::default(),
            host_report: PinnedBuffer::default(),
            graphs: GraphCache::default(),
            rows_with_states: 0,
        };
        let report_len = cuda.report_len();
        cuda.host_report.reserve(&cuda.stream, report_len)?;
        cuda.try_restore(&optimiser.begin(model.params.clone()))?;
        Ok(cuda)
    }

    fn try_restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), CudaError> {
        // A prefetched forward pass used the old parameters.
        self.prefetched = None;
        self.params.write(&self.stream, &snapshot.params)?;
        self.moments.write(&self.stream, &snapshot.moments.concat())?;
        self.updates = snapshot.updates;
        self.stream.synchronize()
    }

    fn params(&self) -> Result<Vec<f32>, CudaError> {
        self.stream.read(&self.params, self.layout.len)
    }

    /// Length of the report.
    fn report_len(&self) -> usize {
        LAYERS_AT + self.layers.len() * LOSS_TERMS
    }

    /// The loss and the gradient norm. Waits for the report of the last pass.
    fn read_report(&self, batch: &Batch, regime: &Regime) -> Result<(Loss, f64), CudaError> {
        let report = self.host_report.read(self.report_len())?;
        let share = StepShare::of(batch, &self.arch);
        let mut loss = Loss {
            task: report[READOUTS_AT],
            correct: report[READOUTS_AT + 1] as usize,
            counted: report[READOUTS_AT + 2] as usize,
            ..Loss::default()
        };
        for (layer, loss_terms) in
            self.layers.iter().zip(report[LAYERS_AT..].chunks_exact(LOSS_TERMS))
        {
            let d = layer.shape.layer.units as f64;
            let if_active = |weight: f64, value: f64| if weight != 0.0 { value } else { 0.0 };
            loss.commitment += share.stochastic * loss_terms[0] / d;
            loss.entropy += share.stochastic * loss_terms[1];
            loss.saturation += if_active(regime.saturation, share.all * loss_terms[2] / d);
            loss.writing += if_active(regime.writing, share.all * loss_terms[3] / d);
        }
        Ok((loss.with_total(regime), report[0].sqrt()))
    }

    fn try_step(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        next: &mut dyn FnMut() -> Option<NextBatch>,
    ) -> Result<Step, CudaError> {
        let (spec, from) = self.take_prefetched_or_upload(batch, regime)?;
        self.run_or_replay(spec, from)?;
        // The next batch is copied to a staging buffer while this step runs. Its forward pass is
        // queued behind this step.
        // A batch that starts from given states is not prefetched: its forward pass would overwrite
        // the last states of the current batch.
        if let Some(next) = next().filter(|next| next.batch.initial.is_empty()) {
            self.prefetch(next)?;
        }
        let (loss, norm) = self.read_report(batch, regime)?;
        let gradient_norm = if loss.total.is_finite() { norm } else { f64::NAN };
        let step = Step { loss, gradient_norm };
        self.updates += step.is_finite() as u64;
        Ok(step)
    }

    fn try_gradients(
        &mut self,
        batch: &Batch,
        regime: &Regime,
    ) -> Result<Gradients<f32>, CudaError> {
        let (spec, _) = self.take_prefetched_or_upload(batch, regime)?;
        self.run_or_replay(StepSpec { updates: false, ..spec }, Pass::Forward)?;
        let (loss, _) = self.read_report(batch, regime)?;
        Ok(Gradients { loss, values: self.stream.read(&self.grads, self.layout.len)? })
    }

    fn try_trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f32>, CudaError> {
        let hard = mode.transition != Transition::Mixture;
        let lambda = if hard { 1.0 } else { mode.lambda };
        let regime = Regime { lambda, tau: mode.tau, ..Regime::plain(0.0) };
        let (StepSpec { device_batch, call, .. }, _) =
            self.take_prefetched_or_upload(batch, &regime)?;
        let device_batch =
            DeviceBatch { steps: batch.steps(), chunks: TimeChunks::default(), ..device_batch };
        let call = LayerCall { transition: mode.transition, saves_for_backward: false, ..call };
        let end = self.arch.input.end().is_some();
        for l in 0..self.layers.len() {
            let draws = self.upload.draws(&self.stream, batch, l, end, call.transition)?;
            self.layer_forward(l, &device_batch, call, fields, draws)?;
        }
        self.run_classifier(&device_batch, 0)?;
        let count = readouts(&self.arch, &device_batch) * self.arch.classes;
        let logits = self.stream.read(&self.head.logits, count)?;
        let layers = self.layers.iter().map(|layer| self.layer_trace(layer, batch.steps(), fields));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Trace { layers, logits, last: self.try_last_states()? })
    }

    fn try_last_states(&self) -> Result<Vec<LayerState>, CudaError> {
        match self.rows_with_states {
            0 => Ok(vec![]),
            rows => self.layers.iter().map(|layer| layer.last_state(&self.stream, rows)).collect(),
        }
    }

    fn layer_trace(
        &self,
        layer: &CudaLayer,
        steps: usize,
        fields: Fields,
    ) -> Result<LayerTrace<f32>, CudaError> {
        let LayerShape { layer: shape, .. } = &layer.shape;
        let (d, k) = (shape.units, shape.centroids.map_or(0, |centroids| centroids.k));
        let memory = shape.cell.has_memory();
        let read = |wanted: bool, buffer: &Buffer<f32>, width: usize| {
            self.stream.read(buffer, if wanted { steps * width } else { 0 })
        };
        Ok(LayerTrace {
            alpha: read(fields.alpha, &layer.buffers.alpha, k)?,
            u: read(fields.u, &layer.buffers.u, d)?,
            h: read(fields.h, &layer.buffers.h, d)?,
            c: read(fields.c && memory, &layer.buffers.c, d)?,
        })
    }

    fn try_snapshot(&self) -> Result<Snapshot<f32>, CudaError> {
        let count = self.optimiser.rule.moments();
        let moments = self.stream.read(&self.moments, count * self.layout.len)?;
        let moments = moments.chunks_exact(self.layout.len).map(<[f32]>::to_vec).collect();
        Ok(Snapshot { params: self.params()?, moments, updates: self.updates })
    }
}

impl Drop for CudaTrainer {
    fn drop(&mut self) {
        // A prefetched pass may still use buffers that are about to be freed. Errors of the GPU
        // were reported where they occurred.
        let _ = self.stream.synchronize();
    }
}

impl Runner<f32> for CudaTrainer {
    type Error = DeviceError;

    fn arch(&self) -> &Arch {
        &self.arch
    }

    fn model(&self) -> Result<Model<f32>, DeviceError> {
        Ok(Model { arch: self.arch.clone(), params: self.params()? })
    }

    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f32>, DeviceError> {
        Ok(self.try_trace(batch, mode, fields)?)
    }

    fn loss(&mut self, batch: &Batch, mode: Mode) -> Result<BatchLoss, DeviceError> {
        match mode.transition {
            Transition::Mixture => Ok(self.try_loss(batch, mode)?),
            Transition::Sample(_) | Transition::Argmax => {
                let trace = self.try_trace(batch, mode, Fields::default())?;
                Ok((loss_of_logits(batch, &trace.logits, self.arch.classes), trace.last))
            }
        }
    }
}

impl Trainer<f32> for CudaTrainer {
    fn snapshot(&self) -> Result<Snapshot<f32>, DeviceError> {
        Ok(self.try_snapshot()?)
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), DeviceError> {
        assert_eq!(
            snapshot.params.len(),
            self.layout.len,
            "the snapshot is of another architecture"
        );
        assert_eq!(
            snapshot.moments.len(),
            self.optimiser.rule.moments(),
            "the snapshot is of another optimiser"
        );
        Ok(self.try_restore(snapshot)?)
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<f32>, DeviceError> {
        Ok(self.try_gradients(batch, regime)?)
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, DeviceError> {
        self.step_and_prefetch(batch, regime, &mut || None)
    }

    fn step_and_prefetch(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        next: &mut dyn FnMut() -> Option<NextBatch>,
    ) -> Result<Step, DeviceError> {
        Ok(self.try_step(batch, regime, next)?)
    }

    fn last_states(&self) -> Result<Vec<LayerState>, DeviceError> {
        Ok(self.try_last_states()?)
    }

    fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }
}
