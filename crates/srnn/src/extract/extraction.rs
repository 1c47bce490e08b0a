//! All four extraction methods on one network, each evaluated against the deployed network and, where
//! it is known, against the true automaton.

use super::{
    Agreement, ClassifiedWords, ExtractError, ExtractedAutomaton, RefineConfig, RefinedCover, Tie,
    TransitionCounts, TransitionSystem, TruthComparison, WordSet, agreement, automaton_from_counts,
    classify_words, count_transitions, hard_table, refine,
};
use crate::engine::Real;
use crate::engine::{Mode, Runner, Transition};
use crate::model::Model;
use srnn_automata::{Alphabet, Moore, Word, distinguish};
use std::convert::Infallible;

/// The data of an extraction.
#[derive(Clone, Copy, Debug)]
pub struct ExtractRequest<'a> {
    /// The names of the network's symbols.
    pub alphabet: &'a Alphabet,
    /// Words over which transitions are counted, as in the paper, and agreement is measured.
    pub data: &'a [Word],
    /// The automaton the network should have learned, if it is known. Symbols are matched by name.
    pub truth: Option<&'a Moore<u32>>,
}

/// The limits of an extraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtractConfig {
    /// Agreement is measured on all words up to some length: the largest one with no more than this
    /// number of words. Default 200,000: 131,071 words up to length 16 for two symbols.
    pub words: usize,
    /// A bound on that length, for alphabets of one symbol. Default 256.
    pub longest: usize,
    /// Cap on the states of the hard table. Default 4,096.
    pub hard_cap: usize,
    /// The search for the cover's tolerance.
    pub refine: RefineConfig,
}

impl Default for ExtractConfig {
    fn default() -> Self {
        ExtractConfig {
            words: 200_000,
            longest: 256,
            hard_cap: 4096,
            refine: RefineConfig::default(),
        }
    }
}

/// The automata of one network.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// The words, beside the data, on which agreement was measured.
    pub words: WordSet,
    /// The paper's algorithm as its code does it: the mixture is fed back.
    pub counted_soft: Result<EvaluatedCounts, ExtractError>,
    /// The paper's algorithm as its text describes it: the centroid is fed back.
    pub counted_hard: Result<EvaluatedCounts, ExtractError>,
    /// The transition table of the hard network.
    pub hard_table: Result<EvaluatedAutomaton, ExtractError>,
    /// The covers tried, and the best one.
    pub cover: RefinedCover,
    /// The automaton of the best cover.
    pub cover_evaluated: Option<EvaluatedAutomaton>,
}

/// An automaton, compared with the deployed (soft) network and the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedAutomaton {
    /// The automaton.
    pub extracted: ExtractedAutomaton,
    /// Agreement with the network on all short words.
    pub on_words: Agreement,
    /// Agreement with the network on the data.
    pub on_data: Agreement,
    /// Comparison with the truth; `None` if the truth is not known or the automaton incomplete.
    pub truth: Option<TruthComparison>,
}

/// A counted automaton with its evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedCounts {
    /// The automaton.
    pub evaluated: EvaluatedAutomaton,
    /// The pairs of state and symbol with several most frequent successors.
    pub ties: Vec<Tie>,
}

/// Extracts automata from a network by all four methods. Words run on the engine; states are
/// explored in double precision.
pub fn extract<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    request: &ExtractRequest,
    config: &ExtractConfig,
) -> Result<Extraction, ExtractError> {
    let Ok(model) = engine.model();
    let model = in_double_precision(model);
    let system = TransitionSystem::new(&model, request.alphabet)?;
    check_truth(request)?;
    let symbols = request.alphabet.len() as u32;
    let words = WordSet::at_most(symbols, config.words, config.longest);
    let data = WordSet::List(request.data.to_vec());
    let counted_soft = count_transitions(engine, &data, Mode::default())?;
    let hard = Mode { transition: Transition::Argmax, ..Mode::default() };
    let counted_hard = count_transitions(engine, &data, hard)?;
    let tests = [words.clone(), data].map(|words| classify_words(engine, words, Mode::default()));
    let cover = refine(&system, &tests, &config.refine);
    let evaluate = |extracted| evaluate(extracted, &tests, request.truth);
    let evaluate_counts = |counts: TransitionCounts| {
        let counted = automaton_from_counts(&counts, &system)?;
        Ok(EvaluatedCounts { evaluated: evaluate(counted.extracted), ties: counted.ties })
    };
    Ok(Extraction {
        words,
        counted_soft: evaluate_counts(counted_soft),
        counted_hard: evaluate_counts(counted_hard),
        hard_table: hard_table(&system, config.hard_cap).map(evaluate),
        cover_evaluated: cover.kept.as_ref().map(|kept| evaluate(kept.cover.extracted.clone())),
        cover,
    })
}

fn evaluate(
    extracted: ExtractedAutomaton,
    tests: &[ClassifiedWords; 2],
    truth: Option<&Moore<u32>>,
) -> EvaluatedAutomaton {
    let [on_words, on_data] = tests.each_ref().map(|test| agreement(test, &extracted.automaton));
    let compare = |minimal| TruthComparison::of(minimal, truth?).ok();
    let truth = extracted.minimal.as_ref().ok().and_then(compare);
    EvaluatedAutomaton { extracted, on_words, on_data, truth }
}

/// Fails for a truth over other symbols, before any work is done.
fn check_truth(request: &ExtractRequest) -> Result<(), ExtractError> {
    let Some(truth) = request.truth else { return Ok(()) };
    let one_state = Moore::from_fn(request.alphabet.clone(), 1, |_| 0, |state, _| state)
        .expect("one state with a loop is an automaton");
    distinguish(&one_state, truth)?;
    Ok(())
}

/// The model with its parameters converted to f64.
pub(crate) fn in_double_precision<F: Real>(model: Model<F>) -> Model<f64> {
    Model { arch: model.arch, params: model.params.into_iter().map(Real::to).collect() }
}
