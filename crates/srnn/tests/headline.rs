//! The paper's headline as an ordinary test, on a grammar on which the paper reports failure.

use srnn::engine::Hardware;
use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
use srnn::task::tomita::Grammar;
use srnn_automata::distinguish;

#[test]
fn the_automaton_learned_from_tomita_5_is_the_minimal_one() {
    let data = LearnData::tomita(Grammar::T5);
    let request = LearnRequest { hardware: Hardware::cpu(2), ..LearnRequest::new(&data) };
    let learned = learn(&request, &NoCallbacks).expect("a valid request");
    let evaluation = learned.kept().run.final_evaluation.as_ref().expect("a completed run");
    assert_eq!((evaluation.train.accuracy, evaluation.valid.accuracy), (1.0, 1.0));
    let automaton = learned.automaton().expect("a closed cover of soft states");
    assert_eq!(distinguish(automaton, data.truth.as_ref().unwrap()), Ok(None));
    assert_eq!(automaton.state_count(), 4);
}
