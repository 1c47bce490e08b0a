//! Measures state merging: sets of labelled words with known automata, and what `merge` finds.
//!
//! ```text
//! cargo run --release -p srnn-bench --bin merging -- sets FOLDER MLREGTEST
//! cargo run --release -p srnn-bench --bin merging -- run FOLDER ours.csv
//! cargo run --release -p srnn-bench --bin merging -- repair COUNT
//! ```
//! `repair` damages COUNT automata and prints how many are found again. `sets` writes one JSON file a set; MLREGTEST is a folder of acceptors in AT&T text. `run` merges
//! each and writes one CSV row a set. `bench/merging` runs AALpy on the same files. The true automaton
//! is used to evaluate only.

mod damaged;
mod languages;
mod sets;
mod stamina;
mod words;

use sets::LanguageSet;
use srnn_automata::merging::{LabelTrust, LabelledWords, MergeConfig, PrefixTree, merge};
use srnn_automata::{Moore, distinguish};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["sets", folder, acceptors] => write_sets(Path::new(folder), Path::new(acceptors)),
        ["repair", count] => damaged::measure(count.parse().expect("a number")),
        ["run", folder, table] => run(Path::new(folder), Path::new(table)),
        _ => {
            eprintln!(
                "usage: merging sets FOLDER MLREGTEST | merging run FOLDER TABLE | merging repair COUNT"
            );
            std::process::exit(2);
        }
    }
}

fn write_sets(folder: &Path, acceptors: &Path) {
    fs::create_dir_all(folder).expect("the folder can be made");
    for set in sets::all(acceptors) {
        let path = folder.join(format!("{}.json", set.name));
        fs::write(path, set.to_json().to_string()).expect("the file can be written");
    }
}

/// The columns that `bench/merging.py` writes as well.
const HEADER: &str = "row,set,method,true_states,states,exact,accuracy,seconds,detail";

fn run(folder: &Path, table: &Path) {
    let mut out = fs::File::create(table).expect("the table can be written");
    writeln!(out, "{HEADER}").expect("the table can be written");
    for path in set_files(folder) {
        let text = fs::read_to_string(&path).expect("the set can be read");
        let set = LanguageSet::from_json(&serde_json::from_str(&text).expect("the set is JSON"));
        writeln!(out, "{}", measure(&set)).expect("the table can be written");
    }
}

fn set_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// One row. The time includes building the prefix tree.
fn measure(set: &LanguageSet) -> String {
    let start = Instant::now();
    let mut words = LabelledWords::default();
    for (word, class) in &set.train {
        words.add(word.iter().copied(), *class);
    }
    let alphabet = set.truth.alphabet();
    let tree = PrefixTree::new(alphabet.len(), 2, &words).expect("the words are few");
    let labels =
        if set.row.ends_with("wrong") { LabelTrust::MayBeWrong } else { LabelTrust::Trusted };
    let config = MergeConfig { labels, ..MergeConfig::default() };
    let found = merge(alphabet, &tree, &config).expect("the words are few");
    let seconds = start.elapsed().as_secs_f64();
    let exact = distinguish(&found.automaton, &set.truth).expect("the same symbols").is_none();
    format!(
        "{},{},srnn,{},{},{},{:.4},{seconds:.4},{:.1} bits; {} errors; {} unseen; {:?}",
        set.row,
        set.name,
        set.truth.state_count(),
        found.automaton.state_count(),
        u8::from(exact),
        accuracy(&found.automaton, set),
        found.bits,
        found.errors,
        found.unseen.len(),
        found.method
    )
    .replace(", ", " ")
}

fn accuracy(automaton: &Moore<u32>, set: &LanguageSet) -> f64 {
    let right = set.test.iter().filter(|(word, class)| automaton.output_of(word) == class).count();
    right as f64 / set.test.len() as f64
}
