//! Maps of where it works: random automata by size, and languages of MLRegTest.

use crate::Desk;
use crate::language::Sample;
use crate::network::{VERDICT, Verdict, accuracies, equality, file, quietly, verdict};
use crate::table::{Work, fill};
use srnn::key::Key;
use srnn::learn::{LearnData, LearnRequest, NoCallbacks, Trust, learn};
use srnn::model::ModelFile;
use srnn::task::Split;
use srnn::train::{Recipe, Sizes, recipe_default};
use srnn_automata::text::att;
use srnn_automata::{Alphabet, Dfa, Limits, Moore};
use std::path::{Path, PathBuf};
use std::time::Instant;

const SYMBOLS: [usize; 5] = [2, 3, 4, 6, 8];
const STATES: [usize; 4] = [3, 5, 8, 12];
/// Automata of each size.
const EACH: usize = 3;
/// Networks tried: until one knows all of its data and is certified.
const SEEDS: u64 = 4;
/// Of the 739 languages.
const LANGUAGES: usize = 20;

const COLUMNS: &str = "symbols,states,train_words,valid_words,seeds,kept,train,valid,exact,by";

struct Target {
    name: String,
    truth: Moore<u32>,
    recipe: Recipe,
    sample: Sample,
    folder: PathBuf,
}

/// 60 random minimal automata: one of each size first, so that a part of the map is a map.
pub fn random(desk: &Desk, changes: &str, only: &str) {
    let table = table("random", changes);
    let sizes: Vec<_> = STATES.iter().flat_map(|&n| SYMBOLS.map(|symbols| (symbols, n))).collect();
    let target = |i: usize, (symbols, states): (usize, usize)| Target {
        name: format!("{symbols}-symbols-{states}-states-{i}"),
        truth: classes(&minimal(symbols, states, i as u64)),
        recipe: quietly(changed(recipe_default(&Sizes::of(symbols, 2)), changes)),
        sample: sample(changes),
        folder: desk.out.join(&table),
    };
    let targets = (1..=EACH).flat_map(|i| sizes.iter().map(move |&size| (i, size)));
    let targets = targets.map(|(i, size)| target(i, size));
    let targets: Vec<Target> = targets.filter(|target| target.name.contains(only)).collect();
    fill(desk, &table, &format!("{COLUMNS},{VERDICT},learn_seconds"), &targets);
}

/// A table for each recipe.
fn table(map: &str, changes: &str) -> String {
    if changes.is_empty() { map.into() } else { format!("{map}-{changes}") }
}

/// The first automaton of a key's that is minimal.
fn minimal(symbols: usize, states: usize, index: u64) -> Dfa {
    let alphabet = Alphabet::of_chars(&"abcdefgh"[..symbols]).expect("letters");
    let key = Key::new(0).child("random automaton", (symbols * 100 + states) as u64);
    let mut stream = key.child("index", index).rng();
    loop {
        let dfa = srnn_automata::random_dfa(states as u32, &alphabet, 0.5, &mut || stream.bits());
        let dfa = dfa.minimize();
        if dfa.state_count() == states {
            return dfa;
        }
    }
}

/// What a user may try where the default does not work: `updates=9200`, `k=100`, `units=50`,
/// `rate=0.002`, joined by `+`.
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
            "words" | "walks" => (), // of the data
            other => panic!("no change {other}"),
        }
    }
    recipe
}

/// Among the changes: `words=150`, so many words of each length and class; `walks=25`, and so many
/// that walk from state to state.
fn sample(changes: &str) -> Sample {
    let value = |name: &str| {
        let changes = changes.split('+').filter_map(|change| change.split_once('='));
        let found = changes.into_iter().find(|(changed, _)| *changed == name);
        found.map(|(_, value)| value.parse().expect("a number"))
    };
    let usual = Sample::default();
    let (each, walks) = (value("words").unwrap_or(usual.each), value("walks").unwrap_or(0));
    Sample { each, walks, ..usual }
}

/// 20 of the languages in a folder of AT&T files, drawn by seed 0.
pub fn mlregtest(desk: &Desk, from: &Path, changes: &str) {
    let table = table("mlregtest", changes);
    let entries = std::fs::read_dir(from).expect("a folder of AT&T files");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    Key::new(0).child("mlregtest", 0).rng().shuffle(&mut paths);
    let target = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a readable file");
        let dfa = att::read_dfa(&text, &Limits::default()).expect("AT&T text");
        let truth = classes(&dfa.complete(false).minimize());
        let sizes = Sizes::of(truth.alphabet().len(), 2);
        let recipe = quietly(changed(recipe_default(&sizes), changes));
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let sample = sample(changes);
        Target { name, truth, recipe, sample, folder: desk.out.join(&table) }
    };
    let targets: Vec<Target> = paths.iter().take(LANGUAGES).map(target).collect();
    fill(desk, &table, &format!("{COLUMNS},{VERDICT},learn_seconds"), &targets);
}

fn classes(dfa: &Dfa) -> Moore<u32> {
    dfa.map_outputs(|&accepts| u32::from(accepts))
}

/// A network that was tried.
struct Tried {
    seed: u64,
    accuracies: [f64; 2],
    /// Only of networks that know all of their data.
    verdict: Option<Verdict>,
    file: ModelFile,
    automaton: Option<Moore<u32>>,
}

impl Tried {
    /// The automaton of its certificate.
    fn certified(&self) -> Option<&Moore<u32>> {
        self.verdict.as_ref()?.automaton()
    }

    /// What would be kept, by the data and the certificate alone.
    fn rank(&self) -> (f64, bool, f64) {
        let [train, valid] = self.accuracies;
        (valid, self.certified().is_some(), train)
    }
}

impl Work for Target {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn row(&self) -> String {
        let split = self.sample.draw(&self.truth, &Key::new(1));
        let begin = Instant::now();
        let mut tried: Vec<Tried> = vec![];
        for seed in 1..=SEEDS {
            tried.push(self.attempt(&split, seed));
            if tried.last().is_some_and(|tried| tried.certified().is_some()) {
                break;
            }
        }
        let (seconds, seeds) = (begin.elapsed().as_secs_f64(), tried.len());
        let better = |a: &Tried, b: &Tried| a.rank().partial_cmp(&b.rank()).expect("numbers");
        let kept = tried.into_iter().rev().max_by(better).expect("a seed");
        let verdict = self.kept(&kept);
        let (symbols, states) = (self.truth.alphabet().len(), self.truth.state_count());
        let [train_words, valid_words] = [&split.train, &split.valid].map(|s| s.sequences.len());
        let ([train, valid], (exact, by)) = (kept.accuracies, self.judged(&kept));
        format!(
            "{symbols},{states},{train_words},{valid_words},{seeds},{},{train:.4},{valid:.4},\
             {exact},{by},{verdict},{seconds:.1}",
            kept.seed
        )
    }
}

impl Target {
    fn attempt(&self, split: &Split, seed: u64) -> Tried {
        // The labels are the target's own.
        let trust = Trust::Always;
        let data = LearnData::new(&self.name, split.clone());
        let recipe = self.recipe.clone();
        let mut request =
            LearnRequest { recipe, seeds: vec![seed], trust, ..LearnRequest::new(&data) };
        request.extraction.words = 1 << 15;
        let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
        let file = file(learned.kept().model.clone(), split);
        let accuracies = accuracies(&learned.kept().run);
        let verdict = (accuracies == [1.0, 1.0]).then(|| verdict(&file));
        let automaton = learned.automaton().cloned();
        Tried { seed, accuracies, verdict, file, automaton }
    }

    /// Saves the network that is kept; its columns.
    fn kept(&self, kept: &Tried) -> String {
        let folder = self.folder.join(&self.name);
        match &kept.verdict {
            Some(verdict) => {
                verdict.save(&kept.file, &folder);
                verdict.row()
            }
            None => {
                kept.file.save(&folder).expect("a folder that can be written");
                format!("not tried{}", ",".repeat(VERDICT.split(',').count() - 1))
            }
        }
    }

    /// Whether the automaton is the target, and whose it is: the certificate's, or, without one,
    /// the cover's.
    fn judged(&self, kept: &Tried) -> (String, &'static str) {
        match (kept.certified(), &kept.automaton) {
            (Some(proved), _) => (equality(proved, &self.truth), "certificate"),
            (None, Some(covered)) => (equality(covered, &self.truth), "cover"),
            (None, None) => ("no".into(), "none"),
        }
    }
}
