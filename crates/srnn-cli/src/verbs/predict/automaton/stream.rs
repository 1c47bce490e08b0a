//! Classifies the lines of a file or of stdin, of any size.

use super::super::verdict;
use super::super::{PredictArgs, inputs};
use super::class_writer::{ClassWriter, StopReason};
use super::classifier::AutomatonClassifier;
use super::progress::StreamBar;
use super::report::{StreamSummary, report};
use super::{interrupt, token_lines};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use srnn::stream::{CompiledAutomaton, StreamError, StreamProgress, run_lines};
use srnn::task::files::{Decompressed, decompress};
use srnn_automata::State;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

/// Classifies every line.
pub fn classify_lines(
    arguments: &PredictArgs,
    classifier: &AutomatonClassifier,
    path: &Path,
    output: &Output,
) -> Result<Answer, Failure> {
    let begin = Instant::now();
    let (name, limits) = (files::display_path(path), arguments.reading.options()?.limits);
    let Decompressed { content: text, compressed } = open(path)?;
    let mut writer = ClassWriter::open(arguments, classifier, output)?;
    let interrupt = interrupt::install(writer.temporary_file(), output)?;
    let bytes = length(path).filter(|_| !compressed);
    let mut progress = progress_of(bytes, &writer, output);
    let write = |ends: &[State], reading: StreamProgress| {
        progress.show(reading);
        writer.write(ends)?;
        interrupt.check()
    };
    let program = classifier.program();
    let read = match &program {
        Some(program) => run_lines(program, text, write),
        None => token_lines::run_lines(classifier, text, &name, &limits, write),
    };
    progress.end();
    let reading = match read {
        // A closed pipe means that the reader has enough.
        Err(StreamError::Stopped(StopReason::ReaderClosed)) => return Ok(Answer::Yes),
        Err(broken) => return Err(failure(broken, classifier, path, writer.words())),
        Ok(reading) if reading.words == 0 => return Err(inputs::no_sequences()),
        Ok(reading) => reading,
    };
    let summary = StreamSummary {
        classifier,
        reading,
        counts: writer.finish()?,
        seconds: begin.elapsed().as_secs_f64(),
        kernel: program.as_ref().map(CompiledAutomaton::kernel),
        predictions: vec![],
        confusion: None,
    };
    report(&summary, arguments, output)?;
    Ok(verdict(arguments, summary.counts.classified(), None, output))
}

fn open(path: &Path) -> Result<Decompressed<'static>, Failure> {
    let input: Box<dyn Read> = match path.as_os_str() == files::STDIO_PATH {
        true => Box::new(io::stdin().lock()),
        false => Box::new(files::open(path)?),
    };
    decompress(input).map_err(|error| unreadable(path, &error))
}

/// No progress if classes are printed to a terminal: a bar would overwrite them.
fn progress_of(bytes: Option<u64>, writer: &ClassWriter, output: &Output) -> StreamBar {
    match writer.is_on_terminal() {
        true => StreamBar::Hidden,
        false => StreamBar::new(bytes, output),
    }
}

/// The length of a regular file.
fn length(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(metadata.len())
}

fn failure(
    broken: StreamError<StopReason>,
    classifier: &AutomatonClassifier,
    path: &Path,
    words: u64,
) -> Failure {
    let name = files::display_path(path);
    match broken {
        StreamError::InvalidSymbol { line, column, what } => {
            classifier.unknown_symbol(&format!("{name}:{line}:{column}"), &what)
        }
        StreamError::Read(error) => unreadable(path, &error),
        StreamError::Stopped(StopReason::Failed(failure)) => failure,
        StreamError::Stopped(StopReason::Interrupted | StopReason::ReaderClosed) => {
            interrupt::after(words)
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("{}: {error}", files::display_path(path)),
        "check its permissions, and that it is complete",
    )
}
