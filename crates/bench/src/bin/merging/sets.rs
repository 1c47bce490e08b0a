//! The sets of the record.

use crate::languages::{abbadingo_automaton, acceptors, numbered, random_automaton};
use crate::stamina;
use crate::words::{ClassSampler, LabelledWord, below, distinct, stream, uniform_word};
use serde_json::{Value, json};
use srnn_automata::{Moore, State, Symbol, Word};
use std::path::Path;

/// Words of a known language.
pub struct LanguageSet {
    /// The row of the table.
    pub row: String,
    pub name: String,
    pub truth: Moore<u32>,
    /// Some labels may be wrong.
    pub train: Vec<LabelledWord>,
    /// Words that are not in `train`, with their true labels.
    pub test: Vec<LabelledWord>,
}

/// Training words of sets without a published size.
const TRAIN: usize = 2_000;
const TEST: usize = 1_000;
/// Longest word of these sets.
const LONGEST: usize = 20;
/// Percentages of the training words in sparse sets.
const SPARSITIES: [f64; 4] = [100.0, 50.0, 25.0, 12.5];
/// Training words of Abbadingo-like and StaMinA-like sets at 100 %.
const FULL: usize = 4_000;

/// All sets. `acceptors_folder` holds MLRegTest's acceptors.
pub fn all(acceptors_folder: &Path) -> Vec<LanguageSet> {
    let mut sets = random_sets();
    sets.extend(mlregtest_sets(acceptors_folder));
    sets.extend(abbadingo_sets());
    sets.extend(stamina_sets());
    sets.extend(noisy_sets());
    sets
}

fn random_sets() -> Vec<LanguageSet> {
    let set = |i: u64| {
        let mut bits = stream(1_000 + i);
        let (states, symbols) = (3 + (i as usize * 28) / 60, 2 + i as usize % 7);
        let truth = random_automaton(states, symbols, &mut bits);
        let words =
            distinct(&truth, TRAIN + TEST, || Some(uniform_word(symbols, LONGEST, &mut bits)));
        let row = match states {
            0..=10 => "random 3-10",
            11..=20 => "random 11-20",
            _ => "random 21-30",
        };
        LanguageSet::new(row, format!("random-{i:02}"), truth, words, TRAIN)
    };
    (0..60).map(set).collect()
}

fn mlregtest_sets(folder: &Path) -> Vec<LanguageSet> {
    let set = |(i, (name, truth)): (usize, (String, Moore<u32>))| {
        let mut bits = stream(2_000 + i as u64);
        let sampler = ClassSampler::new(&truth, LONGEST);
        let words = distinct(&truth, TRAIN + TEST, || {
            let class = below(2, &mut bits) as u32;
            let length = below(LONGEST + 1, &mut bits);
            sampler.word(class, length, &mut bits)
        });
        let row = format!("MLRegTest {}", truth.alphabet().len());
        let names = numbered(truth.alphabet().len());
        let table = truth.states().flat_map(|s| truth.successors(s).to_vec()).collect();
        let truth = Moore::new(names, truth.start(), truth.outputs().to_vec(), table)
            .expect("only the names differ");
        LanguageSet::new(&row, format!("mlregtest-{name}"), truth, words, TRAIN)
    };
    acceptors(folder, 60, 1).into_iter().enumerate().map(set).collect()
}

fn abbadingo_sets() -> Vec<LanguageSet> {
    let mut sets = vec![];
    for i in 0..3 {
        let mut bits = stream(3_000 + i);
        let truth = abbadingo_automaton(50, &mut bits);
        let longest = (2.0 * 50f64.log2() + 3.0) as usize;
        let words = distinct(&truth, FULL + TEST, || {
            // Uniform among all words: half of them have the greatest length.
            let longer = (below(2 << longest, &mut bits) + 1) as u64;
            let length = longer.ilog2() as usize;
            Some((0..length).map(|bit| Symbol((longer >> bit & 1) as u32)).collect())
        });
        sets.extend(sparse("Abbadingo-like", &format!("abbadingo-{i}"), &truth, &words));
    }
    sets
}

fn stamina_sets() -> Vec<LanguageSet> {
    let mut sets = vec![];
    for (i, symbols) in [2, 5, 10, 20, 50].into_iter().enumerate() {
        let mut bits = stream(4_000 + i as u64);
        let truth = stamina::automaton(50, symbols, &mut bits);
        let mut class = 0;
        let words = distinct(&truth, FULL + TEST, || {
            let word = stamina::word(&truth, class, &mut bits)?;
            class = 1 - class;
            Some(word)
        });
        sets.extend(sparse("StaMinA-like", &format!("stamina-{symbols:02}"), &truth, &words));
    }
    sets
}

/// A set for each sparsity, with the same test words.
fn sparse(row: &str, name: &str, truth: &Moore<u32>, words: &[LabelledWord]) -> Vec<LanguageSet> {
    let full = words.len() - TEST;
    let set = |percent: f64| {
        let train = (full as f64 * percent / 100.0) as usize;
        let words = words[full - train..].to_vec();
        let row = format!("{row} {percent} %");
        LanguageSet::new(&row, format!("{name}-{percent}"), truth.clone(), words, train)
    };
    SPARSITIES.into_iter().map(set).collect()
}

fn noisy_sets() -> Vec<LanguageSet> {
    let mut sets = vec![];
    for percent in [2, 5, 10] {
        for i in 0..18 {
            let mut bits = stream(5_000 + i);
            let (states, symbols) = (3 + i as usize, 2 + i as usize % 4);
            let truth = random_automaton(states, symbols, &mut bits);
            let words =
                distinct(&truth, TRAIN + TEST, || Some(uniform_word(symbols, LONGEST, &mut bits)));
            let row = format!("{percent} % wrong");
            let mut set =
                LanguageSet::new(&row, format!("noisy-{percent:02}-{i:02}"), truth, words, TRAIN);
            set.flip(percent, &mut bits);
            sets.push(set);
        }
    }
    sets
}

impl LanguageSet {
    fn new(
        row: &str,
        name: String,
        truth: Moore<u32>,
        words: Vec<LabelledWord>,
        train: usize,
    ) -> LanguageSet {
        let mut train = words[..train.min(words.len() * 2 / 3)].to_vec();
        let test = words[train.len()..].to_vec();
        train.shrink_to_fit();
        LanguageSet { row: row.into(), name, truth, train, test }
    }

    /// Makes this share of the training labels wrong.
    fn flip(&mut self, percent: usize, bits: &mut impl FnMut() -> u64) {
        let mut order: Vec<usize> = (0..self.train.len()).collect();
        for i in 0..self.train.len() * percent / 100 {
            let other = i + below(order.len() - i, bits);
            order.swap(i, other);
            self.train[order[i]].1 ^= 1;
        }
    }

    pub fn to_json(&self) -> Value {
        let words = |words: &[LabelledWord]| -> Vec<Value> {
            words.iter().map(|(word, class)| json!([class, numbers(word)])).collect()
        };
        let table = self.truth.states().flat_map(|s| self.truth.successors(s));
        json!({
            "row": self.row,
            "name": self.name,
            "symbols": self.truth.alphabet().len(),
            "outputs": self.truth.outputs(),
            "table": table.map(|to| to.0).collect::<Vec<u32>>(),
            "train": words(&self.train),
            "test": words(&self.test),
        })
    }

    pub fn from_json(value: &Value) -> LanguageSet {
        let text = |key: &str| value[key].as_str().expect("a text").to_string();
        let symbols = value["symbols"].as_u64().expect("a number") as usize;
        let states = list(&value["table"]).into_iter().map(State).collect();
        let truth = Moore::new(numbered(symbols), State(0), list(&value["outputs"]), states);
        let words = |key: &str| -> Vec<LabelledWord> {
            let words = value[key].as_array().expect("a list").iter();
            let word = |word: &Value| list(&word[1]).into_iter().map(Symbol).collect();
            words.map(|w| (word(w), w[0].as_u64().expect("a class") as u32)).collect()
        };
        LanguageSet {
            row: text("row"),
            name: text("name"),
            truth: truth.expect("the set has an automaton"),
            train: words("train"),
            test: words("test"),
        }
    }
}

fn numbers(word: &Word) -> Vec<u32> {
    word.iter().map(|symbol| symbol.0).collect()
}

fn list(value: &Value) -> Vec<u32> {
    let numbers = value.as_array().expect("a list").iter();
    numbers.map(|number| number.as_u64().expect("a number") as u32).collect()
}
