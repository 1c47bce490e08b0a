//! The sequences to classify: from arguments, files and stdin.

use super::PredictArgs;
use crate::failure::Failure;
use crate::files;
use crate::reading::read_optional_labels;
use crate::reading::split_tokens;
use srnn::task::files::{Contradictions, ReadOptions, Samples, TokenRule, read};
use std::io::IsTerminal as _;
use std::path::Path;

/// A sequence to classify.
#[derive(Clone, Debug)]
pub struct InputSequence {
    /// Where it comes from, for messages: a file and line, or an argument.
    pub place: String,
    /// Its tokens.
    pub tokens: Vec<String>,
    /// Its label, if known.
    pub label: Option<String>,
}

/// Where the sequences come from.
pub enum SequenceSource<'a> {
    /// Arguments, or a table in a file.
    Listed,
    /// Lines of this file, or of stdin for `-`.
    Lines(&'a Path),
}

/// The source that the arguments name.
pub fn source(arguments: &PredictArgs) -> Result<SequenceSource<'_>, Failure> {
    match &arguments.file {
        _ if !arguments.inputs.is_empty() => Ok(SequenceSource::Listed),
        Some(file) if arguments.lines || file.as_os_str() == files::STDIO_PATH => {
            Ok(SequenceSource::Lines(file))
        }
        Some(_) => Ok(SequenceSource::Listed),
        None if std::io::stdin().is_terminal() => {
            let remedy = "give sequences as arguments, with --file FILE, or on stdin";
            Err(Failure::new("no sequences are given", remedy))
        }
        None => Ok(SequenceSource::Lines(Path::new(files::STDIO_PATH))),
    }
}

/// Fails for an empty separator.
pub fn check_rule(rule: &TokenRule) -> Result<(), Failure> {
    match *rule == TokenRule::Separator(String::new()) {
        true => {
            let remedy = "--tokens characters makes every character a token";
            Err(Failure::new("--tokens: the separator is empty", remedy))
        }
        false => Ok(()),
    }
}

/// The error for an empty input.
pub fn no_sequences() -> Failure {
    Failure::new("there is no sequence to predict", "give at least one")
}

/// All sequences to classify.
pub fn collect(
    arguments: &PredictArgs,
    rule: &TokenRule,
    alphabet: &[String],
) -> Result<Vec<InputSequence>, Failure> {
    check_rule(rule)?;
    let inputs = match source(arguments)? {
        SequenceSource::Lines(file) => lines(file, rule, alphabet)?,
        SequenceSource::Listed => listed(arguments, rule, alphabet)?,
    };
    match inputs.is_empty() {
        true => Err(no_sequences()),
        false => Ok(inputs),
    }
}

/// The sequences of arguments or of a table.
pub fn listed(
    arguments: &PredictArgs,
    rule: &TokenRule,
    alphabet: &[String],
) -> Result<Vec<InputSequence>, Failure> {
    match &arguments.file {
        Some(file) => table(arguments, file, rule),
        None => Ok(words(&arguments.inputs, rule, alphabet)),
    }
}

fn words(inputs: &[String], rule: &TokenRule, alphabet: &[String]) -> Vec<InputSequence> {
    let input = |(number, text): (usize, &String)| InputSequence {
        place: format!("argument {}", number + 1),
        tokens: split_tokens(text, rule, alphabet),
        label: None,
    };
    inputs.iter().enumerate().map(input).collect()
}

/// One sequence per line; an empty line is the empty sequence.
fn lines(
    path: &Path,
    rule: &TokenRule,
    alphabet: &[String],
) -> Result<Vec<InputSequence>, Failure> {
    let text = files::read_text(path)?;
    let name = files::display_path(path);
    let input = |(number, line): (usize, &str)| InputSequence {
        place: format!("{name}:{}", number + 1),
        tokens: split_tokens(line, rule, alphabet),
        label: None,
    };
    Ok(text.trim_start_matches('\u{feff}').lines().enumerate().map(input).collect())
}

/// A data file. Labels are optional unless --unlabelled is set.
fn table(
    arguments: &PredictArgs,
    file: &Path,
    rule: &TokenRule,
) -> Result<Vec<InputSequence>, Failure> {
    let options = ReadOptions { tokens: rule.clone(), ..arguments.reading.options()? };
    let samples = match arguments.reading.unlabelled {
        Some(_) => read(file, &ReadOptions { contradictions: Contradictions::Keep, ..options })?,
        None => read_optional_labels(file, &options)?,
    };
    Ok(sequences(&samples))
}

/// The sequences of a data file, with the labels that are not empty.
pub fn sequences(samples: &Samples) -> Vec<InputSequence> {
    let data = &samples.data;
    let input = |(sequence, line): (&srnn::task::Sequence, &u64)| InputSequence {
        place: format!("{}:{line}", samples.file),
        tokens: sequence.tokens.iter().map(|&id| data.alphabet[id as usize].clone()).collect(),
        label: Some(data.classes[sequence.label as usize].clone()).filter(|l| !l.is_empty()),
    };
    data.sequences.iter().zip(&samples.lines).map(input).collect()
}
