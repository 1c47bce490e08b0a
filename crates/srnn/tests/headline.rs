//! The paper's headline as an ordinary test, on a grammar the paper failed on.

use srnn::engine::Hardware;
use srnn::key::Key;
use srnn::learn::{Lesson, Unwatched, learn};
use srnn::task::tomita::{Grammar, sets, truth};
use srnn::train::{Sizes, recipe_default};
use srnn_automata::{Moore, distinguish};

#[test]
fn the_automaton_learned_of_tomita_5_is_the_minimal_one() {
    let split = sets(Grammar::T5, &Key::new(1));
    let recipe = recipe_default(&Sizes::of(2, 2));
    let lesson = Lesson { hardware: &Hardware::cpu(2), ..Lesson::new(&split, &recipe) };
    let learned = learn(&lesson, &Unwatched).expect("a lesson that can be learned");
    let end = learned.kept().run.end.as_ref().expect("a run that ended");
    assert_eq!((end.train.accuracy, end.valid.accuracy), (1.0, 1.0));
    let automaton = learned.automaton().expect("soft states that close");
    assert_eq!(distinguish(automaton, &Moore::from(&truth(Grammar::T5))), Ok(None));
    assert_eq!(automaton.state_count(), 4);
}
