//! `srnn`: train a state-regularized recurrent network and extract the automaton it learned.
//!
//! Each verb has its own file in [`verbs`]. Exit codes: 0 done or yes, 1 the answer is no, 2 an
//! error, 130 interrupted with finished work saved.

#![forbid(unsafe_code)]

mod automaton;
mod builtin;
mod failure;
mod files;
mod learning;
mod memory;
mod output;
mod reading;
mod reproducing;
mod runs;
mod verbs;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser};
use failure::Answer;
use output::Output;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

const EXAMPLES: &str = "Examples:
  srnn learn tomita:3
  srnn learn traces.csv --label-column outcome";

const EXIT_CODES: &str = "Exit codes: 0 done or yes, 1 the answer is no, 2 an error, \
                          130 interrupted, finished work is saved";

/// The version and the commit of this build.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("SRNN_COMMIT"));

/// Train a recurrent network with a finite number of states, and extract the automaton it learned.
#[derive(Parser)]
#[command(name = "srnn", version = VERSION, before_help = EXAMPLES, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Option<verbs::Verb>,
    #[command(flatten)]
    output: Output,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut command = Cli::command().color(requested_color(&arguments));
    let cli = command
        .try_get_matches_from_mut(&arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .unwrap_or_else(|error| exit_with_usage(&error, &arguments));
    let answer = match cli.verb {
        Some(verb) => verbs::run(verb, &cli.output),
        None => files::stdout_result(command.print_help()).map(|()| Answer::Yes),
    };
    match answer {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Unsaved) => ExitCode::from(2),
        Err(failure) => {
            cli.output.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

/// The value of `--color`, found before parsing: usage errors and help are coloured by it, too.
fn requested_color(arguments: &[OsString]) -> ColorChoice {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    let texts: Vec<_> = own.map(|argument| argument.to_string_lossy()).collect();
    let joined = texts.iter().filter_map(|text| text.strip_prefix("--color="));
    let separate = texts.windows(2).filter(|pair| pair[0] == "--color").map(|pair| &*pair[1]);
    joined.chain(separate).last().and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// Prints help or a usage error. An argument that is too long or not fit for a terminal is shown
/// without colours: clap repeats it as it was given.
fn print_usage(error: &clap::Error) -> std::io::Result<()> {
    let text = error.to_string();
    let shown = output::escape_control(&output::shorten(&text));
    match error.use_stderr() && shown != text {
        true => writeln!(std::io::stderr(), "{}", shown.trim_end()),
        false => error.print(),
    }
}

/// Prints help or a usage error as clap does, and exits. With `--json`, stdout also gets the error
/// as an object.
fn exit_with_usage(error: &clap::Error, arguments: &[OsString]) -> ! {
    if error.use_stderr() && arguments.iter().any(|argument| argument == "--json") {
        let (message, remedy) = (output::shorten(&error.to_string()), "see --help");
        let value = serde_json::json!({ "error": message, "remedy": remedy, "code": 2 });
        let _ = writeln!(std::io::stdout(), "{value}");
    }
    // `--help` prints to stdout; a lost help text is an error.
    let lost = files::stdout_result(print_usage(error)).is_err();
    std::process::exit(if lost { 2 } else { error.exit_code() })
}
