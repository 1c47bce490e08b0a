//! The verbs, one file each. Every `run` returns the answer that becomes the exit code.

mod bench;
mod certify;
mod check;
mod compare;
mod compile;
mod completions;
mod conform;
mod convert;
mod data;
mod explain;
mod extract;
mod inspect;
mod learn;
mod learn_next;
mod manpages;
mod merge;
mod predict;
mod repair;
mod report;
mod reproduce;
mod resume;
mod table;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Subcommand;

/// A verb with its arguments.
#[derive(Subcommand)]
pub enum Verb {
    /// Train on labelled sequences and extract the automaton that was learned.
    Learn(Box<learn::Learn>),
    /// Continue an interrupted run.
    Resume(resume::Resume),
    Predict(Box<predict::PredictArgs>),
    Report(report::ReportArgs),
    Explain(Box<explain::ExplainArgs>),
    Extract(Box<extract::ExtractArgs>),
    Certify(Box<certify::CertifyArgs>),
    Check(check::CheckArgs),
    Compare(compare::CompareArgs),
    Compile(Box<compile::CompileArgs>),
    Conform(Box<conform::ConformArgs>),
    Convert(convert::ConvertArgs),
    Data(data::DataArgs),
    Inspect(inspect::InspectArgs),
    Merge(Box<merge::MergeArgs>),
    Repair(Box<repair::RepairArgs>),
    Reproduce(Box<reproduce::ReproduceArgs>),
    Table(Box<table::TableArgs>),
    Bench(bench::BenchArgs),
    Completions(completions::CompletionsArgs),
    Manpages(manpages::ManpagesArgs),
}

/// Runs a verb.
pub fn run(verb: Verb, output: &Output) -> Result<Answer, Failure> {
    match verb {
        Verb::Learn(arguments) => learn::run(*arguments, output),
        Verb::Resume(arguments) => resume::run(arguments, output),
        Verb::Predict(arguments) => predict::run(&arguments, output),
        Verb::Report(arguments) => report::run(&arguments, output),
        Verb::Explain(arguments) => explain::run(&arguments, output),
        Verb::Extract(arguments) => extract::run(&arguments, output),
        Verb::Certify(arguments) => certify::run(&arguments, output),
        Verb::Check(arguments) => check::run(&arguments, output),
        Verb::Compare(arguments) => compare::run(&arguments, output),
        Verb::Compile(arguments) => compile::run(&arguments, output),
        Verb::Conform(arguments) => conform::run(&arguments, output),
        Verb::Convert(arguments) => convert::run(&arguments, output),
        Verb::Data(arguments) => data::run(&arguments, output),
        Verb::Inspect(arguments) => inspect::run(&arguments, output),
        Verb::Merge(arguments) => merge::run(&arguments, output),
        Verb::Repair(arguments) => repair::run(&arguments, output),
        Verb::Reproduce(arguments) => reproduce::run(&arguments, output),
        Verb::Table(arguments) => table::run(&arguments, output),
        Verb::Bench(arguments) => bench::run(&arguments, output),
        Verb::Completions(arguments) => completions::run(&arguments, output),
        Verb::Manpages(arguments) => manpages::run(&arguments, output),
    }
}
