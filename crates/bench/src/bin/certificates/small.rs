//! Many small networks on small automata: certificates to be contradicted.

use crate::Desk;
use crate::network::{VERDICT, equality, trained, verdict};
use crate::table::{Work, fill};
use crate::tiny::{recipe, sample, target};
use srnn::key::Key;
use std::path::Path;

struct Small<'a> {
    index: u64,
    out: &'a Path,
}

pub fn run(desk: &Desk, networks: u64) {
    let columns = format!("states,solved,equal,{VERDICT},train_seconds");
    let works = (1..=networks).map(|index| Small { index, out: &desk.out });
    fill(desk, "small", &columns, &works.collect::<Vec<_>>());
}

impl Work for Small<'_> {
    fn name(&self) -> String {
        format!("small-{}", self.index)
    }

    fn row(&self) -> String {
        let truth = target(self.index);
        let split = sample().draw(&truth, &Key::new(self.index));
        let trained = trained(&split, &recipe(), self.index);
        let verdict = verdict(&trained.file);
        verdict.save(&trained.file, &self.out.join("small").join(self.name()));
        let equal = verdict.automaton().map_or("".into(), |found| equality(found, &truth));
        let (states, solved) = (truth.state_count(), trained.solved());
        let (verdict, seconds) = (verdict.row(), trained.seconds);
        format!("{states},{solved},{equal},{verdict},{seconds:.2}")
    }
}
