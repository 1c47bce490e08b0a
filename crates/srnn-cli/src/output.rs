//! Where words go: results to stdout, everything else to stderr; with `--json` stdout is one
//! object.

use crate::failure::Failure;
use clap::Args;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};

/// How much to say, and how.
#[derive(Args, Clone, Copy, Debug)]
pub struct Output {
    /// Write the result as one JSON object to stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

impl Output {
    /// A line about what is going on, for people.
    pub fn note(&self, line: impl AsRef<str>) {
        if !self.quiet {
            eprintln!("{}", line.as_ref());
        }
    }

    /// The result: `text` for people, or `value` with `--json`. A reader that went away is no
    /// error.
    pub fn result(&self, text: impl AsRef<str>, value: &Value) {
        let mut stdout = std::io::stdout().lock();
        let _ = match self.json {
            true => writeln!(stdout, "{value}"),
            false => writeln!(stdout, "{}", text.as_ref().trim_end()),
        };
    }

    /// What went wrong: on stderr, and as an object with `--json`.
    pub fn failure(&self, failure: &Failure) {
        let Failure { message, remedy, code } = failure;
        eprintln!("{}: {message}", if *code == 130 { "interrupted" } else { "error" });
        if !remedy.is_empty() {
            eprintln!("  try: {remedy}");
        }
        if self.json {
            println!("{}", json!({ "error": message, "remedy": remedy, "code": code }));
        }
    }

    /// Whether progress bars can be drawn; otherwise progress is a plain line now and then.
    pub fn draws_bars(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}
