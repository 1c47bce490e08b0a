//! Warnings and notes about a result.

use super::LearnReport;
use super::labels::not_corrected_note;
use super::methods::{MethodResult, methods};
use crate::extract::{CoverStatus, EvaluatedAutomaton, Extraction};
use crate::format::{percent, plural};
use crate::learn::LabelVerdict;
use crate::render::transition_table::escape_control;
use crate::task::Confusion;
use crate::train::SeedOutcome;

/// A warning if the network is no better than the majority class. A proof does not rule that out.
pub(super) fn majority_warning(report: &LearnReport<'_>) -> Option<String> {
    let valid = report.validation();
    let MajorityBaseline { class, accuracy } = MajorityBaseline::of(&valid);
    (valid.accuracy()? <= accuracy).then(|| {
        let accuracy = percent(accuracy);
        format!("the network is no better than always predicting the class {class} ({accuracy})")
    })
}

/// All other notes; empty if there is nothing to report.
pub(super) fn notes(report: &LearnReport<'_>) -> Vec<String> {
    let mut lines = vec![];
    if report.learned.ngrams.is_some() {
        return lines;
    }
    // A network that was retrained on corrected labels is not expected to fit the given ones.
    match &report.learned.label_verdict {
        LabelVerdict::Corrected(_) => {}
        LabelVerdict::Trusted => lines.extend(overfitting_note(report)),
        LabelVerdict::NotCorrected(why) => {
            lines.extend(overfitting_note(report));
            lines.extend(not_corrected_note(why));
        }
    }
    if let Ok(extraction) = &report.learned.extraction {
        lines.extend(unconfirmed_note(extraction));
        lines.extend(smaller_automaton_note(extraction));
    }
    lines
}

/// A classifier that always predicts the most frequent class.
struct MajorityBaseline {
    class: String,
    accuracy: f64,
}

impl MajorityBaseline {
    fn of(valid: &Confusion) -> MajorityBaseline {
        // The first class wins a tie.
        let class = (0..valid.classes.len()).rev().max_by_key(|&c| valid.support(c)).unwrap_or(0);
        let accuracy = valid.support(class) as f64 / valid.total().max(1) as f64;
        MajorityBaseline { class: escape_control(&valid.classes[class]), accuracy }
    }
}

/// A larger difference between training and validation accuracy is reported.
const MAX_GAP: f64 = 0.05;

/// A larger loss of validation accuracy since an earlier evaluation is reported.
const MAX_DROP: f64 = 0.02;

fn overfitting_note(report: &LearnReport<'_>) -> Option<String> {
    let remedy = "try a smaller --k, or keep = \"best\" in [train] of a --config";
    let SeedOutcome { run, .. } = report.learned.kept();
    let end = run.final_evaluation.as_ref()?;
    let valid = report.valid_accuracy(report.learned.kept())?;
    let best = run.history.iter().max_by(|a, b| a.valid.accuracy.total_cmp(&b.valid.accuracy))?;
    let majority = MajorityBaseline::of(&report.validation()).accuracy;
    let train = end.train.accuracy;
    match best.valid.accuracy {
        peak if peak - end.valid.accuracy > MAX_DROP => Some(format!(
            "validation accuracy was higher earlier ({} after update {}): {remedy}",
            percent(peak),
            best.update
        )),
        // A network that predicts the majority class in training has not memorised anything.
        _ if train - valid > MAX_GAP && train - majority > MAX_GAP => Some(format!(
            "overfitting: training accuracy {}, validation accuracy {}: {remedy}",
            percent(train),
            percent(valid)
        )),
        _ => None,
    }
}

fn unconfirmed_note(extraction: &Extraction) -> Option<String> {
    let kept = extraction.cover.kept.as_ref()?;
    let tolerance = kept.cover.tolerance;
    match kept.status {
        CoverStatus::Confirmed { .. } => None,
        CoverStatus::Unconfirmed => Some(format!(
            "the cover is not confirmed: no tolerance finer than {tolerance} gives the same automaton"
        )),
        CoverStatus::Disagrees => Some(format!(
            "the cover is not confirmed: at tolerance {tolerance} it disagrees with the network"
        )),
    }
}

/// Another automaton with fewer states that agrees with the network at least as often.
fn smaller_automaton_note(extraction: &Extraction) -> Option<String> {
    let agreement =
        |automaton: &EvaluatedAutomaton| (automaton.on_words.rate(), automaton.on_data.rate());
    let states = |automaton: &EvaluatedAutomaton| {
        automaton.extracted.minimal.as_ref().ok().map(|minimal| minimal.state_count())
    };
    let [others @ .., cover] = &methods(extraction);
    let cover = cover.automaton.as_ref().ok()?;
    let (cover_states, cover_agreement) = (states(cover)?, agreement(cover));
    let smaller = |method: &MethodResult| {
        let automaton = method.automaton.as_ref().ok()?;
        let (words, data) = agreement(automaton);
        let count = states(automaton).filter(|&count| {
            count < cover_states && words >= cover_agreement.0 && data >= cover_agreement.1
        })?;
        Some((count, method.key, method.name))
    };
    let (count, key, name) = others.iter().filter_map(smaller).min()?;
    let count = plural(count, "state");
    Some(format!(
        "automaton/{key}.json ({name}) has only {count} and agrees with the network as often"
    ))
}
