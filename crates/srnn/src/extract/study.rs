//! All four ways side by side, each held against the deployed network and, where it is known,
//! against the truth.

use super::{
    Agreement, Answers, Extracted, Memoryless, Refine, Refined, Refusal, Tie, Verdict, Words,
    agreement, ask, automaton_of_counts, count_words, hard_table, refine,
};
use crate::engine::Real;
use crate::engine::{Mode, Runner, Transition};
use crate::model::Model;
use srnn_automata::{Alphabet, Moore, Word, distinguish};
use std::convert::Infallible;

/// What is asked about a network.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The names of its symbols.
    pub alphabet: &'a Alphabet,
    /// Words to count transitions over, as the paper does, and to compare answers on.
    pub data: &'a [Word],
    /// The automaton it should have learned, if that is known. Symbols are matched by name.
    pub truth: Option<&'a Moore<u32>>,
}

/// How it is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Agreement is tested on all words up to the largest length at which they are not more than
    /// this. Default 200,000: 131,071 words up to length 16 for two symbols.
    pub words: usize,
    /// A bound on that length, for alphabets of one symbol. Default 256.
    pub longest: usize,
    /// Cap on the states of the hard table. Default 4,096.
    pub hard_cap: usize,
    /// The cover's tolerance.
    pub refine: Refine,
}

impl Default for Config {
    fn default() -> Self {
        Config { words: 200_000, longest: 256, hard_cap: 4096, refine: Refine::default() }
    }
}

/// The automata of one network.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// The words, beside the data, on which agreement was tested.
    pub words: Words,
    /// The paper's algorithm as its code runs it: the mixture is fed back.
    pub counted_soft: Result<JudgedCounts, Refusal>,
    /// The paper's algorithm as its text says it: the centroid is fed back.
    pub counted_hard: Result<JudgedCounts, Refusal>,
    /// Every transition of the hard network.
    pub hard_table: Result<Judged, Refusal>,
    /// The covers tried, and the one kept.
    pub cover: Refined,
    /// The kept cover's automaton.
    pub cover_judged: Option<Judged>,
}

/// An automaton, held against the deployed (soft) network and the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The automaton.
    pub extracted: Extracted,
    /// Agreement with the network on all short words.
    pub on_words: Agreement,
    /// Agreement with the network on the data.
    pub on_data: Agreement,
    /// Whether it is the truth; `None` where that is not known, or the automaton not complete.
    pub truth: Option<Verdict>,
}

/// A counted automaton, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCounts {
    /// The automaton.
    pub judged: Judged,
    /// Where several transitions were equally frequent.
    pub ties: Vec<Tie>,
}

/// Reads the automata off a network. Runs go through the engine; states are explored in double
/// precision.
pub fn extract<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    question: &Question,
    config: &Config,
) -> Result<Extraction, Refusal> {
    let Ok(model) = engine.model();
    let model = in_double_precision(model);
    let machine = Memoryless::new(&model, question.alphabet)?;
    check_truth(question)?;
    let symbols = question.alphabet.len() as u32;
    let words = Words::at_most(symbols, config.words, config.longest);
    let data = Words::List(question.data.to_vec());
    let counted_soft = count_words(engine, &data, Mode::default())?;
    let hard = Mode { transition: Transition::Argmax, ..Mode::default() };
    let counted_hard = count_words(engine, &data, hard)?;
    let tests = [words.clone(), data].map(|words| ask(engine, words, Mode::default()));
    let cover = refine(&machine, &tests, &config.refine);
    let judge = |extracted| judged(extracted, &tests, question.truth);
    let judge_counts = |counts| {
        let counted = automaton_of_counts(&counts, &machine)?;
        Ok(JudgedCounts { judged: judge(counted.extracted), ties: counted.ties })
    };
    Ok(Extraction {
        words,
        counted_soft: judge_counts(counted_soft),
        counted_hard: judge_counts(counted_hard),
        hard_table: hard_table(&machine, config.hard_cap).map(judge),
        cover_judged: cover.kept.as_ref().map(|kept| judge(kept.cover.extracted.clone())),
        cover,
    })
}

fn judged(extracted: Extracted, tests: &[Answers; 2], truth: Option<&Moore<u32>>) -> Judged {
    let [on_words, on_data] = tests.each_ref().map(|t| agreement(t, &extracted.automaton));
    let verdict = |minimal| Verdict::of(minimal, truth?).ok();
    let truth = extracted.minimal.as_ref().ok().and_then(verdict);
    Judged { extracted, on_words, on_data, truth }
}

/// Refuses a truth over other symbols, before any work is done.
fn check_truth(question: &Question) -> Result<(), Refusal> {
    let Some(truth) = question.truth else { return Ok(()) };
    let any = Moore::from_fn(question.alphabet.clone(), 1, |_| 0, |state, _| state)
        .expect("one state that is never left");
    distinguish(&any, truth)?;
    Ok(())
}

fn in_double_precision<F: Real>(model: Model<F>) -> Model<f64> {
    Model { arch: model.arch, params: model.params.into_iter().map(Real::to).collect() }
}
