//! The engine for NVIDIA GPUs: f32, a block of threads carries rows through the whole sequence.
//!
//! Kernels are the `.cu` files of `kernels/`, compiled for the GPU at hand when they are first
//! needed (`compile`) and kept on disk. `layer` prepares a layer's parameters, runs the scan and
//! takes the adjoint of both; `head` is the classifier, `matrix` the products, `update` the
//! optimiser; `upload` is what of a batch travels. Sums are taken in a fixed order and nothing is
//! added by atomics: the same seed gives the same bits on the same GPU.

#![allow(unsafe_code)]

mod compile;
mod device;
mod head;
mod layer;
mod matrix;
mod scan;
mod update;
mod upload;

pub use device::Gpu;

use super::share::Share;
use super::{
    Batch, Engine, Fields, Gradients, LayerTrace, Loss, Mode, Regime, Snapshot, Step, Trace,
    Transition,
};
use crate::model::{Arch, Layout, Model};
use crate::train::Optimiser;
use cudarc::driver::DriverError;
use cudarc::nvrtc::result::NvrtcError;
use device::{Device, Room};
use head::{Head, SAYS, Top, readouts};
use layer::{Call, OnDevice, Outside, Reads, Shape};
use matrix::Products;
use scan::{MEASURED, Press};
use std::sync::Arc;
use update::Updates;
use upload::{Placed, Upload};

/// Why there is no engine, or why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// No driver.
    #[error("no NVIDIA driver on this machine: use --device cpu")]
    NoDriver,
    /// A driver, but no GPU.
    #[error("no NVIDIA GPU that can be used ({error}): use --device cpu")]
    NoGpu {
        /// What the driver said.
        error: DriverError,
    },
    /// No compiler for kernels.
    #[error(
        "the CUDA run-time compiler (libnvrtc) is not on this machine: install the CUDA toolkit, \
         or use --device cpu"
    )]
    NoCompiler,
    /// A kernel that does not compile.
    #[error("a kernel does not compile for this GPU ({error:?}); please report this:\n{log}")]
    Compile {
        /// What the compiler said.
        error: NvrtcError,
        /// All of it.
        log: String,
    },
    /// The compiler failed otherwise.
    #[error("the CUDA run-time compiler failed: {0:?}")]
    Compiler(#[from] NvrtcError),
    /// No memory left.
    #[error("the GPU has no {} MiB left ({error}): use smaller batches, or --device cpu", bytes >> 20)]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// What the driver said.
        error: DriverError,
    },
    /// A layer whose state does not fit a multiprocessor.
    #[error(
        "a layer needs {need} bytes of a multiprocessor's {have}: use fewer units, or --device cpu"
    )]
    TooWide {
        /// What it needs.
        need: usize,
        /// What there is.
        have: usize,
    },
    /// Anything else the driver said.
    #[error("the GPU failed: {0}")]
    Driver(#[from] DriverError),
}

/// The engine for NVIDIA GPUs.
pub struct Cuda {
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
    update: Updates,
    /// The square of the gradient's norm, what the read-outs say, what each layer measures.
    report: Room<f64>,
}

/// Where the read-outs' numbers begin in the report, and the layers'.
const SAID: usize = 1;
const LAYERS: usize = SAID + SAYS;

impl Cuda {
    /// An engine that starts from `model`.
    pub fn new(
        gpu: &Arc<Gpu>,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Cuda, CudaError> {
        let device = Device::new(gpu)?;
        let (arch, layout) = (model.arch.clone(), model.layout());
        let shape = |l: usize| Shape {
            layer: arch.layers[l].clone(),
            slots: layout.layers[l].clone(),
            width: arch.width_below(l),
            end: arch.input.end().is_some(),
        };
        let layers = (0..arch.layers.len()).map(|l| OnDevice::new(shape(l))).collect();
        let mut cuda = Cuda {
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
            upload: Upload::default(),
            update: Updates::default(),
            report: Room::default(),
        };
        cuda.try_restore(&optimiser.begin(model.params.clone()))?;
        Ok(cuda)
    }

    fn try_restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), CudaError> {
        self.params.write(&self.device, &snapshot.params)?;
        self.moments.write(&self.device, &snapshot.moments.concat())?;
        self.updates = snapshot.updates;
        self.device.wait()
    }

    fn params(&self) -> Result<Vec<f32>, CudaError> {
        self.device.read(&self.params, self.layout.len)
    }

    /// What layer l reads.
    fn reads(&self, l: usize, placed: &Placed) -> Reads {
        match l {
            0 if placed.distinct > 0 => {
                let at = self.params.address(&self.device);
                Reads::Tokens { embedding: at + 4 * self.layout.embedding.start as u64 }
            }
            0 => Reads::Vectors { at: placed.real },
            l => Reads::Vectors { at: self.layers[l - 1].rooms.h.address(&self.device) },
        }
    }

    /// Whether anyone reads h of layer l.
    fn keeps_h(&self, l: usize) -> bool {
        l + 1 < self.layers.len() || self.arch.readout.from.h()
    }

    /// All layers, and the classifier.
    fn forward(
        &mut self,
        batch: &Batch,
        placed: &Placed,
        call: Call,
        fields: Fields,
    ) -> Result<(), CudaError> {
        let params = self.params.address(&self.device);
        for l in 0..self.layers.len() {
            let reads = self.reads(l, placed);
            let call = Call { keeps_h: self.keeps_h(l) || fields.h, ..call };
            let end = self.arch.input.end().is_some();
            let draws = self.upload.draws(&self.device, batch, l, end, call.transition)?;
            let (device, products) = (&self.device, &mut self.products);
            if placed.steps > 0 {
                let layer = &mut self.layers[l];
                layer.forward(device, products, params, placed, reads, call, draws)?;
            }
        }
        let rooms = &self.layers[self.layers.len() - 1].rooms;
        let from = self.arch.readout.from;
        // A batch without a step has no rooms; what is read is still told from what is not.
        let at = |wanted: bool, room: &Room<f32>| {
            if wanted { room.address(&self.device).max(1) } else { 0 }
        };
        let top =
            Top { h: at(from.h(), &rooms.h), u: at(from.u(), &rooms.u), c: at(from.c(), &rooms.c) };
        let (device, products) = (&self.device, &mut self.products);
        self.head.say(device, products, &self.arch, &self.layout, params, placed, top)
    }

    /// The gradients of a batch, into `grads`; the parts of the loss into the report.
    fn learn(&mut self, batch: &Batch, regime: &Regime) -> Result<Placed, CudaError> {
        let placed = self.upload.write(&self.device, &self.arch, batch)?;
        let call = self.press(batch, regime)?;
        let params = self.params.address(&self.device);
        let grads = self.grads.clear(&self.device, self.layout.len)?;
        let report = self.report.clear(&self.device, self.reported())?;
        let said = report + 8 * SAID as u64;
        self.forward(batch, &placed, call, Fields::default())?;
        let (device, products) = (&self.device, &mut self.products);
        let (arch, layout, both) = (&self.arch, &self.layout, (params, grads));
        let mut out = self.head.learn(device, products, arch, layout, both, &placed, said)?;
        for l in (0..self.layers.len()).rev().filter(|_| placed.steps > 0) {
            let reads = self.reads(l, &placed);
            let call = Call { keeps_h: self.keeps_h(l), ..call };
            let measured = report + 8 * (LAYERS + l * MEASURED) as u64;
            let (device, products) = (&self.device, &mut self.products);
            let layer = &mut self.layers[l];
            layer.backward(device, products, both, &placed, reads, call, out, measured)?;
            if l > 0 {
                let dh = layer.d_below(device, products, params, placed.steps)?;
                let stride = self.arch.width_below(l);
                out = Outside { dh, stride, every_step: true, ..Outside::default() };
            }
        }
        let count = self.layout.len;
        self.update.norm(&self.device, grads, count, report)?;
        Ok(placed)
    }

    /// Numbers of the report.
    fn reported(&self) -> usize {
        LAYERS + self.layers.len() * MEASURED
    }

    /// Puts the regime where kernels read it.
    fn press(&mut self, batch: &Batch, regime: &Regime) -> Result<Call, CudaError> {
        let share = Share::of(batch, &self.arch);
        for layer in &mut self.layers {
            let d = layer.shape.layer.units as f64;
            let centroids = layer.shape.layer.centroids;
            let tau = centroids.map_or(1.0, |centroids| centroids.tau.get()) * regime.tau;
            let press = Press {
                lambda: if centroids.is_some() { regime.lambda as f32 } else { 0.0 },
                inv_tau: (1.0 / tau) as f32,
                commitment: (share.stochastic * regime.commitment / d) as f32,
                entropy: (share.stochastic * regime.entropy) as f32,
                saturation: (share.all * regime.saturation / d) as f32,
                writing: (share.all * regime.writing / d) as f32,
            };
            layer.press(&self.device, press)?;
        }
        self.head.press(&self.device, regime.margin, batch.total_weight())?;
        Ok(Call {
            transition: Transition::Mixture,
            lambda: regime.lambda,
            commits: regime.commitment != 0.0,
            weighs_entropy: regime.entropy != 0.0,
            presses: regime.saturation != 0.0 || regime.writing != 0.0,
            learns: true,
            keeps_h: false,
        })
    }

    /// The loss and the gradient's norm, from the report.
    fn told(&self, batch: &Batch, regime: &Regime) -> Result<(Loss, f64), CudaError> {
        let report = self.device.read(&self.report, self.reported())?;
        let share = Share::of(batch, &self.arch);
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
        Ok((loss.weighed(regime), report[0].sqrt()))
    }

    fn try_step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, CudaError> {
        let (optimiser, rate) = (self.optimiser, regime.learning_rate);
        self.update.press(&self.device, &optimiser, rate, self.updates + 1)?;
        self.learn(batch, regime)?;
        let at = |room: &Room<f32>| room.address(&self.device);
        let rooms = (at(&self.params), at(&self.moments), at(&self.grads));
        let report = (self.report.address(&self.device), self.reported());
        self.update.update(&self.device, &optimiser, rooms, self.layout.len, report)?;
        let (loss, norm) = self.told(batch, regime)?;
        let step =
            Step { loss, gradient_norm: if loss.total.is_finite() { norm } else { f64::NAN } };
        self.updates += step.is_finite() as u64;
        Ok(step)
    }

    fn try_trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f32>, CudaError> {
        let hard = mode.transition != Transition::Mixture;
        let lambda = if hard { 1.0 } else { mode.lambda };
        let regime = Regime {
            lambda,
            commitment: 0.0,
            entropy: 0.0,
            saturation: 0.0,
            writing: 0.0,
            tau: mode.tau,
            margin: 0.0,
            learning_rate: 0.0,
        };
        let placed = self.upload.write(&self.device, &self.arch, batch)?;
        let call =
            Call { transition: mode.transition, learns: false, ..self.press(batch, &regime)? };
        self.forward(batch, &placed, call, fields)?;
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

/// Engines have no errors to give: a GPU that fails in the middle of a run ends it.
fn must<A>(result: Result<A, CudaError>) -> A {
    result.unwrap_or_else(|error| panic!("{error}"))
}

impl Engine<f32> for Cuda {
    fn model(&self) -> Model<f32> {
        Model { arch: self.arch.clone(), params: must(self.params()) }
    }

    fn snapshot(&self) -> Snapshot<f32> {
        must(self.try_snapshot())
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) {
        assert_eq!(snapshot.params.len(), self.layout.len, "a snapshot of another architecture");
        assert_eq!(snapshot.moments.len(), self.optimiser.rule.moments(), "of another optimiser");
        must(self.try_restore(snapshot));
    }

    fn trace(&mut self, batch: &Batch, mode: Mode, fields: Fields) -> Trace<f32> {
        must(self.try_trace(batch, mode, fields))
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<f32> {
        must(self.learn(batch, regime));
        let (loss, _) = must(self.told(batch, regime));
        Gradients { loss, values: must(self.device.read(&self.grads, self.layout.len)) }
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Step {
        must(self.try_step(batch, regime))
    }

    fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }
}
