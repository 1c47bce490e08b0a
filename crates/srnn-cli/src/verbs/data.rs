//! `srnn data`: writes built-in sets, gets public ones, and checks data files.

mod check;
mod file_state;
mod get;
mod list;
mod make;
mod permutation;
mod receive;
mod sources;
mod verify;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::{Args, Subcommand};

/// Write a built-in set, check a data file, or get a public data set.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data make tomita:3 --out tomita3
  srnn data check traces.csv --label-column outcome
  srnn data get mnist")]
pub struct DataArgs {
    #[command(subcommand)]
    task: DataVerb,
}

#[derive(Subcommand)]
enum DataVerb {
    Make(make::DataMakeArgs),
    Check(Box<check::DataCheckArgs>),
    List(list::DataListArgs),
    Get(get::DataGetArgs),
    Verify(verify::DataVerifyArgs),
}

pub fn run(arguments: &DataArgs, output: &Output) -> Result<Answer, Failure> {
    match &arguments.task {
        DataVerb::Make(arguments) => make::run(arguments, output),
        DataVerb::Check(arguments) => check::run(arguments, output),
        DataVerb::List(arguments) => list::run(arguments, output),
        DataVerb::Get(arguments) => get::run(arguments, output),
        DataVerb::Verify(arguments) => verify::run(arguments, output),
    }
}
