//! `srnn extract`: extracts the automaton of a saved model.

mod method;
mod report;

use crate::failure::{Answer, Failure};
use crate::files;
use crate::memory::MemoryLimit;
use crate::output::Output;
use crate::reading::read_optional_labels;
use crate::reading::{ReadFlags, parse_count};
use crate::runs::{self, SavedModel};
use clap::{Args, ValueEnum};
use srnn::engine::atomic::IfExists;
use srnn::engine::cpu::Cpu;
use srnn::engine::model::Temperature;
use srnn::extract::{ExtractConfig, ExtractRequest, WordSet, extract};
use srnn::learn::default_extract_config;
use srnn::task::Vocabulary;
use srnn::task::files::ReadOptions;
use srnn_automata::{Alphabet, Symbol, Word};
use std::path::{Path, PathBuf};

/// Extract the automaton of a saved model, and write it as JSON, DOT and SVG.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn extract runs/tomita-3
  srnn extract runs/traces --data traces.csv --method all --out automata",
    after_help = "Exit codes: 0 done; 1 no automaton was found, or its agreement is below --fail-under; 2 an error"
)]
pub struct ExtractArgs {
    /// A run folder or a model folder.
    run: PathBuf,
    /// Sequences for counting transitions and for measuring agreement [default: all short words].
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The folder for the files (.json, .dot, .svg) [default: automaton in RUN].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The temperature of the softmax, instead of the model's own.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tau: Option<f64>,
    /// The initial distance below which two soft states count as one; it is refined from there
    /// [default: 0.1].
    #[arg(long, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// The extraction method. The cover with default settings is written as `automaton`; every other
    /// automaton has its own file name.
    #[arg(long, value_enum, default_value = "cover")]
    method: ExtractMethodFlag,
    /// Measure agreement on all words up to the greatest length for which there are at most N.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = parse_count::<usize>,
          allow_negative_numbers = true)]
    words: usize,
    /// Exit with 1 if the automaton agrees with the network on a smaller fraction of the words.
    #[arg(long, value_name = "PART", allow_negative_numbers = true)]
    fail_under: Option<f64>,
    /// Replace the automaton of a finished run, or the files of --out.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    memory: MemoryLimit,
    #[command(flatten)]
    reading: ReadFlags,
}

/// A method of extraction.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractMethodFlag {
    /// The states that the network reaches, merged within a tolerance.
    Cover,
    /// Transitions counted while the state is the mixture of centroids: the paper's code.
    Soft,
    /// Transitions counted while the state is the most probable centroid: the paper's text.
    Hard,
    /// The transition of every centroid with every symbol.
    Table,
    /// All four methods.
    All,
}

/// The words for counting transitions.
struct ExtractionData {
    words: Vec<Word>,
    /// Whether they come from --data.
    given: bool,
    /// Number of sequences with tokens that the model does not know.
    unreadable: usize,
}

pub fn run(arguments: &ExtractArgs, output: &Output) -> Result<Answer, Failure> {
    check(arguments)?;
    let mut saved = runs::load(&arguments.run)?;
    set_temperature(&mut saved, arguments)?;
    let alphabet = Alphabet::new(saved.file.alphabet.clone()).map_err(|error| {
        Failure::new(
            format!("{}: {error}", saved.folder.display()),
            "rename the symbols in the data and train again",
        )
    })?;
    let data = read_data(arguments, &saved, &alphabet)?;
    let mut config =
        ExtractConfig { words: arguments.words, ..default_extract_config(alphabet.len()) };
    if let Some(tolerance) = arguments.tolerance {
        config.refine.tolerance = tolerance;
        config.refine.coarsest = config.refine.coarsest.max(tolerance);
    }
    check_memory(arguments, &alphabet, config.longest)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = Cpu::new(&saved.file.model, threads);
    let question = ExtractRequest { alphabet: &alphabet, data: &data.words, truth: None };
    let found = extract(&mut engine, &question, &config)?;
    let outputs = method::outputs(&found, arguments.method);
    let out = arguments.out.clone().unwrap_or_else(|| saved.home().join("automaton"));
    let cover_stem = cover_stem(arguments, &out, output);
    let if_exists = match &arguments.out {
        Some(_) => files::if_exists(arguments.force),
        // The folder of the run's or model's own automata.
        None => IfExists::Replace,
    };
    let target = method::AutomatonFiles { folder: &out, cover_stem, if_exists };
    let _lock = if arguments.out.is_none() { saved.lock_run()? } else { None };
    let files = method::write(&outputs, &saved, &target, output)?;
    report::report(
        &report::ExtractionReport {
            saved: &saved,
            found: &found,
            data: &data,
            outputs: &outputs,
            files: &files,
        },
        output,
    )?;
    // With --method all, the first one decides; the others are for comparison.
    Ok(match outputs.first().is_some_and(|first| first.is_good(arguments.fail_under)) {
        true => Answer::Yes,
        false => Answer::No,
    })
}

/// The stem of the cover's files. Other verbs read `automaton` as the network's automaton. So that
/// name is used only for default settings, and not if a finished run already has one.
fn cover_stem(arguments: &ExtractArgs, out: &Path, output: &Output) -> &'static str {
    let other_settings = arguments.tau.is_some() || arguments.tolerance.is_some();
    let writes_cover =
        matches!(arguments.method, ExtractMethodFlag::Cover | ExtractMethodFlag::All);
    let finished = out.join("../result.json").is_file() && out.join("automaton.json").is_file();
    if writes_cover && !other_settings && finished && !arguments.force {
        let kept = out.join("automaton.json");
        output.note(format!("{} is kept; --force replaces it", kept.display()));
    }
    match other_settings || (finished && !arguments.force) {
        true => "cover",
        false => "automaton",
    }
}

fn check(arguments: &ExtractArgs) -> Result<(), Failure> {
    if arguments.words == 0 {
        return Err(Failure::new("--words 0: no words would be compared", "--words 1000 or more"));
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    match (arguments.tolerance, arguments.fail_under) {
        (Some(tolerance), _) if !positive(tolerance) => Err(Failure::new(
            format!("--tolerance {tolerance}: must be above 0"),
            "--tolerance 0.1",
        )),
        (_, Some(least)) if !(0.0..=1.0).contains(&least) => Err(Failure::new(
            format!("--fail-under {least}: not a fraction"),
            "give a number from 0 to 1",
        )),
        _ => Ok(()),
    }
}

/// Refuses a number of words whose classes do not fit into memory.
fn check_memory(
    arguments: &ExtractArgs,
    alphabet: &Alphabet,
    longest: usize,
) -> Result<(), Failure> {
    // A class of the network and one of each automaton.
    const WORD: u64 = 8 + 4 * 8;
    let words = WordSet::at_most(alphabet.len() as u32, arguments.words, longest).len();
    let bytes = (words as u64).saturating_mul(WORD);
    arguments.memory.check("the agreement on --words", bytes, "lower --words")
}

/// Sets the temperature of --tau in every layer with centroids.
fn set_temperature(saved: &mut SavedModel, arguments: &ExtractArgs) -> Result<(), Failure> {
    let Some(tau) = arguments.tau else { return Ok(()) };
    let tau = Temperature::new(tau).map_err(|error| Failure::new(error, "--tau 1"))?;
    for layer in &mut saved.file.model.arch.layers {
        layer.centroids.iter_mut().for_each(|centroids| centroids.tau = tau);
    }
    Ok(())
}

/// Maximum short words for counting: enough to visit every transition of a small automaton.
const SHORT_WORDS: usize = 5_000;

fn read_data(
    arguments: &ExtractArgs,
    saved: &SavedModel,
    alphabet: &Alphabet,
) -> Result<ExtractionData, Failure> {
    let Some(file) = &arguments.data else {
        let words = WordSet::at_most(alphabet.len() as u32, SHORT_WORDS, 64);
        return Ok(ExtractionData { words: words.iter().collect(), given: false, unreadable: 0 });
    };
    let options = arguments.reading.options()?;
    let tokens = match arguments.reading.tokens {
        Some(_) => options.tokens.clone(),
        None => saved.tokens()?,
    };
    let samples = read_optional_labels(file, &ReadOptions { tokens, ..options })?;
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    let ids: Vec<Option<u32>> =
        samples.data.alphabet.iter().map(|name| vocabulary.id(name)).collect();
    let word = |sequence: &srnn::task::Sequence| {
        sequence.tokens.iter().map(|&id| ids[id as usize].map(Symbol)).collect::<Option<Word>>()
    };
    let words: Vec<Word> = samples.data.sequences.iter().filter_map(word).collect();
    let unreadable = samples.data.sequences.len() - words.len();
    Ok(ExtractionData { words, given: true, unreadable })
}
