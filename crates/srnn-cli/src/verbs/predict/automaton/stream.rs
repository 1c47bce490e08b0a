//! Words one a line, of a file or stdin of any size.

use super::super::{Predict, inputs};
use super::answers::{Answers, Stop};
use super::machine::Machine;
use super::progress::Progress;
use super::report::{Summary, report};
use super::{interrupt, tokens};
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

/// Answers every line.
pub fn lines(
    arguments: &Predict,
    machine: &Machine,
    path: &Path,
    output: &Output,
) -> Result<Answer, Failure> {
    let begin = Instant::now();
    let (name, limits) = (files::shown(path), arguments.reading.options()?.limits);
    let Decompressed { content: text, compressed } = open(path)?;
    let mut answers = Answers::open(arguments, machine, output)?;
    let pressed = interrupt::watch(answers.beside(), output)?;
    let bytes = length(path).filter(|_| !compressed);
    let mut progress = progress_of(bytes, &answers, output);
    let tell = |ends: &[State], reading: StreamProgress| {
        progress.show(reading);
        answers.tell(ends)?;
        pressed.check()
    };
    let program = machine.program();
    let read = match &program {
        Some(program) => run_lines(program, text, tell),
        None => tokens::words(machine, text, &name, &limits, tell),
    };
    progress.end();
    let reading = match read {
        // Whoever closed the pipe has read enough.
        Err(StreamError::Stopped(Stop::Gone)) => return Ok(Answer::Yes),
        Err(broken) => return Err(failure(broken, machine, path, answers.words())),
        Ok(reading) if reading.words == 0 => return Err(inputs::nothing()),
        Ok(reading) => reading,
    };
    let summary = Summary {
        machine,
        reading,
        counts: answers.close()?,
        seconds: begin.elapsed().as_secs_f64(),
        kernel: program.as_ref().map(CompiledAutomaton::kernel),
        one_by_one: vec![],
        confusion: None,
    };
    report(&summary, arguments, output)?;
    Ok(Answer::Yes)
}

fn open(path: &Path) -> Result<Decompressed<'static>, Failure> {
    let input: Box<dyn Read> = match path.as_os_str() == files::STREAM {
        true => Box::new(io::stdin().lock()),
        false => Box::new(files::open(path)?),
    };
    decompress(input).map_err(|error| unreadable(path, &error))
}

/// A bar would be drawn over answers on a terminal.
fn progress_of(bytes: Option<u64>, answers: &Answers, output: &Output) -> Progress {
    match answers.are_on_a_terminal() {
        true => Progress::Silent,
        false => Progress::new(bytes, output),
    }
}

/// The length of a file that has one.
fn length(path: &Path) -> Option<u64> {
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(about.len())
}

fn failure(broken: StreamError<Stop>, machine: &Machine, path: &Path, words: u64) -> Failure {
    let name = files::shown(path);
    match broken {
        StreamError::InvalidSymbol { line, column, what } => {
            machine.no_symbol(&format!("{name}:{line}:{column}"), &what)
        }
        StreamError::Read(error) => unreadable(path, &error),
        StreamError::Stopped(Stop::Failed(failure)) => failure,
        StreamError::Stopped(Stop::Interrupted | Stop::Gone) => interrupt::after(words),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("{}: {error}", files::shown(path)),
        "check that it may be read, and is whole",
    )
}
