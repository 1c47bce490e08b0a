//! Reads a file, plain or gzipped, line by line within limits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::{Cause, CauseAtLine};
use super::options::DataLimits;

/// Reads the lines of a text.
pub(super) struct LineReader<'a> {
    input: Box<dyn BufRead + 'a>,
    limits: DataLimits,
    compressed: bool,
    /// The number of the last line read, from 1.
    number: u64,
    /// The number of bytes read so far.
    bytes: u64,
    /// The bytes of the last line. PERF: the buffer is reused.
    raw: Vec<u8>,
}

/// Opens a file. A missing file and a folder have errors of their own.
pub(super) fn open(path: &Path) -> Result<File, CauseAtLine> {
    let cause = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Cause::Missing,
        _ => Cause::Unreadable { why: error.to_string() },
    };
    if std::fs::metadata(path).map_err(cause)?.is_dir() {
        return Err(Cause::Folder.into());
    }
    Ok(File::open(path).map_err(cause)?)
}

/// The content of a file, without compression.
pub struct Decompressed<'a> {
    /// The content.
    pub content: Box<dyn BufRead + 'a>,
    /// Whether the file is gzipped.
    pub compressed: bool,
}

/// The content of a file that may be gzipped. The first bytes decide, not the file's name.
pub fn decompress<'a>(input: impl Read + 'a) -> io::Result<Decompressed<'a>> {
    let mut input = BufReader::new(input);
    let compressed = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let content: Box<dyn BufRead + 'a> = if compressed {
        Box::new(BufReader::new(MultiGzDecoder::new(input)))
    } else {
        Box::new(input)
    };
    Ok(Decompressed { content, compressed })
}

impl<'a> LineReader<'a> {
    /// `input` may be gzipped.
    pub(super) fn new(input: impl Read + 'a, limits: DataLimits) -> Result<Self, CauseAtLine> {
        let unreadable = |error: io::Error| Cause::Unreadable { why: error.to_string() };
        let Decompressed { content: input, compressed } = decompress(input).map_err(unreadable)?;
        Ok(LineReader { input, limits, compressed, number: 0, bytes: 0, raw: Vec::new() })
    }

    /// The first line, which is read again by the next call of [`next`](LineReader::next) or
    /// [`append`](LineReader::append); `None` for an empty file. Call it before these.
    pub(super) fn peek_first(&mut self) -> Result<Option<String>, CauseAtLine> {
        let mut first = String::new();
        if !self.append(&mut first)? {
            return Ok(None);
        }
        let rest = std::mem::replace(&mut self.input, Box::new(io::empty()));
        self.input = Box::new(Cursor::new(std::mem::take(&mut self.raw)).chain(rest));
        (self.number, self.bytes) = (0, 0);
        strip_line_ending(&mut first);
        Ok(Some(first))
    }

    pub(super) fn limits(&self) -> DataLimits {
        self.limits
    }

    /// The number of the last line read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Puts the next line that is not blank into `text`, without its line ending. `false` at the
    /// end of the file.
    pub(super) fn next(&mut self, text: &mut String) -> Result<bool, CauseAtLine> {
        loop {
            text.clear();
            if !self.append(text)? {
                return Ok(false);
            }
            strip_line_ending(text);
            if !text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Appends the next line to `text`, with its line ending. `false` at the end of the file.
    pub(super) fn append(&mut self, text: &mut String) -> Result<bool, CauseAtLine> {
        self.raw.clear();
        let longest = self.limits.max_line as u64 + 1;
        let read = self.input.by_ref().take(longest).read_until(b'\n', &mut self.raw);
        let read = read.map_err(|error| self.read_failure(error))?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.bytes += read as u64;
        self.check_limits(text.len() + read)?;
        let mut line = str::from_utf8(&self.raw).map_err(|_| Cause::NotUtf8.at(self.number))?;
        if self.number == 1 {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        text.push_str(line);
        Ok(true)
    }

    fn check_limits(&self, length: usize) -> Result<(), CauseAtLine> {
        let DataLimits { max_line, max_bytes, .. } = self.limits;
        let exceeded =
            |what, limit, option| Err(Cause::limit_exceeded(what, limit, option).at(self.number));
        if length > max_line {
            return exceeded("bytes in a line", max_line as u64, "max-line");
        }
        if self.bytes > max_bytes {
            return exceeded("bytes in all", max_bytes, "max-bytes");
        }
        Ok(())
    }

    fn read_failure(&self, error: io::Error) -> CauseAtLine {
        let why = error.to_string();
        let cause =
            if self.compressed { Cause::Damaged { why } } else { Cause::Unreadable { why } };
        cause.at(self.number + 1)
    }
}

/// Removes `\n` or `\r\n` at the end.
pub(super) fn strip_line_ending(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
}
