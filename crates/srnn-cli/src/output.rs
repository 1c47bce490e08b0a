//! Where words go: results to stdout, everything else to stderr; with `--json` stdout is one
//! object.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use serde_json::Value;
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
            eprintln!("{}", visible(line.as_ref()));
        }
    }

    /// Why the answer is no: said also where nothing else is.
    pub fn reason(&self, line: impl AsRef<str>) {
        eprintln!("{}", visible(line.as_ref()));
    }

    /// The result: `text` for people, or `value` with `--json`. A reader that went away is no
    /// error.
    pub fn result(&self, text: impl AsRef<str>, value: &Value) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        let written = match self.json {
            true => writeln!(stdout, "{value}"),
            false => writeln!(stdout, "{}", visible(text.as_ref().trim_end())),
        };
        files::printed(written.and_then(|()| stdout.flush()))
    }

    /// What went wrong: on stderr, and as an object with `--json`.
    pub fn failure(&self, failure: &Failure) {
        self.trouble(failure);
        if self.json {
            // Where stdout is what failed, stderr has said so.
            let _ = writeln!(std::io::stdout(), "{}", failure.value());
        }
    }

    /// What went wrong, on stderr alone: the object on stdout has it already.
    pub fn trouble(&self, failure: &Failure) {
        let Failure { message, remedy, code } = failure;
        let what = if *code == 130 { "interrupted" } else { "error" };
        eprintln!("{what}: {}", visible(message));
        if !remedy.is_empty() {
            eprintln!("  try: {}", visible(remedy));
        }
    }

    /// Whether progress bars can be drawn; otherwise progress is a plain line now and then.
    pub fn draws_bars(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }
}

/// Text that may hold names from files, for a terminal: terminals obey control characters, and
/// marks of direction reorder what is read, so both are spelled out. Lines and tabs stay.
pub fn visible(text: &str) -> String {
    let spelled = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => c.escape_unicode().to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn control_characters_and_marks_of_direction_are_spelled_out() {
        assert_eq!(visible("a\u{1b}[31mb\r\n\tc\u{202e}d"), "a\\u{1b}[31mb\\r\n\tc\\u{202e}d");
    }
}
