//! `srnn certify`: proves that a saved network equals an automaton on every word.

mod report;
mod spec;

use crate::failure::{Answer, Failure};
use crate::files;
use crate::memory::MemoryLimit;
use crate::output::Output;
use crate::reading::parse_count;
use crate::runs::{self, SavedModel};
use clap::Args;
use srnn::certify::{
    Certificate, Distribution, Pac, Proof, ProofSearch, Verdict, certify_checked, pac,
    proof_checker,
};
use srnn::engine::atomic::{self, IfExists};
use srnn::engine::cpu::Cpu;
use srnn::engine::key::Key;
use srnn::extract::{ExtractConfig, ExtractRequest, TransitionSystem, WordSet, extract};
use srnn::learn::default_extract_config;
use srnn_automata::{Alphabet, Moore, Partial, Word};
use std::path::PathBuf;
use std::time::Instant;

/// Prove that a saved network equals an automaton on every word, of any length.
///
/// There are two verdicts: one for the network in real arithmetic and double precision, one for the
/// single-precision program. The proof is written as certificate.json; `srnn check` verifies it
/// independently. If no proof is found, the output says what prevents it and what to try. It also
/// bounds, with 99 % confidence, how often automaton and network differ on random words.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn certify runs/tomita-2
  srnn certify runs/tomita-2 --spec '(10)*'",
    after_help = "Exit codes: 0 proved (at least for the network) and equal to --spec; 1 not proved, or not equal; 2 an error"
)]
pub struct CertifyArgs {
    /// A run folder or a model folder.
    run: PathBuf,
    /// The specification: a regular expression, an automaton file, a run or `tomita:1`…`7`.
    #[arg(long, value_name = "REGEX|FILE")]
    spec: Option<String>,
    /// The class that counts as accepted, if the specification only accepts or rejects.
    #[arg(long, value_name = "CLASS", requires = "spec")]
    accept: Option<String>,
    /// The file for the proof [default: certificate.json in RUN].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out.
    #[arg(long, requires = "out")]
    force: bool,
    /// The initial distance below which two soft states count as one; the search refines it.
    #[arg(long, default_value_t = ProofSearch::default().tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// Maximum steps for which a set of states is followed before it must lie inside another set.
    #[arg(long, value_name = "M", default_value_t = ProofSearch::default().depth,
          value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    depth: usize,
    /// Maximum number of step enclosures to compute.
    #[arg(long, value_name = "N", default_value_t = ProofSearch::default().steps,
          value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    steps: usize,
    /// Random words to compare if there is no proof.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = parse_count::<usize>,
          allow_negative_numbers = true)]
    words: usize,
    /// Maximum length of the random words.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = parse_count::<usize>,
          allow_negative_numbers = true)]
    longest: usize,
    #[command(flatten)]
    memory: MemoryLimit,
}

/// The result of a search for a proof.
struct CertifyOutcome {
    verdict: Verdict,
    /// The file of the proof, or the error if it could not be written. `None` without a proof.
    file: Option<Result<PathBuf, Failure>>,
    /// Without a proof: the extracted automaton, compared on random words.
    random_test: Option<RandomWordTest>,
    spec: Option<spec::SpecComparison>,
    seconds: f64,
}

/// The extracted automaton and how often it differs from the network on random words.
struct RandomWordTest {
    automaton: Moore<u32>,
    pac: Pac,
}

pub fn run(arguments: &CertifyArgs, output: &Output) -> Result<Answer, Failure> {
    validate(arguments)?;
    let saved = runs::load(&arguments.run)?;
    if let (Some(path), if_exists) = (&arguments.out, files::if_exists(arguments.force)) {
        files::check_target(path, if_exists)?;
    }
    let alphabet = Alphabet::new(saved.file.alphabet.clone()).map_err(|error| {
        Failure::new(
            format!("{}: {error}", saved.folder.display()),
            "rename the symbols in the data and train again",
        )
    })?;
    let specification = match &arguments.spec {
        Some(text) => Some(spec::Specification::read(text, &alphabet, arguments)?),
        None => None,
    };
    if let Some(specification) = &specification {
        specification.check(&saved, &alphabet)?;
    }
    let model = saved.file.model.to_f64();
    let system = TransitionSystem::new(&model, &alphabet)?;
    let begin = Instant::now();
    output.note("searching for a proof …");
    let verdict = certify_checked(&system, &search(arguments), &mut proof_checker(&saved.file));
    let seconds = begin.elapsed().as_secs_f64();
    let file =
        verdict.proof().map(|proof| save_certificate(arguments, &saved, proof)).transpose()?;
    let random_test = match verdict.proof() {
        Some(_) => None,
        None => test_random_words(arguments, &saved, &alphabet, output)?,
    };
    let automaton = verdict.proof().map(|proof| &proof.automaton);
    let automaton = automaton.or(random_test.as_ref().map(|random_test| &random_test.automaton));
    let spec = match (specification, automaton) {
        (Some(specification), Some(automaton)) => Some(specification.compare(&saved, automaton)?),
        _ => None,
    };
    let outcome = CertifyOutcome { verdict, file, random_test, spec, seconds };
    report::report(&saved, &alphabet, &outcome, output)?;
    if let Some(Err(failure)) = &outcome.file {
        output.print_error(failure);
        return Ok(Answer::Unsaved);
    }
    let equal = outcome.spec.as_ref().is_none_or(|spec| spec.word.is_none());
    Ok(if outcome.verdict.proof().is_some() && equal { Answer::Yes } else { Answer::No })
}

fn validate(arguments: &CertifyArgs) -> Result<(), Failure> {
    if arguments.spec.as_deref() == Some("") {
        return Err(Failure::new("--spec is empty", "for the empty word, write --spec re:ε"));
    }
    let tolerance = arguments.tolerance;
    if !(tolerance.is_finite() && tolerance > 0.0) {
        let message = format!("--tolerance {tolerance}: must be above 0");
        return Err(Failure::new(message, "--tolerance 0.2"));
    }
    let counts =
        [("--depth", arguments.depth), ("--steps", arguments.steps), ("--words", arguments.words)];
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((flag, _)) => Err(Failure::new(format!("{flag} 0"), format!("{flag} 1 or more"))),
        None => {
            let bytes = random_word_bytes(arguments.words, arguments.longest);
            arguments.memory.check("--words of --longest", bytes, "lower one of the two")
        }
    }
}

/// The approximate memory of random words and their classes, in bytes. It saturates.
fn random_word_bytes(words: usize, longest: usize) -> u64 {
    const OVERHEAD: u64 = 64;
    // A symbol takes four bytes, and is held twice; words are half as long as the longest.
    let word = (longest as u64).saturating_mul(4).saturating_add(OVERHEAD);
    (words as u64).saturating_mul(word)
}

fn search(arguments: &CertifyArgs) -> ProofSearch {
    let CertifyArgs { tolerance, depth, steps, .. } = *arguments;
    ProofSearch { tolerance, depth, steps, ..ProofSearch::default() }
}

/// Verifies a proof with the checker and writes it. The outer error is a refused proof. The inner
/// error is a file that cannot be written: the proof is still reported.
fn save_certificate(
    arguments: &CertifyArgs,
    saved: &SavedModel,
    proof: &Proof,
) -> Result<Result<PathBuf, Failure>, Failure> {
    let certificate = Certificate::new(&saved.file, proof).to_json();
    // The checker reads the files itself: what it accepts does not depend on how they were loaded.
    let [config, weights] = ["config.json", "model.safetensors"].map(|name| {
        let path = saved.folder.join(name);
        std::fs::read(&path).map_err(|error| {
            Failure::new(format!("{}: {error}", path.display()), "check that it may be read")
        })
    });
    srnn_check::check(&config?, &weights?, certificate.as_bytes()).map_err(|refused| {
        let message = format!("the checker refuses the proof that was found: {refused}");
        Failure::new(message, "this is a bug of srnn: please report it with the model")
    })?;
    let (path, if_exists) = target(arguments, saved);
    // A file elsewhere is not a part of the run.
    let lock = if arguments.out.is_none() { saved.lock_run() } else { Ok(None) };
    let written = lock.and_then(|_lock| {
        atomic::write(&path, certificate.as_bytes(), if_exists).map_err(|error| {
            let message = format!("{}: the certificate cannot be written: {error}", path.display());
            Failure::new(message, "give another file with --out FILE")
        })
    });
    Ok(written.map(|()| path))
}

/// The file of the proof. The default one belongs to this verb.
fn target(arguments: &CertifyArgs, saved: &SavedModel) -> (PathBuf, IfExists) {
    match &arguments.out {
        Some(path) => (path.clone(), files::if_exists(arguments.force)),
        None => (saved.home().join(runs::CERTIFICATE), IfExists::Replace),
    }
}

/// δ of the statement about random words: it holds with probability 1 − δ.
const DELTA: f64 = 0.01;
/// Words on which the automaton is tested while its tolerance is refined.
const TEST_WORDS: usize = 20_000;

fn test_random_words(
    arguments: &CertifyArgs,
    saved: &SavedModel,
    alphabet: &Alphabet,
    output: &Output,
) -> Result<Option<RandomWordTest>, Failure> {
    output.note("no proof found; comparing on random words …");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = Cpu::new(&saved.file.model, threads);
    let words = WordSet::at_most(alphabet.len() as u32, 5_000, 64);
    let data: Vec<Word> = words.iter().collect();
    let question = ExtractRequest { alphabet, data: &data, truth: None };
    let config = ExtractConfig { words: TEST_WORDS, ..default_extract_config(alphabet.len()) };
    let found = extract(&mut engine, &question, &config)?;
    let Some(kept) = found.cover.kept else { return Ok(None) };
    let distribution = Distribution { symbols: alphabet.len(), longest: arguments.longest };
    let partial = Partial::from(&kept.minimal);
    let key = Key::new(1);
    let pac = pac(&mut engine, &partial, distribution, arguments.words, DELTA, &key);
    Ok(Some(RandomWordTest { automaton: kept.minimal, pac }))
}
