//! The program's output: results go to stdout, everything else to stderr. With `--json`, stdout is
//! one object.

use crate::failure::Failure;
use crate::files;
use clap::{Args, ColorChoice};
use serde_json::Value;
use srnn::format::{grouped, is_display_control};
use std::env;
use std::io::{IsTerminal as _, Write as _};

/// The global options about output.
#[derive(Args, Clone, Copy, Debug)]
pub struct Output {
    /// Write the result as one JSON object to stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Colour messages on stderr. `auto` colours on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const CYAN: &str = "\u{1b}[1;36m";
const RESET: &str = "\u{1b}[0m";

impl Output {
    /// Prints a line about the work in progress, unless `--quiet`. `warning:` and `note:` at its
    /// start are coloured.
    pub fn note(&self, line: impl AsRef<str>) {
        if !self.quiet {
            self.print_line(line.as_ref());
        }
    }

    /// Prints why the answer is no, also with `--quiet`.
    pub fn reason(&self, line: impl AsRef<str>) {
        self.print_line(line.as_ref());
    }

    /// Prints the result: `text`, or `value` with `--json`. A closed pipe is not an error.
    pub fn result(&self, text: impl AsRef<str>, value: &Value) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        let written = match self.json {
            true => writeln!(stdout, "{value}"),
            false => writeln!(stdout, "{}", escape_control(text.as_ref().trim_end())),
        };
        files::stdout_result(written.and_then(|()| stdout.flush()))
    }

    /// Prints an error to stderr, and as an object to stdout with `--json`.
    pub fn failure(&self, failure: &Failure) {
        self.print_error(failure);
        if self.json {
            // If stdout cannot be written, the error on stderr remains.
            let _ = writeln!(std::io::stdout(), "{}", failure.value());
        }
    }

    /// Prints an error to stderr only, for a verb whose object on stdout includes it.
    pub fn print_error(&self, failure: &Failure) {
        let Failure { message, remedy, code } = failure;
        let [message, remedy] = [message, remedy].map(|text| shorten(text));
        let label = if *code == 130 { "interrupted:" } else { "error:" };
        to_stderr(format_args!("{} {}", self.painted(label, RED), escape_control(&message)));
        if !remedy.is_empty() {
            to_stderr(format_args!("  try: {}", escape_control(&remedy)));
        }
    }

    /// Whether progress bars can be drawn. If not, progress is a plain line every few seconds.
    pub fn draws_bars(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// The bar of an indicatif template, `width` columns wide.
    pub fn bar(&self, width: usize) -> String {
        let color = if self.has_color() { ".cyan" } else { "" };
        format!("{{bar:{width}{color}}}")
    }

    fn print_line(&self, line: &str) {
        for (label, color) in [("warning:", YELLOW), ("note:", CYAN)] {
            if let Some(rest) = line.strip_prefix(label) {
                to_stderr(format_args!("{}{}", self.painted(label, color), escape_control(rest)));
                return;
            }
        }
        to_stderr(format_args!("{}", escape_control(line)));
    }

    fn painted(&self, text: &str, color: &str) -> String {
        match self.has_color() {
            true => format!("{color}{text}{RESET}"),
            false => text.into(),
        }
    }

    /// Whether stderr is coloured.
    fn has_color(&self) -> bool {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = || env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => std::io::stderr().is_terminal() && !set("NO_COLOR") && !dumb(),
        }
    }
}

/// Prints a line to stderr. A line that cannot be written is dropped: a reader that goes away, or a full
/// disk, must not end a training.
fn to_stderr(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Escapes characters that change what a terminal shows, because names from files could use them.
/// Line ends and tabs stay.
pub fn escape_control(text: &str) -> String {
    let escaped = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if is_display_control(c) => c.escape_default().to_string(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// The largest number of characters of an error. What was given may be a whole file.
const MAX_MESSAGE: usize = 2_000;

/// A text as it is shown in an error: its beginning and its end if it is long.
pub fn shorten(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_MESSAGE {
        return text.into();
    }
    let kept = MAX_MESSAGE / 2;
    let start: String = text.chars().take(kept).collect();
    let end: String = text.chars().skip(length - kept).collect();
    format!("{start}… ({} characters) …{end}", grouped((length - 2 * kept) as u64))
}

#[cfg(test)]
mod tests {
    use super::{MAX_MESSAGE, escape_control, shorten};

    #[test]
    fn control_characters_and_marks_of_direction_are_escaped() {
        let text = "a\u{1b}[31mb\r\n\tc\u{202e}d";
        assert_eq!(escape_control(text), "a\\u{1b}[31mb\\r\n\tc\\u{202e}d");
        assert_eq!(escape_control("\u{2028}\u{200f}\u{61c}"), "\\u{2028}\\u{200f}\\u{61c}");
    }

    #[test]
    fn long_errors_keep_their_beginning_and_their_end() {
        assert_eq!(shorten("short"), "short");
        let short = shorten(&format!("start{}end", "ü".repeat(200_000)));
        assert!(short.starts_with("start") && short.ends_with("end"), "{short}");
        assert!(short.chars().count() < MAX_MESSAGE + 50, "{}", short.len());
    }
}
