//! No string contradicts a certificate: a small version of the runs in `records/certificate`.

#[path = "../src/bin/certificates/exam.rs"]
mod exam;
#[path = "../src/bin/certificates/language.rs"]
mod language;
#[path = "../src/bin/certificates/tiny.rs"]
mod tiny;

use exam::{Exam, examine};
use srnn::certify::{Search, prove};
use srnn::engine::Arithmetic;
use srnn::extract::TransitionSystem;
use srnn::key::Key;
use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
use srnn::model::ModelFile;
use srnn_automata::{Moore, distinguish};

const SMALL: Exam =
    Exam { cpu: 1_000, reference: 50, longest: 1_000, short: (1 << 11) - 1, shortest: 10 };

/// A network trained on a small language, and that language.
fn network(index: u64) -> (ModelFile, Moore<u32>) {
    let truth = tiny::target(index);
    let split = tiny::sample().draw(&truth, &Key::new(index));
    let data = LearnData::new("tiny", split);
    let recipe = tiny::recipe();
    let mut request = LearnRequest { recipe, seeds: vec![index], ..LearnRequest::new(&data) };
    request.extraction.words = 1_000;
    let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
    (learned.model_file(), truth)
}

/// The automaton that a certificate for both engines says the network is.
fn certified(file: &ModelFile, truth: &Moore<u32>) -> Moore<u32> {
    let model = file.model.to_f64();
    let machine = TransitionSystem::new(&model, truth.alphabet()).expect("an SR-GRU");
    prove(&machine, Arithmetic::F32, &Search::default()).expect("a proof").automaton
}

#[test]
fn no_string_contradicts_a_certificate() {
    for index in 1..=4 {
        let (file, truth) = network(index);
        let automaton = certified(&file, &truth);
        assert_eq!(distinguish(&automaton, &truth), Ok(None), "network {index}");
        let outcome = examine(&file, &automaton, &SMALL, &Key::new(index));
        for engine in [&outcome.cpu, &outcome.reference] {
            assert!(engine.words > 2_000, "{} words", engine.words);
            assert_eq!(engine.contradictions, 0, "network {index}: {:?}", engine.example);
        }
    }
}

#[test]
fn strings_contradict_what_no_certificate_says() {
    let (file, truth) = network(1);
    let end = truth.access_words().pop().flatten().expect("a reachable state");
    let table = truth.states().flat_map(|state| truth.successors(state).to_vec()).collect();
    let last = truth.run(&end);
    let flipped = truth.states().map(|s| truth.output(s) ^ u32::from(s == last)).collect();
    let other = Moore::new(truth.alphabet().clone(), truth.start(), flipped, table);
    let outcome = examine(&file, &other.expect("an automaton"), &SMALL, &Key::new(1));
    for engine in [&outcome.cpu, &outcome.reference] {
        assert!(engine.contradictions > 0);
        assert_eq!(engine.example.as_ref(), Some(&end));
    }
}
