//! `srnn predict --automaton`: classifies with an automaton, without the network.

mod class_writer;
mod classifier;
mod interrupt;
mod progress;
mod report;
mod stream;
mod token_lines;

use super::inputs::{self, InputSequence, SequenceSource};
use super::{PredictArgs, check_labels, confusion, verdict};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use class_writer::{ClassWriter, StopReason};
use classifier::AutomatonClassifier;
use report::{ListedPrediction, StreamSummary, report};
use srnn::stream::StreamProgress;
use srnn_automata::State;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &PredictArgs, output: &Output) -> Result<Answer, Failure> {
    let classifier = AutomatonClassifier::open(arguments)?;
    let source = inputs::source(arguments)?;
    if let Some(out) = out_file(arguments) {
        files::check_target(out, files::if_exists(arguments.force))?;
    }
    match source {
        SequenceSource::Listed => classify_listed(arguments, &classifier, output),
        SequenceSource::Lines(path) => {
            check_labels(arguments, None)?;
            stream::classify_lines(arguments, &classifier, path, output)
        }
    }
}

/// Classifies sequences that are in memory: arguments, or a table.
fn classify_listed(
    arguments: &PredictArgs,
    classifier: &AutomatonClassifier,
    output: &Output,
) -> Result<Answer, Failure> {
    let begin = Instant::now();
    let inputs = inputs::listed(arguments, &classifier.rule, classifier.symbols())?;
    if inputs.is_empty() {
        return Err(inputs::no_sequences());
    }
    let ends = inputs.iter().map(|input| classifier.run(input)).collect::<Result<Vec<State>, _>>();
    let ends = ends.map_err(|failure| suggest_file(failure, &arguments.inputs))?;
    let predicted = ends.iter().map(|&end| classifier.class(end));
    let confusion = confusion(&classifier.classes, &inputs, predicted)?;
    check_labels(arguments, confusion.as_ref())?;
    let mut writer = ClassWriter::open(arguments, classifier, output)?;
    match writer.write(&ends) {
        Err(StopReason::Failed(failure)) => return Err(failure),
        Err(StopReason::ReaderClosed | StopReason::Interrupted) | Ok(()) => {}
    }
    let summary = StreamSummary {
        classifier,
        reading: StreamProgress { words: inputs.len() as u64, bytes: 0 },
        seconds: begin.elapsed().as_secs_f64(),
        kernel: None,
        counts: writer.finish()?,
        predictions: match arguments.file {
            None => listed_predictions(classifier, &inputs, &ends),
            Some(_) => vec![],
        },
        confusion: confusion.as_ref(),
    };
    report(&summary, arguments, output)?;
    Ok(verdict(arguments, summary.counts.classified(), confusion.as_ref(), output))
}

fn listed_predictions(
    classifier: &AutomatonClassifier,
    inputs: &[InputSequence],
    ends: &[State],
) -> Vec<ListedPrediction> {
    let prediction = |(input, &end): (&InputSequence, &State)| ListedPrediction {
        place: input.place.clone(),
        tokens: input.tokens.clone(),
        label: classifier.class(end).map(|class| classifier.classes[class as usize].clone()),
    };
    inputs.iter().zip(ends).map(prediction).collect()
}

/// The file of --out; `None` for stdout.
fn out_file(arguments: &PredictArgs) -> Option<&Path> {
    arguments.out.as_deref().filter(|path| path.as_os_str() != files::STDIO_PATH)
}

/// Suggests --file if one of the sequences is the name of a file.
fn suggest_file(failure: Failure, inputs: &[String]) -> Failure {
    match inputs.iter().find(|input| Path::new(input).is_file()) {
        Some(file) => {
            let remedy =
                format!("--file {file} reads that file; add --lines for one word per line");
            Failure { remedy, ..failure }
        }
        None => failure,
    }
}
