//! State-regularized recurrent networks (Wang & Niepert, ICML 2019), and the automata they learn.

pub mod certify;
pub mod experiment;
pub mod explain;
pub mod extract;
pub mod learn;
pub mod noise;
pub mod render;
pub mod stream;
pub mod task;
pub mod train;

pub use srnn_engine as engine;
pub use srnn_engine::{atomic, key, model};
