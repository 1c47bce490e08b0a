//! What a network does on strings, as plain data: which centroids it uses, whether its states drift,
//! where it counts, and the machine it follows.
//!
//! Everything here is computed from what [`Engine::trace`](crate::engine::Engine::trace) hands out.
//! Nothing is drawn, and nothing is proved: these are observations of the strings that were run.
//! [`certify`](crate::certify) has the proofs.

pub mod counter;
pub mod drift;
mod least_squares;
mod observe;
pub mod pushdown;
pub mod trajectory;
pub mod usage;

pub use observe::{Observation, Vector, observe};
pub use trajectory::{Trajectory, trajectory};
