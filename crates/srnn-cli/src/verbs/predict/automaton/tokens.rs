//! Lines whose symbols are more than single bytes.

use super::answers::Stop;
use super::machine::{Machine, NoSymbol};
use crate::failure::Failure;
use srnn::stream::{StreamError, StreamProgress};
use srnn::task::files::DataLimits;
use srnn_automata::State;
use std::io::{BufRead, BufReader, Read};

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;
/// Most answers that are kept waiting.
const BATCH: usize = 4096;

/// What [`srnn::stream::run_lines`] does, for any rule that divides a line into symbols; `name` is the
/// text's, for messages.
pub fn words(
    machine: &Machine,
    text: impl Read,
    name: &str,
    limits: &DataLimits,
    mut tell: impl FnMut(&[State], StreamProgress) -> Result<(), Stop>,
) -> Result<StreamProgress, StreamError<Stop>> {
    let mut input = BufReader::with_capacity(CHUNK, text);
    let (mut line, mut ends, mut reading) = (Vec::new(), Vec::new(), StreamProgress::default());
    loop {
        line.clear();
        let room = limits.max_line as u64 + 1;
        let read = input.by_ref().take(room).read_until(b'\n', &mut line);
        let read = read.map_err(StreamError::Read)?;
        if read == 0 {
            tell(&ends, reading).map_err(StreamError::Stopped)?;
            return Ok(reading);
        }
        let number = reading.words + 1;
        reading.bytes += read as u64;
        reading.words = number;
        let text = content(&line, number, limits).map_err(|failure| in_file(name, failure));
        let end = text.and_then(|text| run(machine, text, number));
        ends.extend(end.as_ref().ok());
        // A line is answered at once where no other is there to be read.
        if end.is_err() || ends.len() == BATCH || input.buffer().is_empty() {
            tell(&ends, reading).map_err(StreamError::Stopped)?;
            ends.clear();
        }
        end?;
    }
}

fn run(machine: &Machine, line: &str, number: u64) -> Result<State, StreamError<Stop>> {
    machine.run_line(line).map_err(|NoSymbol { column, token }| StreamError::InvalidSymbol {
        line: number,
        column,
        what: format!("{token:?}"),
    })
}

fn in_file(name: &str, failure: Failure) -> StreamError<Stop> {
    let message = format!("{name}:{}", failure.message);
    StreamError::Stopped(Stop::Failed(Failure { message, ..failure }))
}

/// The text of a line, without its end and without the mark that may begin a text.
fn content<'a>(line: &'a [u8], number: u64, limits: &DataLimits) -> Result<&'a str, Failure> {
    if line.len() > limits.max_line {
        let message = format!("{number}: more than {} bytes in a line", limits.max_line);
        let remedy = "check that this is the right file, or raise --max-line";
        return Err(Failure::new(message, remedy));
    }
    let text = str::from_utf8(line).map_err(|_| {
        Failure::new(format!("{number}: the text is not UTF-8"), "save the file as UTF-8")
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Ok(text.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(text))
}
