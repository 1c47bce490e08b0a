//! `srnn predict --automaton`: the automaton answers, and no network is needed.

mod answers;
mod interrupt;
mod machine;
mod progress;
mod report;
mod stream;
mod tokens;

use super::inputs::{self, Asked, Source};
use super::{Predict, check_labels, confusion, verdict};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use answers::{Answers, Stop};
use machine::Machine;
use report::{One, Summary, report};
use srnn::stream::StreamProgress;
use srnn_automata::State;
use std::path::Path;
use std::time::Instant;

/// Does it.
pub fn run(arguments: &Predict, output: &Output) -> Result<Answer, Failure> {
    let machine = Machine::open(arguments)?;
    let source = inputs::source(arguments)?;
    if let (Some(out), false) = (out_file(arguments), arguments.force) {
        files::check_free(out)?;
    }
    match source {
        Source::Listed => listed(arguments, &machine, output),
        Source::Lines(path) => {
            check_labels(arguments, None)?;
            stream::lines(arguments, &machine, path, output)
        }
    }
}

/// Sequences that are in memory: arguments, or a table.
fn listed(arguments: &Predict, machine: &Machine, output: &Output) -> Result<Answer, Failure> {
    let begin = Instant::now();
    let asked = inputs::listed(arguments, &machine.rule, machine.symbols())?;
    if asked.is_empty() {
        return Err(inputs::nothing());
    }
    let ends = asked.iter().map(|asked| machine.run(asked)).collect::<Result<Vec<State>, _>>();
    let ends = ends.map_err(|failure| meant_file(failure, &arguments.inputs))?;
    let said = ends.iter().map(|&end| machine.class(end));
    let confusion = confusion(&machine.classes, &asked, said)?;
    check_labels(arguments, confusion.as_ref())?;
    let mut answers = Answers::open(arguments, machine, output)?;
    match answers.tell(&ends) {
        Err(Stop::Failed(failure)) => return Err(failure),
        Err(Stop::Gone | Stop::Interrupted) | Ok(()) => {}
    }
    let summary = Summary {
        machine,
        reading: StreamProgress { words: asked.len() as u64, bytes: 0 },
        seconds: begin.elapsed().as_secs_f64(),
        kernel: None,
        counts: answers.close()?,
        one_by_one: match arguments.file {
            None => one_by_one(machine, &asked, &ends),
            Some(_) => vec![],
        },
        confusion: confusion.as_ref(),
    };
    report(&summary, arguments, output)?;
    Ok(verdict(arguments, confusion.as_ref()))
}

fn one_by_one(machine: &Machine, asked: &[Asked], ends: &[State]) -> Vec<One> {
    let one = |(asked, &end): (&Asked, &State)| One {
        place: asked.place.clone(),
        tokens: asked.tokens.clone(),
        label: machine.class(end).map(|class| machine.classes[class as usize].clone()),
    };
    asked.iter().zip(ends).map(one).collect()
}

/// The file that answers go to.
fn out_file(arguments: &Predict) -> Option<&Path> {
    arguments.out.as_deref().filter(|path| path.as_os_str() != files::STREAM)
}

/// A file's name among the sequences is easily typed.
fn meant_file(failure: Failure, inputs: &[String]) -> Failure {
    match inputs.iter().find(|input| Path::new(input).is_file()) {
        Some(file) => {
            let remedy = format!("--file {file} reads that file, with --lines one word a line");
            Failure { remedy, ..failure }
        }
        None => failure,
    }
}
