//! The engine that is measured.

use crate::failure::Failure;
use clap::ValueEnum;
use srnn::engine::Engine;
use srnn::engine::cpu::Cpu;
#[cfg(feature = "cuda")]
use srnn::engine::cuda::{Cuda, Gpu};
use srnn::model::Model;
use srnn::train::{Optimiser, Rule};

/// Where to compute.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The GPU where there is one, else the processor.
    Auto,
}

/// What updates are made with: Adam as usual.
const OPTIMISER: Optimiser = Optimiser { rule: Rule::ADAM, clip: 1.0, l2: 0.0 };

impl Device {
    /// The one that `auto` stands for on this machine.
    pub fn resolved(self) -> Device {
        match self {
            Device::Auto if has_gpu() => Device::Cuda,
            Device::Auto => Device::Cpu,
            named => named,
        }
    }

    /// As it is written.
    pub fn name(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_string()
    }

    /// An engine that starts from `model`; `threads` are the processor's.
    pub fn engine(
        self,
        model: &Model<f32>,
        threads: usize,
    ) -> Result<Box<dyn Engine<f32>>, Failure> {
        match self.resolved() {
            Device::Cuda => cuda(model),
            _ => Ok(Box::new(Cpu::new(model, OPTIMISER, threads))),
        }
    }
}

#[cfg(feature = "cuda")]
fn has_gpu() -> bool {
    Gpu::open().is_ok()
}

#[cfg(not(feature = "cuda"))]
fn has_gpu() -> bool {
    false
}

#[cfg(feature = "cuda")]
fn cuda(model: &Model<f32>) -> Result<Box<dyn Engine<f32>>, Failure> {
    Ok(Box::new(Cuda::new(&Gpu::open()?, model, OPTIMISER)?))
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: &Model<f32>) -> Result<Box<dyn Engine<f32>>, Failure> {
    Err(Failure::new(
        "--device cuda: this program was built without CUDA",
        "build it with `cargo build --release --features cuda`, or use --device cpu",
    ))
}
