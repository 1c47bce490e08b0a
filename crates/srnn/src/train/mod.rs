//! Training: the homotopy schedule, the training loop, checkpoints, and several seeds in parallel.
//!
//! All randomness is a function of a key and the update. An interrupted run therefore resumes
//! bit-reproducibly, and parallel seeds do not depend on the number of threads. The library prints
//! nothing and reads no clock: an [`Observer`] does both.

mod batch;
mod checkpoint;
mod config;
mod config_check;
mod estimate;
mod evaluate;
mod examples;
mod job;
mod learning_rate;
mod observer;
mod outcome;
mod prefetch;
mod progress;
mod recipe;
mod regularisation;
mod reseed;
mod run;
mod schedule;
mod seeds;
mod sharpen;
mod stop;
#[cfg(test)]
mod testing;

pub use batch::{EpochPosition, Sampler, batch};
pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointFolder, CheckpointStore, LatestCheckpoint,
    NoCheckpoints, RunIdentity,
};
pub use config::{EarlyStopping, KeepModel, Sampling, TrainConfig, TrainTransition};
pub use config_check::ConfigError;
pub use estimate::{Estimate, estimate};
pub use evaluate::{Evaluation, evaluate, evaluate_subset};
pub use examples::Examples;
pub use job::{TrainJob, TrainJobError};
pub use learning_rate::LearningRate;
pub use observer::{Control, Event, NoObserver, Observer};
pub use outcome::{FinalEvaluation, Run, TrainError};
pub use progress::{EvalScore, Progress, Record, WindowSums};
pub use recipe::{
    ArchName, NoCellState, Recipe, Sizes, UnknownArch, recipe_copying, recipe_default,
    recipe_images, recipe_memory, recipe_paper,
};
pub use regularisation::{Averaging, InputNoise, Regularisation};
pub use reseed::reseed;
pub use run::{resume, train, train_or_resume};
pub use schedule::{Phase, Reseed, Schedule};
pub use seeds::{
    Quality, SeedOutcome, SeedPlan, Selection, SelectionReason, TrainContext, select, train_seeds,
};
pub use stop::{NonFinite, Stop};
