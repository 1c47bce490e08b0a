//! The records of the certificate: which networks get one, how long it takes, and whether any
//! string contradicts one that was issued.
//!
//! ```text
//! cargo run --release -p srnn-bench --bin certificates -- EXPERIMENT OUT [WORKERS] [ARGUMENT]…
//! ```
//! | experiment | argument | makes |
//! |---|---|---|
//! | `tomita` | grammars (`1-7`) | 20 seeds of each grammar, default recipe |
//! | `random` | changes of recipe and sample (none), a part of the names (all) | 60 random minimal automata, 2–8 symbols, 3–12 states |
//! | `mlregtest` | folder of AT&T files, and changes of recipe and sample (none) | 20 of the languages there, drawn by seed 0 |
//! | `variants` | | one network for each variant of the architecture |
//! | `small` | how many (110) | small networks on small automata |
//! | `counted-wrong` | | right networks whose counted automaton is wrong |
//! | `contradictions` | | tests every certified network under `OUT` with random and with all short strings |
//! | `again` | | proves every network under `OUT` again and says what that took |
//!
//! Rows are appended to `OUT/EXPERIMENT.csv` as they come, and rows that are there are not made
//! again: a run that was stopped goes on. Networks go to `OUT/EXPERIMENT/NAME`, each a model folder
//! with its `certificate.json` where there is one.

mod again;
mod contradictions;
mod counted_wrong;
mod exam;
mod language;
mod maps;
mod network;
mod small;
mod table;
mod tiny;
mod tomita;
mod variants;

use std::path::PathBuf;

/// Where results go, and how many rows are made at a time.
pub struct Desk {
    /// The folder.
    pub out: PathBuf,
    /// Rows at a time.
    pub workers: usize,
}

const USAGE: &str = "certificates EXPERIMENT OUT [WORKERS] [ARGUMENT]; EXPERIMENT is tomita, \
random, mlregtest, variants, small, counted-wrong, contradictions or again";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or(default.into());
    let [experiment, out, ..] = arguments.as_slice() else { panic!("{USAGE}") };
    let workers = get(2, "2").parse().expect("a number of workers");
    let desk = Desk { out: PathBuf::from(out), workers };
    match experiment.as_str() {
        "tomita" => tomita::run(&desk, &get(3, "1-7")),
        "random" => maps::random(&desk, &get(3, ""), &get(4, "")),
        "mlregtest" => maps::mlregtest(&desk, &PathBuf::from(get(3, "att")), &get(4, "")),
        "variants" => variants::run(&desk),
        "small" => small::run(&desk, get(3, "110").parse().expect("a number of networks")),
        "counted-wrong" => counted_wrong::run(&desk),
        "again" => again::run(&desk),
        "contradictions" => contradictions::run(&desk),
        other => panic!("no experiment {other}: {USAGE}"),
    }
}
