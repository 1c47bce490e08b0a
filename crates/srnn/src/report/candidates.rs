//! The comparison of candidates as text and as JSON.

use super::LearnReport;
use crate::format::{aligned, percent};
use crate::learn::{
    Candidate, CandidateKind, Comparison, HeldOutScore, KeepReason, MAX_READABLE_STATES, Preference,
};
use serde_json::{Value, json};

/// The table of candidates, and what follows from it in two or three sentences; `None` if only one
/// kind of model was trained.
pub(super) fn text(report: &LearnReport<'_>) -> Option<String> {
    let comparison = report.learned.comparison.as_ref()?;
    let measure = comparison.measure.name(&report.learned.data.split.train.classes);
    let head = ["", "candidate", measure.as_str(), "states", "proved", "seconds", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (index, candidate) in comparison.candidates.iter().enumerate() {
        let kept = if index == comparison.kept { "*" } else { "" };
        rows.push(vec![
            kept.into(),
            candidate.kind.title().into(),
            candidate.valid.map_or("–".into(), score_text),
            candidate.states.map_or("–".into(), |states| states.to_string()),
            if candidate.proved { "yes".into() } else { "–".into() },
            seconds(report, candidate.kind).map_or("–".into(), |s| format!("{s:.1}")),
            candidate.note.clone().unwrap_or_default(),
        ]);
    }
    Some(format!(
        "Candidates by {measure} on the validation set, the most readable first:\n{}{}",
        aligned(&rows),
        conclusion(comparison, &measure)
    ))
}

/// `candidates` of `result.json`.
pub(super) fn records(report: &LearnReport<'_>) -> Option<Value> {
    let comparison = report.learned.comparison.as_ref()?;
    let records = comparison.candidates.iter().enumerate().map(|(index, candidate)| {
        let Candidate { kind, valid, test, states, proved, note } = candidate;
        json!({
            "name": kind.title(),
            "kind": kind.key(),
            "valid": valid.map(|score| score.value),
            "interval": valid.map(|HeldOutScore { value, error }| [value - error, value + error]),
            "test": test.map(|score| score.value),
            "test_error": test.map(|score| score.error),
            "states": states,
            "proved": proved,
            "seconds": seconds(report, *kind),
            "kept": index == comparison.kept,
            "note": note,
        })
    });
    Some(Value::Array(records.collect()))
}

/// `comparison` of `result.json`.
pub(super) fn summary(report: &LearnReport<'_>) -> Option<Value> {
    let comparison = report.learned.comparison.as_ref()?;
    let measure = comparison.measure.name(&report.learned.data.split.train.classes);
    Some(json!({
        "measure": comparison.measure,
        "prefer": comparison.preference,
        "kept": comparison.kept().kind,
        "reason": comparison.reason,
        "best": comparison.best().kind,
        "text": conclusion(comparison, &measure),
    }))
}

fn score_text(score: HeldOutScore) -> String {
    format!("{} ± {:.2}", percent(score.value), 100.0 * score.error)
}

/// Seconds of the stages that a candidate took. The SR-GRU's stages are those of its automaton.
fn seconds(report: &LearnReport<'_>, kind: CandidateKind) -> Option<f64> {
    const AUTOMATON: [&str; 6] = ["train", "doubt", "retrain", "select", "extract", "certify"];
    let of = |stage: &str| report.seconds.get(stage).and_then(Value::as_f64);
    match kind {
        CandidateKind::Majority | CandidateKind::SrGru => None,
        CandidateKind::Automaton => AUTOMATON.into_iter().filter_map(of).reduce(|a, b| a + b),
        kind => of(kind.key()),
    }
}

/// Which candidate is kept and why, what readability costs, and what to do next.
fn conclusion(comparison: &Comparison, measure: &str) -> String {
    let mut sentences = vec![kept_sentence(comparison, measure)];
    sentences.extend(automaton_sentence(comparison));
    sentences.extend(next_sentence(comparison));
    format!("{}\n", sentences.join("\n"))
}

fn kept_sentence(comparison: &Comparison, measure: &str) -> String {
    let (kept, best) = (comparison.kept(), comparison.best());
    let name = kept.kind.title();
    let value = kept.valid.map_or("–".into(), score_text);
    let top = best.valid.map_or("–".into(), score_text);
    match comparison.reason {
        KeepReason::Best => format!("kept: {name}, which has the highest {measure}: {value}."),
        KeepReason::WithinOneError => format!(
            "kept: {name} with {value}, the most readable within one standard error of the best \
             ({}, {top}).",
            best.kind.title()
        ),
        KeepReason::Preferred => format!(
            "kept: {name} with {value}, because of --prefer {}; the best is {} with {top}.",
            comparison.preference.name(),
            best.kind.title()
        ),
        KeepReason::PreferredMissing => format!(
            "kept: {name} with {value}; no candidate has what --prefer {} asks for.",
            comparison.preference.name()
        ),
        KeepReason::NothingLearned => format!(
            "kept: {name} with {value}. WARNING: no candidate is better than the majority class by \
             a standard error, so nothing is shown to have been learned."
        ),
    }
}

/// What the automaton would cost, if another candidate is kept.
fn automaton_sentence(comparison: &Comparison) -> Option<String> {
    let automaton = comparison.of(CandidateKind::Automaton)?;
    let kept = comparison.kept();
    if kept.states.is_some() {
        let (value, best) = (kept.valid?.value, comparison.best().valid?.value);
        let cost = 100.0 * (best - value);
        return (cost > 0.0)
            .then(|| format!("The automaton costs {cost:.1} points against the best candidate."));
    }
    let Some(score) = automaton.valid else {
        return Some("No automaton is kept: the SR-GRU's states form no finite set.".into());
    };
    let cost = 100.0 * (kept.valid?.value - score.value);
    Some(match automaton.states {
        Some(states) if states > MAX_READABLE_STATES => format!(
            "No automaton is kept: the SR-GRU's has {states} states, more than \
             {MAX_READABLE_STATES}, and {} ({cost:.1} points less).",
            percent(score.value)
        ),
        Some(1) => format!(
            "No automaton is kept: the SR-GRU's has one state and {} ({cost:.1} points less).",
            percent(score.value)
        ),
        _ => format!("An automaton would cost {cost:.1} points ({}).", percent(score.value)),
    })
}

fn next_sentence(comparison: &Comparison) -> Option<String> {
    let automaton = comparison.of(CandidateKind::Automaton)?;
    let has_automaton = automaton.states.is_some_and(|states| states > 1);
    match comparison.preference {
        _ if comparison.reason == KeepReason::NothingLearned => Some(
            "Next: look at the data with `srnn data check`; more rows or other tokens may help."
                .into(),
        ),
        Preference::Readable if comparison.kept().states.is_none() => {
            has_automaton.then(|| "Next: --prefer automaton keeps the automaton anyway.".into())
        }
        Preference::Readable if comparison.reason == KeepReason::WithinOneError => {
            Some("Next: --prefer accuracy keeps the best candidate.".into())
        }
        _ => None,
    }
}
