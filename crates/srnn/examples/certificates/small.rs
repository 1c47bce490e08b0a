//! Many small networks on small automata: certificates to be contradicted.

use crate::Desk;
use crate::language::Sample;
use crate::network::{VERDICT, equality, trained, verdict};
use crate::table::{Work, fill};
use srnn::key::Key;
use srnn::train::{LearningRate, Recipe, Sizes, recipe_default};
use srnn_automata::{Alphabet, Moore, random};
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

/// 16 units, 8 centroids, 1,200 updates.
pub fn recipe() -> Recipe {
    let mut recipe = recipe_default(&Sizes { units: 16, k: 8, ..Sizes::of(2, 2) });
    recipe.train.schedule = recipe.train.schedule.scaled_to(1_200);
    recipe.train.learning_rate = LearningRate::Constant { rate: 0.01 };
    recipe
}

/// A random minimal automaton over two symbols with 2 to 4 states.
pub fn target(index: u64) -> Moore<u32> {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    let states = 2 + index as usize % 3;
    let mut stream = Key::new(0).child("small automaton", index).stream();
    loop {
        let dfa = random(states as u32, &alphabet, 0.5, &mut || stream.bits()).minimize();
        if dfa.state_count() == states {
            return dfa.map_outputs(|&accepts| u32::from(accepts));
        }
    }
}

/// Few words, so that training is quick.
pub fn sample() -> Sample {
    Sample { train: 0..=10, valid: 11..=14, each: 20 }
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
