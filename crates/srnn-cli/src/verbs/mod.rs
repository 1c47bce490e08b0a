//! One file a verb.

mod learn;
mod resume;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Subcommand;

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    /// Train on labelled sequences and read the automaton that was learned.
    Learn(Box<learn::Learn>),
    /// Go on with an interrupted run.
    Resume(resume::Resume),
}

/// Does it.
pub fn run(verb: Verb, output: &Output) -> Result<Answer, Failure> {
    match verb {
        Verb::Learn(verb) => learn::run(*verb, output),
        Verb::Resume(verb) => resume::run(verb, output),
    }
}
