//! What `reproduce` and `table` share: experiment files, the folder of outcomes, running many
//! cells at a time, and tables for people.

mod choice;
mod folder;
mod progress;
mod runner;
mod show;

pub use choice::Choice;
pub use folder::{OutcomeFolder, read_outcomes, saved_experiment};
pub use runner::{Order, Tally, perform};
pub use show::{markdown, text};
