//! What is asked: sequences from arguments, files and stdin.

use super::Predict;
use crate::failure::Failure;
use crate::files;
use crate::reading::divided;
use crate::samples::read_any;
use srnn::task::files::{Contradictions, ReadOptions, Samples, Tokens, read};
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

/// All that is asked.
pub fn gather(
    arguments: &Predict,
    rule: &Tokens,
    alphabet: &[String],
) -> Result<Vec<Asked>, Failure> {
    if *rule == Tokens::Separator(String::new()) {
        let remedy = "--tokens characters takes every character as a token";
        return Err(Failure::new("--tokens: the separator is empty", remedy));
    }
    let divided = |text: &str| divided(text, rule, alphabet);
    let asked = match &arguments.file {
        _ if !arguments.inputs.is_empty() => words(&arguments.inputs, divided),
        Some(file) if arguments.lines || file.as_os_str() == files::STREAM => lines(file, divided)?,
        Some(file) => table(arguments, file, rule)?,
        None if std::io::stdin().is_terminal() => {
            let remedy = "give sequences as arguments, with --file FILE, or on stdin";
            return Err(Failure::new("there is nothing to predict", remedy));
        }
        None => lines(Path::new(files::STREAM), divided)?,
    };
    match asked.is_empty() {
        true => Err(Failure::new("there is no sequence to predict", "give at least one")),
        false => Ok(asked),
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
fn table(arguments: &Predict, file: &Path, rule: &Tokens) -> Result<Vec<Asked>, Failure> {
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
