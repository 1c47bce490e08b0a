//! Writes data sets to files from which the readers give back the same sequences.

use std::io::{self, Write};

use crate::task::{Dataset, Sequence};

use super::error::quote;
use super::formats::Format;
use super::options::{TokenRule, is_blank};

/// A data set that a format cannot hold, or a file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A name that would not read back as the same name.
    #[error("{what} {} cannot be written as {format}: {why}; use JSONL, which holds any", quote(.name))]
    Inexpressible {
        /// `token` or `label`.
        what: &'static str,
        /// The name.
        name: String,
        /// The format.
        format: &'static str,
        /// Why the format cannot hold it.
        why: &'static str,
    },
    /// A data set that would not read back as the same set.
    #[error("this set cannot be written as {format}: {why}")]
    Unsuitable {
        /// The format.
        format: &'static str,
        /// The reason, and what to do.
        why: &'static str,
    },
    /// A failure of the disk.
    #[error("the data cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// How a format writes one sequence a line.
pub(super) struct LineWriter {
    /// What comes before the first sequence, with its line ending.
    pub(super) header: fn(&Dataset) -> String,
    /// How tokens are written.
    pub(super) tokens: TokenLayout,
    /// The line of a sequence, from its label, its tokens and, if these are
    /// [`TokenLayout::Joined`], their text.
    pub(super) line: fn(&str, &[&str], &str) -> String,
    /// Why the format cannot hold a token.
    pub(super) obstacle: fn(&str) -> Option<&'static str>,
    /// Why the format cannot hold a label that is not empty.
    pub(super) label_obstacle: fn(&str) -> Option<&'static str>,
}

/// How a format writes the tokens of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenLayout {
    /// As one string, which the reader splits by a [`TokenRule`].
    Joined,
    /// One by one, so that no rule is needed.
    Listed,
}

/// The header of formats that begin with the first sequence.
pub(super) fn no_header(_: &Dataset) -> String {
    String::new()
}

/// Writes a data set such that reading it with the same token rule gives the same sequences and
/// names. With [`TokenRule::Guess`] the reader's default rule does.
pub fn write(
    dataset: &Dataset,
    format: Format,
    tokens: &TokenRule,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    let unsuitable = |why| WriteError::Unsuitable { format: format.title(), why };
    let writer = format.writer().map_err(unsuitable)?;
    let rule = match writer.tokens {
        TokenLayout::Joined => Some(settle_rule(dataset, tokens).map_err(unsuitable)?),
        TokenLayout::Listed => None,
    };
    let check = |what, names: &[String], obstacle: &dyn Fn(&str) -> Option<&'static str>| {
        let found = names.iter().find_map(|name| Some((name.clone(), obstacle(name)?)));
        found.map_or(Ok(()), |(name, why)| {
            Err(WriteError::Inexpressible { what, name, format: format.title(), why })
        })
    };
    check("token", &dataset.alphabet, &|token| {
        rule.as_ref().and_then(|rule| rule_obstacle(token, rule)).or((writer.obstacle)(token))
    })?;
    check("label", &dataset.classes, &|label| {
        label_obstacle(label).or((writer.label_obstacle)(label))
    })?;
    out.write_all((writer.header)(dataset).as_bytes())?;
    for sequence in &dataset.sequences {
        let label = &dataset.classes[sequence.label as usize];
        let names = sequence.tokens.iter().map(|&id| dataset.alphabet[id as usize].as_str());
        let names: Vec<&str> = names.collect();
        let text = rule.as_ref().map_or(String::new(), |rule| join(&names, rule));
        writeln!(out, "{}", (writer.line)(label, &names, &text))?;
    }
    Ok(out.flush()?)
}

fn join(names: &[&str], rule: &TokenRule) -> String {
    match rule {
        TokenRule::Characters => names.concat(),
        TokenRule::Separator(separator) => names.join(separator),
        TokenRule::Guess | TokenRule::Whitespace | TokenRule::Text(_) => names.join(" "),
    }
}

/// The rule for a set, if it was left open: characters if every token is one, else whitespace if
/// the reader's guess finds it.
fn settle_rule(dataset: &Dataset, tokens: &TokenRule) -> Result<TokenRule, &'static str> {
    if *tokens == TokenRule::Separator(String::new()) {
        return Err("the separator is empty; use the rule for characters");
    }
    if tokens.tokenizer().is_some() {
        return Err("a text cannot be made from its tokens; use the rule for whitespace");
    }
    if *tokens != TokenRule::Guess {
        return Ok(tokens.clone());
    }
    if dataset.alphabet.iter().all(|name| is_character(name) && !name.contains(is_blank)) {
        return Ok(TokenRule::Characters);
    }
    let several = |sequence: &Sequence| sequence.tokens.len() > 1;
    if dataset.sequences.iter().any(several) {
        return Ok(TokenRule::Whitespace);
    }
    Err("without a sequence of two tokens, words would be read as characters; set a rule for \
         tokens, or use JSONL")
}

fn is_character(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some() && characters.next().is_none()
}

/// Why a token does not survive joining and splitting by a rule.
fn rule_obstacle(token: &str, rule: &TokenRule) -> Option<&'static str> {
    match rule {
        _ if token.is_empty() => Some("it is empty"),
        TokenRule::Whitespace | TokenRule::Guess if token.contains(is_blank) => {
            Some("tokens are separated by whitespace")
        }
        TokenRule::Characters if !is_character(token) => Some("it is not one character"),
        // Joined tokens could be split in the middle of such a token.
        TokenRule::Separator(separator) if token.contains(|c| separator.contains(c)) => {
            Some("it holds a part of the separator")
        }
        _ => None,
    }
}

fn label_obstacle(label: &str) -> Option<&'static str> {
    label.is_empty().then_some("it is empty, which marks sequences without a label")
}

/// Why a format that trims labels cannot hold a label.
pub(super) fn trimmed_label_obstacle(label: &str) -> Option<&'static str> {
    (label.trim_ascii() != label).then_some("blanks around a label are not read")
}
