//! Many small networks on small automata, as input of the experiment `contradictions`.

use crate::ExperimentOptions;
use crate::network::{PROOF_COLUMNS, equality, timed_proof, train_network};
use crate::small_languages::{random_automaton, small_recipe, word_sample};
use crate::table::{CsvRow, fill_table};
use srnn::engine::key::Key;
use std::path::Path;

struct SmallNetwork<'a> {
    index: u64,
    out: &'a Path,
}

pub fn run(options: &ExperimentOptions, networks: u64) {
    let columns = format!("states,solved,equal,{PROOF_COLUMNS},train_seconds");
    let rows = (1..=networks).map(|index| SmallNetwork { index, out: &options.out });
    fill_table(options, "small", &columns, &rows.collect::<Vec<_>>());
}

impl CsvRow for SmallNetwork<'_> {
    fn name(&self) -> String {
        format!("small-{}", self.index)
    }

    fn row(&self) -> String {
        let truth = random_automaton(self.index);
        let split = word_sample().draw(&truth, &Key::new(self.index));
        let trained = train_network(&split, &small_recipe(), self.index);
        let proof = timed_proof(&trained.file);
        proof.save(&trained.file, &self.out.join("small").join(self.name()));
        let equal = proof.automaton().map_or("".into(), |found| equality(found, &truth));
        let (states, solved) = (truth.state_count(), trained.solved());
        let (proof, seconds) = (proof.row(), trained.seconds);
        format!("{states},{solved},{equal},{proof},{seconds:.2}")
    }
}
