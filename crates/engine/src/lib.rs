//! State-regularized recurrent networks: models, and the engines that run and train them.
//!
//! [`model`] holds architectures, parameters and model files. [`Batch`] is the input of an engine;
//! [`Runner`] and [`Trainer`] are its operations. Three engines implement them: [`mod@reference`] (f64),
//! [`cpu`] (f32 on vectors and threads) and `cuda` (f32 on an NVIDIA GPU; feature `cuda`).
//! [`mod@reference`] is the specification: an engine that disagrees with it beyond the tolerance
//! stated in `tests/engines` is wrong.
//!
#![doc = include_str!("notation.md")]

mod arithmetic;
pub mod atomic;
mod batch;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "cuda")]
mod cuda_error;
mod device_error;
mod dropout;
mod form;
mod hardware;
pub mod hex;
pub mod key;
mod layer_state;
pub mod model;
mod objective;
mod optimiser;
pub mod reference;
mod snapshot;
mod softmax;
mod tokens;
mod trace;
mod traits;
mod weights;

pub use arithmetic::Arithmetic;
pub use batch::{Batch, IGNORE, Inputs, Targets};
pub use device_error::DeviceError;
pub use dropout::Dropout;
pub use hardware::{Device, DeviceName, Hardware, UnknownDevice};
pub use layer_state::LayerState;
pub use objective::{Gradients, Loss, Regime};
pub use optimiser::{Moments, Optimiser, Real, Rule, Update, norm};
pub use snapshot::Snapshot;
pub use trace::{Fields, LayerTrace, Mode, Trace, Transition};
pub use traits::{BatchLoss, NextBatch, Runner, Step, Trainer};
