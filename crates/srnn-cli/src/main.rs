//! `srnn`: train a state-regularized recurrent network and read the automaton it learned.
//!
//! One file a verb in [`verbs`]. Exit codes: 0 done or yes, 1 the answer is no, 2 an error,
//! 130 interrupted with a checkpoint written.

mod failure;
mod learning;
mod output;
mod reading;
mod verbs;

use clap::{CommandFactory, Parser};
use failure::Answer;
use output::Output;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  srnn learn tomita:3
  srnn learn traces.csv --label-column outcome";

/// Train a recurrent network that moves between finitely many states, and read the automaton it
/// learned.
#[derive(Parser)]
#[command(name = "srnn", version, before_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<verbs::Verb>,
    #[command(flatten)]
    output: Output,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Some(verb) = arguments.verb else {
        let _ = Arguments::command().print_help();
        return ExitCode::SUCCESS;
    };
    match verbs::run(verb, &arguments.output) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(failure) => {
            arguments.output.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}
