//! Tries seeds for an automaton and a proof, so that the best can be kept.

use super::{Job, LearnCallbacks};
use crate::certify::{ProofSearch, Verdict, certify};
use crate::engine::Arithmetic;
use crate::engine::Mode;
use crate::extract::{Agreement, RefinedCover, TransitionSystem, WordSet, classify_words, refine};
use crate::model::Model;
use crate::train::{Quality, SeedOutcome};
use srnn_automata::Alphabet;
use std::collections::BTreeMap;

/// Steps of a trial search for a proof: enough for networks that have a short one.
const TRIAL_STEPS: usize = 2_000;

/// Words enough to tell seeds apart; the one kept is tested on many more.
const TRIAL_WORDS: usize = 4_096;

/// Judges the networks that can still be kept. Validation accuracy comes first in the selection, so
/// only those with the highest need an automaton to be told apart. Returns proofs that no longer
/// search could improve, by the seed's index.
pub(super) fn judge<C: LearnCallbacks>(
    job: &Job<'_, '_, C>,
    outcomes: &mut [SeedOutcome<f32>],
) -> BTreeMap<usize, Verdict> {
    let accuracy = |outcome: &SeedOutcome<f32>| {
        outcome.run.final_evaluation.as_ref().map(|e| e.valid.accuracy)
    };
    let best = outcomes.iter().filter_map(accuracy).max_by(f64::total_cmp);
    let proof = &job.request.proof;
    let search = ProofSearch { steps: proof.steps.min(TRIAL_STEPS), ..*proof };
    let mut proofs = BTreeMap::new();
    for (index, outcome) in outcomes.iter_mut().enumerate() {
        if accuracy(outcome) != best {
            continue;
        }
        let model = outcome.model.to_f64();
        let verdict = prove(&model, &job.alphabet, &search);
        let certified = verdict.as_ref().and_then(Verdict::proof).map(|proof| proof.arithmetic);
        outcome.quality = trial(job, &outcome.model, &model)
            .map(|refined| Quality { certified, ..quality(&refined) });
        proofs.extend(verdict.filter(|v| v.holds(Arithmetic::F32)).map(|proved| (index, proved)));
    }
    proofs
}

/// What can be proved of a network; `None` if it cannot have an automaton.
pub(super) fn prove(
    model: &Model<f64>,
    alphabet: &Alphabet,
    search: &ProofSearch,
) -> Option<Verdict> {
    Some(certify(&TransitionSystem::new(model, alphabet).ok()?, search))
}

/// The covers of a network, tested on the data and a few short words; `None` if it cannot have an
/// automaton. `double` is the model in double precision.
pub(super) fn trial<C: LearnCallbacks>(
    job: &Job<'_, '_, C>,
    model: &Model<f32>,
    double: &Model<f64>,
) -> Option<RefinedCover> {
    let machine = TransitionSystem::new(double, &job.alphabet).ok()?;
    let config = &job.request.extraction;
    let most = config.words.min(TRIAL_WORDS);
    let short = WordSet::at_most(job.alphabet.len() as u32, most, config.longest);
    let mut engine = job.request.engine(model);
    let tests = [short, WordSet::List(job.words.clone())]
        .map(|words| classify_words(&mut engine, words, Mode::default()));
    Some(refine(&machine, &tests, &config.refine))
}

/// How well an automaton can be extracted; a proof is not looked for here.
fn quality(refined: &RefinedCover) -> Quality {
    let Some(kept) = &refined.kept else {
        return Quality { certified: None, closed: false, agreement: 0.0, states: 0 };
    };
    let Agreement { compared, equal, unknown, unanswered, .. } = kept.agreement;
    let asked = compared + unknown + unanswered;
    let agreement = equal as f64 / asked.max(1) as f64;
    Quality { certified: None, closed: true, agreement, states: kept.minimal.state_count() }
}
