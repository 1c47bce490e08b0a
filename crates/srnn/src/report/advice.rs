//! What a person should know about a result, beside its numbers.

use super::LearnReport;
use super::labels::unexplained;
use super::methods::{MethodResult, methods};
use crate::extract::{CoverStatus, EvaluatedAutomaton, Extraction};
use crate::format::{percent, plural};
use crate::learn::Labels;
use crate::render::transition_table::escape_control;
use crate::task::Confusion;
use crate::train::SeedOutcome;

/// A line for everything worth knowing; none where all is as it should be.
pub fn advice(report: &LearnReport<'_>) -> Vec<String> {
    let (valid, kept) = (report.validation(), report.learned.kept());
    let guess = Guess::of(&valid);
    let mut lines: Vec<String> = no_better(&valid, &guess).into_iter().collect();
    match &report.learned.labels {
        // Trained again on labels that are believed, it is not right on those that are not.
        Labels::Corrected(_) => {}
        Labels::Trusted => {
            lines.extend(learned_by_heart(kept, report.valid_accuracy(kept), &guess));
        }
        Labels::Unexplained(why) => {
            lines.extend(learned_by_heart(kept, report.valid_accuracy(kept), &guess));
            lines.extend(unexplained(why));
        }
    }
    if let Ok(extraction) = &report.learned.extraction {
        lines.extend(standing(extraction));
        lines.extend(smaller(extraction));
    }
    lines
}

/// What whoever always names the most frequent class says, and how often that is right.
struct Guess {
    class: String,
    share: f64,
}

impl Guess {
    fn of(valid: &Confusion) -> Guess {
        // The first of equals.
        let class = (0..valid.classes.len()).rev().max_by_key(|&c| valid.support(c)).unwrap_or(0);
        let share = valid.support(class) as f64 / valid.total().max(1) as f64;
        Guess { class: escape_control(&valid.classes[class]), share }
    }
}

fn no_better(valid: &Confusion, Guess { class, share }: &Guess) -> Option<String> {
    let share_shown = percent(*share);
    (valid.accuracy()? <= *share)
        .then(|| format!("the network is no better than always saying {class} ({share_shown})"))
}

/// More than this between training and validation is not chance.
const GAP: f64 = 0.05;

/// More than this below an earlier evaluation, and training went on for too long.
const FALL: f64 = 0.02;

fn learned_by_heart(kept: &SeedOutcome<f32>, valid: Option<f64>, guess: &Guess) -> Option<String> {
    let remedy = "try fewer --k, or keep = \"best\" in [train] of a --config";
    let (train, valid) = (kept.run.final_evaluation.as_ref()?.train.accuracy, valid?);
    let best =
        kept.run.history.iter().max_by(|a, b| a.valid.accuracy.total_cmp(&b.valid.accuracy))?;
    let end = kept.run.final_evaluation.as_ref()?.valid.accuracy;
    match best.valid.accuracy {
        peak if peak - end > FALL => Some(format!(
            "validation was better earlier ({} after update {}); {remedy}",
            percent(peak),
            best.update
        )),
        // Whoever only guesses in training, too, has learned nothing by heart.
        _ if train - valid > GAP && train - guess.share > GAP => Some(format!(
            "training is at {}, validation at {}; {remedy}",
            percent(train),
            percent(valid)
        )),
        _ => None,
    }
}

fn standing(extraction: &Extraction) -> Option<String> {
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

/// Another automaton that agrees with the network as often and has fewer states.
fn smaller(extraction: &Extraction) -> Option<String> {
    let agreement = |judged: &EvaluatedAutomaton| (judged.on_words.rate(), judged.on_data.rate());
    let states = |judged: &EvaluatedAutomaton| {
        judged.extracted.minimal.as_ref().ok().map(|m| m.state_count())
    };
    let [others @ .., cover] = &methods(extraction);
    let (most, least) =
        (states(cover.found.as_ref().ok()?)?, agreement(cover.found.as_ref().ok()?));
    let fits = |method: &MethodResult| {
        let judged = method.found.as_ref().ok()?;
        let (words, data) = agreement(judged);
        let count = states(judged).filter(|&n| n < most && words >= least.0 && data >= least.1)?;
        Some((count, method.key, method.name))
    };
    let (count, key, name) = others.iter().filter_map(fits).min()?;
    let count = plural(count, "state");
    Some(format!("{key}.json ({name}) has {count} and agrees with the network as often"))
}
