//! Training: optimisers.

mod optimiser;

pub use optimiser::{Optimiser, Real, Rule};
