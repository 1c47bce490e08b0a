//! The result of learning with the kept candidate in it.

use super::Comparison;
use super::entries::{Entry, HeldOut, Trained};
use super::merged::MergedNetwork;
use crate::engine::Mode;
use crate::extract::{ExtractError, TransitionSystem};
use crate::learn::{KeptModel, LabelVerdict, LearnCallbacks, Learned, Pipeline};
use crate::noise::correct_labels;
use crate::train::{FinalEvaluation, Selection, SelectionReason, evaluate};
use srnn_automata::Moore;
use std::borrow::Cow;

/// The result with the kept candidate in place of the SR-GRU's automaton.
pub(super) fn keep<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    mut learned: Learned<'a>,
    entries: Vec<Entry>,
    comparison: Comparison,
) -> Learned<'a> {
    let mut kept = None;
    for (index, entry) in entries.into_iter().enumerate() {
        if index == comparison.kept {
            kept = Some(entry);
        } else if let Some(Trained::Network { round, outcomes, .. }) = entry.trained {
            learned.other_rounds.push((round, outcomes));
        }
    }
    learned.comparison = Some(comparison);
    let Some(Entry { held_out: Some(held_out), trained: Some(trained), .. }) = kept else {
        // The automaton is kept: it is what `learned` has.
        return learned;
    };
    let HeldOut { valid, test } = held_out;
    match trained {
        Trained::Phase { seed, update, model } => {
            let outcome = &mut learned.outcomes[seed];
            outcome.model = *model;
            outcome.run.kept = update;
            // The seeds are shown with the labels that they were trained with.
            let split = match &learned.label_verdict {
                LabelVerdict::Corrected(correction) => {
                    let automaton = &correction.selected.simplified.automaton;
                    Cow::Owned(correct_labels(automaton, &pipeline.request.data.split))
                }
                LabelVerdict::Trusted | LabelVerdict::NotCorrected(_) => {
                    Cow::Borrowed(&pipeline.request.data.split)
                }
            };
            let mut engine = pipeline.request.engine(&outcome.model);
            let Ok(train) = evaluate(&mut engine, &split.train, Mode::default());
            let Ok(valid) = evaluate(&mut engine, &split.valid, Mode::default());
            outcome.run.final_evaluation = Some(FinalEvaluation { train, valid });
            // What was found for the hardened network does not hold for this one.
            outcome.quality = None;
            learned.selection = Selection { index: seed, reason: SelectionReason::PhaseLoss };
            if let LabelVerdict::Corrected(correction) = &mut learned.label_verdict {
                correction.reproduced = false;
            }
            learned.extraction = Err(ExtractError::NotHardened);
        }
        Trained::Compiled(mut compiled) => {
            let verdict = compiled.verdict.take();
            let MergedNetwork { network, suspects, .. } = *compiled;
            if suspects.is_empty() || !corrects_to(&learned.label_verdict, &network.automaton) {
                learned.label_verdict = LabelVerdict::Trusted;
            }
            learned.model = KeptModel::Compiled { network: Box::new(network), suspects };
            learned.extraction = Err(ExtractError::NotTrained);
            return Learned { valid, test, verdict, ..learned };
        }
        Trained::Network { round, outcomes, selection } => {
            let before = std::mem::replace(&mut learned.outcomes, outcomes);
            learned.other_rounds.insert(0, (learned.round, before));
            (learned.round, learned.selection) = (round, selection);
            learned.label_verdict = LabelVerdict::Trusted;
            let model = learned.kept().model.to_f64();
            let refusal = TransitionSystem::new(&model, &pipeline.alphabet).err();
            learned.extraction = Err(refusal.expect("only an SR-GRU has an automaton"));
        }
        Trained::Ngrams(model) => {
            learned.label_verdict = LabelVerdict::Trusted;
            learned.model = KeptModel::Ngrams(model);
            learned.extraction = Err(ExtractError::NotANetwork);
        }
    }
    Learned { valid, test, verdict: None, ..learned }
}

/// Whether labels were corrected to those of an automaton.
fn corrects_to(verdict: &LabelVerdict, automaton: &Moore<u32>) -> bool {
    match verdict {
        LabelVerdict::Corrected(correction) => {
            correction.selected.simplified.automaton == *automaton
        }
        LabelVerdict::Trusted | LabelVerdict::NotCorrected(_) => false,
    }
}
