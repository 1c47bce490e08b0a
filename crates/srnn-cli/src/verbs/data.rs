//! `srnn data`: make a set, or look at one before training.

mod check;
mod make;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::{Args, Subcommand};

/// Make a built-in set, or look at a set before training on it.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data make tomita:3 --out tomita3
  srnn data check traces.csv --label-column outcome")]
pub struct Data {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Make(make::Make),
    Check(Box<check::Check>),
}

/// Does it.
pub fn run(arguments: &Data, output: &Output) -> Result<Answer, Failure> {
    match &arguments.task {
        Task::Make(arguments) => make::run(arguments, output),
        Task::Check(arguments) => check::run(arguments, output),
    }
}
