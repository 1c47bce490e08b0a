//! Measures training and extraction on Tomita grammars: one CSV row per seed, for any grammar,
//! architecture, k and recipe.
//!
//! ```text
//! cargo run --release -p srnn-bench --bin tomita_seeds -- 1-7 20 > records/tomita/…/default.csv
//! cargo run --release -p srnn-bench --bin tomita_seeds -- 5 20 gru 0 default
//! ```
//! Arguments: grammars (`3` or `1-7`), seeds, architecture (sr-gru), k (50), recipe (default or
//! paper), workers (2). The data are the same for every seed: the sets of data key 1. The true
//! automaton is used to evaluate, never to select.

use srnn::engine::Runner as _;
use srnn::engine::cpu::{Cpu, CpuTrainer};
use srnn::engine::key::Key;
use srnn::engine::model::Model;
use srnn::extract::{EvaluatedAutomaton, ExtractConfig, ExtractRequest, Extraction, extract};
use srnn::task::tomita::{Grammar, minimal_dfa, sets};
use srnn::task::{Dataset, Split};
use srnn::train::{
    NoCheckpoints, NoObserver, Recipe, Run, Sizes, TrainJob, recipe_default, recipe_paper, train,
};
use srnn_automata::{Alphabet, Moore, Symbol, Word};
use std::sync::Mutex;
use std::time::Instant;

const HEADER: &str = "grammar,arch,k,recipe,seed,stop,updates,train,valid,solved,\
counted_soft_equal,counted_hard_equal,table_equal,cover_equal,\
counted_soft_used,counted_hard_used,table_used,cover_used,cover_cells,cover_states,\
cover_agreement,train_seconds,extract_seconds";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or(default.into());
    let grammars = get(0, "1-7");
    let (first, last) = grammars.split_once('-').unwrap_or((&grammars, &grammars));
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let seeds = number(&get(1, "20")) as u64;
    let settings = SeedSettings {
        arch: get(2, "sr-gru"),
        k: number(&get(3, "50")),
        recipe: get(4, "default"),
    };
    println!("{HEADER}");
    for grammar in number(first)..=number(last) {
        let grammar = Grammar::numbered(grammar).expect("a grammar from 1 to 7");
        let split = sets(grammar, &Key::new(1));
        let queue = Mutex::new(1..=seeds);
        std::thread::scope(|scope| {
            for _ in 0..number(&get(5, "2")) {
                scope.spawn(|| {
                    while let Some(seed) = queue.lock().expect("no worker panicked").next() {
                        println!("{}", settings.row(grammar, &split, seed));
                    }
                });
            }
        });
    }
}

/// Settings of the runs, without the seed.
struct SeedSettings {
    arch: String,
    k: usize,
    recipe: String,
}

impl SeedSettings {
    fn recipe(&self) -> Recipe {
        let sizes = Sizes {
            arch: self.arch.parse().expect("an architecture"),
            k: self.k.max(1),
            ..Sizes::of(2, 2)
        };
        match self.recipe.as_str() {
            "default" => recipe_default(&sizes),
            "paper" => recipe_paper(&sizes),
            other => panic!("unknown recipe {other}: give default or paper"),
        }
    }

    fn row(&self, grammar: Grammar, split: &Split, seed: u64) -> String {
        let Recipe { arch, init, train: config } = self.recipe();
        let key = Key::new(seed);
        let start = Instant::now();
        let model = Model::new(arch, &init, key).expect("a valid architecture");
        let mut trainer = CpuTrainer::new(&model, config.optimiser, 1);
        let job = TrainJob { split, config: &config, key };
        let run =
            train(&mut trainer, &job, &mut NoCheckpoints, &mut NoObserver).expect("a valid job");
        let trained = start.elapsed().as_secs_f64();
        let alphabet = Alphabet::of_chars("01").expect("two symbols");
        let data: Vec<Word> = words(&split.train).chain(words(&split.valid)).collect();
        let truth = Moore::from(&minimal_dfa(grammar));
        let request = ExtractRequest { alphabet: &alphabet, data: &data, truth: Some(&truth) };
        let trained_model = trainer.model().expect("the CPU engine does not fail");
        let found =
            extract(&mut Cpu::new(&trained_model, 1), &request, &ExtractConfig::default()).ok();
        let extracted = start.elapsed().as_secs_f64() - trained;
        let (scores, automata) = (scores(&run), automata(found.as_ref()));
        let SeedSettings { arch, k, recipe } = self;
        let (number, stop) = (grammar.number(), stop(&run));
        format!(
            "{number},{arch},{k},{recipe},{seed},{stop},{},{scores},{automata},{trained:.2},{extracted:.2}",
            run.updates
        )
    }
}

fn stop(run: &Run) -> String {
    run.stop.to_string().split(':').next().unwrap_or_default().replace(' ', "-")
}

fn scores(run: &Run) -> String {
    let Some(end) = &run.final_evaluation else { return ",,no".into() };
    let solved = end.train.accuracy == 1.0 && end.valid.accuracy == 1.0;
    let solved = if solved { "yes" } else { "no" };
    format!("{:.6},{:.6},{solved}", end.train.accuracy, end.valid.accuracy)
}

/// Columns on the extracted automata: equality with the truth, centroids used, size of the cover.
fn automata(found: Option<&Extraction>) -> String {
    let Some(found) = found else { return ",".repeat(10) };
    let soft = found.counted_soft.as_ref().ok().map(|counted| &counted.evaluated);
    let hard = found.counted_hard.as_ref().ok().map(|counted| &counted.evaluated);
    let all = [soft, hard, found.hard_table.as_ref().ok(), found.cover_evaluated.as_ref()];
    let equal = all.map(|evaluated| evaluated.map_or("none".into(), equality));
    let used =
        all.map(|j| j.map_or(String::new(), |j| j.extracted.used_centroids.layers[0].to_string()));
    let cover = found.cover.kept.as_ref().map_or(",,".into(), |kept| {
        let agreement = kept.agreement.rate();
        let (cells, states) = (kept.cover.cells.len(), kept.minimal.state_count());
        format!("{cells},{states},{agreement:.6}")
    });
    format!("{},{},{cover}", equal.join(","), used.join(","))
}

fn equality(evaluated: &EvaluatedAutomaton) -> String {
    match &evaluated.truth {
        Some(verdict) if verdict.equal => "yes".into(),
        Some(_) => "no".into(),
        None => "incomplete".into(),
    }
}

fn words(data: &Dataset) -> impl Iterator<Item = Word> + '_ {
    data.sequences.iter().map(|sequence| sequence.tokens.iter().map(|&t| Symbol(t)).collect())
}
