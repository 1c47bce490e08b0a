use super::*;
use crate::engine::Arithmetic;
use crate::key::Key;
use crate::task::tomita::{self, Grammar};
use crate::task::{Rate, label_noise, split};
use crate::train::{ArchName, SelectionReason};

fn recipe(arch: ArchName, updates: u64) -> Recipe {
    let mut recipe = recipe_default(&Sizes { arch, units: 12, k: 5, ..Sizes::of(2, 2) });
    recipe.train.schedule = recipe.train.schedule.scaled_to(updates);
    recipe
}

fn request(data: &LearnData, arch: ArchName, updates: u64) -> LearnRequest<'_> {
    let mut request = LearnRequest { recipe: recipe(arch, updates), ..LearnRequest::new(data) };
    request.extraction.words = 1_000;
    request
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let data = LearnData::tomita(Grammar::T1);
    let request = LearnRequest { seeds: vec![1, 2], ..request(&data, ArchName::SrGru, 60) };
    let alone = learn(&request, &NoCallbacks).unwrap();
    for threads in [2, 3, 4] {
        let request = LearnRequest { hardware: Hardware::cpu(threads), ..request.clone() };
        assert_eq!(learn(&request, &NoCallbacks).unwrap(), alone);
    }
}

#[test]
fn a_network_with_a_cell_state_has_no_automaton_and_the_error_says_why() {
    let data = LearnData::tomita(Grammar::T1);
    let learned = learn(&request(&data, ArchName::Lstm, 20), &NoCallbacks).unwrap();
    assert_eq!((learned.automaton(), &learned.verdict), (None, &None));
    assert!(learned.extraction.unwrap_err().to_string().contains("SR-GRU"));
}

/// Short words of a grammar with 5 % wrong labels, the true automaton, and the number of wrong labels.
fn noisy_data() -> (LearnData, Moore<u32>, usize) {
    let mut set = tomita::sets(Grammar::T4, &Key::new(1)).train;
    set.sequences.retain(|sequence| sequence.tokens.len() <= 9);
    let flipped = label_noise(&mut set, Rate::new(0.05).unwrap(), &Key::new(1));
    let split = split(&set, "0.8/0.2".parse().unwrap(), &Key::new(1));
    let truth = Moore::from(&tomita::minimal_dfa(Grammar::T4));
    (LearnData::new("noisy", split), truth, flipped.len())
}

#[test]
fn a_few_wrong_labels_are_found_and_the_network_is_retrained_without_them() {
    let (data, truth, flipped) = noisy_data();
    let request = LearnRequest { seeds: vec![1, 2], ..request(&data, ArchName::SrGru, 1_000) };
    let learned = learn(&request, &NoCallbacks).unwrap();
    let LabelVerdict::Corrected(correction) = &learned.label_verdict else {
        panic!("labels not corrected: {:?}", learned.label_verdict)
    };
    assert_eq!(correction.selected.simplified.automaton, truth);
    assert_eq!(correction.suspects.len(), flipped);
    let (round, before) = &correction.earlier_rounds[0];
    assert_eq!((*round, before.len()), (Round::Given, 2));
    assert!(correction.reproduced, "the network has the selected automaton");
    assert_eq!(learned.automaton(), Some(&truth));
    assert_eq!(learned.selection.reason, SelectionReason::ExplainsLabels);
    assert!(learned.verdict.as_ref().unwrap().holds(Arithmetic::F32), "the proof covers f32");
    assert!(learned.valid.accuracy < 1.0, "with the labels as given");
    assert_eq!(learned.kept().run.final_evaluation.as_ref().unwrap().valid.accuracy, 1.0);
    let trusting = LearnRequest { label_policy: LabelPolicy::Trust, ..request };
    let learned = learn(&trusting, &NoCallbacks).unwrap();
    assert_eq!(learned.label_verdict, LabelVerdict::Trusted);
    let models = |outcomes: &[SeedOutcome<f32>]| -> Vec<Model<f32>> {
        outcomes.iter().map(|outcome| outcome.model.clone()).collect()
    };
    assert_eq!(models(&learned.outcomes), models(before), "the first round");
}

#[test]
fn labels_that_a_network_fits_are_trusted() {
    let (data, truth, _) = noisy_data();
    let clean = LearnData::new("clean", crate::noise::correct_labels(&truth, &data.split));
    let learned = learn(&request(&clean, ArchName::SrGru, 1_000), &NoCallbacks).unwrap();
    assert_eq!(learned.valid.accuracy, 1.0);
    assert_eq!(learned.label_verdict, LabelVerdict::Trusted);
    assert_eq!(learned.automaton(), Some(&truth));
}

#[test]
fn callbacks_can_stop_before_every_stage() {
    struct StopBefore(Stage);
    impl LearnCallbacks for StopBefore {
        fn stage(&self, stage: Stage) -> Control {
            if stage == self.0 { Control::Interrupt } else { Control::Continue }
        }
    }
    let data = LearnData::tomita(Grammar::T1);
    for stage in [Stage::Train, Stage::Select, Stage::Extract, Stage::Certify] {
        let result = learn(&request(&data, ArchName::SrGru, 2), &StopBefore(stage));
        assert!(matches!(result, Err(LearnError::Interrupted)));
    }
}

/// Words of three letters; the label says whether the last one is `b`. 90 rows.
fn few_rows() -> LearnData {
    let words: Vec<(String, &str)> = (0..90u32)
        .map(|i| {
            let letter = |at: u32| char::from(b'a' + ((i / 3u32.pow(at)) % 3) as u8);
            let word: String = (0..4).map(letter).collect();
            let label = if word.ends_with('b') { "yes" } else { "no" };
            (word, label)
        })
        .collect();
    let words: Vec<(&str, &str)> = words.iter().map(|(w, l)| (w.as_str(), *l)).collect();
    let set = crate::task::tests::dataset(&words);
    LearnData::new("few", split(&set, "0.8/0.2".parse().unwrap(), &Key::new(1)))
}

fn compared<'a>(data: &'a LearnData, recipe: Recipe, budget: f64) -> LearnRequest<'a> {
    let seeds = vec![1];
    let plan = CandidatePlan::new(&data.split, &recipe, &seeds, Preference::Accuracy, budget);
    LearnRequest {
        recipe,
        seeds,
        short_updates: 0,
        candidates: Some(plan),
        ..request(data, ArchName::SrGru, 60)
    }
}

#[test]
fn few_rows_are_scored_by_every_row_and_the_threads_change_nothing() {
    let data = few_rows();
    let recipe = recipe_default(&Sizes { units: 12, k: 5, ..Sizes::of(3, 2) });
    let mut request = compared(&data, recipe, 3.0);
    request.recipe.train.set_updates(60);
    let learned = learn(&request, &NoCallbacks).unwrap();
    let comparison = learned.comparison.as_ref().unwrap();
    assert_eq!(comparison.folds, Some(5));
    let of = |kind| comparison.of(kind).unwrap();
    let ngrams = of(CandidateKind::Ngrams);
    let (valid, folds) = (ngrams.valid.unwrap(), ngrams.cross_validated.unwrap());
    assert!(folds.error < valid.error, "90 rows against 18: {folds:?} {valid:?}");
    assert_eq!(ngrams.score(), Some(folds));
    assert!(of(CandidateKind::Majority).cross_validated.is_some());
    let automaton = of(CandidateKind::Automaton);
    assert_eq!(automaton.cross_validated, None, "a proof is about one network");
    if automaton.valid.is_some() {
        assert!(automaton.remark.as_ref().unwrap().contains("validation set only"));
    }
    let threaded = LearnRequest { hardware: Hardware::cpu(3), ..request };
    assert_eq!(learn(&threaded, &NoCallbacks).unwrap().comparison, learned.comparison);
}

#[test]
fn a_diverged_sr_gru_is_shown_as_failed_and_the_rest_goes_on() {
    let data = few_rows();
    let mut recipe = recipe_default(&Sizes { units: 12, k: 5, ..Sizes::of(3, 2) });
    recipe.train.set_updates(20);
    recipe.train.learning_rate = crate::train::LearningRate::Constant { rate: 1e30 };
    let mut request = compared(&data, recipe, 1.0);
    // State merging must not solve the task first.
    request.candidates.as_mut().unwrap().limits.merge_steps = 1;
    let learned = learn(&request, &NoCallbacks).unwrap();
    let comparison = learned.comparison.as_ref().unwrap();
    for kind in [CandidateKind::Automaton, CandidateKind::SrGru] {
        let failed = comparison.of(kind).unwrap();
        assert_eq!(failed.valid, None);
        let note = failed.note.as_ref().unwrap();
        assert!(note.starts_with("failed: diverged: the "), "{note}");
        assert!(note.ends_with("is not finite"), "{note}");
    }
    assert!(comparison.kept().valid.is_some(), "{comparison:?}");
    let alone = LearnRequest { candidates: None, ..request };
    let Err(LearnError::NoResult(none)) = learn(&alone, &NoCallbacks) else {
        panic!("nothing is left")
    };
    assert!(matches!(none.stop(), crate::train::Stop::Diverged { .. }), "{none}");
}

#[test]
fn candidates_over_the_memory_limit_have_their_reason_and_the_rest_goes_on() {
    let data = few_rows();
    let mut recipe = recipe_default(&Sizes { units: 12, k: 5, ..Sizes::of(3, 2) });
    recipe.train.set_updates(20);
    let mut request = compared(&data, recipe, 1.0);
    let plan = request.candidates.as_mut().unwrap();
    plan.limits.merge_steps = 1;
    plan.limit_memory(&data.split, 1 << 20);
    let learned = learn(&request, &NoCallbacks).unwrap();
    let comparison = learned.comparison.as_ref().unwrap();
    for (kind, _) in CandidateKind::NETWORKS {
        let candidate = comparison.of(kind).unwrap();
        assert_eq!(candidate.valid, None);
        assert!(candidate.note.as_ref().unwrap().contains("memory limit"), "{candidate:?}");
    }
    assert!(comparison.of(CandidateKind::Ngrams).unwrap().valid.is_some());
}
