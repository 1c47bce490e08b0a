//! Observations of a network on strings, as plain data: the use of centroids, the drift of states,
//! units that count, and the pushdown machine that a network follows.
//!
//! Everything is computed from [`Runner::trace`](crate::engine::Runner::trace). The results hold for
//! the strings that were run; [`certify`](crate::certify) proves properties of all strings.
//! [`render`](crate::render) draws the results.

pub mod counter;
pub mod drift;
mod least_squares;
mod observe;
pub mod pushdown;
mod trajectory;
pub mod usage;

pub use observe::{Observation, Vector, observe};
pub use trajectory::{Trajectory, trajectory, transposed};
