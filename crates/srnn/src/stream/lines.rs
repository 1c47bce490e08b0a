//! Words of a stream, one per line, in constant memory.

use super::byte_classes::LINE_END;
use super::compiled::{CompiledAutomaton, InvalidByte};
use srnn_automata::State;
use std::io::{self, Read};

/// Size of the read buffer in bytes.
const CHUNK: usize = 256 << 10;

/// The UTF-8 byte order mark, which some programs write before a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How much of a stream has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamProgress {
    /// Complete words.
    pub words: u64,
    /// Bytes, including line ends.
    pub bytes: u64,
}

/// Why a stream was not read to its end. All words before the error have been reported.
#[derive(Debug, thiserror::Error)]
pub enum StreamError<E> {
    /// A byte that is not a symbol.
    #[error("line {line}, column {column}: {what} is not a symbol")]
    InvalidSymbol {
        /// The line, counted from 1.
        line: u64,
        /// The column in characters, counted from 1.
        column: u64,
        /// The character in quotes, or the byte if it is not a character.
        what: String,
    },
    /// The reader failed.
    #[error("{0}")]
    Read(io::Error),
    /// The callback returned an error.
    #[error("stopped")]
    Stopped(E),
}

/// Runs an automaton over a text with one word per line. An empty line is the empty word, and the
/// last line needs no line end. `report` receives the end states of the words read since its last
/// call, in order, and the progress so far.
pub fn run_lines<E>(
    compiled: &CompiledAutomaton,
    mut input: impl Read,
    mut report: impl FnMut(&[State], StreamProgress) -> Result<(), E>,
) -> Result<StreamProgress, StreamError<E>> {
    let mut buffer = vec![0; CHUNK];
    let mut ends = Vec::new();
    let mut progress = StreamProgress::default();
    // `column` counts the characters of the line that is not yet complete.
    let (mut state, mut column) = (compiled.start(), 0);
    let mut length = fill(&mut input, &mut buffer).map_err(StreamError::Read)?;
    let mut text = skip_byte_order_mark(&buffer[..length]);
    while length > 0 {
        ends.clear();
        let after = compiled.end_states(state, text, &mut ends);
        progress.words += ends.len() as u64;
        progress.bytes += text.len() as u64;
        report(&ends, progress).map_err(StreamError::Stopped)?;
        state = after.map_err(|invalid| locate(invalid, text, progress.words, column))?;
        column = match memchr::memrchr(LINE_END, text) {
            Some(end) => text.len() - end - 1,
            None => column + text.len(),
        };
        length = fill(&mut input, &mut buffer).map_err(StreamError::Read)?;
        text = &buffer[..length];
    }
    if column > 0 {
        progress.words += 1;
        report(&[state], progress).map_err(StreamError::Stopped)?;
    }
    Ok(progress)
}

/// Reads what is available, at most the buffer. Reads again only while the bytes may be the beginning
/// of a byte order mark.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    loop {
        match input.read(&mut buffer[length..]) {
            Ok(0) => return Ok(length),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if length >= BYTE_ORDER_MARK.len() || !BYTE_ORDER_MARK.starts_with(&buffer[..length]) {
            return Ok(length);
        }
    }
}

fn skip_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Line and column of an invalid byte. All bytes before it on its line are characters of one byte.
fn locate<E>(invalid: InvalidByte, text: &[u8], words: u64, column: usize) -> StreamError<E> {
    let InvalidByte { offset, byte } = invalid;
    let before = match memchr::memrchr(LINE_END, &text[..offset]) {
        Some(end) => offset - end - 1,
        None => column + offset,
    };
    let rest = &text[offset..text.len().min(offset + 4)];
    let character = match str::from_utf8(rest) {
        Ok(valid) => valid.chars().next(),
        Err(error) => str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or("").chars().next(),
    };
    let what = character.map_or(format!("byte {byte:#04x}"), |c| format!("{c:?}"));
    StreamError::InvalidSymbol { line: words + 1, column: before as u64 + 1, what }
}
