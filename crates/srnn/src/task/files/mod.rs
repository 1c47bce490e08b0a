//! Labelled sequences from files, and back into files.
//!
//! | format | extension | a line is |
//! |---|---|---|
//! | CSV | `csv` | a row with a sequence and a label column; quotes as in RFC 4180 |
//! | TSV | `tsv`, `tab` | the same between tabs; quotes are data |
//! | JSONL | `jsonl`, `ndjson` | an object whose sequence is a text or a list |
//! | plain | `txt` | a label, a blank, the sequence |
//! | Abbadingo | `dat`, `abbadingo` | after `count symbols`: `label length symbol symbol …` |
//! | events | by option only | one event of a case; the sequence is the case in time order |
//!
//! A further `.gz` is allowed. Text is UTF-8; a byte order mark and CRLF are fine. Files are
//! read line by line within [`Limits`]; what stays in memory is 4 bytes a token and about 70
//! bytes a sequence. Every error names file, line, cause and remedy.

mod abbadingo;
mod collect;
mod columns;
mod error;
mod events;
mod jsonl;
mod load;
mod options;
mod plain;
mod samples;
mod source;
mod table;
mod time;
mod write;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use collect::Collector;
pub use error::{Cause, DataError};
use error::{Fault, fault};
pub use load::{Aside, HoldOut, LineNumbers, Loaded, Unreadable, load};
pub use options::{
    Column, Contradictions, Delimiter, Format, Header, Limits, OneSymbol, ReadOptions, Tokens,
    Unlabelled, tokenize,
};
pub use samples::Samples;
use source::Lines;
pub use source::{Unpacked, unpack};
pub use write::{WriteError, write};

/// Reads a file. Whether its sequences can be learned from is another question:
/// [`Samples::check_trainable`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Samples, DataError> {
    let name = path.display().to_string();
    let file = source::open(path).map_err(|fault| fault.in_file(&name))?;
    read_from(&name, file, options)
}

/// Reads what is already open. The name is for messages, and tells the format unless the
/// options do.
pub fn read_from(
    name: &str,
    input: impl Read,
    options: &ReadOptions,
) -> Result<Samples, DataError> {
    collect(name, input, options).map_err(|fault| fault.in_file(name))
}

fn collect(name: &str, input: impl Read, options: &ReadOptions) -> Result<Samples, Fault> {
    let format = match options.format {
        Some(format) => format,
        None => Format::of_name(name).ok_or_else(|| fault(Cause::UnknownFormat))?,
    };
    if options.tokens == Tokens::Separator(String::new()) {
        return Err(fault(Cause::EmptySeparator));
    }
    let mut lines = Lines::new(input, options.limits)?;
    let mut collector = Collector::new(options);
    match format {
        Format::Csv | Format::Tsv => table::read(&mut lines, format, options, &mut collector)?,
        Format::Jsonl => jsonl::read(&mut lines, options, &mut collector)?,
        Format::Plain => plain::read(&mut lines, &mut collector)?,
        Format::Abbadingo => abbadingo::read(&mut lines, &mut collector)?,
        Format::Events => events::read(&mut lines, options, &mut collector)?,
    }
    collector.finish(name)
}
