//! The flags about data files: one name and one meaning for every verb that reads them.
//!
//! The remedies in [`srnn::task::files`] name these flags.

use crate::failure::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use srnn::task::files::{
    ColumnChoice, Contradictions, DataLimits, Delimiter, Format, OneSymbol, ReadOptions,
    TableHeader, TokenRule, Unlabelled, tokenize,
};

/// How to read a data file. Everything left out is found out from the file.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Reading data files")]
#[serde(default, deny_unknown_fields)]
pub struct Reading {
    /// The file's format; by default its extension tells.
    #[arg(long, value_parser = format_parser())]
    pub format: Option<Format>,
    /// Column of the sequence: a name, or a place from 1.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub sequence_column: Option<String>,
    /// Column of the label.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub label_column: Option<String>,
    /// Column of an event log that tells one case from another.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub case_column: Option<String>,
    /// Column of an event log that says what happened.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub activity_column: Option<String>,
    /// Column of an event log that orders the events of a case.
    #[arg(long, value_name = "NAME|NUMBER")]
    pub time_column: Option<String>,
    /// Whether a table begins with the names of its columns; by default it does unless all
    /// columns are given by place.
    #[arg(long, value_enum)]
    pub header: Option<HeaderRow>,
    /// What is between the columns of CSV and event logs: one character, or `tab`.
    #[arg(long, value_name = "CHARACTER")]
    pub delimiter: Option<String>,
    /// How a text becomes tokens: `whitespace`, `characters`, `separator:TEXT`, or `guess`
    /// (whitespace where any sequence holds it).
    #[arg(long, value_name = "RULE")]
    pub tokens: Option<String>,
    /// What to do about rows without a label [default: refuse].
    #[arg(long, value_enum)]
    pub unlabelled: Option<WithoutLabel>,
    /// What to do about equal sequences with different labels [default: refuse].
    #[arg(long, value_enum)]
    pub contradictions: Option<Contradicting>,
    /// Training tokens seen less often become `<unk>` [default: keep every token].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub min_count: Option<usize>,
    /// Train although there is only one token: nothing but the length is learned then.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_symbol: bool,
    /// When to give up on a file.
    #[command(flatten)]
    #[serde(skip_serializing_if = "crate::learning::says_nothing")]
    pub limits: LimitFlags,
}

/// When to give up on a file, so that a wrong one cannot take all memory.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitFlags {
    /// Most bytes, after decompression [default: 268435456].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub max_bytes: Option<u64>,
    /// Most sequences [default: 10000000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub max_sequences: Option<usize>,
    /// Most tokens of one sequence [default: 1000000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub max_tokens: Option<usize>,
    /// Most different tokens [default: 100000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub max_alphabet: Option<usize>,
    /// Most different labels [default: 1000].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub max_classes: Option<usize>,
    /// Most bytes of one line or table row [default: 1048576].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub max_line: Option<usize>,
    /// Most brackets within brackets in JSON [default: 32].
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>, allow_negative_numbers = true)]
    pub max_json_depth: Option<usize>,
}

/// Whether the first row names the columns.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderRow {
    /// It does.
    Present,
    /// It is data.
    Absent,
}

/// What to do about rows without a label.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutLabel {
    /// Give up, and name the first.
    Refuse,
    /// Leave them out, and count them.
    Skip,
}

/// What to do about equal sequences with different labels.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contradicting {
    /// Give up, and name both.
    Refuse,
    /// Keep them: labels are known to be noisy.
    Keep,
}

impl Reading {
    /// What the readers take.
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
            tokens: self.tokens.as_deref().map_or(Ok(TokenRule::Guess), token_rule)?,
            contradictions: match self.contradictions {
                Some(Contradicting::Keep) => Contradictions::Keep,
                Some(Contradicting::Refuse) | None => Contradictions::Refuse,
            },
            unlabelled: match self.unlabelled {
                Some(WithoutLabel::Skip) => Unlabelled::Skip,
                Some(WithoutLabel::Refuse) | None => Unlabelled::Refuse,
            },
            one_symbol: if self.one_symbol { OneSymbol::Keep } else { OneSymbol::Refuse },
            min_count: self.min_count.unwrap_or(0),
            limits: self.limits.resolve(),
        })
    }
}

impl LimitFlags {
    fn resolve(&self) -> DataLimits {
        let usual = DataLimits::default();
        DataLimits {
            max_bytes: self.max_bytes.unwrap_or(usual.max_bytes),
            max_sequences: self.max_sequences.unwrap_or(usual.max_sequences),
            max_tokens: self.max_tokens.unwrap_or(usual.max_tokens),
            max_alphabet: self.max_alphabet.unwrap_or(usual.max_alphabet),
            max_classes: self.max_classes.unwrap_or(usual.max_classes),
            max_line: self.max_line.unwrap_or(usual.max_line),
            max_json_depth: self.max_json_depth.unwrap_or(usual.max_json_depth),
        }
    }
}

/// Parses `--format`. Names and help come from the formats of the library.
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    let value = |format: Format| PossibleValue::new(format.name()).help(format.about());
    PossibleValuesParser::new(Format::all().map(value)).try_map(|name| name.parse::<Format>())
}

/// A whole number as it is typed; a negative one gets a plain answer, too.
pub fn whole<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().map_err(|_| match digits {
        true => "this number is too large".into(),
        false => "this is no whole number from 0 on".into(),
    })
}

/// The rule that `--tokens` names.
pub fn token_rule(text: &str) -> Result<TokenRule, Failure> {
    match text {
        "guess" => Ok(TokenRule::Guess),
        "whitespace" => Ok(TokenRule::Whitespace),
        "characters" => Ok(TokenRule::Characters),
        _ => match text.strip_prefix("separator:") {
            Some(separator) => Ok(TokenRule::Separator(separator.into())),
            None => Err(Failure::new(
                format!("--tokens {text:?} is no rule"),
                "--tokens whitespace, --tokens characters or --tokens separator:TEXT",
            )),
        },
    }
}

/// A rule as `--tokens` names it.
pub fn rule_name(tokens: &TokenRule) -> String {
    match tokens {
        TokenRule::Guess => "guess".into(),
        TokenRule::Whitespace => "whitespace".into(),
        TokenRule::Characters => "characters".into(),
        TokenRule::Separator(separator) => format!("separator:{separator}"),
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
            let message = format!("--delimiter {text:?} is not one character that can divide");
            Err(Failure::new(message, "--delimiter ';' or --delimiter tab"))
        }
        (_, Some(one), None) => Ok(Delimiter::Is(one)),
    }
}

/// The tokens of a text as a person types it: blanks between single characters are for the eye,
/// unless a blank is a symbol.
pub fn divided(text: &str, rule: &TokenRule, alphabet: &[String]) -> Vec<String> {
    let is_blank = |token: &String| token.chars().all(|c| c.is_ascii_whitespace());
    let mut tokens = tokenize(text, rule);
    if *rule == TokenRule::Characters && !alphabet.iter().any(is_blank) {
        tokens.retain(|token| !is_blank(token));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flags_are_the_readers_defaults() {
        assert_eq!(Reading::default().options().unwrap(), ReadOptions::default());
    }

    #[test]
    fn a_rule_for_tokens_survives_its_name() {
        for rule in [
            TokenRule::Guess,
            TokenRule::Whitespace,
            TokenRule::Characters,
            TokenRule::Separator("::".into()),
        ] {
            assert_eq!(token_rule(&rule_name(&rule)).unwrap(), rule);
        }
        assert!(token_rule("letters").unwrap_err().remedy.contains("--tokens characters"));
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
