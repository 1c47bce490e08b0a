//! Training several seeds in parallel, and selecting one of them.

use super::checkpoint::CheckpointStore;
use super::examples::Examples;
use super::job::TrainJob;
use super::observer::Observer;
use super::outcome::{Run, TrainError};
use super::phases::{PhaseNetwork, PhasedRun};
use super::recipe::Recipe;
use super::run::train_phases;
use crate::engine::Arithmetic;
use crate::engine::{DeviceError, Trainer};
use crate::engine::{Optimiser, Real};
use crate::key::Key;
use crate::model::Model;
use crate::task::{Dataset, Split};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering as Order};

/// Which seeds to train, with which recipe and data.
#[derive(Debug)]
pub struct SeedPlan<'a, D = Dataset> {
    /// Architecture, initialisation and training.
    pub recipe: &'a Recipe,
    /// The data.
    pub split: &'a Split<D>,
    /// The seeds, one run each.
    pub seeds: &'a [u64],
    /// Runs at the same time. Results do not depend on it.
    pub workers: usize,
}

/// The trainer, checkpoint store and observer of each seed.
pub trait TrainContext<F>: Sync {
    /// A trainer that starts from `model`. It should use one thread where there are as many seeds
    /// as workers.
    fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<F> + Send>, DeviceError>;
    /// The checkpoint store of a seed. The run resumes from its newest checkpoint.
    fn checkpoints(&self, seed: u64) -> Box<dyn CheckpointStore<F> + '_>;
    /// The observer of a seed.
    fn observer(&self, seed: u64) -> Box<dyn Observer + '_>;
}

/// The result of training one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedOutcome<F> {
    /// The seed.
    pub seed: u64,
    /// Stop reason and history.
    pub run: Run,
    /// The resulting network.
    pub model: Model<F>,
    /// The networks of earlier phases, if the configuration keeps them.
    pub phases: Vec<PhaseNetwork<F>>,
    /// How well an automaton can be extracted from it, where that was tried.
    pub quality: Option<Quality>,
}

/// How well an automaton can be extracted from a network, measured without the true automaton.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// The arithmetic for which the network is proved equal to its automaton, if any.
    pub certified: Option<Arithmetic>,
    /// Whether the cover of soft states is closed under all symbols.
    pub closed: bool,
    /// The fraction of sequences on which automaton and network agree.
    pub agreement: f64,
    /// The number of states of the minimal automaton.
    pub states: usize,
}

/// The selected seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Its index in the outcomes.
    pub index: usize,
    /// The criterion that ranked it above the second best.
    pub reason: SelectionReason,
}

/// The criterion that ranked the selected seed above the second best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectionReason {
    /// No other seed has a result.
    Only,
    /// Higher validation accuracy.
    Accuracy,
    /// Equal accuracy; proved equal to its automaton.
    Certified,
    /// Equal so far; its cover of soft states is closed.
    Closed,
    /// Equal so far; its automaton agrees with it more often.
    Agreement,
    /// Equal so far; its automaton has fewer states.
    FewerStates,
    /// Equal so far; lower validation loss.
    Loss,
    /// It has the lowest validation loss among the networks of all seeds before and after hardening.
    PhaseLoss,
    /// Equal in every criterion; it comes first.
    First,
    /// Its automaton is the one that explains the labels best.
    #[serde(rename = "believed")]
    ExplainsLabels,
}

impl SelectionReason {
    /// The criterion as a phrase for reports.
    pub fn describe(self) -> &'static str {
        match self {
            SelectionReason::Only => "the only seed with a result",
            SelectionReason::Accuracy => "highest validation accuracy",
            SelectionReason::Certified => "highest validation accuracy, then certified",
            SelectionReason::Closed => {
                "highest validation accuracy, then a closed cover of soft states"
            }
            SelectionReason::Agreement => {
                "highest validation accuracy, then agreement with its automaton"
            }
            SelectionReason::FewerStates => {
                "highest validation accuracy, then fewer automaton states"
            }
            SelectionReason::Loss => "highest validation accuracy, then lower validation loss",
            SelectionReason::PhaseLoss => {
                "lowest validation loss of the networks before and after hardening"
            }
            SelectionReason::First => "first of several seeds equal in every criterion",
            SelectionReason::ExplainsLabels => "its automaton explains the labels best",
        }
    }
}

/// Trains or resumes every seed, several at a time. The outcomes are in the order of the seeds and
/// do not depend on the number of workers.
pub fn train_seeds<F, W, D>(
    plan: &SeedPlan<'_, D>,
    context: &W,
) -> Vec<Result<SeedOutcome<F>, TrainError>>
where
    F: Real,
    W: TrainContext<F>,
    D: Examples + Sync,
{
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<_>>> = plan.seeds.iter().map(|_| Mutex::new(None)).collect();
    let work = || loop {
        let index = next.fetch_add(1, Order::Relaxed);
        let Some(&seed) = plan.seeds.get(index) else { return };
        let outcome = train_seed(plan, context, seed);
        *outcomes[index].lock().expect("no panic while locked") = Some(outcome);
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.workers.clamp(1, plan.seeds.len().max(1)) {
            scope.spawn(work);
        }
    });
    let taken = outcomes.into_iter().map(|slot| slot.into_inner().expect("no panic while locked"));
    taken.map(|outcome| outcome.expect("every seed was trained")).collect()
}

fn train_seed<F, W, D>(
    plan: &SeedPlan<'_, D>,
    context: &W,
    seed: u64,
) -> Result<SeedOutcome<F>, TrainError>
where
    F: Real,
    W: TrainContext<F>,
    D: Examples,
{
    let Recipe { arch, init, train: config } = plan.recipe;
    let key = Key::new(seed);
    let job = TrainJob { split: plan.split, config, key };
    job.validate(arch)?;
    let model = Model::new(arch.clone(), init, key)?;
    let mut engine = context.trainer(&model, config.optimiser)?;
    let mut checkpoints = context.checkpoints(seed);
    let mut observer = context.observer(seed);
    let trained = train_phases(&mut *engine, &job, &mut *checkpoints, &mut *observer)?;
    let PhasedRun { run, phases } = trained;
    Ok(SeedOutcome { seed, run, model: engine.model()?, phases, quality: None })
}

/// Selects a seed; `None` where no run has a result. The criteria, in order:
///
/// 1. higher validation accuracy;
/// 2. proved equal to its automaton, preferably in the arithmetic of the program that runs it;
/// 3. a closed cover of soft states;
/// 4. higher agreement of automaton and network;
/// 5. fewer states;
/// 6. lower validation loss;
/// 7. first in order.
///
/// The true automaton is never a criterion: it is unknown where labels are noisy.
pub fn select<F>(outcomes: &[SeedOutcome<F>]) -> Option<Selection> {
    let mut ranked: Vec<usize> =
        (0..outcomes.len()).filter(|&i| outcomes[i].run.final_evaluation.is_some()).collect();
    ranked.sort_by(|&a, &b| compare(&outcomes[a], &outcomes[b]).0);
    let reason = match *ranked {
        [] => return None,
        [_] => SelectionReason::Only,
        [first, second, ..] => compare(&outcomes[first], &outcomes[second]).1,
    };
    Some(Selection { index: ranked[0], reason })
}

/// The order of `a` and `b`, and the criterion that decides it.
fn compare<F>(a: &SeedOutcome<F>, b: &SeedOutcome<F>) -> (Ordering, SelectionReason) {
    let valid = |o: &SeedOutcome<F>| {
        o.run.final_evaluation.as_ref().map(|e| (e.valid.accuracy, e.valid.loss))
    };
    let (accuracy_a, loss_a) = valid(a).unwrap_or((0.0, f64::INFINITY));
    let (accuracy_b, loss_b) = valid(b).unwrap_or((0.0, f64::INFINITY));
    // A seed without an extraction ranks below those with one.
    let untried = Quality { certified: None, closed: false, agreement: -1.0, states: usize::MAX };
    let (qa, qb) = (a.quality.unwrap_or(untried), b.quality.unwrap_or(untried));
    let criteria = [
        (accuracy_b.total_cmp(&accuracy_a), SelectionReason::Accuracy),
        (qb.certified.cmp(&qa.certified), SelectionReason::Certified),
        (qb.closed.cmp(&qa.closed), SelectionReason::Closed),
        (qb.agreement.total_cmp(&qa.agreement), SelectionReason::Agreement),
        (qa.states.cmp(&qb.states), SelectionReason::FewerStates),
        // NaN is the largest value in this order.
        (loss_a.abs().total_cmp(&loss_b.abs()), SelectionReason::Loss),
    ];
    let decisive = criteria.into_iter().find(|(order, _)| order.is_ne());
    decisive.unwrap_or((Ordering::Equal, SelectionReason::First))
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::NoCheckpoints;
    use super::super::config::TrainConfig;
    use super::super::evaluate::Evaluation;
    use super::super::observer::NoObserver;
    use super::super::outcome::FinalEvaluation;
    use super::super::schedule::Schedule;
    use super::super::stop::Stop;
    use super::super::testing::{arch, small_split};
    use super::*;
    use crate::engine::reference::ReferenceTrainer;
    use crate::model::Init;

    struct ReferenceContext;

    impl TrainContext<f64> for ReferenceContext {
        fn trainer(
            &self,
            model: &Model<f32>,
            optimiser: Optimiser,
        ) -> Result<Box<dyn Trainer<f64> + Send>, DeviceError> {
            Ok(Box::new(ReferenceTrainer::new(&model.to_f64(), optimiser)))
        }
        fn checkpoints(&self, _: u64) -> Box<dyn CheckpointStore<f64> + '_> {
            Box::new(NoCheckpoints)
        }
        fn observer(&self, _: u64) -> Box<dyn Observer + '_> {
            Box::new(NoObserver)
        }
    }

    #[test]
    fn outcomes_do_not_depend_on_the_number_of_workers() {
        let schedule = Schedule::default().scaled_to(12);
        let config = TrainConfig { batch_size: 4, schedule, ..TrainConfig::default() };
        let recipe = Recipe { arch: arch(4, 3), init: Init::default(), train: config };
        let (split, seeds) = (small_split(), [5, 1, 9, 2, 1]);
        let outcomes = |workers| {
            let plan = SeedPlan { recipe: &recipe, split: &split, seeds: &seeds, workers };
            let outcomes = train_seeds(&plan, &ReferenceContext);
            outcomes.into_iter().map(|outcome| outcome.unwrap()).collect::<Vec<_>>()
        };
        let alone = outcomes(1);
        assert_eq!(alone.iter().map(|o| o.seed).collect::<Vec<_>>(), seeds);
        assert_ne!(alone[0].model, alone[1].model);
        assert_eq!(alone[1], alone[4], "the same seed, the same run");
        for workers in [0, 2, 3, 4, 8] {
            assert_eq!(outcomes(workers), alone, "{workers} workers");
        }
    }

    #[test]
    fn an_invalid_job_fails_for_every_seed() {
        let config = TrainConfig { batch_size: 0, ..TrainConfig::default() };
        let recipe = Recipe { arch: arch(4, 3), init: Init::default(), train: config };
        let split = small_split();
        let plan = SeedPlan { recipe: &recipe, split: &split, seeds: &[1, 2], workers: 2 };
        let outcomes = train_seeds(&plan, &ReferenceContext);
        assert_eq!(outcomes.len(), 2);
        assert!(
            outcomes.iter().all(|o| o.as_ref().is_err_and(|e| e.to_string().contains("batch")))
        );
    }

    fn outcome(accuracy: f64, loss: f64, quality: Option<Quality>) -> SeedOutcome<f64> {
        let valid = Evaluation { accuracy, loss, confusion: vec![] };
        let run = Run {
            stop: Stop::Completed,
            updates: 1,
            kept: 1,
            skipped_updates: 0,
            history: vec![],
            final_evaluation: Some(FinalEvaluation { train: valid.clone(), valid }),
        };
        let model = Model { arch: arch(1, 1), params: vec![] };
        SeedOutcome { seed: 1, run, model, phases: vec![], quality }
    }

    fn quality(closed: bool, agreement: f64, states: usize) -> Option<Quality> {
        Some(Quality { certified: None, closed, agreement, states })
    }

    #[test]
    fn seeds_are_ranked_by_accuracy_closed_cover_agreement_states_and_loss() {
        let base = outcome(0.9, 0.5, quality(true, 0.9, 5));
        let cases = [
            (outcome(0.91, 9.0, None), SelectionReason::Accuracy),
            (outcome(0.9, 0.4, quality(true, 0.9, 5)), SelectionReason::Loss),
            (outcome(0.9, 9.0, quality(true, 0.9, 4)), SelectionReason::FewerStates),
            (outcome(0.9, 9.0, quality(true, 1.0, 9)), SelectionReason::Agreement),
        ];
        for (better, reason) in cases {
            let selection = select(&[base.clone(), better.clone()]);
            assert_eq!(selection, Some(Selection { index: 1, reason }));
            let selection = select(&[better, base.clone()]);
            assert_eq!(selection, Some(Selection { index: 0, reason }));
        }
        let proved = Quality { certified: Some(Arithmetic::F64), ..quality(true, 0.8, 9).unwrap() };
        let proved = outcome(0.9, 9.0, Some(proved));
        let selection = select(&[base.clone(), proved]);
        assert_eq!(selection, Some(Selection { index: 1, reason: SelectionReason::Certified }));
        let open = outcome(0.9, 0.1, quality(false, 1.0, 2));
        let selection = select(&[open.clone(), base.clone()]);
        assert_eq!(selection, Some(Selection { index: 1, reason: SelectionReason::Closed }));
        let equal = select(&[base.clone(), base.clone()]);
        assert_eq!(equal, Some(Selection { index: 0, reason: SelectionReason::First }));
    }

    #[test]
    fn runs_without_a_result_and_nan_losses_are_never_preferred() {
        let mut diverged = outcome(1.0, 0.0, None);
        diverged.run.final_evaluation = None;
        let nan = outcome(0.5, -f64::NAN, None);
        let good = outcome(0.5, 3.0, None);
        let selection = select(&[diverged.clone(), nan.clone(), good]);
        assert_eq!(selection, Some(Selection { index: 2, reason: SelectionReason::Loss }));
        let selection = select(&[diverged.clone(), nan]);
        assert_eq!(selection, Some(Selection { index: 1, reason: SelectionReason::Only }));
        assert_eq!(select(&[diverged]), None);
        assert_eq!(select::<f64>(&[]), None);
    }
}
