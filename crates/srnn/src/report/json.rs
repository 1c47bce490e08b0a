//! The result of a run as one JSON object: `--json` and `result.json`.

use super::LearnReport;
use super::candidates;
use super::labels::label_record;
use super::methods::{MethodResult, methods};
use super::notes::{majority_warning, notes};
use super::proof;
use crate::certify::Verdict;
use crate::extract::{Agreement, EvaluatedAutomaton, WordSet};
use crate::learn::{CandidateKind, Learned};
use crate::model::digest;
use crate::run::{CERTIFICATE, round_name};
use crate::task::Confusion;
use crate::train::{Quality, SeedOutcome};
use serde_json::{Map, Value, json};
use srnn_automata::{Alphabet, Moore, Word, distinguish};

/// The content of `result.json`.
pub(super) fn value(report: &LearnReport<'_>) -> Value {
    let LearnReport { learned, run, requirements, seconds } = report;
    let (valid, test) = (report.validation(), report.test());
    let accuracy = valid.accuracy();
    json!({
        "run": run.display().to_string(),
        "source": learned.data.source,
        "device": learned.device,
        "data": { "digest": learned.data.digests() },
        "candidates": candidates::records(report),
        "comparison": candidates::summary(report),
        "seeds": learned.outcomes.iter().map(|outcome| seed_record(report, outcome)).collect::<Vec<_>>(),
        "round": round_name(learned.round),
        "untrained_seeds": learned.untrained,
        "labels": label_record(report),
        "kept": kept_record(learned),
        "network": {
            "valid_accuracy": accuracy,
            "test_accuracy": test.as_ref().map(Confusion::accuracy),
        },
        "confusion": { "valid": valid, "test": test },
        "automaton": automaton(report),
        "no_automaton": no_automaton(learned),
        "tested_on": learned.extraction.as_ref().ok().map(|e| tested_on(&e.words)),
        "ways": learned.extraction.as_ref().ok().map(|extraction| {
            methods(extraction).iter().map(|method| (method.key.into(), method_record(report, method)))
                .collect::<Map<String, Value>>()
        }),
        "certificate": certificate(report),
        "notes": majority_warning(report).into_iter().chain(notes(report)).collect::<Vec<_>>(),
        "fail_under": requirements.valid_accuracy,
        "must_certify": requirements.proof,
        "passed": report.unmet().is_none(),
        "seconds": seconds,
    })
}

/// The seed that was kept, and why. A baseline has no seed.
fn kept_record(learned: &Learned<'_>) -> Value {
    if learned.ngrams.is_some() {
        return json!({ "kind": CandidateKind::Ngrams });
    }
    let kept = learned.kept();
    json!({
        "kind": learned.comparison.as_ref().map(|comparison| comparison.kept().kind),
        "seed": kept.seed,
        "reason": learned.selection.reason,
        "because": learned.selection.reason.describe(),
        "digest": digest(&kept.model),
    })
}

/// What is proved for the network and for the program, and the obstacle if something is not.
fn certificate(report: &LearnReport<'_>) -> Value {
    let Some(verdict) = &report.learned.verdict else { return Value::Null };
    let proof = verdict.proof();
    let mut value = proof::to_json(verdict, &report.alphabet());
    let truth = report.learned.data.truth.as_ref();
    let equals = |truth| proof.map(|proof| distinguish(truth, &proof.automaton) == Ok(None));
    value["equals_truth"] = json!(truth.map(equals));
    value["file"] = json!(proof.map(|_| CERTIFICATE));
    value
}

/// Accuracies and losses refer to the labels that the seed was trained with. If labels were
/// corrected, `by_given_labels` refers to the labels as given; otherwise it is null.
fn seed_record(report: &LearnReport<'_>, outcome: &SeedOutcome<f32>) -> Value {
    let end = outcome.run.final_evaluation.as_ref();
    let given = report.valid_accuracy_as_given(outcome);
    json!({
        "seed": outcome.seed,
        "train_accuracy": end.map(|end| end.train.accuracy),
        "train_loss": end.map(|end| end.train.loss),
        "valid_accuracy": report.valid_accuracy(outcome),
        "valid_loss": end.map(|end| end.valid.loss),
        "by_given_labels": given.map(|accuracy| json!({ "valid_accuracy": accuracy })),
        "stop": outcome.run.stop,
        "updates": outcome.run.updates,
        "kept_update": outcome.run.kept,
        "automaton": outcome.quality.map(quality),
        "digest": digest(&outcome.model),
    })
}

fn quality(quality: Quality) -> Value {
    match quality.closed {
        true => json!({ "certified": quality.certified, "closed": true,
                        "states": quality.states, "agreement": quality.agreement }),
        false => json!({ "certified": quality.certified, "closed": false }),
    }
}

/// The automaton of the selected network: with the statistics of the cover if it is the cover's, else
/// the proved one.
fn automaton(report: &LearnReport<'_>) -> Value {
    let Some(automaton) = report.learned.automaton() else { return Value::Null };
    let cover = report.learned.extraction.as_ref().ok().and_then(|e| e.cover_evaluated.as_ref());
    match cover.filter(|cover| cover.extracted.minimal.as_ref() == Ok(automaton)) {
        Some(evaluated) => evaluated_record(report, evaluated),
        None => proved_automaton(report, automaton),
    }
}

/// An automaton that only the proof has. It agrees with the network on every word.
fn proved_automaton(report: &LearnReport<'_>, automaton: &Moore<u32>) -> Value {
    let truth = report.learned.data.truth.as_ref();
    let difference = truth.and_then(|truth| distinguish(truth, automaton).ok());
    let alphabet = report.alphabet();
    json!({
        "states": automaton.state_count(),
        "complete": true,
        "states_before_minimising": null,
        "centroids": null,
        "agreement": null,
        "proved": report.learned.verdict.as_ref().and_then(Verdict::proof).map(|p| p.arithmetic),
        "equals_truth": difference.as_ref().map(Option::is_none),
        "shortest_difference": difference.flatten().map(|word| alphabet.format_word(&word)),
    })
}

fn no_automaton(learned: &Learned<'_>) -> Option<String> {
    if learned.automaton().is_some() {
        return None;
    }
    match &learned.extraction {
        Err(refusal) => Some(refusal.to_string()),
        Ok(extraction) => {
            let [.., cover] = methods(extraction);
            cover.automaton.err()
        }
    }
}

fn tested_on(words: &WordSet) -> Value {
    let longest = match words {
        WordSet::UpTo { longest, .. } => Some(*longest),
        WordSet::List(_) => None,
    };
    json!({ "words": words.len(), "longest": longest })
}

fn method_record(report: &LearnReport<'_>, method: &MethodResult) -> Value {
    match &method.automaton {
        Ok(evaluated) => evaluated_record(report, evaluated),
        Err(refusal) => json!({ "refused": refusal }),
    }
}

fn evaluated_record(report: &LearnReport<'_>, evaluated: &EvaluatedAutomaton) -> Value {
    let alphabet = report.alphabet();
    let spelled = |word: &Option<Word>| word.as_ref().map(|word| alphabet.format_word(word));
    let truth = evaluated.truth.as_ref();
    json!({
        "states": evaluated.extracted.minimal.as_ref().ok().map(|minimal| minimal.state_count()),
        "states_before_minimising": evaluated.extracted.automaton.state_count(),
        "complete": evaluated.extracted.minimal.is_ok(),
        "centroids": evaluated.extracted.used_centroids.layers,
        "agreement": {
            "words": agreement(&evaluated.on_words, &alphabet),
            "data": agreement(&evaluated.on_data, &alphabet),
        },
        "equals_truth": truth.map(|verdict| verdict.equal),
        "shortest_difference": truth.and_then(|v| spelled(&v.shortest_difference)),
    })
}

fn agreement(agreement: &Agreement, alphabet: &Alphabet) -> Value {
    let Agreement { compared, equal, unknown, unanswered, difference } = agreement;
    json!({
        "rate": agreement.rate(),
        "compared": compared,
        "equal": equal,
        "unknown": unknown,
        "unanswered": unanswered,
        "first_difference": difference.as_ref().map(|word| alphabet.format_word(word)),
    })
}
