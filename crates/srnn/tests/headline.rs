//! The paper's headline as an ordinary test, on a grammar the paper failed on.

use srnn::engine::Hardware;
use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
use srnn::task::tomita::Grammar;
use srnn_automata::distinguish;

#[test]
fn the_automaton_learned_of_tomita_5_is_the_minimal_one() {
    let data = LearnData::tomita(Grammar::T5);
    let request = LearnRequest { hardware: Hardware::cpu(2), ..LearnRequest::new(&data) };
    let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
    let end = learned.kept().run.end.as_ref().expect("a run that ended");
    assert_eq!((end.train.accuracy, end.valid.accuracy), (1.0, 1.0));
    let automaton = learned.automaton().expect("soft states that close");
    assert_eq!(distinguish(automaton, data.truth.as_ref().unwrap()), Ok(None));
    assert_eq!(automaton.state_count(), 4);
}
