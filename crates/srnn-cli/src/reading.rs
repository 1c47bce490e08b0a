//! The options about data files, shared by every verb that reads them.
//!
//! The error messages of [`srnn::task::files`] name these options.

use crate::failure::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use srnn::engine::model::Tokenizer;
use srnn::task::files::{
    Cause, ColumnChoice, Contradictions, DataError, DataLimits, Delimiter, Format, OneSymbol,
    RareTokens, ReadOptions, Samples, TableHeader, TokenRule, Unlabelled, read, tokenize,
};
use std::path::Path;

/// How to read a data file. Options that are not set are guessed from the file.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Reading data files")]
#[serde(default, deny_unknown_fields)]
pub struct ReadFlags {
    /// The file's format [default: by its extension].
    #[arg(long, value_parser = format_parser())]
    pub format: Option<Format>,
    /// Column of the sequence: a name, or a number from 1.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub sequence_column: Option<String>,
    /// Column of the label.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub label_column: Option<String>,
    /// Column of an event log that identifies the case.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub case_column: Option<String>,
    /// Column of an event log that names the event.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub activity_column: Option<String>,
    /// Column of an event log that orders the events of a case.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub time_column: Option<String>,
    /// Whether the first row of a table names the columns [default: it does, unless all columns are
    /// given by number].
    #[arg(long, value_enum)]
    pub header: Option<HeaderRow>,
    /// What separates the columns of CSV files and event logs: one character, or `tab`.
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    /// How a text is split into tokens: `whitespace`, `characters`, `separator:TEXT`,
    /// `moses-lower-case` (words and punctuation of English), or `guess` (by whitespace if any
    /// sequence has some, else into characters).
    #[arg(long, value_name = "RULE")]
    pub tokens: Option<String>,
    /// What to do with rows without a label [default: refuse].
    #[arg(long, value_enum)]
    pub unlabelled: Option<WithoutLabel>,
    /// What to do with equal sequences that have different labels [default: keep].
    #[arg(long, value_enum)]
    pub contradictions: Option<Contradicting>,
    /// Replace training tokens that occur fewer than N times by `<unk>` [default: tokens of one
    /// training sequence only, if 1 % of the sequences have such a token; 0 keeps every token].
    #[arg(long, value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub min_count: Option<usize>,
    /// Accept data with only one distinct token: only the length can be learned from it.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_symbol: bool,
    /// Limits on the file's size.
    #[command(flatten)]
    #[serde(skip_serializing_if = "crate::learning::is_unset")]
    pub limits: LimitFlags,
}

/// Limits on a data file, so that a wrong file cannot use up the memory.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitFlags {
    /// Maximum bytes, after decompression [default: 268435456].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    pub max_bytes: Option<u64>,
    /// Maximum sequences [default: 10000000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub max_sequences: Option<usize>,
    /// Maximum tokens of one sequence [default: 1000000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub max_tokens: Option<usize>,
    /// Maximum distinct tokens [default: 100000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub max_alphabet: Option<usize>,
    /// Maximum distinct labels [default: 1000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub max_classes: Option<usize>,
    /// Maximum bytes of one line or table row [default: 1048576].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub max_line: Option<usize>,
    /// Maximum nesting depth of JSON [default: 32].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub max_json_depth: Option<usize>,
}

/// Whether the first row of a table names the columns.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderRow {
    /// The first row names the columns.
    Present,
    /// The first row is data.
    Absent,
}

/// What to do with rows without a label.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutLabel {
    /// Stop, and name the first such row.
    Refuse,
    /// Leave them out and count them.
    Skip,
}

/// What to do with equal sequences that have different labels.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contradicting {
    /// Stop, and name both rows.
    Refuse,
    /// Keep them: labels are noisy.
    Keep,
}

impl ReadFlags {
    /// The options of the file readers.
    pub fn options(&self) -> Result<ReadOptions, Failure> {
        Ok(ReadOptions {
            format: self.format,
            sequence_column: column(&self.sequence_column),
            label_column: column(&self.label_column),
            case_column: column(&self.case_column),
            activity_column: column(&self.activity_column),
            time_column: column(&self.time_column),
            header: match self.header {
                None => TableHeader::Guess,
                Some(HeaderRow::Present) => TableHeader::Present,
                Some(HeaderRow::Absent) => TableHeader::Absent,
            },
            delimiter: self.delimiter.as_deref().map_or(Ok(Delimiter::Guess), delimiter)?,
            tokens: self.tokens.as_deref().map_or(Ok(TokenRule::Guess), parse_token_rule)?,
            contradictions: match self.contradictions {
                Some(Contradicting::Refuse) => Contradictions::Refuse,
                Some(Contradicting::Keep) | None => Contradictions::Keep,
            },
            unlabelled: match self.unlabelled {
                Some(WithoutLabel::Skip) => Unlabelled::Skip,
                Some(WithoutLabel::Refuse) | None => Unlabelled::Refuse,
            },
            one_symbol: if self.one_symbol { OneSymbol::Keep } else { OneSymbol::Refuse },
            rare_tokens: self.min_count.map_or(RareTokens::Automatic, RareTokens::Below),
            limits: self.limits.resolve(),
        })
    }
}

impl LimitFlags {
    fn resolve(&self) -> DataLimits {
        let default = DataLimits::default();
        DataLimits {
            max_bytes: self.max_bytes.unwrap_or(default.max_bytes),
            max_sequences: self.max_sequences.unwrap_or(default.max_sequences),
            max_tokens: self.max_tokens.unwrap_or(default.max_tokens),
            max_alphabet: self.max_alphabet.unwrap_or(default.max_alphabet),
            max_classes: self.max_classes.unwrap_or(default.max_classes),
            max_line: self.max_line.unwrap_or(default.max_line),
            max_json_depth: self.max_json_depth.unwrap_or(default.max_json_depth),
        }
    }
}

/// Parses `--format`. Names and help come from the formats of the library.
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    let value = |format: Format| PossibleValue::new(format.name()).help(format.about());
    PossibleValuesParser::new(Format::all().map(value)).try_map(|name| name.parse::<Format>())
}

/// Parses a whole number from 0. Words the error for users: digits that do not parse are too large.
pub fn parse_count<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().map_err(|_| match digits {
        true => "the number is too large".into(),
        false => "not a whole number from 0".into(),
    })
}

/// Parses the value of `--tokens`.
pub fn parse_token_rule(text: &str) -> Result<TokenRule, Failure> {
    match text {
        "guess" => Ok(TokenRule::Guess),
        "whitespace" => Ok(TokenRule::Whitespace),
        "characters" => Ok(TokenRule::Characters),
        _ => separator_rule(text).or(tokenizer_rule(text)).ok_or_else(|| {
            Failure::new(
                format!("--tokens {text:?}: unknown rule"),
                "--tokens whitespace, --tokens characters, --tokens separator:TEXT or --tokens \
                 moses-lower-case",
            )
        }),
    }
}

fn separator_rule(text: &str) -> Option<TokenRule> {
    Some(TokenRule::Separator(text.strip_prefix("separator:")?.into()))
}

fn tokenizer_rule(text: &str) -> Option<TokenRule> {
    Tokenizer::ALL.into_iter().find(|tokenizer| tokenizer.name() == text).map(TokenRule::Text)
}

/// The value of `--tokens` that stands for a rule.
pub fn token_rule_name(tokens: &TokenRule) -> String {
    match tokens {
        TokenRule::Guess => "guess".into(),
        TokenRule::Whitespace => "whitespace".into(),
        TokenRule::Characters => "characters".into(),
        TokenRule::Separator(separator) => format!("separator:{separator}"),
        TokenRule::Text(tokenizer) => tokenizer.name().into(),
    }
}

fn column(given: &Option<String>) -> ColumnChoice {
    given.as_deref().map_or(ColumnChoice::Usual, ColumnChoice::from)
}

fn delimiter(text: &str) -> Result<Delimiter, Failure> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok(Delimiter::Is('\t')),
        (_, Some('"' | '\n' | '\r'), None) | (_, None, _) | (_, _, Some(_)) => {
            let message =
                format!("--delimiter {text:?} must be one character that can separate columns");
            Err(Failure::new(message, "--delimiter ';' or --delimiter tab"))
        }
        (_, Some(one), None) => Ok(Delimiter::Is(one)),
    }
}

/// Splits a typed text into tokens. Where tokens are characters, whitespace is ignored unless a
/// symbol of the alphabet is whitespace.
pub fn split_tokens(text: &str, rule: &TokenRule, alphabet: &[String]) -> Vec<String> {
    let is_blank = |token: &String| token.chars().all(|c| c.is_ascii_whitespace());
    let mut tokens = tokenize(text, rule);
    if *rule == TokenRule::Characters && !alphabet.iter().any(is_blank) {
        tokens.retain(|token| !is_blank(token));
    }
    tokens
}

/// Reads a file whose labels are optional. Sequences without a label get the empty label, and
/// contradictions are kept.
pub fn read_optional_labels(file: &Path, options: &ReadOptions) -> Result<Samples, DataError> {
    let (contradictions, unlabelled) = (Contradictions::Keep, Unlabelled::Keep);
    let options = ReadOptions { contradictions, unlabelled, ..options.clone() };
    match read(file, &options) {
        Err(error) if lacks_label_column(&error.cause) => {
            read(file, &ReadOptions { label_column: ColumnChoice::Absent, ..options })
        }
        samples => samples,
    }
}

fn lacks_label_column(cause: &Cause) -> bool {
    matches!(cause, Cause::NoColumn { role: "label", wanted: None, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flags_are_the_readers_defaults() {
        assert_eq!(ReadFlags::default().options().unwrap(), ReadOptions::default());
    }

    #[test]
    fn a_token_rule_survives_its_name() {
        for rule in [
            TokenRule::Guess,
            TokenRule::Whitespace,
            TokenRule::Characters,
            TokenRule::Separator("::".into()),
            TokenRule::Text(Tokenizer::MosesLowerCase),
        ] {
            assert_eq!(parse_token_rule(&token_rule_name(&rule)).unwrap(), rule);
        }
        assert!(parse_token_rule("letters").unwrap_err().remedy.contains("--tokens characters"));
    }

    #[test]
    fn a_delimiter_is_one_character_or_a_tab() {
        assert_eq!(delimiter("tab").unwrap(), Delimiter::Is('\t'));
        assert_eq!(delimiter(";").unwrap(), Delimiter::Is(';'));
        for bad in ["", ";;", "\"", "\n"] {
            assert!(delimiter(bad).unwrap_err().remedy.contains("--delimiter"), "{bad:?}");
        }
    }
}
