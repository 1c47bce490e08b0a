//! Data sets into files that the readers read back alike.

use std::io::{self, Write};

use crate::task::{Dataset, Sequence};

use super::error::shown;
use super::options::{Format, Tokens, is_blank};

/// A data set that a format cannot hold, or a file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Read back, this would not be the same.
    #[error("{what} {} cannot be written as {format}: {why}; use JSONL, which holds any", shown(.name))]
    Inexpressible {
        /// Token or label.
        what: &'static str,
        /// Its name.
        name: String,
        /// The format.
        format: &'static str,
        /// What is in the way.
        why: &'static str,
    },
    /// The whole set would be read back otherwise.
    #[error("this set cannot be written as {format}: {why}")]
    Unsuitable {
        /// The format.
        format: &'static str,
        /// What is in the way, and what to do.
        why: &'static str,
    },
    /// The disk is full, or the like.
    #[error("the data cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Writes a data set such that reading it with the same token rule gives it back: the same
/// sequences under the same names. With [`Tokens::Guess`] the reader's default rule will do.
pub fn write(
    dataset: &Dataset,
    format: Format,
    tokens: &Tokens,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    let tokens = &settle(dataset, format, tokens)?;
    check_tokens(dataset, format, tokens)?;
    check_labels(dataset, format)?;
    match format {
        Format::Csv => writeln!(out, "label,sequence")?,
        Format::Tsv => writeln!(out, "label\tsequence")?,
        Format::Abbadingo => {
            writeln!(out, "{} {}", dataset.sequences.len(), dataset.alphabet.len())?;
        }
        Format::Jsonl | Format::Plain | Format::Events => {}
    }
    for sequence in &dataset.sequences {
        let label = &dataset.classes[sequence.label as usize];
        let names = sequence.tokens.iter().map(|&id| dataset.alphabet[id as usize].as_str());
        let line = line(format, tokens, label, names.collect());
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn line(format: Format, tokens: &Tokens, label: &str, names: Vec<&str>) -> String {
    let text = || match tokens {
        Tokens::Characters => names.concat(),
        Tokens::Separator(separator) => names.join(separator),
        Tokens::Guess | Tokens::Whitespace => names.join(" "),
    };
    match format {
        Format::Csv => format!("{},{}", quoted(label), quoted(&text())),
        Format::Tsv => format!("{label}\t{}", text()),
        Format::Plain | Format::Events => format!("{label} {}", text()),
        Format::Jsonl => serde_json::json!({ "label": label, "sequence": names }).to_string(),
        Format::Abbadingo => {
            let mut line = format!("{label} {}", names.len());
            names.iter().for_each(|name| {
                line.push(' ');
                line.push_str(name);
            });
            line
        }
    }
}

fn quoted(field: &str) -> String {
    let special = field.contains([',', ';', '\t', '"', '\n', '\r']);
    if special { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

/// The rule for a set, where it was left open: characters where every token is one, else
/// whitespace if a reader will notice it.
fn settle(dataset: &Dataset, format: Format, tokens: &Tokens) -> Result<Tokens, WriteError> {
    if format == Format::Events {
        let why = "there are no times; use CSV or JSONL";
        return Err(WriteError::Unsuitable { format: name(format), why });
    }
    if matches!(format, Format::Jsonl | Format::Abbadingo) {
        return Ok(Tokens::Whitespace);
    }
    if *tokens == Tokens::Separator(String::new()) {
        let why = "the separator is empty; use the rule for characters";
        return Err(WriteError::Unsuitable { format: name(format), why });
    }
    if *tokens != Tokens::Guess {
        return Ok(tokens.clone());
    }
    if dataset.alphabet.iter().all(|name| is_character(name) && !name.contains(is_blank)) {
        return Ok(Tokens::Characters);
    }
    let several = |sequence: &Sequence| sequence.tokens.len() > 1;
    if dataset.sequences.iter().any(several) {
        return Ok(Tokens::Whitespace);
    }
    let why = "without a sequence of two tokens, words would be read as characters; set a rule for \
               tokens, or use JSONL";
    Err(WriteError::Unsuitable { format: name(format), why })
}

fn is_character(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some() && characters.next().is_none()
}

fn check_tokens(dataset: &Dataset, format: Format, tokens: &Tokens) -> Result<(), WriteError> {
    if format == Format::Jsonl {
        return Ok(());
    }
    for token in &dataset.alphabet {
        if let Some(why) = token_obstacle(token, format, tokens) {
            let (name, format) = (token.clone(), name(format));
            return Err(WriteError::Inexpressible { what: "token", name, format, why });
        }
    }
    Ok(())
}

fn token_obstacle(token: &str, format: Format, tokens: &Tokens) -> Option<&'static str> {
    let whitespace = token.contains(is_blank);
    match tokens {
        _ if token.is_empty() => Some("it is empty"),
        Tokens::Whitespace | Tokens::Guess if whitespace => {
            Some("tokens are divided by whitespace")
        }
        Tokens::Characters if !is_character(token) => Some("it is not one character"),
        Tokens::Separator(separator) if overlaps(token, separator) => {
            Some("it holds a part of the separator")
        }
        _ => unquoted_obstacle(token, format),
    }
}

/// Whether joined tokens could be divided elsewhere than between them.
fn overlaps(token: &str, separator: &str) -> bool {
    token.contains(|c| separator.contains(c))
}

/// What ends a field or a line where there are no quotes.
fn unquoted_obstacle(text: &str, format: Format) -> Option<&'static str> {
    match format {
        Format::Csv | Format::Jsonl => None,
        Format::Tsv if text.contains('\t') => Some("it holds a tab"),
        _ if text.contains(['\n', '\r']) => Some("it holds the end of a line"),
        _ => None,
    }
}

fn check_labels(dataset: &Dataset, format: Format) -> Result<(), WriteError> {
    for label in &dataset.classes {
        if let Some(why) = label_obstacle(label, format) {
            let (name, format) = (label.clone(), name(format));
            return Err(WriteError::Inexpressible { what: "label", name, format, why });
        }
    }
    Ok(())
}

fn label_obstacle(label: &str, format: Format) -> Option<&'static str> {
    let words = matches!(format, Format::Plain | Format::Abbadingo);
    match format {
        _ if label.is_empty() => Some("it is empty, which means that there is none"),
        Format::Jsonl => None,
        _ if label.trim_ascii() != label => Some("blanks around a label are not read"),
        Format::Abbadingo if label == "-1" => Some("it means that there is none"),
        _ if words && label.contains(is_blank) => Some("it holds a blank"),
        _ => unquoted_obstacle(label, format),
    }
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Csv => "CSV",
        Format::Tsv => "TSV",
        Format::Jsonl => "JSONL",
        Format::Plain => "plain text",
        Format::Abbadingo => "Abbadingo",
        Format::Events => "an event log",
    }
}
