//! `srnn predict`: classifies sequences with a saved model or its automaton.

mod automaton;
mod classify;
mod engine;
mod images;
mod inputs;
mod language_model;
mod next;
mod ngrams;
mod report;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{ReadFlags, parse_token_rule};
use crate::runs;
use clap::Args;
use srnn::engine::model::Input;
use srnn::task::files::TokenRule;
use srnn::task::{Confusion, Vocabulary};
use std::path::{Path, PathBuf};

/// Label sequences with a saved model.
///
/// Prints the label, the probability of each class, and the path through the extracted automaton.
/// Sequences are arguments, a data file, or lines of stdin. A token that did not occur in training is
/// read as `<unk>` if the model was trained with it (--min-count). Otherwise the sequence gets no
/// label. A model that was trained on texts splits typed sentences as it split those texts.
///
/// For a model of `learn --next`, shows how surprising each step of a sequence is, names the most
/// surprising one, and says whether the sequence is anomalous.
///
/// For a language model, prints the perplexity of each sentence and the most probable next words.
///
/// With --automaton, the extracted automaton classifies and no network is needed. It prints one
/// class per line, for files of any size in constant memory. If its symbols are single ASCII
/// characters, it reads a gigabyte in about a second. An unknown symbol is an error with line and
/// column. A word that takes an unknown transition gets `?` instead of a class.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn predict runs/tomita-3 1010 0110
  srnn predict runs/traces --file new.csv --json
  srnn predict runs/events \"open read close\"
  srnn predict runs/reproduce-mnist/models/mnist/lstm/1e-3/seed-1 digit.png
  srnn predict runs/reproduce-imdb/models/imdb/sr-lstm-k10/light/seed-1 \\
    \"This film is NOT good, sadly.\"
  srnn predict runs/reproduce-lm/models/wikitext-2/lstm/dropout/seed-1 \"The game was\"
  srnn predict --automaton runs/tomita-3 --file words.txt --lines --out classes.txt",
    after_help = "Exit codes: 0 done; 1 no input got a label, or the accuracy is below \
                  --fail-under; 2 an error; 130 interrupted"
)]
pub struct PredictArgs {
    /// A run folder or a model folder. With --automaton also an automaton file, `re:EXPRESSION` or
    /// `tomita:1`…`7`.
    run: PathBuf,
    /// Sequences or sentences, each split into tokens by the model's rule or --tokens. PNG files
    /// for a model that was trained on images.
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,
    /// A data file. If it has labels, the accuracy is printed, too.
    #[arg(long, conflicts_with = "inputs")]
    file: Option<PathBuf>,
    /// The file has one sequence per line and no labels.
    #[arg(long, requires = "file")]
    lines: bool,
    /// Exit with 1 if the accuracy on a labelled file is below this.
    #[arg(long, value_name = "ACCURACY", allow_negative_numbers = true)]
    fail_under: Option<f64>,
    /// The engine that runs the network.
    #[arg(long, value_enum, default_value = "cpu")]
    engine: engine::EngineName,
    /// Classify with the automaton instead of the network: one class per line.
    #[arg(long, conflicts_with = "engine")]
    automaton: bool,
    /// Write the automaton's classes to this file.
    #[arg(long, value_name = "FILE", requires = "automaton")]
    out: Option<PathBuf>,
    /// Replace the file of --out if it exists.
    #[arg(long, requires = "out")]
    force: bool,
    #[command(flatten)]
    reading: ReadFlags,
}

pub fn run(arguments: &PredictArgs, output: &Output) -> Result<Answer, Failure> {
    check_threshold(arguments)?;
    if arguments.automaton {
        return automaton::run(arguments, output);
    }
    if let Some(folder) = next::model_folder(&arguments.run) {
        return next::run(arguments, &folder, output);
    }
    if let Some(saved) = runs::load_ngrams(&arguments.run)? {
        return ngrams::run(arguments, &saved, output);
    }
    let saved = runs::load(&arguments.run)?;
    if let Some(layout) = &saved.file.image {
        return images::run(arguments, &saved, layout, output);
    }
    if let Input::Real { width } = saved.file.model.arch.input {
        let message =
            format!("{}: the model reads vectors of {width} numbers", saved.folder.display());
        return Err(Failure::new(
            message,
            "use a model that reads tokens, or one that `reproduce` trained on images",
        ));
    }
    let rule = token_rule(arguments, || saved.tokens())?;
    if language_model::is_language_model(&saved.file) {
        return language_model::run(arguments, &saved, &rule, output);
    }
    let inputs = inputs::collect(arguments, &rule, &saved.file.alphabet)?;
    warn_of_file_names(&arguments.inputs, output);
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    let coverage = engine::CertificateCoverage::of(&saved, arguments.engine);
    let results = classify::classify(&saved, &vocabulary, &inputs, arguments.engine, output);
    let classes = || results.iter().map(classify::Classified::class);
    let labelled = classes().flatten().count() as u64;
    // The note is about the predicted classes.
    let note = coverage.text(arguments.engine).filter(|_| labelled > 0);
    note.iter().for_each(|line| output.note(line));
    let confusion = confusion(&saved.file.classes, &inputs, classes())?;
    check_labels(arguments, confusion.as_ref())?;
    let certificate = coverage.value(arguments.engine, note);
    let model = report::ReportedModel {
        folder: &saved.folder,
        classes: &saved.file.classes,
        vocabulary: &vocabulary,
    };
    report::report(&model, &inputs, &results, confusion.as_ref(), certificate, output)?;
    Ok(verdict(arguments, labelled, confusion.as_ref(), output))
}

/// The rule of --tokens, or the model's.
fn token_rule(
    arguments: &PredictArgs,
    of_model: impl FnOnce() -> Result<TokenRule, Failure>,
) -> Result<TokenRule, Failure> {
    match &arguments.reading.tokens {
        Some(text) => parse_token_rule(text),
        None => of_model(),
    }
}

/// PNG files are arguments, so the name of a text file may be taken for its content.
fn warn_of_file_names(inputs: &[String], output: &Output) {
    for name in inputs.iter().filter(|name| Path::new(name).is_file()) {
        output.note(format!(
            "warning: {name:?} is read as a sequence: --file {name} --lines reads the lines of the \
             file"
        ));
    }
}

/// Fails if --fail-under is set but no input has a label to compare with.
fn check_labels(arguments: &PredictArgs, confusion: Option<&Confusion>) -> Result<(), Failure> {
    match confusion.is_none() && arguments.fail_under.is_some() {
        true => {
            let message = "--fail-under: there are no labels to compare with";
            Err(Failure::new(message, "give a labelled file with --file"))
        }
        false => Ok(()),
    }
}

/// The answer is no if no input got a label, or if the accuracy is below --fail-under.
fn verdict(
    arguments: &PredictArgs,
    labelled: u64,
    confusion: Option<&Confusion>,
    output: &Output,
) -> Answer {
    if labelled == 0 {
        output.reason("no input got a label");
        return Answer::No;
    }
    let accuracy = confusion.and_then(Confusion::accuracy);
    match (accuracy, arguments.fail_under) {
        (Some(accuracy), Some(least)) if accuracy < least => Answer::No,
        _ => Answer::Yes,
    }
}

fn check_threshold(arguments: &PredictArgs) -> Result<(), Failure> {
    match arguments.fail_under {
        Some(least) if !(0.0..=1.0).contains(&least) => Err(Failure::new(
            format!("--fail-under {least}: not a fraction"),
            "give a number from 0 to 1",
        )),
        _ => Ok(()),
    }
}

/// Compares the predicted classes with the labels. `None` if no input has a label.
fn confusion(
    classes: &[String],
    inputs: &[inputs::InputSequence],
    predicted: impl Iterator<Item = Option<u32>>,
) -> Result<Option<Confusion>, Failure> {
    let mut confusion = Confusion::new(classes.to_vec());
    for (input, predicted) in inputs.iter().zip(predicted) {
        let Some(label) = &input.label else { continue };
        let truth = classes.iter().position(|class| class == label).ok_or_else(|| {
            let message = format!("{}: the model has no class {label:?}", input.place);
            let classes = crate::automaton::quoted_list(classes);
            Failure::new(message, format!("correct the label; the classes are {classes}"))
        })?;
        match predicted {
            Some(class) => confusion.add(truth as u32, class),
            None => confusion.add_unreadable(truth as u32),
        }
    }
    Ok((confusion.total() > 0).then_some(confusion))
}
