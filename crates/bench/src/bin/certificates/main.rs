//! Measures certificates: which networks are certified, how long the proof takes, and whether any
//! word contradicts a certificate.
//!
//! ```text
//! cargo run --release -p srnn-bench --bin certificates -- EXPERIMENT OUT [WORKERS] [ARGUMENT]…
//! ```
//! | experiment | argument | measures |
//! |---|---|---|
//! | `tomita` | grammars (`1-7`) | 20 seeds of each grammar, default recipe |
//! | `random` | changes of recipe and sample (none), substring of the names (all) | 60 random minimal automata, 2–8 symbols, 3–12 states |
//! | `mlregtest` | folder of AT&T files, changes of recipe and sample (none) | 20 of these languages, drawn with seed 0 |
//! | `variants` | | one network for each variant of the architecture |
//! | `small` | number of networks (110) | small networks on small automata |
//! | `counted-wrong` | | correct networks whose counted automaton is wrong |
//! | `contradictions` | | every certified network under `OUT` on random words and on all short words |
//! | `again` | | the time to prove every network under `OUT` again |
//!
//! Rows are appended to `OUT/EXPERIMENT.csv`. Existing rows are not computed again, so an
//! interrupted run can be resumed. Every network is saved in `OUT/EXPERIMENT/NAME`: a model folder,
//! with `certificate.json` if the network is certified.

mod contradictions;
mod counted_wrong;
mod learnability;
mod network;
mod reprove;
mod small;
mod small_languages;
mod table;
mod tomita;
mod variants;
mod word_sample;
mod word_test;

use std::path::PathBuf;

/// Options of every experiment.
pub struct ExperimentOptions {
    /// Folder of the tables and networks.
    pub out: PathBuf,
    /// Rows that are computed at a time.
    pub workers: usize,
}

const USAGE: &str = "usage: certificates EXPERIMENT OUT [WORKERS] [ARGUMENT]…; EXPERIMENT is tomita, \
random, mlregtest, variants, small, counted-wrong, contradictions or again";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or(default.into());
    let [experiment, out, ..] = arguments.as_slice() else { exit_with_usage() };
    let workers = get(2, "2").parse().expect("WORKERS is a number");
    let options = ExperimentOptions { out: PathBuf::from(out), workers };
    match experiment.as_str() {
        "tomita" => tomita::run(&options, &get(3, "1-7")),
        "random" => learnability::random(&options, &get(3, ""), &get(4, "")),
        "mlregtest" => {
            learnability::mlregtest(&options, &PathBuf::from(get(3, "att")), &get(4, ""))
        }
        "variants" => variants::run(&options),
        "small" => small::run(
            &options,
            get(3, "110").parse().expect("the argument is a number of networks"),
        ),
        "counted-wrong" => counted_wrong::run(&options),
        "again" => reprove::run(&options),
        "contradictions" => contradictions::run(&options),
        _ => exit_with_usage(),
    }
}

fn exit_with_usage() -> ! {
    eprintln!("{USAGE}");
    std::process::exit(2)
}
