//! The engine for NVIDIA GPUs: f32, a block of threads carries rows through the whole sequence.
//!
//! Kernels are the `.cu` files of `kernels/`, compiled for the GPU at hand when they are first
//! needed (`compile`) and kept on disk. `layer` prepares a layer's parameters, runs the scan and
//! takes the adjoint of both; `head` is the classifier, `matrix` the products, `update` the
//! optimiser; `upload` is what of a batch travels. Sums are taken in a fixed order, and atomics only
//! count: the same seed gives the same bits on the same GPU.

#![allow(unsafe_code)]

mod ahead;
mod call;
mod chunks;
mod cluster;
mod compile;
mod cut;
mod device;
mod error;
mod few;
mod gradients;
mod head;
mod layer;
mod many;
mod matrix;
mod met;
mod plain;
mod plan;
mod prepare;
mod replay;
mod room;
mod scan;
mod track;
mod update;
mod upload;
mod work;

pub use chunks::Cut;
pub use device::Gpu;
pub use error::CudaError;

use super::objective::StepShare;
use super::{
    Batch, DeviceError, Fields, Gradients, LayerTrace, Loss, Mode, NextBatch, Regime, Runner,
    Snapshot, Step, Trace, Trainer, Transition,
};
use crate::model::{Arch, Layout, Model};
use crate::optimiser::Optimiser;
use ahead::Prefetched;
use chunks::Chunks;
use device::{Device, Pinned, Room};
use head::{Head, SAYS, readouts};
use layer::{Call, OnDevice, Shape};
use matrix::Products;
use replay::{Half, Replay, Work};
use scan::MEASURED;
use std::sync::Arc;
use update::Updates;
use upload::{Placed, Upload};

/// What changes how fast the engine is, and its last bits, but not what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Whether layers may have kernels made for their shape. Default: they may.
    pub special: bool,
    /// When scans are cut into chunks of times. Default: where it pays.
    pub cut: Cut,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { special: true, cut: Cut::WhereItPays }
    }
}

/// Trains a model on an NVIDIA GPU.
pub struct CudaTrainer {
    device: Device,
    arch: Arch,
    layout: Layout,
    optimiser: Optimiser,
    params: Room<f32>,
    moments: Room<f32>,
    grads: Room<f32>,
    updates: u64,
    layers: Vec<OnDevice>,
    head: Head,
    products: Products,
    upload: Upload,
    /// What lies in `upload` for the next update.
    waiting: Option<Prefetched>,
    update: Updates,
    /// The square of the gradient's norm, what the read-outs say, what each layer measures.
    report: Room<f64>,
    /// A copy of it for the host.
    told: Pinned<f64>,
    replay: Replay,
}

/// Where the read-outs' numbers begin in the report, and the layers'.
const SAID: usize = 1;
const LAYERS: usize = SAID + SAYS;

impl CudaTrainer {
    /// An engine that starts from `model`.
    pub fn new(
        gpu: &Arc<Gpu>,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<CudaTrainer, CudaError> {
        CudaTrainer::tuned(gpu, model, optimiser, Tuning::default())
    }

    /// The same, tuned; for tests and comparisons.
    pub fn tuned(
        gpu: &Arc<Gpu>,
        model: &Model<f32>,
        optimiser: Optimiser,
        tuning: Tuning,
    ) -> Result<CudaTrainer, CudaError> {
        let device = Device::new(gpu)?;
        let (arch, layout) = (model.arch.clone(), model.layout());
        let shape = |l: usize| Shape {
            layer: arch.layers[l].clone(),
            slots: layout.layers[l].clone(),
            width: arch.width_below(l),
            end: arch.input.end().is_some(),
            special: tuning.special,
            cut: tuning.cut,
        };
        let layers = (0..arch.layers.len()).map(|l| OnDevice::new(shape(l))).collect();
        let mut cuda = CudaTrainer {
            device,
            layers,
            arch,
            layout,
            optimiser,
            params: Room::default(),
            moments: Room::default(),
            grads: Room::default(),
            updates: 0,
            head: Head::default(),
            products: Products::default(),
            upload: Upload::new(gpu)?,
            waiting: None,
            update: Updates::default(),
            report: Room::default(),
            told: Pinned::default(),
            replay: Replay::default(),
        };
        let reported = cuda.reported();
        cuda.told.fit(&cuda.device, reported)?;
        cuda.try_restore(&optimiser.begin(model.params.clone()))?;
        Ok(cuda)
    }

    fn try_restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), CudaError> {
        // What has begun has begun with others.
        self.waiting = None;
        self.params.write(&self.device, &snapshot.params)?;
        self.moments.write(&self.device, &snapshot.moments.concat())?;
        self.updates = snapshot.updates;
        self.device.wait()
    }

    fn params(&self) -> Result<Vec<f32>, CudaError> {
        self.device.read(&self.params, self.layout.len)
    }

    /// Numbers of the report.
    fn reported(&self) -> usize {
        LAYERS + self.layers.len() * MEASURED
    }

    /// The loss and the gradient's norm, from the report.
    fn told(&self, batch: &Batch, regime: &Regime) -> Result<(Loss, f64), CudaError> {
        let report = self.told.told(self.reported())?;
        let share = StepShare::of(batch, &self.arch);
        let mut loss = Loss {
            task: report[SAID],
            correct: report[SAID + 1] as usize,
            counted: report[SAID + 2] as usize,
            ..Loss::default()
        };
        for (layer, measured) in self.layers.iter().zip(report[LAYERS..].chunks_exact(MEASURED)) {
            let d = layer.shape.layer.units as f64;
            let weighed = |weight: f64, value: f64| if weight != 0.0 { value } else { 0.0 };
            loss.commitment += share.stochastic * measured[0] / d;
            loss.entropy += share.stochastic * measured[1];
            loss.saturation += weighed(regime.saturation, share.all * measured[2] / d);
            loss.writing += weighed(regime.writing, share.all * measured[3] / d);
        }
        Ok((loss.with_total(regime), report[0].sqrt()))
    }

    fn try_step(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        next: &mut dyn FnMut() -> Option<NextBatch>,
    ) -> Result<Step, CudaError> {
        let (work, from) = self.send(batch, regime)?;
        self.learn_again(work, from)?;
        // It reaches the device while this work is done, its place when that is free, and is begun with
        // when this is done.
        if let Some(ahead) = next() {
            self.send_ahead(ahead)?;
        }
        let (loss, norm) = self.told(batch, regime)?;
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
        let (work, _) = self.send(batch, regime)?;
        self.learn_again(Work { updates: false, ..work }, Half::Forward)?;
        let (loss, _) = self.told(batch, regime)?;
        Ok(Gradients { loss, values: self.device.read(&self.grads, self.layout.len)? })
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
        let (Work { placed, call, .. }, _) = self.send(batch, &regime)?;
        let placed = Placed { steps: batch.steps(), chunks: Chunks::default(), ..placed };
        let call = Call { transition: mode.transition, learns: false, ..call };
        let end = self.arch.input.end().is_some();
        for l in 0..self.layers.len() {
            let draws = self.upload.draws(&self.device, batch, l, end, call.transition)?;
            self.layer_forward(l, &placed, call, fields, draws)?;
        }
        self.say(&placed, 0)?;
        let count = readouts(&self.arch, &placed) * self.arch.classes;
        let logits = self.device.read(&self.head.logits, count)?;
        let layers = self.layers.iter().map(|layer| self.layer_trace(layer, batch.steps(), fields));
        Ok(Trace { layers: layers.collect::<Result<_, _>>()?, logits })
    }

    fn layer_trace(
        &self,
        layer: &OnDevice,
        steps: usize,
        fields: Fields,
    ) -> Result<LayerTrace<f32>, CudaError> {
        let Shape { layer: shape, .. } = &layer.shape;
        let (d, k) = (shape.units, shape.centroids.map_or(0, |centroids| centroids.k));
        let memory = shape.cell.has_memory();
        let read = |wanted: bool, room: &Room<f32>, width: usize| {
            self.device.read(room, if wanted { steps * width } else { 0 })
        };
        Ok(LayerTrace {
            alpha: read(fields.alpha, &layer.rooms.alpha, k)?,
            u: read(fields.u, &layer.rooms.u, d)?,
            h: read(fields.h, &layer.rooms.h, d)?,
            c: read(fields.c && memory, &layer.rooms.c, d)?,
        })
    }

    fn try_snapshot(&self) -> Result<Snapshot<f32>, CudaError> {
        let count = self.optimiser.rule.moments();
        let moments = self.device.read(&self.moments, count * self.layout.len)?;
        let moments = moments.chunks_exact(self.layout.len).map(<[f32]>::to_vec).collect();
        Ok(Snapshot { params: self.params()?, moments, updates: self.updates })
    }
}

impl Drop for CudaTrainer {
    fn drop(&mut self) {
        // The next update may have begun, in rooms that are about to be given back. A GPU that fails
        // has been reported where it failed.
        let _ = self.device.wait();
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
}

impl Trainer<f32> for CudaTrainer {
    fn snapshot(&self) -> Result<Snapshot<f32>, DeviceError> {
        Ok(self.try_snapshot()?)
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), DeviceError> {
        assert_eq!(snapshot.params.len(), self.layout.len, "a snapshot of another architecture");
        assert_eq!(snapshot.moments.len(), self.optimiser.rule.moments(), "of another optimiser");
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

    fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }
}
