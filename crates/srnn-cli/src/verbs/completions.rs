//! `srnn completions`: a completion script for a shell.

use crate::Cli;
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};
use serde_json::json;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn completions bash > ~/.local/share/bash-completion/completions/srnn
  srnn completions zsh > ~/.zfunc/_srnn")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(arguments: &CompletionsArgs, output: &Output) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), "srnn", &mut script);
    let script = String::from_utf8(script).expect("a script is text");
    match output.json {
        true => {
            let value = json!({ "shell": arguments.shell.to_string(), "script": script });
            output.result("", &value)?;
        }
        false => files::print(&script)?,
    }
    Ok(Answer::Yes)
}
