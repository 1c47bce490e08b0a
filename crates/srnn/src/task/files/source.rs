//! Lines of a file, plain or gzipped, within limits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::{Cause, Fault, fault};
use super::options::Limits;

/// The lines of a text.
pub(super) struct Lines<'a> {
    input: Box<dyn BufRead + 'a>,
    limits: Limits,
    compressed: bool,
    /// The number of the last line read, from 1.
    number: u64,
    bytes: u64,
    /// The bytes of the last line; kept to save allocations.
    raw: Vec<u8>,
}

/// Opens a file, with a word about the usual mistakes.
pub(super) fn open(path: &Path) -> Result<File, Fault> {
    let why = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => fault(Cause::Missing),
        _ => fault(Cause::Unreadable { why: error.to_string() }),
    };
    if std::fs::metadata(path).map_err(why)?.is_dir() {
        return Err(fault(Cause::Folder));
    }
    File::open(path).map_err(why)
}

/// A text, and whether it came compressed.
pub struct Unpacked<'a> {
    /// The text.
    pub text: Box<dyn BufRead + 'a>,
    /// Whether it was gzipped.
    pub compressed: bool,
}

/// The text of what may be gzipped. That is seen from the first bytes, whatever the file's name.
pub fn unpack<'a>(input: impl Read + 'a) -> io::Result<Unpacked<'a>> {
    let mut input = BufReader::new(input);
    let compressed = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn BufRead + 'a> = if compressed {
        Box::new(BufReader::new(MultiGzDecoder::new(input)))
    } else {
        Box::new(input)
    };
    Ok(Unpacked { text, compressed })
}

impl<'a> Lines<'a> {
    /// The lines of a text, which may be gzipped.
    pub(super) fn new(input: impl Read + 'a, limits: Limits) -> Result<Self, Fault> {
        let unreadable = |error: io::Error| fault(Cause::Unreadable { why: error.to_string() });
        let Unpacked { text: input, compressed } = unpack(input).map_err(unreadable)?;
        Ok(Lines { input, limits, compressed, number: 0, bytes: 0, raw: Vec::new() })
    }

    /// The limits that hold for this file.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// The number of the last line read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Puts the next line that is not blank into `text`, without its ending.
    pub(super) fn next(&mut self, text: &mut String) -> Result<bool, Fault> {
        loop {
            text.clear();
            if !self.append(text)? {
                return Ok(false);
            }
            strip_ending(text);
            if !text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Adds the next line to `text`, with its ending; `false` at the end of the file.
    pub(super) fn append(&mut self, text: &mut String) -> Result<bool, Fault> {
        self.raw.clear();
        let room = self.limits.max_line as u64 + 1;
        let read = self.input.by_ref().take(room).read_until(b'\n', &mut self.raw);
        let read = read.map_err(|error| self.failure(error))?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.bytes += read as u64;
        self.check(text.len() + read)?;
        let mut line = str::from_utf8(&self.raw).map_err(|_| Cause::NotUtf8.at(self.number))?;
        if self.number == 1 {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        text.push_str(line);
        Ok(true)
    }

    fn check(&self, length: usize) -> Result<(), Fault> {
        let Limits { max_line, max_bytes, .. } = self.limits;
        let too_much =
            |what, limit, field| Err(Cause::TooMuch { what, limit, field }.at(self.number));
        if length > max_line {
            return too_much("bytes in a line", max_line as u64, "max-line");
        }
        if self.bytes > max_bytes {
            return too_much("bytes in all", max_bytes, "max-bytes");
        }
        Ok(())
    }

    fn failure(&self, error: io::Error) -> Fault {
        let why = error.to_string();
        let cause =
            if self.compressed { Cause::Damaged { why } } else { Cause::Unreadable { why } };
        cause.at(self.number + 1)
    }
}

/// Removes `\n` or `\r\n` at the end.
pub(super) fn strip_ending(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
}
