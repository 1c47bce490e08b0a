//! `srnn`: train a state-regularized recurrent network and read the automaton it learned.
//!
//! One file a verb in [`verbs`]. Exit codes: 0 done or yes, 1 the answer is no, 2 an error,
//! 130 interrupted, what was done is kept.

mod automaton;
mod builtin;
mod failure;
mod files;
mod learning;
mod output;
mod reading;
mod reproducing;
mod runs;
mod samples;
mod verbs;

use clap::{CommandFactory, Parser};
use failure::Answer;
use output::Output;
use std::io::Write as _;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  srnn learn tomita:3
  srnn learn traces.csv --label-column outcome";

const EXIT_CODES: &str = "Exit codes: 0 done or yes, 1 the answer is no, 2 an error, \
                          130 interrupted, what was done is kept";

/// The version, and the commit it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("SRNN_COMMIT"));

/// Train a recurrent network that moves between finitely many states, and read the automaton it
/// learned.
#[derive(Parser)]
#[command(name = "srnn", version = VERSION, before_help = EXAMPLES, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<verbs::Verb>,
    #[command(flatten)]
    output: Output,
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| usage(&error));
    let answer = match arguments.verb {
        Some(verb) => verbs::run(verb, &arguments.output),
        None => files::printed(Arguments::command().print_help()).map(|()| Answer::Yes),
    };
    match answer {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Unsaved) => ExitCode::from(2),
        Err(failure) => {
            arguments.output.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

/// Ends as clap does; with `--json` what is wrong is an object, too.
fn usage(error: &clap::Error) -> ! {
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let (message, remedy) = (error.to_string(), "see --help");
        let value = serde_json::json!({ "error": message, "remedy": remedy, "code": 2 });
        let _ = writeln!(std::io::stdout(), "{value}");
    }
    // Help goes to stdout, where it may be all that was wanted.
    let lost = files::printed(error.print()).is_err();
    std::process::exit(if lost { 2 } else { error.exit_code() })
}
