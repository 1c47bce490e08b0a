//! `srnn predict`: what a model says of sequences.

mod automaton;
mod engine;
mod inputs;
mod report;
mod say;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{Reading, token_rule};
use crate::runs;
use clap::Args;
use srnn::model::Input;
use srnn::task::{Confusion, Vocabulary};
use std::path::PathBuf;

/// Label sequences with a saved model.
///
/// The label, the probability of each class, and the path through the extracted automaton.
/// Sequences are arguments, a data file, or lines of stdin. A token that training has not seen is
/// read as the trained `<unk>`; without one, the sequence gets no label.
///
/// With --automaton the extracted automaton answers and no network is needed: one class a line,
/// for files of any size in constant memory. Where its symbols are single characters of ASCII, it
/// reads a gigabyte in about a second. A symbol it does not know is an error, with line and column;
/// `?` is its answer where a transition is not known.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn predict runs/tomita-3 1010 0110
  srnn predict runs/traces --file new.csv --json
  srnn predict --automaton runs/tomita-3 --file words.txt --lines --out classes.txt",
    after_help = "Exit codes: 0 done, 1 the accuracy is below --fail-under, 2 an error, \
                  130 interrupted"
)]
pub struct Predict {
    /// A run folder, or a model's folder; with --automaton also an automaton file, `re:EXPRESSION`
    /// or `tomita:1`…`7`.
    run: PathBuf,
    /// Sequences, each divided into tokens by the model's rule or --tokens.
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,
    /// A data file, with labels (then there is an accuracy) or without.
    #[arg(long, conflicts_with = "inputs")]
    file: Option<PathBuf>,
    /// The file holds one sequence a line and no labels.
    #[arg(long, requires = "file")]
    lines: bool,
    /// Exit with 1 where the accuracy on a labelled file is below this.
    #[arg(long, value_name = "ACCURACY", allow_negative_numbers = true)]
    fail_under: Option<f64>,
    /// What computes the answers.
    #[arg(long, value_enum, default_value = "cpu")]
    engine: engine::EngineName,
    /// Let the automaton answer, not the network: one class a line.
    #[arg(long, conflicts_with = "engine")]
    automaton: bool,
    /// Write the automaton's answers to this file.
    #[arg(long, value_name = "FILE", requires = "automaton")]
    out: Option<PathBuf>,
    /// Replace the file of --out where it is there already.
    #[arg(long, requires = "out")]
    force: bool,
    #[command(flatten)]
    reading: Reading,
}

/// Does it.
pub fn run(arguments: &Predict, output: &Output) -> Result<Answer, Failure> {
    check_threshold(arguments)?;
    if arguments.automaton {
        return automaton::run(arguments, output);
    }
    let saved = runs::load(&arguments.run)?;
    if let Input::Real { width } = saved.file.model.arch.input {
        let message = format!("{}: it reads vectors of {width} numbers", saved.folder.display());
        return Err(Failure::new(message, "predict needs a model that reads tokens"));
    }
    let rule = match &arguments.reading.tokens {
        Some(text) => token_rule(text)?,
        None => saved.tokens()?,
    };
    let asked = inputs::gather(arguments, &rule, &saved.file.alphabet)?;
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    let standing = engine::Standing::of(&saved, arguments.engine);
    standing.words(arguments.engine).iter().for_each(|line| output.note(line));
    let said = say::answer(&saved, &vocabulary, &asked, arguments.engine, output);
    let classes = said.iter().map(say::Said::class);
    let confusion = confusion(&saved.file.classes, &asked, classes)?;
    check_labels(arguments, confusion.as_ref())?;
    let certificate = standing.value(arguments.engine);
    report::report(&saved, &asked, &said, confusion.as_ref(), certificate, output)?;
    Ok(verdict(arguments, confusion.as_ref()))
}

/// A threshold needs labels.
fn check_labels(arguments: &Predict, confusion: Option<&Confusion>) -> Result<(), Failure> {
    match confusion.is_none() && arguments.fail_under.is_some() {
        true => {
            let message = "--fail-under: there are no labels to compare with";
            Err(Failure::new(message, "give a labelled file with --file"))
        }
        false => Ok(()),
    }
}

fn verdict(arguments: &Predict, confusion: Option<&Confusion>) -> Answer {
    let accuracy = confusion.and_then(Confusion::accuracy);
    match (accuracy, arguments.fail_under) {
        (Some(accuracy), Some(least)) if accuracy < least => Answer::No,
        _ => Answer::Yes,
    }
}

fn check_threshold(arguments: &Predict) -> Result<(), Failure> {
    match arguments.fail_under {
        Some(least) if !(0.0..=1.0).contains(&least) => {
            Err(Failure::new(format!("--fail-under {least}: no part of a whole"), "0 to 1"))
        }
        _ => Ok(()),
    }
}

/// What was said against the labels, where there are any.
fn confusion(
    classes: &[String],
    asked: &[inputs::Asked],
    said: impl Iterator<Item = Option<u32>>,
) -> Result<Option<Confusion>, Failure> {
    let mut confusion = Confusion::new(classes.to_vec());
    for (asked, said) in asked.iter().zip(said) {
        let Some(truth) = &asked.label else { continue };
        let known = classes.iter().position(|class| class == truth).ok_or_else(|| {
            let message = format!("{}: the model knows no label {truth:?}", asked.place);
            let classes = crate::automaton::listed(classes);
            Failure::new(message, format!("correct it; its classes are {classes}"))
        })?;
        match said {
            Some(class) => confusion.add(known as u32, class),
            None => confusion.add_unreadable(known as u32),
        }
    }
    Ok((confusion.total() > 0).then_some(confusion))
}
