//! Training: the homotopy schedule, the training loop, checkpoints, and several seeds in parallel.
//!
//! All randomness is a function of a key and the update. An interrupted run therefore resumes
//! bit-reproducibly, and parallel seeds do not depend on the number of threads. The library prints
//! nothing and reads no clock: an [`Observer`] does both.

mod batch;
mod carried;
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
mod phases;
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
mod text_examples;
mod time_budget;
mod token_examples;
mod training;

pub use batch::{Sampler, batch};
pub use checkpoint::{
    Checkpoint, CheckpointError, CheckpointFolder, CheckpointStore, LatestCheckpoint,
    NoCheckpoints, RunIdentity,
};
pub use config::{EarlyStopping, KeepModel, Sampling, TrainConfig, TrainTransition};
pub use config_check::ConfigError;
pub use estimate::{Estimate, estimate};
pub use evaluate::{Evaluation, evaluate};
pub use examples::Examples;
pub use job::{TrainJob, TrainJobError};
pub use learning_rate::LearningRate;
pub use observer::{Control, Event, NoObserver, Observer};
pub use outcome::{FinalEvaluation, Run, TrainError};
pub use phases::{KeepPhases, PhaseNetwork, PhasedRun, without_centroids};
pub use progress::{EvalScore, Progress, Record};
pub use recipe::{ArchName, Recipe, Sizes, recipe_default, recipe_memory, recipe_paper};
pub(crate) use recipe::{recipe_copying, recipe_corpus, recipe_images};
pub use regularisation::{Averaging, InputNoise, Regularisation};
pub use run::{resume, train, train_or_resume, train_phases};
pub use schedule::{Phase, Reseed, Schedule};
pub use seeds::{Quality, SeedOutcome, Selection, SelectionReason};
pub(crate) use seeds::{SeedPlan, TrainContext, select, train_seeds};
pub use stop::{NonFinite, Stop};
pub use time_budget::{BUDGET_CORES, EVALUATIONS, MIN_UPDATES};
