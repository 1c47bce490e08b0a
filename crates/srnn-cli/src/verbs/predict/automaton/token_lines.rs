//! Classifies lines whose symbols are not single bytes.

use super::class_writer::StopReason;
use super::classifier::{AutomatonClassifier, UnknownSymbol};
use crate::failure::Failure;
use srnn::stream::{StreamError, StreamProgress};
use srnn::task::files::DataLimits;
use srnn_automata::State;
use std::io::{BufRead, BufReader, Read};

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;
/// Maximum words between two writes.
const BATCH: usize = 4096;

/// Like [`srnn::stream::run_lines`], for any token rule. `name` is the file's name, for messages.
pub fn run_lines(
    classifier: &AutomatonClassifier,
    text: impl Read,
    name: &str,
    limits: &DataLimits,
    mut write: impl FnMut(&[State], StreamProgress) -> Result<(), StopReason>,
) -> Result<StreamProgress, StreamError<StopReason>> {
    let mut input = BufReader::with_capacity(CHUNK, text);
    let (mut line, mut ends, mut reading) = (Vec::new(), Vec::new(), StreamProgress::default());
    loop {
        line.clear();
        let limit = limits.max_line as u64 + 1;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut line);
        let read = read.map_err(StreamError::Read)?;
        if read == 0 {
            write(&ends, reading).map_err(StreamError::Stopped)?;
            return Ok(reading);
        }
        let number = reading.words + 1;
        reading.bytes += read as u64;
        reading.words = number;
        let text = content(&line, number, limits).map_err(|failure| in_file(name, failure));
        let end = text.and_then(|text| run(classifier, text, number));
        ends.extend(end.as_ref().ok());
        // Writes at once if no further line is buffered: the sender may wait for the class.
        if end.is_err() || ends.len() == BATCH || input.buffer().is_empty() {
            write(&ends, reading).map_err(StreamError::Stopped)?;
            ends.clear();
        }
        end?;
    }
}

fn run(
    classifier: &AutomatonClassifier,
    line: &str,
    number: u64,
) -> Result<State, StreamError<StopReason>> {
    classifier.run_line(line).map_err(|UnknownSymbol { column, token }| {
        StreamError::InvalidSymbol { line: number, column, what: format!("{token:?}") }
    })
}

fn in_file(name: &str, failure: Failure) -> StreamError<StopReason> {
    let message = format!("{name}:{}", failure.message);
    StreamError::Stopped(StopReason::Failed(Failure { message, ..failure }))
}

/// The text of a line, without its line end and without a byte order mark.
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
