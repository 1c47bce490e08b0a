//! Cross-validation. With few labelled sequences a single validation set says little. So candidates are
//! fitted several times, and every sequence is classified by models that were not fitted to it.
//!
//! A score of folds is about the way in which a model is made, and not about the kept model, which is
//! fitted to the training set as always. The network of a fold is trained for fewer updates.

use super::entries::{Scale, answers, evaluation, majority_class};
use super::networks::{lowest_loss, validation_loss};
use super::{CandidateKind, FoldPlan, HeldOutScore, NgramModel, SearchLimits};
use crate::engine::{DeviceError, Hardware, Mode, Optimiser, Trainer};
use crate::key::Key;
use crate::learn::{LearnCallbacks, LearnError, Pipeline, worker_count};
use crate::model::Model;
use crate::noise::prefix_tree;
use crate::task::{Confusion, Dataset, Fractions, Split, assign_folds, split};
use crate::train::{
    CheckpointStore, Evaluation, NoCheckpoints, Observer, Recipe, SeedOutcome, SeedPlan, Stop,
    TrainContext, evaluate, train_seeds,
};
use srnn_automata::merging::{MergeConfig, merge};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// With fewer labelled sequences, candidates are cross-validated.
const FEW: usize = 500;
/// With fewer, folds say nothing.
const FEWEST: usize = 20;
/// The number of folds.
pub(super) const FOLDS: usize = 5;

/// Whether a single validation set says little: there are few labelled sequences for training and
/// validation.
pub(super) fn few_sequences(split: &Split) -> bool {
    (FEWEST..FEW).contains(&(split.train.sequences.len() + split.valid.sequences.len()))
}

/// The folds of training and validation set together; `None` if a class is too small for them. The test
/// set of each split is the fold.
pub(super) fn folds(data: &Split, key: &Key) -> Option<Vec<Split>> {
    let mut all = data.train.clone();
    all.sequences.extend(data.valid.sequences.iter().cloned());
    let of = assign_folds(&all, FOLDS, key);
    let pick = |chosen: &dyn Fn(usize) -> bool| {
        let picked = all.sequences.iter().zip(&of).filter(|(_, fold)| chosen(**fold));
        Dataset { sequences: picked.map(|(s, _)| s.clone()).collect(), ..all.without_sequences() }
    };
    let fractions = Fractions::new(0.85, 0.15, 0.0).expect("the fractions add up to 1");
    let splits = (0..FOLDS).map(|fold| {
        let rest = pick(&|other| other != fold);
        let parts = split(&rest, fractions, &key.child("fold", fold as u64));
        Split { test: Some(pick(&|other| other == fold)), ..parts }
    });
    let splits: Vec<Split> = splits.collect();
    let empty = |set: &Dataset| set.sequences.is_empty();
    let usable =
        |s: &Split| !empty(&s.train) && !empty(&s.valid) && !s.test.as_ref().is_none_or(empty);
    splits.iter().all(usable).then_some(splits)
}

/// The fold of a split.
fn held_out(split: &Split) -> &Dataset {
    split.test.as_ref().expect("the test set is the fold")
}

/// The score of all folds together. Sequences with unknown tokens count as errors.
fn score(scale: &Scale<'_>, folds: &[Evaluation]) -> HeldOutScore {
    let data = scale.data;
    let mut confusion = Confusion::new(data.split.train.classes.clone());
    for evaluation in folds {
        for (sum, row) in confusion.counts.iter_mut().zip(&evaluation.confusion) {
            sum.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
    }
    data.valid.unreadable.iter().for_each(|sequence| confusion.add_unreadable(sequence.label));
    scale.measure.score(&confusion)
}

/// The score of the most frequent class.
pub(super) fn majority_score(scale: &Scale<'_>, plan: &FoldPlan) -> HeldOutScore {
    let of = |split: &Split| {
        let logits = majority_class(&split.train);
        let set = held_out(split);
        evaluation(set, &vec![logits; set.sequences.len()])
    };
    score(scale, &plan.splits.iter().map(of).collect::<Vec<_>>())
}

/// The score of n-grams.
pub(super) fn ngram_score(scale: &Scale<'_>, plan: &FoldPlan) -> HeldOutScore {
    let of = |split: &Split| {
        let model = NgramModel::fit(&split.train, &split.valid, &scale.class_weights);
        let set = held_out(split);
        evaluation(set, &model.logits(set.sequences.iter().map(|s| &s.tokens[..])))
    };
    score(scale, &plan.splits.iter().map(of).collect::<Vec<_>>())
}

/// The score of automata of state merging; `None` if the words of a fold are too many.
pub(super) fn merged_score<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    plan: &FoldPlan,
    limits: &SearchLimits,
) -> Option<HeldOutScore> {
    let (steps, memory) = (limits.merge_steps / FOLDS as u64, limits.merge_memory);
    let config = MergeConfig { steps, memory, ..MergeConfig::default() };
    let of = |split: &Split| {
        let tree = prefix_tree(&[&split.train, &split.valid]);
        let merged = merge(&pipeline.alphabet, &tree, &config).ok()?;
        let set = held_out(split);
        Some(evaluation(set, &answers(&merged.automaton, set)))
    };
    let evaluations: Option<Vec<Evaluation>> = plan.splits.iter().map(of).collect();
    Some(score(scale, &evaluations?))
}

/// The score of networks, one trained per fold. The error says why there is none.
pub(super) fn network_score<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    plan: &FoldPlan,
    (kind, recipe): (CandidateKind, &Recipe),
) -> Result<Result<HeldOutScore, &'static str>, LearnError> {
    let threads = pipeline.request.hardware.threads;
    let workers = worker_count(plan.splits.len(), threads);
    let hardware = pipeline.request.hardware.shared_by(workers);
    let seed = pipeline.request.seeds[0];
    let of = |fold: usize| -> Result<Option<Evaluation>, LearnError> {
        let split = &plan.splits[fold];
        let context =
            FoldContext { callbacks: pipeline.callbacks, kind, hardware: hardware.clone() };
        let seeds = SeedPlan { recipe, split, seeds: &[seed], workers: 1 };
        let outcomes: Vec<SeedOutcome<f32>> =
            train_seeds(&seeds, &context).into_iter().collect::<Result<_, _>>()?;
        if outcomes.iter().any(|outcome| outcome.run.stop == Stop::Interrupted) {
            return Err(LearnError::Interrupted);
        }
        let network = match kind {
            CandidateKind::SrGru => lowest_loss(&outcomes).map(|found| found.model),
            _ => validation_loss(&outcomes[0]).map(|_| outcomes[0].model.clone()),
        };
        Ok(network.map(|model| {
            let mut engine = pipeline.request.engine(&model);
            let Ok(evaluation) = evaluate(&mut engine, held_out(split), Mode::default());
            evaluation
        }))
    };
    let folds = in_parallel(plan.splits.len(), workers, of);
    let folds: Vec<Option<Evaluation>> = folds.into_iter().collect::<Result<_, _>>()?;
    let folds: Option<Vec<Evaluation>> = folds.into_iter().collect();
    Ok(folds.map(|folds| score(scale, &folds)).ok_or("training diverged in a fold"))
}

/// The results of `work` for 0 to `count − 1`, in this order.
fn in_parallel<A: Send>(count: usize, workers: usize, work: impl Fn(usize) -> A + Sync) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<A>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = results.get(index) else { return };
                    *slot.lock().expect("no panic while locked") = Some(work(index));
                }
            });
        }
    });
    let taken = results.into_iter().map(|slot| slot.into_inner().expect("no panic while locked"));
    taken.map(|result| result.expect("every index was worked on")).collect()
}

/// A training for one fold. It has no checkpoints: a resumed run repeats it.
struct FoldContext<'r, C> {
    callbacks: &'r C,
    kind: CandidateKind,
    hardware: Hardware,
}

impl<C: LearnCallbacks> TrainContext<f32> for FoldContext<'_, C> {
    fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<f32> + Send>, DeviceError> {
        self.hardware.trainer(model, optimiser)
    }
    fn checkpoints(&self, _: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        Box::new(NoCheckpoints)
    }
    fn observer(&self, _: u64) -> Box<dyn Observer + '_> {
        self.callbacks.fold_observer(self.kind)
    }
}
