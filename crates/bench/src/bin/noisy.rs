//! The record of noisy labels: one CSV row per grammar, share of wrong labels and data seed.
//!
//! ```text
//! cargo run --release -p srnn-bench --bin noisy -- record noisy.csv 2 100 50
//! cargo run --release -p srnn-bench --bin noisy -- data FOLDER
//! ```
//! `record` goes on with the file: rows that are there are not made again. The numbers are seeds,
//! units and centroids. `data` writes the same data as files, with the true automata, for `bench/peers/noisy`.
//! The truth is used here to judge, never to select.
//!
//! Data: grammars 3 to 7 have the paper's training sets. Grammars 1 and 2 have hardly a positive
//! word there, so of each length all rejected words or 200 of them are drawn, and the one accepted
//! word of a length, where there is one, stands there 10 (grammar 1) or 20 times (grammar 2).
//! Then a part of all labels is flipped, and a fifth of this noisy set is held out for validation.

use srnn::engine::Hardware;
use srnn::key::Key;
use srnn::learn::{Labels, LearnData, LearnRequest, Learned, NoCallbacks, learn};
use srnn::noise::{DescriptionLength, MdlSelection, PrefixTree, SearchBudget, simplify};
use srnn::task::files::{Format, Tokens, write};
use srnn::task::tomita::{Grammar, TRAIN_LENGTHS, accepts, sets, truth};
use srnn::task::{Dataset, Part, Rate, Sequence, assign, label_noise, split};
use srnn::train::{Sizes, recipe_default};
use srnn_automata::{Alphabet, Moore, distinguish, random_dfa, text::dot};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::time::Instant;

const NOISES: [f64; 2] = [0.05, 0.1];
const DATA_SEEDS: u64 = 5;
/// Rejected words of a length, for grammars 1 and 2.
const REJECTED: usize = 200;
/// States of the random automata that the control begins from: about as many as a hard table has.
const CONTROL_STATES: usize = 25;

const HEADER: &str = "grammar,noise,data_seed,strings,distinct,positives,flipped,seeds,units,k,labels,\
tried,way,believed_states,believed_wrong,bits,truth_bits,believed_equal,flips_found,false_alarms,\
network_states,network_equal,control_equal,seconds";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["data", folder] => write_data(folder),
        ["record", file, seeds, units, k] => {
            let number = |text: &str| text.parse::<usize>().expect("a number");
            let sizes = Sizes { units: number(units), k: number(k), ..Sizes::of(2, 2) };
            record(file, number(seeds) as u64, &sizes);
        }
        _ => panic!("record FILE SEEDS UNITS K, or data FOLDER"),
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let all = NOISES.into_iter().flat_map(|noise| (1..=DATA_SEEDS).map(move |seed| (noise, seed)));
    all.flat_map(|(noise, seed)| Grammar::ALL.map(|grammar| Case { grammar, noise, seed }))
}

/// Adds the rows that a file does not have yet.
fn record(file: &str, seeds: u64, sizes: &Sizes) {
    let done = fs::read_to_string(file).unwrap_or_default();
    let mut out = fs::File::options().create(true).append(true).open(file).expect("a file");
    if done.is_empty() {
        writeln!(out, "{HEADER}").expect("space on the disk");
    }
    for case in cases().filter(|case| !done.lines().any(|row| row.starts_with(&case.name()))) {
        writeln!(out, "{}", case.row(seeds, sizes)).expect("space on the disk");
    }
}

fn write_data(folder: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let path = |name: String| format!("{folder}/{name}");
    for grammar in Grammar::ALL {
        let (automaton, number) = (Moore::from(&truth(grammar)), grammar.number());
        let text = dot::write_dfa(&srnn::extract::acceptor(&automaton), "truth");
        fs::write(path(format!("truth-{number}.dot")), text).expect("space on the disk");
    }
    for case in cases() {
        let name = path(format!("{}.csv", case.name().trim_end_matches(',').replace(',', "-")));
        let mut file = fs::File::create(name).expect("a file");
        write(&case.set().0, Format::Csv, &Tokens::Characters, &mut file).expect("two tokens");
    }
}

struct Case {
    grammar: Grammar,
    noise: f64,
    seed: u64,
}

impl Case {
    /// The first cells of its row.
    fn name(&self) -> String {
        format!("{},{},{},", self.grammar.number(), self.noise, self.seed)
    }

    /// The noisy set, and which labels are flipped.
    fn set(&self) -> (Dataset, Vec<usize>) {
        let key = Key::new(self.seed);
        let mut set = match self.grammar {
            Grammar::T1 => with_repetitions(self.grammar, 10, &key),
            Grammar::T2 => with_repetitions(self.grammar, 20, &key),
            _ => sets(self.grammar, &key).train,
        };
        let flipped = label_noise(&mut set, Rate::new(self.noise).expect("a part"), &key);
        (set, flipped)
    }

    fn row(&self, seeds: u64, sizes: &Sizes) -> String {
        let (set, flipped) = self.set();
        let split = split(&set, "0.8/0.2".parse().expect("fractions"), &Key::new(self.seed));
        let seeds: Vec<u64> = (1..=seeds).collect();
        let truth = Moore::from(&truth(self.grammar));
        let data = LearnData::new("noisy", split.clone());
        let data = LearnData { truth: Some(truth.clone()), ..data };
        let request = LearnRequest {
            recipe: recipe_default(sizes),
            seeds: seeds.clone(),
            hardware: Hardware::cpu(std::thread::available_parallelism().map_or(1, usize::from)),
            ..LearnRequest::new(&data)
        };
        let begin = Instant::now();
        let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
        let seconds = begin.elapsed().as_secs_f64();
        let words: BTreeSet<&[u32]> = set.sequences.iter().map(|s| &s.tokens[..]).collect();
        let positives = set.sequences.iter().filter(|s| accepts(self.grammar, &s.tokens)).count();
        let counts = format!("{},{},{positives}", set.sequences.len(), words.len());
        let evidence = PrefixTree::of(&[&split.train, &split.valid]);
        let believed = self.believed(&learned, &truth, &evidence, &set, &flipped);
        let network = network(&learned, &truth);
        let control = self.control(&learned, &truth, &evidence);
        let (name, flips) = (self.name(), flipped.len());
        let trained = format!("{},{},{}", seeds.len(), sizes.units, sizes.k);
        format!("{name}{counts},{flips},{trained},{believed},{network},{control},{seconds:.1}")
    }

    /// What was made of the labels, and how that compares with the truth.
    fn believed(
        &self,
        learned: &Learned,
        truth: &Moore<u32>,
        evidence: &PrefixTree,
        set: &Dataset,
        flipped: &[usize],
    ) -> String {
        let bits = DescriptionLength::of(evidence).bits(truth.state_count(), flipped.len());
        let (kind, belief) = match &learned.labels {
            Labels::Trusted => ("trusted", None),
            Labels::Unexplained(_) => ("unexplained", None),
            Labels::Corrected(correction) => ("corrected", Some(&correction.belief)),
        };
        let Some(MdlSelection { simplified, method: way, candidates: tried, .. }) = belief else {
            return format!("{kind},,,,,,{bits:.1},no,,");
        };
        let suspects = self.suspected(learned, set);
        let found = flipped.iter().filter(|index| suspects.contains(index)).count();
        let way = format!("{way:?}").replace([' ', ','], "");
        let (states, wrong) = (simplified.automaton.state_count(), simplified.errors);
        format!(
            "{kind},{tried},{way},{states},{wrong},{:.1},{bits:.1},{},{found},{}",
            simplified.bits,
            yes(equal(&simplified.automaton, truth)),
            suspects.len() - found
        )
    }

    /// The labels believed wrong, by their place in the whole set.
    fn suspected(&self, learned: &Learned, set: &Dataset) -> BTreeSet<usize> {
        let Labels::Corrected(correction) = &learned.labels else { return BTreeSet::new() };
        let parts = assign(set, "0.8/0.2".parse().expect("fractions"), &Key::new(self.seed));
        let places = |part: Part| -> Vec<usize> {
            (0..parts.len()).filter(|&index| parts[index] == part).collect()
        };
        let (train, valid) = (places(Part::Train), places(Part::Valid));
        let place = |part: Part| if part == Part::Train { &train } else { &valid };
        correction.suspects.iter().map(|s| place(s.part)[s.index]).collect()
    }

    /// Whether the same search from as many random automata finds the truth, too.
    fn control(
        &self,
        learned: &Learned,
        truth: &Moore<u32>,
        evidence: &PrefixTree,
    ) -> &'static str {
        let Labels::Corrected(correction) = &learned.labels else { return "" };
        let alphabet = Alphabet::of_chars("01").expect("two symbols");
        let mut stream = Key::new(self.seed).child("control", 0).rng();
        let found = (0..correction.belief.candidates).map(|_| {
            let mut next = || stream.bits();
            let automaton = random_dfa(CONTROL_STATES as u32, &alphabet, 0.5, &mut next);
            simplify(&automaton.map_outputs(|&b| u32::from(b)), evidence, SearchBudget::default())
        });
        let best = found.min_by(|a, b| a.bits.total_cmp(&b.bits)).expect("at least one");
        yes(equal(&best.automaton, truth))
    }
}

/// States of the kept network's automaton, and whether it is the truth.
fn network(learned: &Learned, truth: &Moore<u32>) -> String {
    let Some(automaton) = learned.automaton() else { return ",no".into() };
    format!("{},{}", automaton.state_count(), yes(equal(automaton, truth)))
}

/// All rejected words of the training lengths, or so many of a length, and each accepted word
/// several times.
fn with_repetitions(grammar: Grammar, repetitions: usize, key: &Key) -> Dataset {
    let mut sequences = vec![];
    for length in TRAIN_LENGTHS {
        let accepted = match grammar {
            Grammar::T1 => vec![1; length],
            _ => (0..length as u32).map(|i| 1 - i % 2).collect(),
        };
        let count = if accepts(grammar, &accepted) { repetitions } else { 0 };
        let others = (1usize << length) - usize::from(count > 0);
        let mut stream = key.child("noisy set", length as u64).rng();
        let mut seen = BTreeSet::new();
        while seen.len() < others.min(REJECTED) {
            let tokens: Vec<u32> = (0..length).map(|_| stream.below(2) as u32).collect();
            if !accepts(grammar, &tokens) && seen.insert(tokens.clone()) {
                sequences.push(Sequence { tokens, label: 0 });
            }
        }
        sequences.extend(vec![Sequence { tokens: accepted, label: 1 }; count]);
    }
    let [alphabet, classes] =
        [["0", "1"], ["reject", "accept"]].map(|names| names.map(String::from).to_vec());
    Dataset { alphabet, classes, sequences }
}

fn equal(automaton: &Moore<u32>, truth: &Moore<u32>) -> bool {
    distinguish(automaton, truth).expect("one alphabet").is_none()
}

fn yes(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}
