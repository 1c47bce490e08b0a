//! One file a verb.

mod compare;
mod convert;
mod data;
mod extract;
mod inspect;
mod learn;
mod predict;
mod resume;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Subcommand;

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    Predict(Box<predict::Predict>),
    Extract(Box<extract::Extract>),
    Compare(compare::Compare),
    Convert(convert::Convert),
    Data(data::Data),
    Inspect(inspect::Inspect),
    /// Train on labelled sequences and read the automaton that was learned.
    Learn(Box<learn::Learn>),
    /// Go on with an interrupted run.
    Resume(resume::Resume),
}

/// Does it.
pub fn run(verb: Verb, output: &Output) -> Result<Answer, Failure> {
    match verb {
        Verb::Predict(arguments) => predict::run(&arguments, output),
        Verb::Extract(arguments) => extract::run(&arguments, output),
        Verb::Compare(arguments) => compare::run(&arguments, output),
        Verb::Convert(arguments) => convert::run(&arguments, output),
        Verb::Data(arguments) => data::run(&arguments, output),
        Verb::Inspect(arguments) => inspect::run(&arguments, output),
        Verb::Learn(verb) => learn::run(*verb, output),
        Verb::Resume(verb) => resume::run(verb, output),
    }
}
