//! `srnn certify`: a proof that a saved network equals an automaton on every word.

mod report;
mod spec;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::whole;
use crate::runs::{self, Saved};
use clap::Args;
use srnn::atomic;
use srnn::certify::{Distribution, Pac, Proof, ProofSearch, Verdict, certify, check_proof, pac};
use srnn::engine::cpu::Cpu;
use srnn::extract::{ExtractConfig, ExtractRequest, TransitionSystem, WordSet, extract};
use srnn::key::Key;
use srnn::learn::extraction_for;
use srnn_automata::{Alphabet, Moore, Partial, Word};
use std::path::PathBuf;
use std::time::Instant;

/// Prove that a saved network equals an automaton on every word, of any length.
///
/// Two verdicts: the network in real arithmetic and double precision, and the single-precision
/// program that runs. The proof is written as certificate.json, which `srnn check` checks
/// independently. Where none is found: what stands in the way, what to try, and how often automaton
/// and network can differ on random words, probably.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn certify runs/tomita-2
  srnn certify runs/tomita-2 --spec '(10)*'",
    after_help = "Exit codes: 0 proved, at least of the network, and equal to --spec; 1 not proved, or not equal; 2 an error"
)]
pub struct Certify {
    /// A run folder, or a model's folder.
    run: PathBuf,
    /// What the network should be: a regular expression, an automaton file, a run or `tomita:1`…`7`.
    #[arg(long, value_name = "REGEX|FILE")]
    spec: Option<String>,
    /// The class that means yes, where the specification only says yes or no.
    #[arg(long, value_name = "CLASS", requires = "spec")]
    accept: Option<String>,
    /// The file for the proof; by default `certificate.json` in RUN.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The first distance at which two soft states count as one; it is refined from there.
    #[arg(long, default_value_t = ProofSearch::default().tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// The most steps that a set of states is followed before it must lie in another.
    #[arg(long, value_name = "M", default_value_t = ProofSearch::default().depth,
          value_parser = whole::<usize>, allow_negative_numbers = true)]
    depth: usize,
    /// The most enclosures of a step to compute before giving up.
    #[arg(long, value_name = "N", default_value_t = ProofSearch::default().steps,
          value_parser = whole::<usize>, allow_negative_numbers = true)]
    steps: usize,
    /// Random words to compare where there is no proof.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole::<usize>,
          allow_negative_numbers = true)]
    words: usize,
    /// The length of the longest of them.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = whole::<usize>,
          allow_negative_numbers = true)]
    longest: usize,
}

/// What came of it.
struct Outcome {
    verdict: Verdict,
    /// The file of the proof, or why it could not be written.
    file: Option<Result<PathBuf, Failure>>,
    /// Where there is no proof: the automaton read off the network, and what is probable.
    fallback: Option<Fallback>,
    spec: Option<spec::Compared>,
    seconds: f64,
}

struct Fallback {
    automaton: Moore<u32>,
    pac: Pac,
}

/// Does it.
pub fn run(arguments: &Certify, output: &Output) -> Result<Answer, Failure> {
    validate(arguments)?;
    let saved = runs::load(&arguments.run)?;
    let alphabet = Alphabet::new(saved.file.alphabet.clone()).map_err(|error| {
        Failure::new(format!("{}: {error}", saved.folder.display()), "train it with other names")
    })?;
    let specification = match &arguments.spec {
        Some(text) => Some(spec::Specification::read(text, &alphabet, arguments)?),
        None => None,
    };
    let model = saved.file.model.to_f64();
    let machine = TransitionSystem::new(&model, &alphabet)?;
    let begin = Instant::now();
    output.note("looking for a proof …");
    let verdict = certify(&machine, &search(arguments));
    let seconds = begin.elapsed().as_secs_f64();
    let file = verdict.proof().map(|proof| keep(arguments, &saved, proof)).transpose()?;
    let fallback = match verdict.proof() {
        Some(_) => None,
        None => fallback(arguments, &saved, &alphabet, output)?,
    };
    let automaton = verdict.proof().map(|proof| &proof.automaton);
    let automaton = automaton.or(fallback.as_ref().map(|fallback| &fallback.automaton));
    let spec = match (specification, automaton) {
        (Some(specification), Some(automaton)) => Some(specification.compare(&saved, automaton)?),
        _ => None,
    };
    let outcome = Outcome { verdict, file, fallback, spec, seconds };
    report::report(&saved, &alphabet, &outcome, output)?;
    if let Some(Err(failure)) = &outcome.file {
        output.trouble(failure);
        return Ok(Answer::Unsaved);
    }
    let equal = outcome.spec.as_ref().is_none_or(|spec| spec.word.is_none());
    Ok(if outcome.verdict.proof().is_some() && equal { Answer::Yes } else { Answer::No })
}

fn validate(arguments: &Certify) -> Result<(), Failure> {
    if arguments.spec.as_deref() == Some("") {
        return Err(Failure::new("--spec: it is empty", "ε is written --spec re:ε"));
    }
    let tolerance = arguments.tolerance;
    if !(tolerance.is_finite() && tolerance > 0.0) {
        let message = format!("--tolerance {tolerance}: must be a number above 0");
        return Err(Failure::new(message, "--tolerance 0.2"));
    }
    let counts =
        [("--depth", arguments.depth), ("--steps", arguments.steps), ("--words", arguments.words)];
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((flag, _)) => Err(Failure::new(format!("{flag} 0"), format!("{flag} 1 or more"))),
        None => Ok(()),
    }
}

fn search(arguments: &Certify) -> ProofSearch {
    let Certify { tolerance, depth, steps, .. } = *arguments;
    ProofSearch { tolerance, depth, steps, ..ProofSearch::default() }
}

/// Has a proof checked and writes it. Where only the file is in the way, what was found is still
/// worth telling: it may have taken long.
fn keep(
    arguments: &Certify,
    saved: &Saved,
    proof: &Proof,
) -> Result<Result<PathBuf, Failure>, Failure> {
    let certificate = check_proof(&saved.file, proof).map_err(|refused| {
        let message = format!("the checker refuses the proof that was found: {refused}");
        Failure::new(message, "this is a bug of srnn: please report it with the model")
    })?;
    let certificate = certificate.to_json();
    let home = saved.run.as_ref().unwrap_or(&saved.folder);
    let path = arguments.out.clone().unwrap_or_else(|| home.join(runs::CERTIFICATE));
    let written = atomic::write(&path, certificate.as_bytes()).map_err(|error| {
        let message = format!("{}: the certificate cannot be written: {error}", path.display());
        Failure::new(message, "give another file with --out FILE")
    });
    Ok(written.map(|()| path))
}

/// δ of what is said without a proof.
const DELTA: f64 = 0.01;
/// Words that the automaton is tested on while its tolerance is refined.
const TEST_WORDS: usize = 20_000;

fn fallback(
    arguments: &Certify,
    saved: &Saved,
    alphabet: &Alphabet,
    output: &Output,
) -> Result<Option<Fallback>, Failure> {
    output.note("no proof; comparing on random words …");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = Cpu::new(&saved.file.model, threads);
    let words = WordSet::at_most(alphabet.len() as u32, 5_000, 64);
    let data: Vec<Word> = words.iter().collect();
    let question = ExtractRequest { alphabet, data: &data, truth: None };
    let config = ExtractConfig { words: TEST_WORDS, ..extraction_for(alphabet.len()) };
    let found = extract(&mut engine, &question, &config)?;
    let Some(kept) = found.cover.kept else { return Ok(None) };
    let distribution = Distribution { symbols: alphabet.len(), longest: arguments.longest };
    let partial = Partial::from(&kept.minimal);
    let key = Key::new(1);
    let pac = pac(&mut engine, &partial, distribution, arguments.words, DELTA, &key);
    Ok(Some(Fallback { automaton: kept.minimal, pac }))
}
