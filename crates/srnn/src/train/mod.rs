//! Training: the schedule of the homotopy, the loop, checkpoints, several seeds.
//!
//! Everything random is a function of a key and the update, so a run that was interrupted goes
//! on to the same bits, and seeds trained side by side do not depend on how many threads there
//! are. What a run looks like while it happens is the observer's business; so is the clock.

mod batch;
mod checkpoint;
mod config;
mod estimate;
mod evaluate;
mod examples;
mod feed;
mod job;
mod observer;
mod progress;
mod recipe;
mod reseed;
mod run;
mod schedule;
mod seeds;
mod sharpen;
mod stop;
#[cfg(test)]
mod testing;

pub use batch::{Place, Sampler, batch};
pub use checkpoint::{Checkpoint, CheckpointError, Folder, Identity, Keeper, Latest, Nowhere};
pub use config::{ConfigError, Keep, LearningRate, Sampling, Stopping, TrainConfig, Trained};
pub use estimate::{Estimate, estimate};
pub use evaluate::{Evaluation, evaluate, evaluate_at};
pub use examples::Examples;
pub use job::{Job, JobError};
pub use observer::{Control, Event, Observer, Silent};
pub use progress::{Progress, Record, Score, Window};
pub use recipe::{
    ArchName, NoMemory, Recipe, Sizes, UnknownArch, recipe_copying, recipe_default, recipe_images,
    recipe_memory, recipe_paper,
};
pub use reseed::reseed;
pub use run::{End, Run, TrainError, resume, train, train_or_resume};
pub use schedule::{Phase, Reseed, Schedule};
pub use seeds::{Plan, Quality, Reason, SeedOutcome, Selection, Workshop, select, train_seeds};
pub use stop::{Found, Stop};
