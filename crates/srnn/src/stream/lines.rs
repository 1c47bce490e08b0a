//! Words of a stream, one a line, in constant memory.

use super::bytes::LINE_END;
use super::program::{Foreign, Program};
use srnn_automata::State;
use std::io::{self, Read};

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// The mark that some programs put before a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How much was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Words that ended.
    pub words: u64,
    /// Bytes, of line ends too.
    pub bytes: u64,
}

/// Why a stream was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum Broken<E> {
    /// Something that is no symbol; the words before it were told.
    #[error("line {line}, column {column}: {what} is no symbol")]
    Foreign {
        /// The line, from 1.
        line: u64,
        /// The column, in characters from 1.
        column: u64,
        /// The character, in quotes; a byte where there is none.
        what: String,
    },
    /// The reader failed.
    #[error("{0}")]
    Input(io::Error),
    /// Whoever was told wants no more.
    #[error("stopped")]
    Stopped(E),
}

/// Runs a program over a text of one word a line; an empty line is the empty word, and the last
/// line needs no end. `tell` is given the states in which words ended, in order, and how much is
/// read by then.
pub fn words<E>(
    program: &Program,
    mut input: impl Read,
    mut tell: impl FnMut(&[State], Reading) -> Result<(), E>,
) -> Result<Reading, Broken<E>> {
    let mut buffer = vec![0; CHUNK];
    let mut ends = Vec::new();
    let mut reading = Reading::default();
    // Characters of the line that is not yet at its end.
    let (mut state, mut column) = (program.start(), 0);
    let mut length = fill(&mut input, &mut buffer).map_err(Broken::Input)?;
    let mut text = skip_mark(&buffer[..length]);
    while length > 0 {
        ends.clear();
        let after = program.words(state, text, &mut ends);
        reading.words += ends.len() as u64;
        reading.bytes += text.len() as u64;
        tell(&ends, reading).map_err(Broken::Stopped)?;
        state = after.map_err(|foreign| place(foreign, text, reading.words, column))?;
        column = match memchr::memrchr(LINE_END, text) {
            Some(end) => text.len() - end - 1,
            None => column + text.len(),
        };
        length = fill(&mut input, &mut buffer).map_err(Broken::Input)?;
        text = &buffer[..length];
    }
    if column > 0 {
        reading.words += 1;
        tell(&[state], reading).map_err(Broken::Stopped)?;
    }
    Ok(reading)
}

/// Reads what there is, and at most the buffer; more only where it may be the beginning of a mark.
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

fn skip_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Where a foreign byte is. All bytes of its line before it are characters of their own.
fn place<E>(foreign: Foreign, text: &[u8], words: u64, column: usize) -> Broken<E> {
    let Foreign { offset, byte } = foreign;
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
    Broken::Foreign { line: words + 1, column: before as u64 + 1, what }
}
