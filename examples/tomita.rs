//! From labelled words to the automaton a network learned of them:
//! `cargo run --release -p srnn --example tomita`.

use srnn::engine::Hardware;
use srnn::key::Key;
use srnn::learn::{Lesson, Unwatched, learn};
use srnn::render::{dfa, table};
use srnn::task::tomita::{self, Grammar};
use srnn::train::{Recipe, Sizes, recipe_default};
use srnn_automata::{Moore, distinguish};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    // 100 units, 50 centroids, 4,600 updates: about a quarter of a minute.
    let recipe = recipe_default(&Sizes::of(2, 2));
    println!("{}", run(Grammar::T4, &recipe, Path::new("tomita-4.svg"))?);
    Ok(())
}

/// Learns a grammar from words, draws the automaton, and says how it compares with the truth.
pub fn run(grammar: Grammar, recipe: &Recipe, picture: &Path) -> Result<String, Box<dyn Error>> {
    let split = tomita::sets(grammar, &Key::new(1));
    let (seeds, hardware) = (&[1, 2], &Hardware::cpu(2));
    let learned = learn(&Lesson { seeds, hardware, ..Lesson::new(&split, recipe) }, &Unwatched)?;
    let accuracy = learned.kept().run.end.as_ref().map_or(0.0, |end| end.valid.accuracy);
    let mut text = format!("right on {:.1} % of the validation words\n", 100.0 * accuracy);

    let Some(automaton) = learned.automaton() else {
        return Ok(text + "its states do not close: train it for longer");
    };
    let acceptor = srnn::extract::acceptor(automaton);
    text += &table::text(&table::TransitionTable::from(&acceptor));
    std::fs::write(picture, dfa::svg(&dfa::DfaPicture::from(&acceptor))?)?;

    let truth = Moore::from(&tomita::truth(grammar));
    text += &match distinguish(automaton, &truth)? {
        None => "it is the grammar's automaton".to_string(),
        Some(word) => format!("it differs from the grammar on {}", truth.alphabet().spell(&word)),
    };
    Ok(text)
}
