//! Correct networks whose counted automaton is wrong.
//!
//! They are trained without the homotopy: state regularization from the first update, no
//! commitment, no entropy. Such a network may represent states of the language by mixture weights.
//! Counting the most probable centroids does not detect them.

use crate::ExperimentOptions;
use crate::network::{PROOF_COLUMNS, TrainedNetwork, equality, timed_proof, train_network};
use crate::table::{CsvRow, fill_table};
use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::engine::key::Key;
use srnn::extract::{
    EvaluatedAutomaton, ExtractRequest, WordSet, agreement, classify_words, extract,
};
use srnn::learn::default_extract_config;
use srnn::task::tomita::{Grammar, minimal_dfa, sets};
use srnn::train::{LearningRate, Recipe, Schedule, Sizes, TrainConfig, recipe_default};
use srnn_automata::{Alphabet, Moore, Partial, Word, shortlex};
use std::path::Path;

/// Longest word that is classified and over which transitions are counted.
const LONGEST: usize = 12;
const SEEDS: u64 = 6;

struct PlainRun<'a> {
    grammar: Grammar,
    rate: f64,
    seed: u64,
    out: &'a Path,
}

pub fn run(options: &ExperimentOptions) {
    let columns = format!(
        "grammar,rate,seed,solved,wrong_words,counted_equal,network,counted,{PROOF_COLUMNS}"
    );
    let grammars = [Grammar::T4, Grammar::T7, Grammar::T3, Grammar::T5];
    let rows = (1..=SEEDS).flat_map(|seed| {
        let of = move |grammar| {
            [0.003, 0.01].map(|rate| PlainRun { grammar, rate, seed, out: &options.out })
        };
        grammars.into_iter().flat_map(of)
    });
    fill_table(options, "counted-wrong", &columns, &rows.collect::<Vec<_>>());
}

/// 24 units, 10 centroids, 3,000 updates, length curriculum only.
fn plain_recipe(rate: f64) -> Recipe {
    let recipe = recipe_default(&Sizes { units: 24, k: 10, ..Sizes::of(2, 2) });
    let schedule = Schedule { curriculum: 1_000, ..Schedule::plain(3_000) };
    let learning_rate = LearningRate::Constant { rate };
    Recipe { train: TrainConfig { schedule, learning_rate, ..recipe.train }, ..recipe }
}

impl CsvRow for PlainRun<'_> {
    fn name(&self) -> String {
        format!("tomita-{}-rate-{}-seed-{}", self.grammar.number(), self.rate, self.seed)
    }

    fn row(&self) -> String {
        let trained =
            train_network(&sets(self.grammar, &Key::new(1)), &plain_recipe(self.rate), self.seed);
        let PlainRun { rate, seed, .. } = *self;
        let (number, solved) = (self.grammar.number(), trained.solved());
        let truth = Moore::from(&minimal_dfa(self.grammar));
        let start = format!("{number},{rate},{seed},{solved}");
        let wrong = match solved {
            true => count_wrong_words(&trained, &truth),
            false => return format!("{start}{}", ",".repeat(4 + PROOF_COLUMNS.split(',').count())),
        };
        let found = counted(&trained, &truth);
        let columns = match &found.extracted.minimal {
            Ok(minimal) => compare_with_truth(&trained, minimal, &truth),
            Err(_) => "incomplete,,".into(),
        };
        let proof = timed_proof(&trained.file);
        proof.save(&trained.file, &self.out.join("counted-wrong").join(self.name()));
        format!("{start},{wrong},{columns},{}", proof.row())
    }
}

/// The number of words up to [`LONGEST`] that the network misclassifies.
fn count_wrong_words(trained: &TrainedNetwork, truth: &Moore<u32>) -> usize {
    let words = WordSet::UpTo { symbols: 2, longest: LONGEST };
    let answers = classify_words(&mut engine(trained), words, Mode::default());
    answers.classes.len() - agreement(&answers, &Partial::from(truth)).equal
}

fn engine(trained: &TrainedNetwork) -> Cpu {
    Cpu::new(&trained.file.model, 1)
}

/// The paper's automaton: the most frequent transitions of soft runs over all words up to
/// [`LONGEST`].
fn counted(trained: &TrainedNetwork, truth: &Moore<u32>) -> EvaluatedAutomaton {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    let data: Vec<Word> = shortlex(2, LONGEST).collect();
    let question = ExtractRequest { alphabet: &alphabet, data: &data, truth: Some(truth) };
    let found = extract(&mut engine(trained), &question, &default_extract_config(2));
    found.expect("an SR-GRU").counted_soft.expect("a read-out of h").evaluated
}

/// Whether the counted automaton equals the truth. If not, also the classes that network and
/// counted automaton give to a shortest word on which counted automaton and truth differ.
fn compare_with_truth(
    trained: &TrainedNetwork,
    counted: &Moore<u32>,
    truth: &Moore<u32>,
) -> String {
    let equal = equality(counted, truth);
    let Ok(Some(word)) = srnn_automata::distinguish(counted, truth) else {
        return format!("{equal},,");
    };
    let words = WordSet::List(vec![word.clone()]);
    let answer = classify_words(&mut engine(trained), words, Mode::default()).classes[0];
    let network = answer.map_or("none".into(), |class| class.to_string());
    format!("{equal},{network},{}", counted.output_of(&word))
}
