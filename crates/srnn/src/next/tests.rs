use super::testing::counting;
use super::*;
use crate::learn::NoCallbacks;
use crate::task::Split;
use crate::task::files::TokenRule;

fn data() -> LoadedTokens {
    let split =
        Split { train: counting(300, 1), valid: counting(100, 2), test: Some(counting(50, 3)) };
    LoadedTokens { split, unknown_in_training: false, tokens: TokenRule::Characters }
}

fn request(data: &LoadedTokens, threads: usize) -> NextRequest<'_> {
    let mut plan = NextPlan::new(&data.split.train, vec![1, 2], 300.0);
    for (_, recipe) in &mut plan.networks {
        let train = &mut recipe.train;
        train.schedule = train.schedule.scaled_to(400);
        train.validate_every = 100;
    }
    NextRequest { data, plan, hardware: Hardware::cpu(threads) }
}

#[test]
fn a_counting_language_is_predicted_as_well_as_it_can_be_and_anomalies_are_found() {
    let data = data();
    let learned = learn_next(&request(&data, 2), &NoCallbacks).unwrap();
    let kinds: Vec<NextKind> = learned.candidates.iter().map(|c| c.kind).collect();
    assert!(kinds.is_sorted() && kinds.len() == 6, "{kinds:?}");
    // Two bits of information in sequences of six predictions on average.
    let bits = |kind| learned.of(kind).unwrap().valid.unwrap().bits;
    let least = 2.0 / 6.0;
    assert!((bits(NextKind::Ngrams) - least).abs() < 0.05, "{}", bits(NextKind::Ngrams));
    assert!((bits(NextKind::Lstm) - least).abs() < 0.08, "{}", bits(NextKind::Lstm));
    assert!(bits(NextKind::Frequencies) > 1.2);
    assert_eq!(learned.kept().kind, learned.candidates[learned.kept].kind);
    let (ngrams, thresholds) = match learned.of(NextKind::Ngrams).unwrap() {
        NextCandidate { model: Some(model), thresholds: Some(thresholds), .. } => {
            (model, thresholds)
        }
        other => panic!("{other:?}"),
    };
    let surprise = |word: Vec<u32>| ngrams.surprises(&[word], &learned.vocabulary, 1).remove(0);
    let normal = surprise(vec![0, 0, 1, 1]);
    assert!(!thresholds.flags(&normal).max, "{normal:?} {thresholds:?}");
    // The end comes too early, at the fourth step.
    let broken = surprise(vec![0, 0, 1]);
    assert!(thresholds.flags(&broken).max, "{broken:?} {thresholds:?}");
    assert_eq!(broken.most_surprising(), 3);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let data = data();
    let [one, three] =
        [1, 3].map(|threads| learn_next(&request(&data, threads), &NoCallbacks).unwrap());
    assert_eq!(one, three);
}

#[test]
fn a_saved_run_has_every_model_and_the_report_names_the_kept_one() {
    let data = data();
    let learned = learn_next(&request(&data, 2), &NoCallbacks).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let report = NextReport {
        learned: &learned,
        source: "counting".into(),
        run: folder.path().into(),
        seconds: Default::default(),
    };
    report.save().unwrap();
    let kept = NextFile::load(&folder.path().join("model")).unwrap();
    assert_eq!(Some(&kept.model), learned.kept().model.as_ref());
    for (index, candidate) in learned.candidates.iter().enumerate() {
        if index != learned.kept {
            let path = folder.path().join("candidates").join(candidate.kind.key());
            assert_eq!(NextFile::load(&path).unwrap().model, *candidate.model.as_ref().unwrap());
        }
    }
    let text = report.to_text();
    let kept = format!("kept: {}", learned.kept().kind.title());
    for words in [kept.as_str(), "anomalous: ", "bits per token", "n-grams", "utomaton"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    if learned.readable_automaton().is_some() {
        let dot = std::fs::read_to_string(folder.path().join("automaton/next.dot")).unwrap();
        assert!(dot.starts_with("digraph") && dot.contains("start -> 0"), "{dot}");
    }
    let value = report.to_json();
    assert_eq!(value["candidates"].as_array().unwrap().len(), 6);
    assert!(value["thresholds"]["max_bits"].is_f64());
}
