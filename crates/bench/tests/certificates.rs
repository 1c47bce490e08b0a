//! No word contradicts a certificate: a small version of the experiment `contradictions`.

#[path = "../src/bin/certificates/small_languages.rs"]
mod small_languages;
#[path = "../src/bin/certificates/word_sample.rs"]
mod word_sample;
#[path = "../src/bin/certificates/word_test.rs"]
mod word_test;

use srnn::certify::{ProofSearch, prove};
use srnn::engine::Arithmetic;
use srnn::engine::key::Key;
use srnn::engine::model::ModelFile;
use srnn::extract::TransitionSystem;
use srnn::learn::{LearnData, LearnRequest, NoCallbacks, learn};
use srnn_automata::{Moore, distinguish};
use word_test::{WordTestSizes, test_words};

const TEST_SIZES: WordTestSizes = WordTestSizes {
    cpu: 1_000,
    reference: 50,
    longest: 1_000,
    short: (1 << 11) - 1,
    reference_length: 10,
};

/// A network trained on a small language, and the automaton of that language.
fn network(index: u64) -> (ModelFile, Moore<u32>) {
    let truth = small_languages::random_automaton(index);
    let split = small_languages::word_sample().draw(&truth, &Key::new(index));
    let data = LearnData::new("small", split);
    let recipe = small_languages::small_recipe();
    let mut request = LearnRequest { recipe, seeds: vec![index], ..LearnRequest::new(&data) };
    request.extraction.words = 1_000;
    let learned = learn(&request, &NoCallbacks).expect("data that can be learned");
    (learned.model_file(), truth)
}

/// The automaton of a proof for both engines.
fn certified(file: &ModelFile, truth: &Moore<u32>) -> Moore<u32> {
    let model = file.model.to_f64();
    let machine = TransitionSystem::new(&model, truth.alphabet()).expect("an SR-GRU");
    prove(&machine, Arithmetic::F32, &ProofSearch::default()).expect("a proof").automaton
}

#[test]
fn no_word_contradicts_a_certificate() {
    for index in 1..=4 {
        let (file, truth) = network(index);
        let automaton = certified(&file, &truth);
        assert_eq!(distinguish(&automaton, &truth), Ok(None), "network {index}");
        let result = test_words(&file, &automaton, &TEST_SIZES, &Key::new(index));
        for engine in [&result.cpu, &result.reference] {
            assert!(engine.words > 2_000, "{} words", engine.words);
            assert_eq!(engine.contradictions, 0, "network {index}: {:?}", engine.example);
        }
    }
}

#[test]
fn words_contradict_a_wrong_automaton() {
    let (file, truth) = network(1);
    let end = truth.access_words().pop().flatten().expect("a reachable state");
    let table = truth.states().flat_map(|state| truth.successors(state).to_vec()).collect();
    let last = truth.run(&end);
    let flipped = truth.states().map(|s| truth.output(s) ^ u32::from(s == last)).collect();
    let other = Moore::new(truth.alphabet().clone(), truth.start(), flipped, table);
    let result = test_words(&file, &other.expect("an automaton"), &TEST_SIZES, &Key::new(1));
    for engine in [&result.cpu, &result.reference] {
        assert!(engine.contradictions > 0);
        assert_eq!(engine.example.as_ref(), Some(&end));
    }
}
