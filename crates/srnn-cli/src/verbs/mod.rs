//! One file a verb.

mod bench;
mod certify;
mod check;
mod compare;
mod conform;
mod convert;
mod data;
mod explain;
mod extract;
mod inspect;
mod learn;
mod predict;
mod reproduce;
mod resume;
mod table;

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
    Predict(Box<predict::Predict>),
    Explain(Box<explain::Explain>),
    Extract(Box<extract::Extract>),
    Certify(Box<certify::Certify>),
    Check(check::Check),
    Compare(compare::Compare),
    Conform(Box<conform::Conform>),
    Convert(convert::Convert),
    Data(data::Data),
    Inspect(inspect::Inspect),
    Reproduce(Box<reproduce::Reproduce>),
    Table(Box<table::PrintTable>),
    Bench(bench::Bench),
}

/// Does it.
pub fn run(verb: Verb, output: &Output) -> Result<Answer, Failure> {
    match verb {
        Verb::Learn(arguments) => learn::run(*arguments, output),
        Verb::Resume(arguments) => resume::run(arguments, output),
        Verb::Predict(arguments) => predict::run(&arguments, output),
        Verb::Explain(arguments) => explain::run(&arguments, output),
        Verb::Extract(arguments) => extract::run(&arguments, output),
        Verb::Check(arguments) => check::run(&arguments, output),
        Verb::Certify(arguments) => certify::run(&arguments, output),
        Verb::Compare(arguments) => compare::run(&arguments, output),
        Verb::Conform(arguments) => conform::run(&arguments, output),
        Verb::Convert(arguments) => convert::run(&arguments, output),
        Verb::Data(arguments) => data::run(&arguments, output),
        Verb::Inspect(arguments) => inspect::run(&arguments, output),
        Verb::Reproduce(arguments) => reproduce::run(&arguments, output),
        Verb::Table(arguments) => table::run(&arguments, output),
        Verb::Bench(arguments) => bench::run(&arguments, output),
    }
}
