//! Languages and recipes so small that a network is trained and certified in a second.

use crate::word_sample::WordSample;
use srnn::engine::key::Key;
use srnn::train::{LearningRate, Recipe, Sizes, recipe_default};
use srnn_automata::{Alphabet, Moore, random_dfa};

/// 16 units, 8 centroids, 1,200 updates.
pub fn small_recipe() -> Recipe {
    let mut recipe = recipe_default(&Sizes { units: 16, k: 8, ..Sizes::of(2, 2) });
    recipe.train.schedule = recipe.train.schedule.scaled_to(1_200);
    recipe.train.learning_rate = LearningRate::Constant { rate: 0.01 };
    recipe
}

/// A random minimal automaton over two symbols with 2 to 4 states.
pub fn random_automaton(index: u64) -> Moore<u32> {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    let states = 2 + index as usize % 3;
    let mut rng = Key::new(0).child("small automaton", index).rng();
    loop {
        let dfa = random_dfa(states as u32, &alphabet, 0.5, &mut || rng.bits()).minimize();
        if dfa.state_count() == states {
            return dfa.map_outputs(|&accepts| u32::from(accepts));
        }
    }
}

/// Few words, so that training is fast.
pub fn word_sample() -> WordSample {
    WordSample { train: 0..=10, valid: 11..=14, each: 20, walks: 0 }
}
