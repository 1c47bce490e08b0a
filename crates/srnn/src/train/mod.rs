//! Training: optimisers, the schedule of the homotopy, the loop, checkpoints, several seeds.
//!
//! Everything random is a function of a key and the update, so a run that was interrupted goes
//! on to the same bits, and seeds trained side by side do not depend on how many threads there
//! are. What a run looks like while it happens is the observer's business; so is the clock.

mod batch;
mod config;
mod evaluate;
mod optimiser;
mod recipe;
mod reseed;
mod schedule;
#[cfg(test)]
mod testing;

pub use batch::{Place, Sampler, batch};
pub use config::{ConfigError, Keep, LearningRate, Sampling, Stopping, TrainConfig, Trained};
pub use evaluate::{Evaluation, evaluate, evaluate_at};
pub use optimiser::{Optimiser, Real, Rule};
pub use recipe::{ArchName, Recipe, Sizes, UnknownArch, recipe_default, recipe_paper};
pub use reseed::reseed;
pub use schedule::{Phase, Reseed, Schedule};
