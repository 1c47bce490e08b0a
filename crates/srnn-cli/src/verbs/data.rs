//! `srnn data`: writes a built-in set, or checks a data file.

mod check;
mod make;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::{Args, Subcommand};

/// Write a built-in set, or check a data file before training.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data make tomita:3 --out tomita3
  srnn data check traces.csv --label-column outcome")]
pub struct DataArgs {
    #[command(subcommand)]
    task: DataVerb,
}

#[derive(Subcommand)]
enum DataVerb {
    Make(make::DataMakeArgs),
    Check(Box<check::DataCheckArgs>),
}

pub fn run(arguments: &DataArgs, output: &Output) -> Result<Answer, Failure> {
    match &arguments.task {
        DataVerb::Make(arguments) => make::run(arguments, output),
        DataVerb::Check(arguments) => check::run(arguments, output),
    }
}
