//! Observations of a network on strings, as plain data: the use of centroids, the drift of states,
//! units that count, and the pushdown machine that a network follows. And answers explained: the path of
//! a word through an automaton, the influence of each token, and the edits that change the answer.
//!
//! Networks are observed by [`Runner::trace`](crate::engine::Runner::trace). The results hold for
//! the strings that were run; [`certify`](crate::certify) proves properties of all strings.
//! [`render`](crate::render) draws the results.

pub mod counter;
pub mod drift;
pub mod edit;
pub mod influence;
mod input_path;
mod least_squares;
mod observe;
pub mod prototypes;
pub mod pushdown;
pub mod search;
mod temperatures;
mod trajectory;
pub mod usage;

pub use input_path::{
    InputPath, TransitionSupport, Unsupported, classes_without, input_path, transition_support,
};
pub use observe::{Observation, Vector, observe};
pub use temperatures::{TemperatureSteps, alpha_at_temperatures};
pub use trajectory::{Trajectory, trajectory, transposed};
