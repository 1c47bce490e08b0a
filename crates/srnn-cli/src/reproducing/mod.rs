//! Shared by `reproduce` and `table`: experiment files, the folder of outcomes, parallel trials, and
//! the output of tables and curves.

mod args;
mod checkpoints;
mod exports;
mod folder;
mod format;
mod progress;
mod runner;
mod states;

pub use args::ExperimentArgs;
pub use exports::result_files;
pub use folder::{read_outcomes, saved_experiment};
pub use format::{markdown_grid, table_markdown, table_text};
pub use runner::{ReproduceRequest, ReproduceSummary, run_experiment};
pub use states::{TrialStates, selected_states, states_grid};
