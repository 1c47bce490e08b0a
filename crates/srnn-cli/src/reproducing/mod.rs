//! What `reproduce` and `table` share: experiment files, the folder of outcomes, running many
//! cells at a time, and tables and curves for people.

mod choice;
mod folder;
mod progress;
mod results;
mod runner;
mod show;
mod states;
mod unfinished;

pub use choice::Choice;
pub use folder::{OutcomeFolder, read_outcomes, saved_experiment};
pub use results::results;
pub use runner::{Order, Tally, perform};
pub use show::{markdown, ruled, text};
pub use states::{Watched, grid, watch};
