//! `srnn extract`: the automaton of a saved model.

mod report;
mod way;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{Reading, whole};
use crate::runs::{self, Saved};
use crate::samples::read_any;
use clap::{Args, ValueEnum};
use srnn::engine::cpu::Cpu;
use srnn::extract::{ExtractConfig, ExtractRequest, WordSet, extract};
use srnn::learn::extraction_for;
use srnn::model::Temperature;
use srnn::task::Vocabulary;
use srnn::task::files::ReadOptions;
use srnn_automata::{Alphabet, Symbol, Word};
use std::path::{Path, PathBuf};

/// Read the automaton off a saved model, and write it as JSON, DOT and SVG.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn extract runs/tomita-3
  srnn extract runs/traces --data traces.csv --method all --out automata",
    after_help = "Exit codes: 0 done; 1 no automaton closes, or it agrees less often than --fail-under; 2 an error"
)]
pub struct Extract {
    /// A run folder, or a model's folder.
    run: PathBuf,
    /// Sequences to count transitions over and to compare answers on; by default all short words.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The folder for the files (.json, .dot, .svg); by default `automaton` in RUN.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set the temperature of the softmax, instead of the model's own.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tau: Option<f64>,
    /// The first distance at which two soft states count as one; it is refined from there
    /// [default: 0.1].
    #[arg(long, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Which automaton to write. The cover with default settings is `automaton`, everything else
    /// has a name of its own.
    #[arg(long, value_enum, default_value = "cover")]
    method: Method,
    /// Agreement is tested on all words up to the length at which they are not more than this.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = whole::<usize>,
          allow_negative_numbers = true)]
    words: usize,
    /// Exit with 1 where the automaton agrees with the network on a smaller part of the words.
    #[arg(long, value_name = "PART", allow_negative_numbers = true)]
    fail_under: Option<f64>,
    /// Replace the automaton of a finished run.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    reading: Reading,
}

/// A way to an automaton.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The states that the deployed network reaches, up to a tolerance.
    Cover,
    /// Transitions counted over runs of the mixture: the paper's code.
    Soft,
    /// Transitions counted over runs of the most probable centroid: the paper's text.
    Hard,
    /// Every transition of the most probable centroid.
    Table,
    /// All four.
    All,
}

/// The data to count over.
struct Counted {
    words: Vec<Word>,
    /// Whether they are somebody's data, and not just short words.
    given: bool,
    /// Sequences with tokens that the model cannot read.
    unreadable: usize,
}

/// Does it.
pub fn run(arguments: &Extract, output: &Output) -> Result<Answer, Failure> {
    check(arguments)?;
    let mut saved = runs::load(&arguments.run)?;
    heat(&mut saved, arguments)?;
    let alphabet = Alphabet::new(saved.file.alphabet.clone()).map_err(|error| {
        Failure::new(format!("{}: {error}", saved.folder.display()), "train it with other names")
    })?;
    let data = counted(arguments, &saved, &alphabet)?;
    let mut config = ExtractConfig { words: arguments.words, ..extraction_for(alphabet.len()) };
    if let Some(tolerance) = arguments.tolerance {
        config.refine.tolerance = tolerance;
        config.refine.coarsest = config.refine.coarsest.max(tolerance);
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = Cpu::new(&saved.file.model, threads);
    let question = ExtractRequest { alphabet: &alphabet, data: &data.words, truth: None };
    let found = extract(&mut engine, &question, &config)?;
    let ways = way::ways(&found, arguments.method);
    let out = arguments.out.clone().unwrap_or_else(|| home(&saved).join("automaton"));
    let place = way::Place { stem: cover_stem(arguments, &out, output), folder: &out };
    let files = way::write(&ways, &saved, &place, output)?;
    report::report(
        &report::Study { saved: &saved, found: &found, data: &data, ways: &ways, files: &files },
        output,
    )?;
    // The first is the one that was asked for; the others stand beside it for comparison.
    Ok(match ways.first().is_some_and(|way| way.is_good(arguments.fail_under)) {
        true => Answer::Yes,
        false => Answer::No,
    })
}

/// The name of the cover's files. `automaton` is what other verbs take for the network's automaton:
/// it is the cover with the network's own settings, and that of a finished run stays.
fn cover_stem(arguments: &Extract, out: &Path, output: &Output) -> &'static str {
    let other_settings = arguments.tau.is_some() || arguments.tolerance.is_some();
    let covers = matches!(arguments.method, Method::Cover | Method::All);
    let finished = out.join("../result.json").is_file() && out.join("automaton.json").is_file();
    if covers && !other_settings && finished && !arguments.force {
        let kept = out.join("automaton.json");
        output.note(format!("{} stays as it is; --force replaces it", kept.display()));
    }
    match other_settings || (finished && !arguments.force) {
        true => "cover",
        false => "automaton",
    }
}

fn check(arguments: &Extract) -> Result<(), Failure> {
    if arguments.words == 0 {
        return Err(Failure::new("--words 0: nothing would be tested", "--words 1000 or more"));
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    match (arguments.tolerance, arguments.fail_under) {
        (Some(tolerance), _) if !positive(tolerance) => Err(Failure::new(
            format!("--tolerance {tolerance}: must be a number above 0"),
            "--tolerance 0.1",
        )),
        (_, Some(least)) if !(0.0..=1.0).contains(&least) => {
            Err(Failure::new(format!("--fail-under {least}: no part of a whole"), "0 to 1"))
        }
        _ => Ok(()),
    }
}

/// Another temperature for every layer that has one.
fn heat(saved: &mut Saved, arguments: &Extract) -> Result<(), Failure> {
    let Some(tau) = arguments.tau else { return Ok(()) };
    let tau = Temperature::new(tau).map_err(|error| Failure::new(error, "--tau 1"))?;
    for layer in &mut saved.file.model.arch.layers {
        layer.centroids.iter_mut().for_each(|centroids| centroids.tau = tau);
    }
    Ok(())
}

fn home(saved: &Saved) -> &Path {
    saved.run.as_ref().unwrap_or(&saved.folder)
}

/// Words enough to meet every transition of a small automaton.
const COUNTED_WORDS: usize = 5_000;

fn counted(arguments: &Extract, saved: &Saved, alphabet: &Alphabet) -> Result<Counted, Failure> {
    let Some(file) = &arguments.data else {
        let words = WordSet::at_most(alphabet.len() as u32, COUNTED_WORDS, 64);
        return Ok(Counted { words: words.iter().collect(), given: false, unreadable: 0 });
    };
    let asked = arguments.reading.options()?;
    let tokens = match arguments.reading.tokens {
        Some(_) => asked.tokens.clone(),
        None => saved.tokens()?,
    };
    let samples = read_any(file, &ReadOptions { tokens, ..asked })?;
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    let new: Vec<Option<u32>> =
        samples.data.alphabet.iter().map(|name| vocabulary.id(name)).collect();
    let word = |sequence: &srnn::task::Sequence| {
        sequence.tokens.iter().map(|&id| new[id as usize].map(Symbol)).collect::<Option<Word>>()
    };
    let words: Vec<Word> = samples.data.sequences.iter().filter_map(word).collect();
    let unreadable = samples.data.sequences.len() - words.len();
    Ok(Counted { words, given: true, unreadable })
}
