//! Networks that are right although the automaton counted from them is wrong.
//!
//! Trained without the homotopy: state regularization from the first update, no commitment, no
//! entropy. Such a network may keep states of the language in its mixture weights, where counting
//! most probable centroids does not see them.

use crate::Desk;
use crate::network::{Trained, VERDICT, equality, trained, verdict};
use crate::table::{Work, fill};
use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::extract::{
    EvaluatedAutomaton, ExtractRequest, WordSet, agreement, classify_words, extract,
};
use srnn::key::Key;
use srnn::learn::extraction_for;
use srnn::task::tomita::{Grammar, sets, truth};
use srnn::train::{LearningRate, Recipe, Schedule, Sizes, TrainConfig, recipe_default};
use srnn_automata::{Alphabet, Moore, Partial, Word, shortlex};
use std::path::Path;

/// Words the network must be right on, all up to this length; transitions are counted over them.
const LONGEST: usize = 12;
const SEEDS: u64 = 6;

struct Plain<'a> {
    grammar: Grammar,
    rate: f64,
    seed: u64,
    out: &'a Path,
}

pub fn run(desk: &Desk) {
    let columns =
        format!("grammar,rate,seed,solved,wrong_words,counted_equal,network,counted,{VERDICT}");
    let grammars = [Grammar::T4, Grammar::T7, Grammar::T3, Grammar::T5];
    let works = (1..=SEEDS).flat_map(|seed| {
        let of =
            move |grammar| [0.003, 0.01].map(|rate| Plain { grammar, rate, seed, out: &desk.out });
        grammars.into_iter().flat_map(of)
    });
    fill(desk, "counted-wrong", &columns, &works.collect::<Vec<_>>());
}

/// 24 units, 10 centroids, 3,000 updates, the length curriculum alone.
fn recipe(rate: f64) -> Recipe {
    let recipe = recipe_default(&Sizes { units: 24, k: 10, ..Sizes::of(2, 2) });
    let schedule = Schedule { curriculum: 1_000, ..Schedule::plain(3_000) };
    let learning_rate = LearningRate::Constant { rate };
    Recipe { train: TrainConfig { schedule, learning_rate, ..recipe.train }, ..recipe }
}

impl Work for Plain<'_> {
    fn name(&self) -> String {
        format!("tomita-{}-rate-{}-seed-{}", self.grammar.number(), self.rate, self.seed)
    }

    fn row(&self) -> String {
        let trained = trained(&sets(self.grammar, &Key::new(1)), &recipe(self.rate), self.seed);
        let Plain { rate, seed, .. } = *self;
        let (number, solved) = (self.grammar.number(), trained.solved());
        let truth = Moore::from(&truth(self.grammar));
        let start = format!("{number},{rate},{seed},{solved}");
        let wrong = match solved {
            true => wrong_words(&trained, &truth),
            false => return format!("{start}{}", ",".repeat(4 + VERDICT.split(',').count())),
        };
        let found = counted(&trained, &truth);
        let columns = match &found.extracted.minimal {
            Ok(minimal) => replay(&trained, minimal, &truth),
            Err(_) => "incomplete,,".into(),
        };
        let verdict = verdict(&trained.file);
        verdict.save(&trained.file, &self.out.join("counted-wrong").join(self.name()));
        format!("{start},{wrong},{columns},{}", verdict.row())
    }
}

/// How many short words the network gets wrong.
fn wrong_words(trained: &Trained, truth: &Moore<u32>) -> usize {
    let words = WordSet::UpTo { symbols: 2, longest: LONGEST };
    let answers = classify_words(&mut engine(trained), words, Mode::default());
    answers.classes.len() - agreement(&answers, &Partial::from(truth)).equal
}

fn engine(trained: &Trained) -> Cpu {
    Cpu::new(&trained.file.model, 1)
}

/// The paper's automaton: most frequent transitions of the soft runs over all short words.
fn counted(trained: &Trained, truth: &Moore<u32>) -> EvaluatedAutomaton {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    let data: Vec<Word> = shortlex(2, LONGEST).collect();
    let question = ExtractRequest { alphabet: &alphabet, data: &data, truth: Some(truth) };
    let found = extract(&mut engine(trained), &question, &extraction_for(2));
    found.expect("an SR-GRU").counted_soft.expect("a read-out of h").evaluated
}

/// Whether the counted automaton is the truth, and, where it is not, what network and counted
/// automaton say to the shortest word that tells.
fn replay(trained: &Trained, counted: &Moore<u32>, truth: &Moore<u32>) -> String {
    let equal = equality(counted, truth);
    let Ok(Some(word)) = srnn_automata::distinguish(counted, truth) else {
        return format!("{equal},,");
    };
    let words = WordSet::List(vec![word.clone()]);
    let answer = classify_words(&mut engine(trained), words, Mode::default()).classes[0];
    let network = answer.map_or("none".into(), |class| class.to_string());
    format!("{equal},{network},{}", counted.output_of(&word))
}
