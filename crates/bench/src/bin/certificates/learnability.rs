//! Which languages are learned and certified: random automata by size, and MLRegTest.

use crate::ExperimentOptions;
use crate::network::{
    PROOF_COLUMNS, TimedProof, accuracies, equality, model_file, timed_proof, validate_at_end,
};
use crate::table::{CsvRow, fill_table};
use crate::word_sample::WordSample;
use srnn::engine::key::Key;
use srnn::engine::model::ModelFile;
use srnn::learn::{LabelPolicy, LearnData, LearnRequest, NoCallbacks, learn};
use srnn::task::Split;
use srnn::train::{Recipe, Sizes, recipe_default};
use srnn_automata::text::att;
use srnn_automata::{Alphabet, Dfa, Limits, Moore};
use std::path::{Path, PathBuf};
use std::time::Instant;

const SYMBOLS: [usize; 5] = [2, 3, 4, 6, 8];
const STATES: [usize; 4] = [3, 5, 8, 12];
/// Random automata of each size.
const AUTOMATA: usize = 3;
/// Largest number of seeds; the first certified network ends the search.
const SEEDS: u64 = 4;
/// Number of languages, out of 739.
const LANGUAGES: usize = 20;

const COLUMNS: &str = "symbols,states,train_words,valid_words,seeds,kept,train,valid,exact,by";

struct LearnTarget {
    name: String,
    truth: Moore<u32>,
    recipe: Recipe,
    sample: WordSample,
    folder: PathBuf,
}

/// 60 random minimal automata. One of each size comes first, so that a partial table covers all
/// sizes.
pub fn random(options: &ExperimentOptions, changes: &str, only: &str) {
    let table = table_name("random", changes);
    let sizes: Vec<_> = STATES.iter().flat_map(|&n| SYMBOLS.map(|symbols| (symbols, n))).collect();
    let target = |i: usize, (symbols, states): (usize, usize)| LearnTarget {
        name: format!("{symbols}-symbols-{states}-states-{i}"),
        truth: class_numbers(&random_minimal(symbols, states, i as u64)),
        recipe: validate_at_end(changed(recipe_default(&Sizes::of(symbols, 2)), changes)),
        sample: changed_sample(changes),
        folder: options.out.join(&table),
    };
    let targets = (1..=AUTOMATA).flat_map(|i| sizes.iter().map(move |&size| (i, size)));
    let targets = targets.map(|(i, size)| target(i, size));
    let targets: Vec<LearnTarget> = targets.filter(|target| target.name.contains(only)).collect();
    fill_table(options, &table, &format!("{COLUMNS},{PROOF_COLUMNS},learn_seconds"), &targets);
}

/// The name of the table: one for each recipe.
fn table_name(experiment: &str, changes: &str) -> String {
    if changes.is_empty() { experiment.into() } else { format!("{experiment}-{changes}") }
}

/// The first random automaton that is minimal with this number of states.
fn random_minimal(symbols: usize, states: usize, index: u64) -> Dfa {
    let alphabet = Alphabet::of_chars(&"abcdefgh"[..symbols]).expect("letters");
    let key = Key::new(0).child("random automaton", (symbols * 100 + states) as u64);
    let mut rng = key.child("index", index).rng();
    loop {
        let dfa = srnn_automata::random_dfa(states as u32, &alphabet, 0.5, &mut || rng.bits());
        let dfa = dfa.minimize();
        if dfa.state_count() == states {
            return dfa;
        }
    }
}

/// The recipe with changes such as `updates=9200`, `k=100`, `units=50`, `rate=0.002`, joined by
/// `+`.
fn changed(mut recipe: Recipe, changes: &str) -> Recipe {
    for change in changes.split('+').filter(|change| !change.is_empty()) {
        let (name, value) = change.split_once('=').expect("name=value");
        let number: f64 = value.parse().expect("a number");
        let layer = &mut recipe.arch.layers[0];
        match name {
            "updates" => {
                recipe.train.schedule = recipe.train.schedule.scaled_to(number as u64);
            }
            "k" => layer.centroids.as_mut().expect("an SR-GRU").k = number as usize,
            "units" => layer.units = number as usize,
            "warmup" => recipe.train.schedule.warmup = number as u64,
            "ramp" => recipe.train.schedule.ramp = number as u64,
            "harden" => recipe.train.schedule.harden = number as u64,
            "entropy" => recipe.train.schedule.entropy = number,
            "rate" => {
                recipe.train.learning_rate = srnn::train::LearningRate::Constant { rate: number };
            }
            "words" | "walks" => (), // Changes of the data.
            other => panic!("unknown change {other}"),
        }
    }
    recipe
}

/// The sample with the changes `words=150` (words of each length and class) and `walks=25`
/// (additional words from random walks).
fn changed_sample(changes: &str) -> WordSample {
    let value = |name: &str| {
        let changes = changes.split('+').filter_map(|change| change.split_once('='));
        let found = changes.into_iter().find(|(changed, _)| *changed == name);
        found.map(|(_, value)| value.parse().expect("a number"))
    };
    let default = WordSample::default();
    let (each, walks) = (value("words").unwrap_or(default.each), value("walks").unwrap_or(0));
    WordSample { each, walks, ..default }
}

/// 20 of the languages in a folder of AT&T files, drawn with seed 0.
pub fn mlregtest(options: &ExperimentOptions, from: &Path, changes: &str) {
    let table = table_name("mlregtest", changes);
    let entries = std::fs::read_dir(from).expect("a folder of AT&T files");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    Key::new(0).child("mlregtest", 0).rng().shuffle(&mut paths);
    let target = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a readable file");
        let dfa = att::read_dfa(&text, &Limits::default()).expect("AT&T text");
        let truth = class_numbers(&dfa.complete(false).minimize());
        let sizes = Sizes::of(truth.alphabet().len(), 2);
        let recipe = validate_at_end(changed(recipe_default(&sizes), changes));
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let sample = changed_sample(changes);
        LearnTarget { name, truth, recipe, sample, folder: options.out.join(&table) }
    };
    let targets: Vec<LearnTarget> = paths.iter().take(LANGUAGES).map(target).collect();
    fill_table(options, &table, &format!("{COLUMNS},{PROOF_COLUMNS},learn_seconds"), &targets);
}

fn class_numbers(dfa: &Dfa) -> Moore<u32> {
    dfa.map_outputs(|&accepts| u32::from(accepts))
}

/// The network of one seed.
struct LearnedNetwork {
    seed: u64,
    accuracies: [f64; 2],
    /// Only for networks that classify all of their data correctly.
    proof: Option<TimedProof>,
    file: ModelFile,
    /// The automaton that `learn` returns.
    automaton: Option<Moore<u32>>,
}

impl LearnedNetwork {
    /// The automaton of the certificate, if there is one.
    fn certified(&self) -> Option<&Moore<u32>> {
        self.proof.as_ref()?.automaton()
    }

    /// The order in which networks are selected, by data and certificate alone.
    fn rank(&self) -> (f64, bool, f64) {
        let [train, valid] = self.accuracies;
        (valid, self.certified().is_some(), train)
    }
}

impl CsvRow for LearnTarget {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn row(&self) -> String {
        let split = self.sample.draw(&self.truth, &Key::new(1));
        let start = Instant::now();
        let mut networks: Vec<LearnedNetwork> = vec![];
        for seed in 1..=SEEDS {
            networks.push(self.learn(&split, seed));
            if networks.last().is_some_and(|network| network.certified().is_some()) {
                break;
            }
        }
        let (seconds, seeds) = (start.elapsed().as_secs_f64(), networks.len());
        let better = |a: &LearnedNetwork, b: &LearnedNetwork| {
            a.rank().partial_cmp(&b.rank()).expect("numbers")
        };
        let kept = networks.into_iter().rev().max_by(better).expect("a seed");
        let proof = self.save(&kept);
        let (symbols, states) = (self.truth.alphabet().len(), self.truth.state_count());
        let [train_words, valid_words] = [&split.train, &split.valid].map(|s| s.sequences.len());
        let ([train, valid], (exact, by)) = (kept.accuracies, self.equals_target(&kept));
        format!(
            "{symbols},{states},{train_words},{valid_words},{seeds},{},{train:.4},{valid:.4},\
             {exact},{by},{proof},{seconds:.1}",
            kept.seed
        )
    }
}

impl LearnTarget {
    fn learn(&self, split: &Split, seed: u64) -> LearnedNetwork {
        // The labels are correct by construction.
        let label_policy = LabelPolicy::Trust;
        let data = LearnData::new(&self.name, split.clone());
        let recipe = self.recipe.clone();
        let mut request =
            LearnRequest { recipe, seeds: vec![seed], label_policy, ..LearnRequest::new(&data) };
        request.extraction.words = 1 << 15;
        let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
        let file = model_file(learned.kept().model.clone(), split);
        let accuracies = accuracies(&learned.kept().run);
        let proof = (accuracies == [1.0, 1.0]).then(|| timed_proof(&file));
        let automaton = learned.automaton().cloned();
        LearnedNetwork { seed, accuracies, proof, file, automaton }
    }

    /// Saves the selected network. Returns the columns of its proof.
    fn save(&self, kept: &LearnedNetwork) -> String {
        let folder = self.folder.join(&self.name);
        match &kept.proof {
            Some(proof) => {
                proof.save(&kept.file, &folder);
                proof.row()
            }
            None => {
                kept.file.save(&folder).expect("the folder can be written");
                format!("not tried{}", ",".repeat(PROOF_COLUMNS.split(',').count() - 1))
            }
        }
    }

    /// Whether the automaton of the certificate, or else of the cover, equals the target; and which
    /// of the two it is.
    fn equals_target(&self, kept: &LearnedNetwork) -> (String, &'static str) {
        match (kept.certified(), &kept.automaton) {
            (Some(proved), _) => (equality(proved, &self.truth), "certificate"),
            (None, Some(covered)) => (equality(covered, &self.truth), "cover"),
            (None, None) => ("no".into(), "none"),
        }
    }
}
