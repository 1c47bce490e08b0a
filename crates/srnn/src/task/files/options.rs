//! Options of the readers.

use serde::{Deserialize, Serialize};

use super::formats::Format;
use crate::model::Tokenizer;
use crate::task::text;

/// Options of the readers. The defaults read what [`super::write()`] writes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ReadOptions {
    /// The format; by default the file's extension decides.
    pub format: Option<Format>,
    /// The column of the sequence, in CSV, TSV and JSONL.
    pub sequence_column: ColumnChoice,
    /// The column of the label, in CSV, TSV, JSONL and event logs.
    pub label_column: ColumnChoice,
    /// The column of an event log that identifies the case.
    pub case_column: ColumnChoice,
    /// The column of an event log that holds the activity: the tokens.
    pub activity_column: ColumnChoice,
    /// The column of an event log that orders the events of a case.
    pub time_column: ColumnChoice,
    /// Whether the first row of a table holds column names.
    pub header: TableHeader,
    /// The delimiter of CSV and event logs.
    pub delimiter: Delimiter,
    /// How a string is split into tokens.
    pub tokens: TokenRule,
    /// How to treat equal sequences with different labels.
    pub contradictions: Contradictions,
    /// How to treat rows without a label.
    pub unlabelled: Unlabelled,
    /// How to treat data with a single token.
    pub one_symbol: OneSymbol,
    /// Which training tokens become `<unk>`.
    pub rare_tokens: RareTokens,
    /// Limits above which a file is refused.
    pub limits: DataLimits,
}

/// Selects a column.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ColumnChoice {
    /// The column with a usual name, such as `sequence` or `label`, whatever its case.
    #[default]
    Usual,
    /// The column with this name.
    Named(String),
    /// The column at this position, counted from 1.
    Position(usize),
    /// No column. Allowed for the label only: every row then has the empty label.
    Absent,
}

/// Whether the first row holds column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TableHeader {
    /// It does, unless all columns are selected by position.
    #[default]
    Guess,
    /// It does.
    Present,
    /// It is data.
    Absent,
}

/// The delimiter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Delimiter {
    /// In CSV the first of comma, semicolon and tab that occurs in the first line; in event logs
    /// the most frequent of the three there.
    #[default]
    Guess,
    /// This character.
    Is(char),
}

/// How a string is split into tokens.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TokenRule {
    /// At whitespace if any sequence contains it, else into characters.
    #[default]
    Guess,
    /// At ASCII whitespace.
    Whitespace,
    /// Into characters; blanks are tokens too.
    Characters,
    /// At every occurrence of this string. Nothing is trimmed.
    Separator(String),
    /// As a text in natural language.
    Text(Tokenizer),
}

impl TokenRule {
    /// The tokenizer of texts, if this is the rule.
    pub fn tokenizer(&self) -> Option<Tokenizer> {
        match self {
            TokenRule::Text(tokenizer) => Some(*tokenizer),
            TokenRule::Guess
            | TokenRule::Whitespace
            | TokenRule::Characters
            | TokenRule::Separator(_) => None,
        }
    }
}

/// How to treat equal sequences with different labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Contradictions {
    /// Refuse the file; the error names both lines.
    #[default]
    Refuse,
    /// Keep them. Use this for noisy labels.
    Keep,
}

/// Which training tokens become `<unk>`, so that held-out sequences with unseen tokens can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RareTokens {
    /// Tokens that occur in one training sequence only, if at least 1 % of the training sequences,
    /// and at least 3, have such a token. New sequences then have unseen tokens at about the same rate
    /// (Good–Turing).
    #[default]
    Automatic,
    /// Tokens that occur fewer times than this. 0 and 1 keep every token.
    Below(usize),
}

/// How to treat data with a single token. A model can only learn from the length then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OneSymbol {
    /// Refuse the file: a single token is usually a mistake.
    #[default]
    Refuse,
    /// Keep them, to learn from the lengths.
    Keep,
}

/// How to treat rows without a label. Abbadingo's `-1` is never refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unlabelled {
    /// Refuse the file; the error names the first such row.
    #[default]
    Refuse,
    /// Skip and count them.
    Skip,
    /// Keep them with the empty label, for prediction.
    Keep,
}

/// Limits above which a file is refused, so that no file can exhaust the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLimits {
    /// Bytes, after decompression. Default 256 MiB.
    pub max_bytes: u64,
    /// Sequences. Default 10 million.
    pub max_sequences: usize,
    /// TokenRule of one sequence. Default 1 million.
    pub max_tokens: usize,
    /// Different tokens. Default 100,000.
    pub max_alphabet: usize,
    /// Different labels. Default 1,000.
    pub max_classes: usize,
    /// Bytes of one line, or of one table row over several lines. Default 1 MiB.
    pub max_line: usize,
    /// Nesting depth of JSON. Default 32.
    pub max_json_depth: usize,
}

impl Default for DataLimits {
    fn default() -> Self {
        DataLimits {
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

impl From<&str> for ColumnChoice {
    /// A number is a position, any other string a name.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| ColumnChoice::Named(text.into()), ColumnChoice::Position)
    }
}

/// Splits a string into tokens. [`TokenRule::Guess`] looks at this string only; pass the rule by
/// which the training data were read.
pub fn tokenize(text: &str, rule: &TokenRule) -> Vec<String> {
    let characters = |text: &str| text.chars().map(String::from).collect();
    match rule {
        TokenRule::Guess if !text.trim_ascii().contains(is_blank) => characters(text.trim_ascii()),
        TokenRule::Guess | TokenRule::Whitespace => {
            text.split_ascii_whitespace().map(String::from).collect()
        }
        TokenRule::Characters => characters(text),
        TokenRule::Separator(_) if text.is_empty() => Vec::new(),
        TokenRule::Separator(separator) => {
            text.split(separator.as_str()).map(String::from).collect()
        }
        TokenRule::Text(tokenizer) => {
            text::tokenize(text, *tokenizer).split_ascii_whitespace().map(String::from).collect()
        }
    }
}

/// Whether a character separates tokens. Only ASCII whitespace does: corpora hold U+0085 and
/// similar characters inside words.
pub(super) fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
}
