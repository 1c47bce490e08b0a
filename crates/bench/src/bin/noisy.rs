//! Measures learning from noisy labels: one CSV row per grammar, noise rate and data seed.
//!
//! ```text
//! cargo run --release -p srnn-bench --bin noisy -- record noisy.csv 2 100 50
//! cargo run --release -p srnn-bench --bin noisy -- data FOLDER
//! ```
//! `record` appends to the file; existing rows are not computed again. The numbers are seeds, units and
//! centroids. `data` writes the same data as files, with the true automata, for
//! `bench/peers/noisy`. The true automaton is used to evaluate, never to select.
//!
//! Data: grammars 3 to 7 use the paper's training sets. The sets of grammars 1 and 2 have hardly
//! any positive word. So for each length all rejected words are used, or 200 of them, and the one
//! accepted word, if there is one, is repeated 10 times (grammar 1) or 20 times (grammar 2). Then a
//! fraction of all labels is flipped, and a fifth of this noisy set is held out for validation.

use srnn::engine::Hardware;
use srnn::engine::key::Key;
use srnn::learn::{LabelVerdict, LearnData, LearnRequest, Learned, NoCallbacks, learn};
use srnn::noise::{
    DescriptionLength, MdlSelection, PrefixTree, SearchBudget, prefix_tree, simplify,
};
use srnn::task::files::{Format, TokenRule, write};
use srnn::task::tomita::{Grammar, TRAIN_LENGTHS, accepts, minimal_dfa, sets};
use srnn::task::{Dataset, Rate, Sequence, Subset, assign_subsets, label_noise, split};
use srnn::train::{Sizes, recipe_default};
use srnn_automata::{Alphabet, Moore, distinguish, random_dfa, text::dot};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::time::Instant;

const NOISES: [f64; 2] = [0.05, 0.1];
const DATA_SEEDS: u64 = 5;
/// Largest number of rejected words of each length, for grammars 1 and 2.
const REJECTED: usize = 200;
/// States of the random automata of the control: about as many as a hard table has.
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
        _ => {
            eprintln!("usage: noisy record FILE SEEDS UNITS K | noisy data FOLDER");
            std::process::exit(2);
        }
    }
}

fn cases() -> impl Iterator<Item = NoisyCase> {
    let all = NOISES.into_iter().flat_map(|noise| (1..=DATA_SEEDS).map(move |seed| (noise, seed)));
    all.flat_map(|(noise, seed)| Grammar::ALL.map(|grammar| NoisyCase { grammar, noise, seed }))
}

/// Appends the rows that the file lacks.
fn record(file: &str, seeds: u64, sizes: &Sizes) {
    let done = fs::read_to_string(file).unwrap_or_default();
    let mut out =
        fs::File::options().create(true).append(true).open(file).expect("the file can be opened");
    if done.is_empty() {
        writeln!(out, "{HEADER}").expect("the file can be written");
    }
    for case in cases().filter(|case| !done.lines().any(|row| row.starts_with(&case.name()))) {
        writeln!(out, "{}", case.row(seeds, sizes)).expect("the file can be written");
    }
}

fn write_data(folder: &str) {
    fs::create_dir_all(folder).expect("the folder can be created");
    let path = |name: String| format!("{folder}/{name}");
    for grammar in Grammar::ALL {
        let (automaton, number) = (Moore::from(&minimal_dfa(grammar)), grammar.number());
        let text = dot::write_dfa(&srnn::extract::acceptor(&automaton), "truth");
        fs::write(path(format!("truth-{number}.dot")), text).expect("the file can be written");
    }
    for case in cases() {
        let name = path(format!("{}.csv", case.name().trim_end_matches(',').replace(',', "-")));
        let mut file = fs::File::create(name).expect("the file can be opened");
        write(&case.dataset().0, Format::CSV, &TokenRule::Characters, &mut file)
            .expect("two tokens");
    }
}

/// One row: a noisy dataset.
struct NoisyCase {
    grammar: Grammar,
    noise: f64,
    seed: u64,
}

impl NoisyCase {
    /// The first columns of the row.
    fn name(&self) -> String {
        format!("{},{},{},", self.grammar.number(), self.noise, self.seed)
    }

    /// The noisy dataset, and the indices of the flipped labels.
    fn dataset(&self) -> (Dataset, Vec<usize>) {
        let key = Key::new(self.seed);
        let mut set = match self.grammar {
            Grammar::T1 => with_repetitions(self.grammar, 10, &key),
            Grammar::T2 => with_repetitions(self.grammar, 20, &key),
            _ => sets(self.grammar, &key).train,
        };
        let flipped = label_noise(&mut set, Rate::new(self.noise).expect("a fraction"), &key);
        (set, flipped)
    }

    fn row(&self, seeds: u64, sizes: &Sizes) -> String {
        let (set, flipped) = self.dataset();
        let split = split(&set, "0.8/0.2".parse().expect("fractions"), &Key::new(self.seed));
        let seeds: Vec<u64> = (1..=seeds).collect();
        let truth = Moore::from(&minimal_dfa(self.grammar));
        let data = LearnData::new("noisy", split.clone());
        let data = LearnData { truth: Some(truth.clone()), ..data };
        let request = LearnRequest {
            recipe: recipe_default(sizes),
            seeds: seeds.clone(),
            hardware: Hardware::cpu(std::thread::available_parallelism().map_or(1, usize::from)),
            ..LearnRequest::new(&data)
        };
        let start = Instant::now();
        let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
        let seconds = start.elapsed().as_secs_f64();
        let words: BTreeSet<&[u32]> = set.sequences.iter().map(|s| &s.tokens[..]).collect();
        let positives = set.sequences.iter().filter(|s| accepts(self.grammar, &s.tokens)).count();
        let counts = format!("{},{},{positives}", set.sequences.len(), words.len());
        let tree = prefix_tree(&[&split.train, &split.valid]);
        let correction = self.believed(&learned, &truth, &tree, &set, &flipped);
        let network = network_columns(&learned, &truth);
        let control = self.control(&learned, &truth, &tree);
        let (name, flips) = (self.name(), flipped.len());
        let trained = format!("{},{},{}", seeds.len(), sizes.units, sizes.k);
        format!("{name}{counts},{flips},{trained},{correction},{network},{control},{seconds:.1}")
    }

    /// The columns on the correction of labels, compared with the truth.
    fn believed(
        &self,
        learned: &Learned,
        truth: &Moore<u32>,
        tree: &PrefixTree,
        set: &Dataset,
        flipped: &[usize],
    ) -> String {
        let bits = DescriptionLength::of(tree).bits(truth.state_count(), flipped.len());
        let (kind, selected) = match &learned.label_verdict {
            LabelVerdict::Trusted => ("trusted", None),
            LabelVerdict::NotCorrected(_) => ("unexplained", None),
            LabelVerdict::Corrected(correction) => ("corrected", Some(&correction.selected)),
        };
        let Some(MdlSelection { simplified, method, candidates, .. }) = selected else {
            return format!("{kind},,,,,,{bits:.1},no,,");
        };
        let suspects = self.suspected(learned, set);
        let found = flipped.iter().filter(|index| suspects.contains(index)).count();
        let method = format!("{method:?}").replace([' ', ','], "");
        let (states, wrong) = (simplified.automaton.state_count(), simplified.errors);
        format!(
            "{kind},{candidates},{method},{states},{wrong},{:.1},{bits:.1},{},{found},{}",
            simplified.bits,
            yes_or_no(equal(&simplified.automaton, truth)),
            suspects.len() - found
        )
    }

    /// Indices, in the whole dataset, of the labels that are suspected wrong.
    fn suspected(&self, learned: &Learned, set: &Dataset) -> BTreeSet<usize> {
        let LabelVerdict::Corrected(correction) = &learned.label_verdict else {
            return BTreeSet::new();
        };
        let parts =
            assign_subsets(set, "0.8/0.2".parse().expect("fractions"), &Key::new(self.seed));
        let indices = |part: Subset| -> Vec<usize> {
            (0..parts.len()).filter(|&index| parts[index] == part).collect()
        };
        let (train, valid) = (indices(Subset::Train), indices(Subset::Valid));
        let of_part = |part: Subset| if part == Subset::Train { &train } else { &valid };
        correction.suspects.iter().map(|s| of_part(s.part)[s.index]).collect()
    }

    /// Whether the same search finds the truth from as many random automata.
    fn control(&self, learned: &Learned, truth: &Moore<u32>, tree: &PrefixTree) -> &'static str {
        let LabelVerdict::Corrected(correction) = &learned.label_verdict else { return "" };
        let alphabet = Alphabet::of_chars("01").expect("two symbols");
        let mut rng = Key::new(self.seed).child("control", 0).rng();
        let found = (0..correction.selected.candidates).map(|_| {
            let mut next = || rng.bits();
            let automaton = random_dfa(CONTROL_STATES as u32, &alphabet, 0.5, &mut next);
            simplify(&automaton.map_outputs(|&b| u32::from(b)), tree, SearchBudget::default())
        });
        let best = found.min_by(|a, b| a.bits.total_cmp(&b.bits)).expect("at least one");
        yes_or_no(equal(&best.automaton, truth))
    }
}

/// Number of states of the selected network's automaton, and whether it equals the truth.
fn network_columns(learned: &Learned, truth: &Moore<u32>) -> String {
    let Some(automaton) = learned.automaton() else { return ",no".into() };
    format!("{},{}", automaton.state_count(), yes_or_no(equal(automaton, truth)))
}

/// For each training length at most [`REJECTED`] rejected words, and the accepted word
/// `repetitions` times.
fn with_repetitions(grammar: Grammar, repetitions: usize, key: &Key) -> Dataset {
    let mut sequences = vec![];
    for length in TRAIN_LENGTHS {
        let accepted = match grammar {
            Grammar::T1 => vec![1; length],
            _ => (0..length as u32).map(|i| 1 - i % 2).collect(),
        };
        let count = if accepts(grammar, &accepted) { repetitions } else { 0 };
        let others = (1usize << length) - usize::from(count > 0);
        let mut rng = key.child("noisy set", length as u64).rng();
        let mut seen = BTreeSet::new();
        while seen.len() < others.min(REJECTED) {
            let tokens: Vec<u32> = (0..length).map(|_| rng.below(2) as u32).collect();
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

fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}
