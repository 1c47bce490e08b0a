//! `srnn explain`: why a model or an automaton gives its answer, and the hidden states of a network.

mod answer;
mod automaton;
mod centroids;
mod file;
mod ngrams;
mod output_folder;
mod pictures;
mod sequence;
mod strips;
mod training;

use crate::automaton::{find_accepting_class, quoted_list};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{ReadFlags, parse_count, parse_token_rule};
use crate::runs::{self, SavedModel};
use clap::Args;
use srnn::engine::Batch;
use srnn::engine::model::{Arch, Input};
use srnn::explain::Observation;
use srnn::task::Vocabulary;
use srnn::task::files::TokenRule;
use std::path::PathBuf;

/// Show why a model gives its answer to a sequence, or its states on all sequences of a file.
///
/// For a sequence: its label; the states of the automaton that it passes; the tokens that move the
/// answer; where it first does what no training sequence does; and the fewest edits that change the
/// answer. For a network also, after each token, the most probable centroid, the two largest
/// probabilities α, and the norms of the hidden state h and the cell state c. For a file: how often
/// each centroid is used, and whether h and c drift with the length. With --open and --close: which
/// units encode the nesting depth, and the counter machine that the network implements.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn explain runs/tomita-3 1010
  srnn explain tomita:3 0110
  srnn explain runs/brackets --data brackets.csv --open '(' --close ')' --out pictures")]
pub struct ExplainArgs {
    /// A run folder or a model folder. For a sequence also an automaton: a file, `re:EXPRESSION` or
    /// `tomita:1`…`7`.
    run: PathBuf,
    /// A sequence, split into tokens by the model's rule or --tokens.
    #[arg(required_unless_present = "data")]
    input: Option<String>,
    /// A data file, with labels or without.
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    data: Option<PathBuf>,
    /// The token that opens a level. After one --close too many, the depth stays −1. In the picture
    /// of a sequence, the unit that encodes the depth best is bold.
    #[arg(long, value_name = "TOKEN", requires = "close")]
    open: Option<String>,
    /// The token that closes a level.
    #[arg(long, value_name = "TOKEN", requires = "open")]
    close: Option<String>,
    /// Measure drift on sequences of at least N steps.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = parse_count::<usize>,
          allow_negative_numbers = true)]
    shortest: usize,
    /// Show the transition probabilities for these temperatures τ, too; with a sequence and --out.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0.1,0.25,0.5,1,2",
        allow_negative_numbers = true
    )]
    tau: Vec<f64>,
    /// The number of prototypical tokens of each centroid.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count::<usize>,
          allow_negative_numbers = true)]
    top: usize,
    /// Prototypical tokens occur at least N times in the file.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count::<u64>,
          allow_negative_numbers = true)]
    least_count: u64,
    /// The class whose states are drawn as accepting [default: by its name].
    #[arg(long, value_name = "CLASS")]
    accept: Option<String>,
    /// The layer, counted from 0 at the bottom [default: the top layer].
    #[arg(long, value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    layer: Option<usize>,
    /// Write the numbers (JSON) and pictures (SVG) into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace existing files in --out.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    reading: ReadFlags,
}

/// A model, and the layer of it to explain.
struct ExplainedModel {
    saved: SavedModel,
    vocabulary: Vocabulary,
    layer: usize,
    rule: TokenRule,
}

pub fn run(arguments: &ExplainArgs, output: &Output) -> Result<Answer, Failure> {
    if automaton::is_automaton(&arguments.run) {
        let Some(text) = &arguments.input else {
            let message = format!("{}: --data needs a network", arguments.run.display());
            return Err(Failure::new(message, "srnn predict --automaton classifies a file"));
        };
        automaton::explain(arguments, text, output)?;
        return Ok(Answer::Yes);
    }
    if let (Some(text), Ok(Some(saved))) = (&arguments.input, runs::load_ngrams(&arguments.run)) {
        ngrams::explain(arguments, &saved, text, output)?;
        return Ok(Answer::Yes);
    }
    let explained = open_model(arguments)?;
    match (&arguments.data, &arguments.input) {
        (Some(file), _) => file::explain(arguments, &explained, file, output)?,
        (None, Some(text)) => sequence::explain(arguments, &explained, text, output)?,
        (None, None) => unreachable!("clap requires one of them"),
    }
    Ok(Answer::Yes)
}

fn open_model(arguments: &ExplainArgs) -> Result<ExplainedModel, Failure> {
    let saved = runs::load(&arguments.run)?;
    let arch = &saved.file.model.arch;
    if let Input::Real { width } = arch.input {
        let message =
            format!("{}: the model reads vectors of {width} numbers", saved.folder.display());
        return Err(Failure::new(message, "use a model that reads tokens"));
    }
    let top = arch.layers.len() - 1;
    let layer = arguments.layer.unwrap_or(top);
    if layer > top {
        let message = format!("--layer {layer}: the model has {} layers", top + 1);
        return Err(Failure::new(message, format!("0 to {top}")));
    }
    let rule = match &arguments.reading.tokens {
        Some(text) => parse_token_rule(text)?,
        None => saved.tokens()?,
    };
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    Ok(ExplainedModel { saved, vocabulary, layer, rule })
}

impl ExplainedModel {
    fn arch(&self) -> &Arch {
        &self.saved.file.model.arch
    }

    /// The name of a token; ids beyond the alphabet are the start token.
    fn name(&self, id: u32) -> String {
        self.saved.file.alphabet.get(id as usize).map_or("start".into(), String::clone)
    }
}

/// The class of --accept, or the one that is accepting by its name.
fn accepting_class(arguments: &ExplainArgs, classes: &[String]) -> Result<Option<u32>, Failure> {
    let Some(name) = &arguments.accept else { return Ok(find_accepting_class(classes)) };
    let place = classes.iter().position(|class| class == name);
    place.map(|at| Some(at as u32)).ok_or_else(|| {
        let message = format!("--accept {name:?}: there is no such class");
        Failure::new(message, format!("one of {}", quoted_list(classes)))
    })
}

/// The ids of --open and --close.
fn brackets(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
) -> Result<Option<[u32; 2]>, Failure> {
    let (Some(open), Some(close)) = (&arguments.open, &arguments.close) else { return Ok(None) };
    Ok(Some([symbol(explained, open)?, symbol(explained, close)?]))
}

fn symbol(explained: &ExplainedModel, name: &str) -> Result<u32, Failure> {
    let place = explained.saved.file.alphabet.iter().position(|symbol| symbol == name);
    place.map(|id| id as u32).ok_or_else(|| {
        let message = format!("{name:?} is not a token of the model");
        let known = quoted_list(&explained.saved.file.alphabet);
        Failure::new(message, format!("one of {known}"))
    })
}

/// Sets the quantity of each step to the nesting depth after it.
fn measure_depth(seen: &mut Observation, [open, close]: [u32; 2]) {
    seen.sum_quantity(|id| f64::from(i8::from(id == open) - i8::from(id == close)));
    seen.hold_below_zero();
}

/// A batch of words, with the start and end tokens of the architecture.
fn batch(arch: &Arch, words: &[Vec<u32>]) -> Batch {
    Batch::of_words(&arch.input, words.iter().map(|word| word.iter().copied()))
}
