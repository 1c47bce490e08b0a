//! Errors about data files. Each names file, line, cause and remedy.

use std::fmt::Write as _;

use super::formats::Format;

/// A data file that cannot be used. The message also says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}; {}", line.map_or(String::new(), |n| format!(":{n}")), cause.remedy())]
pub struct DataError {
    /// The file's name as it was given.
    pub file: String,
    /// The line, counted from 1; `None` if the whole file is meant.
    pub line: Option<u64>,
    /// What is wrong.
    pub cause: Cause,
}

/// The longest name of a token or a class that a model file can hold, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 1 << 10;

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
    #[error("neither the file name nor the first line tells the format")]
    UnknownFormat,
    #[error("the separator of tokens is empty")]
    EmptySeparator,
    #[error("more than {limit} {what}")]
    LimitExceeded { what: &'static str, limit: u64, option: &'static str },
    #[error("a name of {bytes} bytes, beginning with {}", quote(.start))]
    LongName { bytes: usize, start: String },
    #[error("a quote is opened here and never closed")]
    OpenQuote,
    #[error("unexpected quote inside a field: {}", quote(.field))]
    StrayQuote { field: String },
    #[error("{found} fields, but the first row has {expected}")]
    FieldCount { expected: usize, found: usize },
    #[error("no {role} column{}; there are {}", quote_optional(.wanted), quote_list(.present))]
    NoColumn { role: &'static str, wanted: Option<String>, present: Vec<String>, events: bool },
    #[error("there are two columns {}", quote(.name))]
    DuplicateColumn { name: String },
    #[error("column {} is selected as {first} and as {second}", quote(.name))]
    SameColumn { name: String, first: &'static str, second: &'static str },
    #[error("there is no label")]
    Unlabelled,
    #[error("the {role} is empty")]
    EmptyField { role: &'static str },
    #[error("token {position} is empty: two separators {} in a row", quote(.separator))]
    EmptyToken { position: usize, separator: String },
    /// An error in the syntax of one format.
    #[error("{what}")]
    Malformed { what: String, remedy: String },
    #[error("only one token, {}: a model can only learn from the length", quote_list(.symbols))]
    OneSymbol { symbols: Vec<String> },
    #[error("every token is rare: all would be `<unk>`")]
    OnlyUnknown,
    #[error("all labels are {}: there is nothing to classify", quote_list(.classes))]
    OneClass { classes: Vec<String> },
    #[error(
        "the same sequence has label {} here and {} in line {first_line} ({count} such)",
        quote(.second), quote(.first)
    )]
    Contradiction { first: String, first_line: u64, second: String, count: usize },
    #[error("label {} does not occur in training, which has {}", quote(.class), quote_list(.known))]
    UnseenClass { class: String, known: Vec<String> },
    #[error("nothing is held out for {part}")]
    NothingHeldOut { part: &'static str },
    #[error("{part} is requested both as a fraction and as a file")]
    HeldOutTwice { part: &'static str },
}

impl Cause {
    /// An error in the syntax of one format.
    pub(super) fn malformed(what: impl Into<String>, remedy: impl Into<String>) -> Cause {
        Cause::Malformed { what: what.into(), remedy: remedy.into() }
    }

    /// A file above a limit, which the command line option `--{option}` raises.
    pub(super) fn limit_exceeded(what: &'static str, limit: u64, option: &'static str) -> Cause {
        Cause::LimitExceeded { what, limit, option }
    }

    pub(super) fn at(self, line: u64) -> CauseAtLine {
        CauseAtLine { line: Some(line), cause: self }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Cause::UnknownFormat => {
                format!("use {}, or set --format {}", Format::extensions(), Format::names())
            }
            Cause::LimitExceeded { option, .. } => {
                format!("check that this is the right file and format, or raise --{option}")
            }
            Cause::NoColumn { role, events: true, .. } => format!(
                "this looks like an event log: set --format events, or name the {role} column \
                 with --{role}-column"
            ),
            // Without a header the first row is data, and its fields are not column names.
            Cause::NoColumn { role, present, .. } if present.is_empty() => format!(
                "without a header, give columns by number, counted from 1: --{role}-column 2"
            ),
            Cause::NoColumn { role, .. } => format!(
                "name the {role} column with --{role}-column NAME, or give its position with \
                 --{role}-column NUMBER"
            ),
            Cause::LongName { .. } => format!(
                "names of tokens and classes hold at most {MAX_NAME_BYTES} bytes: check how \
                 sequences are split into tokens (--tokens), or shorten it"
            ),
            Cause::EmptyField { role } => format!("fill in the {role}, or remove the row"),
            Cause::Malformed { remedy, .. } => remedy.clone(),
            Cause::NothingHeldOut { part } | Cause::HeldOutTwice { part } => format!(
                "give either a file with --{part} FILE, or a large enough fraction with \
                 --split 0.8/0.1/0.1"
            ),
            _ => self.fixed_remedy().into(),
        }
    }

    fn fixed_remedy(&self) -> &'static str {
        match self {
            Cause::Missing => "check the path",
            Cause::Folder => "name a file in it",
            Cause::Unreadable { .. } => "check the permissions",
            Cause::Damaged { .. } => "download or compress it again",
            Cause::Empty => "give at least two labelled sequences",
            Cause::NotUtf8 => "save it as UTF-8, or check that this is a text file",
            Cause::EmptySeparator => "set --tokens characters to make every character a token",
            Cause::OpenQuote => "close it, double quotes that are data, or use TSV or JSONL",
            Cause::StrayQuote { .. } => {
                "put the whole field in quotes and double those inside, or use TSV or JSONL"
            }
            Cause::FieldCount { .. } => {
                "quote fields that hold the delimiter (in TSV, no field can hold a tab), or set \
                 --delimiter"
            }
            Cause::DuplicateColumn { .. } => "rename one, or give its position as a number",
            Cause::SameColumn { .. } => "choose two different columns",
            Cause::Unlabelled => "label it, or leave such rows out with --unlabelled skip",
            Cause::EmptyToken { .. } => "remove one, or set another --tokens rule",
            Cause::OneSymbol { .. } => {
                "pass --one-symbol to train on lengths, or check --sequence-column and --tokens"
            }
            Cause::OnlyUnknown => {
                "lower --min-count (0 keeps every token), or pass --one-symbol to train on lengths"
            }
            Cause::OneClass { .. } => "check --label-column; give sequences of a second class",
            Cause::Contradiction { .. } => {
                "correct one, or leave --contradictions refuse out if labels are noisy"
            }
            Cause::UnseenClass { .. } => "correct it, or add such sequences to the training file",
            _ => "",
        }
    }
}

/// A cause and its line, before the file name is known.
#[derive(Debug)]
pub(super) struct CauseAtLine {
    line: Option<u64>,
    cause: Cause,
}

impl From<Cause> for CauseAtLine {
    /// A cause that concerns the whole file.
    fn from(cause: Cause) -> CauseAtLine {
        CauseAtLine { line: None, cause }
    }
}

impl CauseAtLine {
    pub(super) fn is_about_limit(&self, name: &str) -> bool {
        matches!(self.cause, Cause::LimitExceeded { option, .. } if option == name)
    }

    pub(super) fn in_file(self, file: &str) -> DataError {
        DataError { file: file.into(), line: self.line, cause: self.cause }
    }
}

/// Text from a file as messages show it: escaped, and cut after 60 characters.
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

fn quote_list(names: &[String]) -> String {
    const MOST: usize = 20;
    let mut list = names.iter().take(MOST).map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        let _ = write!(list, " and {} more", names.len() - MOST);
    }
    if names.is_empty() { "none".into() } else { list }
}

fn quote_optional(name: &Option<String>) -> String {
    name.as_ref().map_or(String::new(), |name| format!(" {}", quote(name)))
}
