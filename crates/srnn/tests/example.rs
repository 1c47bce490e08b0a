//! The library's example, with settings that take a second.

#[path = "../../../examples/tomita.rs"]
#[allow(dead_code)] // Its `main` is for people.
mod tomita;

use srnn::task::tomita::Grammar;
use srnn::train::{Sizes, recipe_default};

#[test]
fn the_example_learns_the_first_grammar_and_draws_it() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("tomita-1.svg");
    let mut recipe = recipe_default(&Sizes { units: 16, k: 6, ..Sizes::of(2, 2) });
    recipe.train.schedule = recipe.train.schedule.scaled_to(800);
    let text = tomita::run(Grammar::T1, &recipe, &picture).unwrap();
    assert!(text.ends_with("it is the grammar's automaton"), "{text}");
    assert!(std::fs::read_to_string(&picture).unwrap().starts_with("<svg"));
}
