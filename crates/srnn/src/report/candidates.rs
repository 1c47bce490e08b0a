//! The comparison of candidates as text and as JSON.

use super::LearnReport;
use crate::format::{aligned, percent, plural};
use crate::learn::{
    Candidate, CandidateKind, Comparison, HeldOutScore, KeepReason, MAX_READABLE_STATES, Preference,
};
use serde_json::{Value, json};

/// The table of candidates; `None` if only one kind of model was trained.
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
            candidate.score().map_or("–".into(), score_text),
            candidate.states.map_or("–".into(), |states| states.to_string()),
            if candidate.proved { "yes".into() } else { "–".into() },
            seconds(report, candidate.kind).map_or("–".into(), |s| format!("{s:.1}")),
            candidate.note.clone().or(candidate.remark.clone()).unwrap_or_default(),
        ]);
    }
    let held_out = match comparison.folds {
        None => "on the validation set".into(),
        Some(folds) => {
            let split = &report.learned.data.split;
            let count = split.train.sequences.len() + split.valid.sequences.len();
            format!("in {folds} folds of {} (cross-validation)", plural(count, "labelled sequence"))
        }
    };
    Some(format!(
        "Candidates by {measure} {held_out}, the most readable first:\n{}{}",
        aligned(&rows),
        weights_line(report)
    ))
}

/// The class weights of the loss; empty if there are none.
fn weights_line(report: &LearnReport<'_>) -> String {
    let comparison = report.learned.comparison.as_ref();
    let weights = comparison.map_or(&[][..], |comparison| &comparison.class_weights);
    if weights.is_empty() {
        return String::new();
    }
    let classes = &report.learned.data.split.train.classes;
    let pairs = classes.iter().zip(weights).take(8);
    let shown: Vec<String> = pairs.map(|(class, w)| format!("{class} {w:.3}")).collect();
    let more = if weights.len() > 8 { ", …" } else { "" };
    format!(
        "class weights: {}{more} (not in state merging; --class-weights=none turns them off)\n",
        shown.join(", ")
    )
}

/// The number of sequences that the score of a candidate is about.
fn compared_sequences(
    report: &LearnReport<'_>,
    candidate: &Candidate,
    folds: Option<usize>,
) -> usize {
    let data = report.learned.data;
    let valid = data.split.valid.sequences.len() + data.valid.unreadable.len();
    match folds {
        Some(_) if candidate.cross_validated.is_some() => valid + data.split.train.sequences.len(),
        _ => valid,
    }
}

/// What was learned, how certain it is, what the readable form costs, and what to do next; `None` if
/// only one kind of model was trained.
pub(super) fn conclusion(report: &LearnReport<'_>) -> Option<String> {
    let comparison = report.learned.comparison.as_ref()?;
    let measure = comparison.measure.name(&report.learned.data.split.train.classes);
    let mut sentences = vec![kept_sentence(comparison, &measure)];
    sentences.push(certainty_sentence(report, comparison));
    sentences.extend(cost_sentence(comparison));
    sentences.extend(next_sentence(report, comparison));
    Some(format!("{}\n", sentences.join("\n")))
}

/// `candidates` of `result.json`.
pub(super) fn records(report: &LearnReport<'_>) -> Option<Value> {
    let comparison = report.learned.comparison.as_ref()?;
    let records = comparison.candidates.iter().enumerate().map(|(index, candidate)| {
        let Candidate { kind, valid, cross_validated, test, states, proved, note, remark } = candidate;
        json!({
            "name": kind.title(),
            "kind": kind.key(),
            "valid": valid.map(|score| score.value),
            "cross_validated": cross_validated.map(|score| score.value),
            "score": candidate.score().map(|score| score.value),
            "interval": candidate.score().map(|HeldOutScore { value, error }| [value - error, value + error]),
            "test": test.map(|score| score.value),
            "test_error": test.map(|score| score.error),
            "states": states,
            "proved": proved,
            "seconds": seconds(report, *kind),
            "kept": index == comparison.kept,
            "note": note,
            "remark": remark,
        })
    });
    Some(Value::Array(records.collect()))
}

/// `comparison` of `result.json`.
pub(super) fn summary(report: &LearnReport<'_>) -> Option<Value> {
    let comparison = report.learned.comparison.as_ref()?;
    Some(json!({
        "measure": comparison.measure,
        "prefer": comparison.preference,
        "folds": comparison.folds,
        "class_weights": comparison.class_weights,
        "kept": comparison.kept().kind,
        "reason": comparison.reason,
        "best": comparison.best().kind,
        "text": conclusion(report),
    }))
}

fn score_text(score: HeldOutScore) -> String {
    format!("{} ± {:.2}", percent(score.value), 100.0 * score.error)
}

/// Seconds of the stages that a candidate took, its folds included. The SR-GRU's other stages are those
/// of its automaton.
fn seconds(report: &LearnReport<'_>, kind: CandidateKind) -> Option<f64> {
    const AUTOMATON: [&str; 6] = ["train", "doubt", "retrain", "select", "extract", "certify"];
    let of = |stage: &str| report.seconds.get(stage).and_then(Value::as_f64);
    match kind {
        CandidateKind::Majority => None,
        CandidateKind::Automaton => AUTOMATON.into_iter().filter_map(of).reduce(|a, b| a + b),
        kind => of(kind.key()),
    }
}

fn kept_sentence(comparison: &Comparison, measure: &str) -> String {
    let (kept, best) = (comparison.kept(), comparison.best());
    let name = kept.kind.title();
    let value = kept.score().map_or("–".into(), score_text);
    let top = best.score().map_or("–".into(), score_text);
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

/// Whether the kept model is proved, and how large its score on new data probably is.
fn certainty_sentence(report: &LearnReport<'_>, comparison: &Comparison) -> String {
    let kept = comparison.kept();
    let score = kept.score().unwrap_or(HeldOutScore { value: 0.0, error: 0.0 });
    let bound = |sign: f64| percent((score.value + 2.0 * sign * score.error).clamp(0.0, 1.0));
    let sequences = plural(compared_sequences(report, kept, comparison.folds), "sequence");
    let range = format!(
        "New data like these {sequences} probably give {} to {} (two standard errors).",
        bound(-1.0),
        bound(1.0)
    );
    match (kept.proved, kept.states) {
        (true, _) => {
            format!("Network and automaton are proved equal on every word, of any length. {range}")
        }
        (false, Some(_)) => format!("Nothing is proved about the automaton. {range}"),
        (false, None) => range,
    }
}

/// What readability costs: the kept automaton against the best candidate, or the kept candidate
/// against the best automaton.
fn cost_sentence(comparison: &Comparison) -> Option<String> {
    let kept = comparison.kept();
    if kept.states.is_some() {
        let cost = 100.0 * (comparison.best().score()?.value - kept.score()?.value);
        let text = format!("The automaton costs {cost:.1} points against the best candidate.");
        return (cost > 0.0).then_some(text);
    }
    let Some((automaton, score)) = best_automaton(comparison) else {
        return Some("No automaton is kept: none was found.".into());
    };
    let cost = 100.0 * (kept.score()?.value - score.value);
    let (title, score) = (automaton.kind.title(), percent(score.value));
    Some(match automaton.states {
        Some(states) if states > MAX_READABLE_STATES => format!(
            "No automaton is kept: the {title} has {states} states, more than \
             {MAX_READABLE_STATES}, and {score} ({cost:.1} points less)."
        ),
        Some(1) => format!(
            "No automaton is kept: the {title} has one state and {score} ({cost:.1} points less)."
        ),
        _ => format!("The {title} would cost {cost:.1} points ({score})."),
    })
}

/// The automaton with the highest score, the first of equal ones.
fn best_automaton(comparison: &Comparison) -> Option<(&Candidate, HeldOutScore)> {
    let automata = [CandidateKind::Automaton, CandidateKind::Merged];
    let found = automata.into_iter().filter_map(|kind| comparison.of(kind));
    let scored = found.filter_map(|candidate| Some((candidate, candidate.score()?)));
    scored.reduce(|best, next| if next.1.value > best.1.value { next } else { best })
}

/// The automaton that `--prefer automaton` keeps, if it is more than a single class.
fn smallest_automaton(comparison: &Comparison) -> Option<(&Candidate, HeldOutScore)> {
    let scored = comparison.candidates.iter().filter_map(|c| Some((c, c.score()?, c.states?)));
    let (found, score, states) = scored.min_by_key(|&(_, _, states)| states)?;
    (states > 1).then_some((found, score))
}

fn next_sentence(report: &LearnReport<'_>, comparison: &Comparison) -> Option<String> {
    let run = report.run.display();
    match comparison.preference {
        _ if comparison.reason == KeepReason::NothingLearned => Some(
            "Next: look at the data with `srnn data check`; more rows or other tokens may help."
                .into(),
        ),
        Preference::Readable if comparison.kept().states.is_none() => {
            smallest_automaton(comparison).map(|(found, score)| {
                let (title, score) = (found.kind.title(), percent(score.value));
                format!("Next: --prefer automaton keeps the {title} anyway ({score}).")
            })
        }
        Preference::Readable if comparison.reason == KeepReason::WithinOneError => {
            Some("Next: --prefer accuracy keeps the best candidate.".into())
        }
        _ => Some(format!("Next: srnn predict {run} SEQUENCE; srnn inspect {run}.")),
    }
}
