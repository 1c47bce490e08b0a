use super::*;
use crate::learn::{LearnData, LearnRequest, NoCallbacks, learn};
use crate::task::tomita::Grammar;
use crate::train::{Sizes, recipe_default};

fn learned(data: &LearnData) -> Learned<'_> {
    let mut recipe = recipe_default(&Sizes { units: 12, k: 5, ..Sizes::of(2, 2) });
    recipe.train.schedule = recipe.train.schedule.scaled_to(800);
    let mut request = LearnRequest { recipe, ..LearnRequest::new(data) };
    request.extraction.words = 1_000;
    learn(&request, &NoCallbacks).unwrap()
}

#[test]
fn a_saved_result_has_a_proof_that_the_checker_accepts() {
    let data = LearnData::tomita(Grammar::T1);
    let learned = learned(&data);
    assert!(learned.is_proved());
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    learned.save(folder.path()).unwrap();
    let checked = srnn_check::check_files(&path("model"), &path("certificate.json")).unwrap();
    assert_eq!(checked.states, 2);
    for file in ["automaton/automaton.svg", "automaton/automaton.json", "metrics.jsonl"] {
        assert!(path(file).is_file(), "{file}");
    }
    let result = std::fs::read_to_string(path("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["automaton"]["states"], 2);
    assert_eq!(result["certificate"]["certified"], true);
}

#[test]
fn the_proved_automaton_is_reported_if_the_cover_has_none() {
    let data = LearnData::tomita(Grammar::T1);
    let mut learned = learned(&data);
    let extraction = learned.extraction.as_mut().unwrap();
    (extraction.cover.kept, extraction.cover_evaluated) = (None, None);
    let (run, requirements) = ("run".into(), Requirements::default());
    let report = LearnReport { learned: &learned, run, requirements, seconds: Default::default() };
    let result = report.to_json();
    assert_eq!(result["automaton"]["states"], 2, "{result:#}");
    assert_eq!(result["automaton"]["equals_truth"], true);
    assert_eq!(result["no_automaton"], serde_json::Value::Null);
    assert!(report.to_text().contains("Extracted automaton, 2 states"));
}
