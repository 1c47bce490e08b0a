//! Automaton and proof of each seed, so that the best can be selected.

use super::{LearnCallbacks, Pipeline};
use crate::certify::{ProofSearch, Verdict, certify_checked, proof_checker};
use crate::engine::{Arithmetic, Mode};
use crate::extract::{RefinedCover, TransitionSystem, WordSet, classify_words, refine};
use crate::model::Model;
use crate::train::{Quality, SeedOutcome};
use std::collections::BTreeMap;

/// Steps of the proof search during selection: enough for networks with a short proof.
const SELECTION_STEPS: usize = 2_000;

/// Words that automata are tested on during selection; the selected one is tested on many more.
const SELECTION_WORDS: usize = 4_096;

/// Sets the quality of the networks that can still be selected. Validation accuracy is the first
/// criterion, so only networks with the highest accuracy are extracted. Returns the complete proofs
/// (f32) by the seed's index; a longer search could not improve them.
pub(super) fn assess_quality<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    outcomes: &mut [SeedOutcome<f32>],
) -> BTreeMap<usize, Verdict> {
    let accuracy = |outcome: &SeedOutcome<f32>| {
        outcome.run.final_evaluation.as_ref().map(|e| e.valid.accuracy)
    };
    let best = outcomes.iter().filter_map(accuracy).max_by(f64::total_cmp);
    let proof = &pipeline.request.proof;
    let search = ProofSearch { steps: proof.steps.min(SELECTION_STEPS), ..*proof };
    let mut proofs = BTreeMap::new();
    let all = outcomes.len();
    for (index, outcome) in outcomes.iter_mut().enumerate() {
        pipeline.callbacks.selecting(index, all);
        if accuracy(outcome) != best {
            continue;
        }
        let model = outcome.model.to_f64();
        let verdict = search_proof(pipeline, &outcome.model, &search);
        let certified = verdict.as_ref().and_then(Verdict::proof).map(|proof| proof.arithmetic);
        outcome.quality = extract_cover(pipeline, &outcome.model, &model)
            .map(|refined| Quality { certified, ..quality(&refined) });
        proofs.extend(verdict.filter(|v| v.holds(Arithmetic::F32)).map(|proved| (index, proved)));
    }
    pipeline.callbacks.selecting(all, all);
    proofs
}

/// Searches for a proof that the independent checker accepts; `None` if the network cannot have an
/// automaton.
pub(super) fn search_proof<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    model: &Model<f32>,
    search: &ProofSearch,
) -> Option<Verdict> {
    let (double, file) = (model.to_f64(), pipeline.request.data.model_file(model.clone()));
    let machine = TransitionSystem::new(&double, &pipeline.alphabet).ok()?;
    Some(certify_checked(&machine, search, &mut proof_checker(&file)))
}

/// The refined cover of a network, tested on the data and on short words; `None` if the network
/// cannot have an automaton. `double` is the model in double precision.
pub(super) fn extract_cover<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    model: &Model<f32>,
    double: &Model<f64>,
) -> Option<RefinedCover> {
    let machine = TransitionSystem::new(double, &pipeline.alphabet).ok()?;
    let config = &pipeline.request.extraction;
    let count = config.words.min(SELECTION_WORDS);
    let short = WordSet::at_most(pipeline.alphabet.len() as u32, count, config.longest);
    let mut engine = pipeline.request.engine(model);
    let tests = [short, WordSet::List(pipeline.words.clone())]
        .map(|words| classify_words(&mut engine, words, Mode::default()));
    Some(refine(&machine, &tests, &config.refine))
}

/// The quality of a cover, without a proof.
fn quality(refined: &RefinedCover) -> Quality {
    let Some(kept) = &refined.kept else {
        return Quality { certified: None, closed: false, agreement: 0.0, states: 0 };
    };
    let agreement = kept.agreement.rate();
    Quality { certified: None, closed: true, agreement, states: kept.minimal.state_count() }
}
