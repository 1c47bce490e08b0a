//! How a file is to be read.

use serde::{Deserialize, Serialize};

/// How to read a file. The defaults read what [`super::write()`] writes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReadOptions {
    /// The format; by default the file's extension tells.
    pub format: Option<Format>,
    /// Where the sequence is, in CSV, TSV and JSONL.
    pub sequence_column: Column,
    /// Where the label is, in CSV, TSV, JSONL and event logs.
    pub label_column: Column,
    /// Which column of an event log tells one case from another.
    pub case_column: Column,
    /// Which column of an event log holds what happened: the tokens.
    pub activity_column: Column,
    /// Which column of an event log orders the events of a case.
    pub time_column: Column,
    /// Whether a table begins with the names of its columns.
    pub header: Header,
    /// What is between the columns of CSV and event logs.
    pub delimiter: Delimiter,
    /// How a text becomes tokens.
    pub tokens: Tokens,
    /// What to do about equal sequences with different labels.
    pub contradictions: Contradictions,
    /// What to do about rows without a label.
    pub unlabelled: Unlabelled,
    /// What to do about data with a single token.
    pub one_symbol: OneSymbol,
    /// Training tokens seen less often become `<unk>`. 0 and 1 keep every token.
    pub min_count: usize,
    /// When to give up on a file.
    pub limits: Limits,
}

/// A format of labelled sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table with commas, semicolons or tabs, and quotes.
    Csv,
    /// A table with tabs, without quotes.
    Tsv,
    /// One JSON object a line.
    Jsonl,
    /// A label and a sequence a line.
    Plain,
    /// The format of the Abbadingo competition.
    Abbadingo,
    /// A table with one event a row.
    Events,
}

/// Which column.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Column {
    /// The one with a usual name, such as `sequence` or `label`, whatever its case.
    #[default]
    Usual,
    /// The one with this name.
    Named(String),
    /// The one at this place, counted from 1.
    Position(usize),
    /// There is none. Only a label may be absent; every row then has the empty one.
    Absent,
}

/// Whether the first row names the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Header {
    /// Yes, unless all columns are given by position.
    #[default]
    Guess,
    /// Yes.
    Present,
    /// No.
    Absent,
}

/// What separates columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Delimiter {
    /// In CSV a comma, or else a semicolon, or else a tab, whichever is in the first line; in
    /// event logs the most frequent of the three there.
    #[default]
    Guess,
    /// This one.
    Is(char),
}

/// How a text becomes tokens.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Tokens {
    /// By whitespace if any sequence contains it, else by character.
    #[default]
    Guess,
    /// Between ASCII whitespace.
    Whitespace,
    /// Every character is a token, blanks too.
    Characters,
    /// Between these characters, exactly; nothing is trimmed.
    Separator(String),
}

/// What to do about equal sequences with different labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Contradictions {
    /// Give up, and name both.
    #[default]
    Refuse,
    /// Keep them: labels are known to be noisy.
    Keep,
}

/// What to do about data with a single token: nothing but the length can be learned from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OneSymbol {
    /// Give up: it is more often a mistake than meant.
    #[default]
    Refuse,
    /// Learn from lengths.
    Keep,
}

/// What to do about rows without a label. Abbadingo's `-1` is never refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unlabelled {
    /// Give up, and name the first.
    #[default]
    Refuse,
    /// Leave them out, and count them.
    Skip,
    /// Keep them with the empty label: they are to be predicted, not learned from.
    Keep,
}

/// When to give up on a file, so that a wrong or hostile one cannot take all memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, after decompression. Default 256 MiB.
    pub max_bytes: u64,
    /// Sequences. Default 10 million.
    pub max_sequences: usize,
    /// Tokens of one sequence. Default 1 million.
    pub max_tokens: usize,
    /// Different tokens. Default 100,000.
    pub max_alphabet: usize,
    /// Different labels. Default 1,000.
    pub max_classes: usize,
    /// Bytes of one line, or of one table row over several lines. Default 1 MiB.
    pub max_line: usize,
    /// Brackets within brackets in JSON. Default 32.
    pub max_json_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_bytes: 256 << 20,
            max_sequences: 10_000_000,
            max_tokens: 1_000_000,
            max_alphabet: 100_000,
            max_classes: 1_000,
            max_line: 1 << 20,
            max_json_depth: 32,
        }
    }
}

impl Format {
    /// The format that an extension stands for.
    pub fn of_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let (_, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
        match extension {
            "csv" => Some(Format::Csv),
            "tsv" | "tab" => Some(Format::Tsv),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "txt" => Some(Format::Plain),
            "dat" | "abbadingo" => Some(Format::Abbadingo),
            _ => None,
        }
    }
}

impl From<&str> for Column {
    /// A number is a position, anything else a name.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Column::Named(text.into()), Column::Position)
    }
}

/// The tokens of a text. A guess is made from this text alone: pass the rule that the model's
/// data were read by.
pub fn tokenize(text: &str, tokens: &Tokens) -> Vec<String> {
    let characters = |text: &str| text.chars().map(String::from).collect();
    match tokens {
        Tokens::Guess if !text.trim_ascii().contains(is_blank) => characters(text.trim_ascii()),
        Tokens::Guess | Tokens::Whitespace => {
            text.split_ascii_whitespace().map(String::from).collect()
        }
        Tokens::Characters => characters(text),
        Tokens::Separator(_) if text.is_empty() => Vec::new(),
        Tokens::Separator(separator) => text.split(separator.as_str()).map(String::from).collect(),
    }
}

/// Whether this separates tokens. Only ASCII: corpora hold U+0085 and the like inside words.
pub(super) fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
}
