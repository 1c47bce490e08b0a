//! What is asked: sequences from arguments, files and stdin.

use super::Predict;
use crate::failure::Failure;
use crate::files;
use crate::reading::divided;
use crate::samples::read_any;
use srnn::task::files::{Contradictions, ReadOptions, Samples, TokenRule, read};
use std::io::IsTerminal as _;
use std::path::Path;

/// A sequence to be labelled.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where it comes from, for messages.
    pub place: String,
    /// Its tokens.
    pub tokens: Vec<String>,
    /// Its label, where that is known.
    pub label: Option<String>,
}

/// Where sequences stand one a line.
pub enum Source<'a> {
    /// Arguments, or a table in a file.
    Listed,
    /// Lines of this file, or of stdin.
    Lines(&'a Path),
}

/// Where the sequences are.
pub fn source(arguments: &Predict) -> Result<Source<'_>, Failure> {
    match &arguments.file {
        _ if !arguments.inputs.is_empty() => Ok(Source::Listed),
        Some(file) if arguments.lines || file.as_os_str() == files::STREAM => {
            Ok(Source::Lines(file))
        }
        Some(_) => Ok(Source::Listed),
        None if std::io::stdin().is_terminal() => {
            let remedy = "give sequences as arguments, with --file FILE, or on stdin";
            Err(Failure::new("there is nothing to predict", remedy))
        }
        None => Ok(Source::Lines(Path::new(files::STREAM))),
    }
}

/// Refuses what divides nothing.
pub fn check_rule(rule: &TokenRule) -> Result<(), Failure> {
    match *rule == TokenRule::Separator(String::new()) {
        true => {
            let remedy = "--tokens characters takes every character as a token";
            Err(Failure::new("--tokens: the separator is empty", remedy))
        }
        false => Ok(()),
    }
}

/// Nothing is asked.
pub fn nothing() -> Failure {
    Failure::new("there is no sequence to predict", "give at least one")
}

/// All that is asked.
pub fn gather(
    arguments: &Predict,
    rule: &TokenRule,
    alphabet: &[String],
) -> Result<Vec<Asked>, Failure> {
    check_rule(rule)?;
    let divided = |text: &str| divided(text, rule, alphabet);
    let asked = match source(arguments)? {
        Source::Lines(file) => lines(file, divided)?,
        Source::Listed => listed(arguments, rule, alphabet)?,
    };
    match asked.is_empty() {
        true => Err(nothing()),
        false => Ok(asked),
    }
}

/// Arguments, or the sequences of a table.
pub fn listed(
    arguments: &Predict,
    rule: &TokenRule,
    alphabet: &[String],
) -> Result<Vec<Asked>, Failure> {
    match &arguments.file {
        Some(file) => table(arguments, file, rule),
        None => Ok(words(&arguments.inputs, |text| divided(text, rule, alphabet))),
    }
}

fn words(inputs: &[String], divided: impl Fn(&str) -> Vec<String>) -> Vec<Asked> {
    let asked = |(number, text): (usize, &String)| Asked {
        place: format!("argument {}", number + 1),
        tokens: divided(text),
        label: None,
    };
    inputs.iter().enumerate().map(asked).collect()
}

/// One sequence a line; an empty line is the empty sequence.
fn lines(path: &Path, divided: impl Fn(&str) -> Vec<String>) -> Result<Vec<Asked>, Failure> {
    let text = files::read_text(path)?;
    let name = files::shown(path);
    let asked = |(number, line): (usize, &str)| Asked {
        place: format!("{name}:{}", number + 1),
        tokens: divided(line),
        label: None,
    };
    Ok(text.trim_start_matches('\u{feff}').lines().enumerate().map(asked).collect())
}

/// A data file. Labels are welcome and not needed, unless the flags say otherwise.
fn table(arguments: &Predict, file: &Path, rule: &TokenRule) -> Result<Vec<Asked>, Failure> {
    let options = ReadOptions { tokens: rule.clone(), ..arguments.reading.options()? };
    let samples = match arguments.reading.unlabelled {
        Some(_) => read(file, &ReadOptions { contradictions: Contradictions::Keep, ..options })?,
        None => read_any(file, &options)?,
    };
    Ok(sequences(&samples))
}

fn sequences(samples: &Samples) -> Vec<Asked> {
    let data = &samples.data;
    let asked = |(sequence, line): (&srnn::task::Sequence, &u64)| Asked {
        place: format!("{}:{line}", samples.file),
        tokens: sequence.tokens.iter().map(|&id| data.alphabet[id as usize].clone()).collect(),
        label: Some(data.classes[sequence.label as usize].clone()).filter(|l| !l.is_empty()),
    };
    data.sequences.iter().zip(&samples.lines).map(asked).collect()
}
