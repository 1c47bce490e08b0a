//! State-regularized recurrent networks (Wang & Niepert, ICML 2019), and the automata they learn.
//!
#![doc = include_str!("notation.md")]

pub mod atomic;
pub mod certify;
pub mod engine;
pub mod experiment;
pub mod explain;
pub mod extract;
mod hex;
pub mod key;
pub mod learn;
pub mod model;
pub mod noise;
pub mod render;
pub mod stream;
pub mod task;
pub mod train;
