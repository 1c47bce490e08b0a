//! `srnn explain`: what a network does, step by step or over a file.

mod many;
mod one;
mod pictures;
mod saving;

use crate::automaton::listed;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{Reading, token_rule, whole};
use crate::runs::{self, Saved};
use clap::Args;
use srnn::engine::Batch;
use srnn::explain::Observation;
use srnn::model::{Arch, Input};
use srnn::task::Vocabulary;
use srnn::task::files::TokenRule;
use std::path::PathBuf;

/// Show what a network does with a sequence, step by step, or with all sequences of a file.
///
/// Of a sequence: its label, and after each token the most probable centroid, the two largest
/// probabilities α, and the norms of the hidden state h and the cell state c. Of a file: which
/// centroids are used, and whether h and c drift with the length. With --open and --close: where the
/// nesting depth is counted, and the machine that the network follows.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn explain runs/tomita-3 1010
  srnn explain runs/brackets --data brackets.csv --open '(' --close ')' --out pictures")]
pub struct Explain {
    /// A run folder, or a model's folder.
    run: PathBuf,
    /// A sequence, divided into tokens by the model's rule or --tokens.
    #[arg(required_unless_present = "data")]
    input: Option<String>,
    /// A data file, with labels or without.
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    data: Option<PathBuf>,
    /// The token that opens a level. After a --close too many the depth stays −1. Of a sequence, the
    /// unit that tells the depth best is drawn bold.
    #[arg(long, value_name = "TOKEN", requires = "close")]
    open: Option<String>,
    /// The token that closes a level.
    #[arg(long, value_name = "TOKEN", requires = "open")]
    close: Option<String>,
    /// Drift is measured on sequences of at least so many steps.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<usize>,
          allow_negative_numbers = true)]
    shortest: usize,
    /// The layer, the lowest is 0 [default: the top one].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    layer: Option<usize>,
    /// Write the numbers (JSON) and pictures (SVG) into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files that are in --out.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    reading: Reading,
}

/// A model, and the part of it that is looked at.
struct Subject {
    saved: Saved,
    vocabulary: Vocabulary,
    layer: usize,
    rule: TokenRule,
}

/// Does it.
pub fn run(arguments: &Explain, output: &Output) -> Result<Answer, Failure> {
    let subject = subject(arguments)?;
    match (&arguments.data, &arguments.input) {
        (Some(file), _) => many::explain(arguments, &subject, file, output)?,
        (None, Some(text)) => one::explain(arguments, &subject, text, output)?,
        (None, None) => unreachable!("clap asks for one of them"),
    }
    Ok(Answer::Yes)
}

fn subject(arguments: &Explain) -> Result<Subject, Failure> {
    let saved = runs::load(&arguments.run)?;
    let arch = &saved.file.model.arch;
    if let Input::Real { width } = arch.input {
        let message = format!("{}: it reads vectors of {width} numbers", saved.folder.display());
        return Err(Failure::new(message, "explain needs a model that reads tokens"));
    }
    let top = arch.layers.len() - 1;
    let layer = arguments.layer.unwrap_or(top);
    if layer > top {
        let message = format!("--layer {layer}: the model has {} layers", top + 1);
        return Err(Failure::new(message, format!("0 to {top}")));
    }
    let rule = match &arguments.reading.tokens {
        Some(text) => token_rule(text)?,
        None => saved.tokens()?,
    };
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    Ok(Subject { saved, vocabulary, layer, rule })
}

impl Subject {
    fn arch(&self) -> &Arch {
        &self.saved.file.model.arch
    }

    /// What the token of a step is called.
    fn name(&self, id: u32) -> String {
        self.saved.file.alphabet.get(id as usize).map_or("start".into(), String::clone)
    }
}

/// The tokens that open and close a level, where --open and --close name some.
fn brackets(arguments: &Explain, subject: &Subject) -> Result<Option<[u32; 2]>, Failure> {
    let (Some(open), Some(close)) = (&arguments.open, &arguments.close) else { return Ok(None) };
    Ok(Some([symbol(subject, open)?, symbol(subject, close)?]))
}

fn symbol(subject: &Subject, name: &str) -> Result<u32, Failure> {
    let place = subject.saved.file.alphabet.iter().position(|symbol| symbol == name);
    place.map(|id| id as u32).ok_or_else(|| {
        let message = format!("{name:?} is no token of the model");
        let known = listed(&subject.saved.file.alphabet);
        Failure::new(message, format!("one of {known}"))
    })
}

/// Sets the quantity of each step to the nesting depth after it.
fn measure_depth(seen: &mut Observation, [open, close]: [u32; 2]) {
    seen.sum_quantity(|id| f64::from(i8::from(id == open) - i8::from(id == close)));
    seen.hold_below_zero();
}

/// Words with the start and end tokens of the architecture.
fn batch(arch: &Arch, words: &[Vec<u32>]) -> Batch {
    Batch::of_words(&arch.input, words.iter().map(|word| word.iter().copied()))
}
