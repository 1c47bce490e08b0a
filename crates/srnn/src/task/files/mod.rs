//! Reads labelled sequences from files, and writes them.
//!
//! | format | extension | a line is |
//! |---|---|---|
//! | CSV | `csv` | a row with a sequence and a label column; quotes as in RFC 4180 |
//! | TSV | `tsv`, `tab` | the same between tabs; quotes are data |
//! | JSONL | `jsonl`, `ndjson` | an object whose sequence is a string or a list |
//! | plain | `txt` | a label, a blank, the sequence |
//! | Abbadingo | `dat`, `abbadingo` | after `count symbols`: `label length symbol symbol …` |
//! | events | by option only | one event of a case; the sequence is the case in time order |
//!
//! Each format is one file under `formats`, which also says how to add one. A further `.gz` is
//! allowed. Text is UTF-8; a byte order mark and CRLF are accepted. Files are read line by line
//! within [`DataLimits`]; 4 bytes a token and about 70 bytes a sequence stay in memory. Every error
//! names file, line, cause and remedy.

mod collect;
mod columns;
mod error;
mod event_time;
mod formats;
mod lines;
mod load;
mod options;
mod samples;
mod table;
mod unlabelled;
mod write;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use collect::Collector;
use error::CauseAtLine;
pub use error::{Cause, DataError};
pub use formats::Format;
use lines::LineReader;
pub use lines::{Decompressed, decompress};
pub(crate) use load::LineNumbers;
pub use load::{HeldOutIssues, HoldOut, Loaded, Unreadable, load};
pub use options::{
    ColumnChoice, Contradictions, DataLimits, Delimiter, OneSymbol, RareTokens, ReadOptions,
    TableHeader, TokenRule, Unlabelled, tokenize,
};
pub use samples::Samples;
pub use unlabelled::{LoadedTokens, load_unlabelled, read_unlabelled};
pub use write::{WriteError, write};

/// Reads a file. [`Samples::check_trainable`] says whether a model can be trained on it.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Samples, DataError> {
    let name = path.display().to_string();
    let file = lines::open(path).map_err(|cause| cause.in_file(&name))?;
    read_from(&name, file, options)
}

/// Reads an open file. `name` appears in messages. The options select the format, or else the
/// extension of `name`, or else the first line.
pub fn read_from(
    name: &str,
    input: impl Read,
    options: &ReadOptions,
) -> Result<Samples, DataError> {
    collect(name, input, options).map_err(|cause| cause.in_file(name))
}

fn collect(name: &str, input: impl Read, options: &ReadOptions) -> Result<Samples, CauseAtLine> {
    if options.tokens == TokenRule::Separator(String::new()) {
        return Err(Cause::EmptySeparator.into());
    }
    let mut lines = LineReader::new(input, options.limits)?;
    let format = match options.format.or_else(|| Format::of_file_name(name)) {
        Some(format) => format,
        None => format_of_first_line(&mut lines)?,
    };
    let mut collector = Collector::new(options);
    format.read(&mut lines, options, &mut collector)?;
    collector.finish(name)
}

/// The format of a file whose name has no known extension.
fn format_of_first_line(lines: &mut LineReader) -> Result<Format, CauseAtLine> {
    let first = lines.peek_first()?.unwrap_or_default();
    let found = Format::all().find(|format| format.looks_like(&first));
    found.ok_or_else(|| Cause::UnknownFormat.into())
}
