//! What can be wrong with a data file: always with its place and a remedy.

use std::fmt::Write as _;

/// A data file that cannot be used: which, where, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}; {}", line.map_or(String::new(), |n| format!(":{n}")), cause.remedy())]
pub struct DataError {
    /// The file's name as it was given.
    pub file: String,
    /// The line, counted from 1, where there is one.
    pub line: Option<u64>,
    /// What is wrong.
    pub cause: Cause,
}

/// Longest name of a token or a class, in bytes: what a model file holds.
pub(super) const LONGEST_NAME: usize = 1 << 10;

/// What is wrong with a file. [`Cause::remedy`] says what to do about it.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("there is no such file")]
    Missing,
    #[error("this is a folder")]
    Folder,
    #[error("the file cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the compressed data are damaged: {why}")]
    Damaged { why: String },
    #[error("the file has no sequences")]
    Empty,
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("the name does not tell the format")]
    UnknownFormat,
    #[error("the separator of tokens is empty")]
    EmptySeparator,
    #[error("more than {limit} {what}")]
    TooMuch { what: &'static str, limit: u64, field: &'static str },
    #[error("a name of {bytes} bytes, beginning with {}", shown(.start))]
    LongName { bytes: usize, start: String },
    #[error("a quote is opened here and never closed")]
    OpenQuote,
    #[error("a quote stands inside a field: {}", shown(.field))]
    StrayQuote { field: String },
    #[error("{found} fields, where the first row has {expected}")]
    FieldCount { expected: usize, found: usize },
    #[error("no {role} column{}; there are {}", named(.wanted), listed(.present))]
    NoColumn { role: &'static str, wanted: Option<String>, present: Vec<String>, events: bool },
    #[error("column {} is there twice", shown(.name))]
    TwiceColumn { name: String },
    #[error("column {} is asked for as {first} and as {second}", shown(.name))]
    SameColumn { name: String, first: &'static str, second: &'static str },
    #[error("there is no label")]
    Unlabelled,
    #[error("the {role} is empty")]
    EmptyField { role: &'static str },
    #[error("token {position} is empty: two separators {} in a row", shown(.separator))]
    EmptyToken { position: usize, separator: String },
    #[error("not a JSON object as expected: {why}")]
    BadJson { why: String },
    #[error("field {} is {found}", shown(.field))]
    JsonField { field: String, found: &'static str },
    #[error("not an Abbadingo header: {}", shown(.text))]
    AbbadingoHeader { text: String },
    #[error("not an Abbadingo record: {}", shown(.text))]
    AbbadingoRecord { text: String },
    #[error("the record says {declared} symbols and has {found}")]
    AbbadingoLength { declared: u64, found: u64 },
    #[error("the header says {declared} sequences, and there are {found}")]
    AbbadingoCount { declared: u64, found: u64 },
    #[error("the header says {declared} different symbols, and this is one more")]
    AbbadingoSymbols { declared: u64 },
    #[error("{} is no time", shown(.text))]
    BadTime { text: String },
    #[error("time {} cannot be ordered against that of line {first_line}", shown(.text))]
    MixedTimes { text: String, first_line: u64 },
    #[error(
        "case {} has label {} here and {} in line {first_line}",
        shown(.case), shown(.second), shown(.first)
    )]
    CaseLabels { case: String, first: String, first_line: u64, second: String },
    #[error("only one token, {}: nothing but the length can be learned", listed(.symbols))]
    OneSymbol { symbols: Vec<String> },
    #[error("all labels are {}: there is nothing to tell apart", listed(.classes))]
    OneClass { classes: Vec<String> },
    #[error(
        "the same sequence has label {} here and {} in line {first_line} ({count} such)",
        shown(.second), shown(.first)
    )]
    Contradiction { first: String, first_line: u64, second: String, count: usize },
    #[error("label {} does not occur in training, which has {}", shown(.class), listed(.known))]
    UnseenClass { class: String, known: Vec<String> },
    #[error("nothing is held out for {part}")]
    NothingHeldOut { part: &'static str },
    #[error("{part} is asked for both as a fraction and as a file")]
    HeldOutTwice { part: &'static str },
}

impl Cause {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        if let Some(remedy) = self.remedy_of_values() {
            return remedy;
        }
        self.fixed_remedy().into()
    }

    /// The remedies that name what was found.
    fn remedy_of_values(&self) -> Option<String> {
        Some(match self {
            Cause::TooMuch { field, .. } => {
                format!("check that this is the right file and format, or raise --{field}")
            }
            Cause::NoColumn { role, events: true, .. } => {
                format!(
                    "this looks like an event log: --format events, or name the {role} column with --{role}-column"
                )
            }
            // Without a header the first row is data, and its fields are no names.
            Cause::NoColumn { role, present, .. } if present.is_empty() => {
                format!("without a header columns have numbers only: --{role}-column 2, from 1 on")
            }
            Cause::NoColumn { role, .. } => {
                format!(
                    "name the {role} column with --{role}-column NAME, or its place with --{role}-column NUMBER"
                )
            }
            Cause::LongName { .. } => format!(
                "names of tokens and classes hold at most {LONGEST_NAME} bytes: check how sequences \
                 are divided (--tokens), or shorten it"
            ),
            Cause::EmptyField { role } => format!("fill in the {role}, or remove the row"),
            Cause::JsonField { field, .. } => {
                format!(
                    "give {} a text or a number; a sequence may be a list of these",
                    shown(field)
                )
            }
            Cause::NothingHeldOut { part } | Cause::HeldOutTwice { part } => {
                format!(
                    "give either a file with --{part} FILE, or a large enough fraction with --split 0.8/0.1/0.1"
                )
            }
            _ => return None,
        })
    }

    fn fixed_remedy(&self) -> &'static str {
        match self {
            Cause::Missing => "check the path",
            Cause::Folder => "name a file in it",
            Cause::Unreadable { .. } => "check that it may be read",
            Cause::Damaged { .. } => "download or compress it again",
            Cause::Empty => "give at least two labelled sequences",
            Cause::NotUtf8 => "save it as UTF-8, or check that this is a text file",
            Cause::UnknownFormat => {
                "use .csv, .tsv, .jsonl, .txt or .dat, or set --format csv|tsv|jsonl|plain|abbadingo|events"
            }
            Cause::EmptySeparator => "set --tokens characters to take every character as a token",
            Cause::OpenQuote => "close it, double quotes that are data, or use TSV or JSONL",
            Cause::StrayQuote { .. } => {
                "put the whole field in quotes and double those inside, or use TSV or JSONL"
            }
            Cause::FieldCount { .. } => {
                "quote fields that hold the delimiter (in TSV, no field can hold a tab), or set --delimiter"
            }
            Cause::TwiceColumn { .. } => "rename one, or give its place as a number",
            Cause::SameColumn { .. } => "choose two different columns",
            Cause::Unlabelled => "label it, or leave such rows out with --unlabelled skip",
            Cause::EmptyToken { .. } => "remove one, or set another --tokens rule",
            Cause::BadJson { .. } => {
                "write one object a line, as {\"sequence\": [\"a\", \"b\"], \"label\": \"x\"}"
            }
            Cause::AbbadingoHeader { .. } => {
                "begin with the number of sequences and of symbols, or set another --format"
            }
            Cause::AbbadingoRecord { .. } => "write label, length and symbols between blanks",
            Cause::AbbadingoLength { .. } => "correct the length, or check for lost symbols",
            Cause::AbbadingoCount { .. } => "correct the header, or check for lost lines",
            Cause::AbbadingoSymbols { .. } => "correct the header, or the symbol",
            Cause::BadTime { .. } => "write 2024-05-31T23:59:59 or a number",
            Cause::MixedTimes { .. } => {
                "write all times as numbers, all without a zone, or all with one"
            }
            Cause::CaseLabels { .. } => "a case has one label: correct it, or set --label-column",
            Cause::OneSymbol { .. } => {
                "pass --one-symbol to train on lengths, or check --sequence-column and --tokens"
            }
            Cause::OneClass { .. } => "check --label-column; give sequences of a second class",
            Cause::Contradiction { .. } => {
                "correct one, or keep both with --contradictions keep if labels are noisy"
            }
            Cause::UnseenClass { .. } => "correct it, or add such sequences to the training file",
            _ => "",
        }
    }
}

/// A cause and its line, before the file is known.
#[derive(Debug)]
pub(super) struct Fault {
    line: Option<u64>,
    cause: Cause,
}

/// A cause that concerns the whole file.
pub(super) fn fault(cause: Cause) -> Fault {
    Fault { line: None, cause }
}

impl Cause {
    pub(super) fn at(self, line: u64) -> Fault {
        Fault { line: Some(line), cause: self }
    }
}

impl Fault {
    /// Whether this is about the limit of this name.
    pub(super) fn is_about(&self, limit: &str) -> bool {
        matches!(self.cause, Cause::TooMuch { field, .. } if field == limit)
    }

    pub(super) fn in_file(self, file: &str) -> DataError {
        DataError { file: file.into(), line: self.line, cause: self.cause }
    }
}

/// Text from a file within a message: escaped, since it may hold anything, and not endless.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let mut list = names.iter().take(MOST).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        let _ = write!(list, " and {} more", names.len() - MOST);
    }
    if names.is_empty() { "none".into() } else { list }
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or(String::new(), |name| format!(" {}", shown(name)))
}
