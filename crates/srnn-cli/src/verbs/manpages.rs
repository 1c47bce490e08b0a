//! `srnn manpages`: man pages from the definition of the arguments.

use crate::Cli;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use serde_json::json;
use srnn::engine::atomic::IfExists;
use std::path::{Path, PathBuf};

/// Write man pages: one for the program and one for each verb.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn manpages man
  srnn manpages ~/.local/share/man/man1")]
pub struct ManpagesArgs {
    /// The folder for the pages. Pages of an earlier version are replaced.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(arguments: &ManpagesArgs, output: &Output) -> Result<Answer, Failure> {
    let mut command = with_examples(Cli::command().disable_help_subcommand(true));
    command.build();
    let mut pages = Vec::new();
    write_pages(&command, &arguments.folder, &mut pages)?;
    let text = pages.join("\n");
    output.result(text, &json!({ "files": pages }))?;
    Ok(Answer::Yes)
}

/// Moves the examples behind the options: man pages do not show the text before the help.
fn with_examples(command: Command) -> Command {
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
    let parts = [text(command.get_after_help()), text(command.get_before_help())];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let command = command.mut_subcommands(with_examples);
    if parts.is_empty() { command } else { command.after_help(parts.join("\n\n")) }
}

fn write_pages(command: &Command, folder: &Path, pages: &mut Vec<String>) -> Result<(), Failure> {
    let page = Man::new(command.clone());
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    let path = folder.join(page.get_filename());
    // The verb owns pages of these names.
    srnn::files::write_bytes(&path, &bytes, IfExists::Replace)?;
    pages.push(path.display().to_string());
    command.get_subcommands().try_for_each(|verb| write_pages(verb, folder, pages))
}
