//! One file a verb.

mod compare;
mod convert;
mod data;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Subcommand;

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    Compare(compare::Compare),
    Convert(convert::Convert),
    Data(data::Data),
}

/// Does it.
pub fn run(verb: Verb, output: &Output) -> Result<Answer, Failure> {
    match verb {
        Verb::Compare(arguments) => compare::run(&arguments, output),
        Verb::Convert(arguments) => convert::run(&arguments, output),
        Verb::Data(arguments) => data::run(&arguments, output),
    }
}
