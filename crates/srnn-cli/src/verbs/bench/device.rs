//! The engine that is measured.

use crate::failure::Failure;
use clap::ValueEnum;
use srnn::engine::Engine;
use srnn::engine::cpu::Cpu;
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
            Device::Cuda => Err(Failure::new(
                "--device cuda: this program was built without CUDA",
                "build it with `cargo build --release --features cuda`, or use --device cpu",
            )),
            _ => Ok(Box::new(Cpu::new(model, OPTIMISER, threads))),
        }
    }
}
