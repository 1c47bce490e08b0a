//! Several seeds side by side, and which of them to keep.

use super::checkpoint::Keeper;
use super::examples::Examples;
use super::job::Job;
use super::observer::Observer;
use super::recipe::Recipe;
use super::run::{Run, TrainError, train_or_resume};
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

/// Which seeds to train, on what.
#[derive(Debug)]
pub struct Plan<'a, D = Dataset> {
    /// Architecture, beginning, training.
    pub recipe: &'a Recipe,
    /// The data.
    pub split: &'a Split<D>,
    /// One run each.
    pub seeds: &'a [u64],
    /// Runs at the same time. It changes how long they take and nothing else.
    pub workers: usize,
}

/// What the runs are equipped with.
pub trait Workshop<F>: Sync {
    /// What computes them: a trainer that starts from `model`. It should use one thread where
    /// there are as many seeds as workers.
    fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<F> + Send>, DeviceError>;
    /// Where a seed's checkpoints go. A run goes on from the newest one there.
    fn keeper(&self, seed: u64) -> Box<dyn Keeper<F> + '_>;
    /// Who watches a seed.
    fn observer(&self, seed: u64) -> Box<dyn Observer + '_>;
}

/// What came of a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedOutcome<F> {
    /// The seed.
    pub seed: u64,
    /// How the run went.
    pub run: Run,
    /// The resulting network.
    pub model: Model<F>,
    /// How well an automaton can be had from it, where that was tried.
    pub quality: Option<Quality>,
}

/// How well an automaton can be had from a network, judged without knowing the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// What it is proved equal to its automaton for, where a proof was found.
    pub certified: Option<Arithmetic>,
    /// Whether the cover of its soft states closes.
    pub closed: bool,
    /// The part of sequences on which automaton and network agree.
    pub agreement: f64,
    /// States of the minimal automaton.
    pub states: usize,
}

/// The seed to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Its place in the outcomes.
    pub index: usize,
    /// What put it before the next best.
    pub reason: Reason,
}

/// What put a seed before the next best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// There is no other with a result.
    Only,
    /// It is right on more of the validation set.
    Accuracy,
    /// As many are right; it is proved equal to its automaton.
    Certified,
    /// As above; the cover of its soft states closes.
    Closed,
    /// As above; its automaton agrees with it more often.
    Agreement,
    /// As above; its automaton is smaller.
    FewerStates,
    /// As above; its validation loss is lower.
    Loss,
    /// Equal in everything; it comes first.
    First,
    /// Its automaton is the one that the labels speak for.
    Believed,
}

impl Reason {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Reason::Only => "the only seed with a result",
            Reason::Accuracy => "highest validation accuracy",
            Reason::Certified => "highest validation accuracy, and it is certified",
            Reason::Closed => "highest validation accuracy, and its states close",
            Reason::Agreement => "highest validation accuracy, then agreement with its automaton",
            Reason::FewerStates => "highest validation accuracy, then the smaller automaton",
            Reason::Loss => "highest validation accuracy, then the lower validation loss",
            Reason::First => "equal to the next best in every criterion; the first",
            Reason::Believed => "its automaton is the one believed",
        }
    }
}

/// Trains every seed, or goes on with it, several at a time. The outcomes are in the order of
/// the seeds and do not depend on the number of workers.
pub fn train_seeds<F, W, D>(
    plan: &Plan<'_, D>,
    workshop: &W,
) -> Vec<Result<SeedOutcome<F>, TrainError>>
where
    F: Real,
    W: Workshop<F>,
    D: Examples + Sync,
{
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<_>>> = plan.seeds.iter().map(|_| Mutex::new(None)).collect();
    let work = || loop {
        let index = next.fetch_add(1, Order::Relaxed);
        let Some(&seed) = plan.seeds.get(index) else { return };
        let outcome = train_seed(plan, workshop, seed);
        *outcomes[index].lock().expect("nobody panics holding it") = Some(outcome);
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.workers.clamp(1, plan.seeds.len().max(1)) {
            scope.spawn(work);
        }
    });
    let taken = outcomes.into_iter().map(|slot| slot.into_inner().expect("no panic"));
    taken.map(|outcome| outcome.expect("every seed was trained")).collect()
}

fn train_seed<F, W, D>(
    plan: &Plan<'_, D>,
    workshop: &W,
    seed: u64,
) -> Result<SeedOutcome<F>, TrainError>
where
    F: Real,
    W: Workshop<F>,
    D: Examples,
{
    let Recipe { arch, init, train: config } = plan.recipe;
    let key = Key::new(seed);
    let job = Job { split: plan.split, config, key };
    job.validate(arch)?;
    let model = Model::new(arch.clone(), init, key)?;
    let mut engine = workshop.trainer(&model, config.optimiser)?;
    let mut keeper = workshop.keeper(seed);
    let mut observer = workshop.observer(seed);
    let run = train_or_resume(&mut *engine, &job, &mut *keeper, &mut *observer)?;
    Ok(SeedOutcome { seed, run, model: engine.model()?, quality: None })
}

/// The seed to keep: highest validation accuracy; then it is proved equal to its automaton, the
/// program that runs before the network alone; then the cover of its soft states closes; then
/// its automaton agrees with it more often; then has fewer states; then lower validation loss;
/// then the first. Never by the truth: who has noisy labels does not have it. Nothing where no
/// run has a result.
pub fn select<F>(outcomes: &[SeedOutcome<F>]) -> Option<Selection> {
    let mut ranked: Vec<usize> =
        (0..outcomes.len()).filter(|&i| outcomes[i].run.end.is_some()).collect();
    ranked.sort_by(|&a, &b| compare(&outcomes[a], &outcomes[b]).0);
    let reason = match *ranked {
        [] => return None,
        [_] => Reason::Only,
        [first, second, ..] => compare(&outcomes[first], &outcomes[second]).1,
    };
    Some(Selection { index: ranked[0], reason })
}

/// Whether `a` comes before `b`, and by which criterion.
fn compare<F>(a: &SeedOutcome<F>, b: &SeedOutcome<F>) -> (Ordering, Reason) {
    let valid =
        |o: &SeedOutcome<F>| o.run.end.as_ref().map(|end| (end.valid.accuracy, end.valid.loss));
    let (accuracy_a, loss_a) = valid(a).unwrap_or((0.0, f64::INFINITY));
    let (accuracy_b, loss_b) = valid(b).unwrap_or((0.0, f64::INFINITY));
    // A seed nobody tried to extract from stands behind those that were tried.
    let untried = Quality { certified: None, closed: false, agreement: -1.0, states: usize::MAX };
    let (qa, qb) = (a.quality.unwrap_or(untried), b.quality.unwrap_or(untried));
    let criteria = [
        (accuracy_b.total_cmp(&accuracy_a), Reason::Accuracy),
        (qb.certified.cmp(&qa.certified), Reason::Certified),
        (qb.closed.cmp(&qa.closed), Reason::Closed),
        (qb.agreement.total_cmp(&qa.agreement), Reason::Agreement),
        (qa.states.cmp(&qb.states), Reason::FewerStates),
        // A loss that is no number is the largest in this order.
        (loss_a.abs().total_cmp(&loss_b.abs()), Reason::Loss),
    ];
    let decisive = criteria.into_iter().find(|(order, _)| order.is_ne());
    decisive.unwrap_or((Ordering::Equal, Reason::First))
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::Nowhere;
    use super::super::config::TrainConfig;
    use super::super::evaluate::Evaluation;
    use super::super::observer::Silent;
    use super::super::run::End;
    use super::super::schedule::Schedule;
    use super::super::stop::Stop;
    use super::super::testing::{arch, small_split};
    use super::*;
    use crate::engine::reference::ReferenceTrainer;
    use crate::model::Init;

    struct Bench;

    impl Workshop<f64> for Bench {
        fn trainer(
            &self,
            model: &Model<f32>,
            optimiser: Optimiser,
        ) -> Result<Box<dyn Trainer<f64> + Send>, DeviceError> {
            Ok(Box::new(ReferenceTrainer::new(&model.to_f64(), optimiser)))
        }
        fn keeper(&self, _: u64) -> Box<dyn Keeper<f64> + '_> {
            Box::new(Nowhere)
        }
        fn observer(&self, _: u64) -> Box<dyn Observer + '_> {
            Box::new(Silent)
        }
    }

    #[test]
    fn seeds_come_out_the_same_whatever_the_number_of_workers() {
        let schedule = Schedule::default().scaled_to(12);
        let config = TrainConfig { batch_size: 4, schedule, ..TrainConfig::default() };
        let recipe = Recipe { arch: arch(4, 3), init: Init::default(), train: config };
        let (split, seeds) = (small_split(), [5, 1, 9, 2, 1]);
        let outcomes = |workers| {
            let plan = Plan { recipe: &recipe, split: &split, seeds: &seeds, workers };
            let outcomes = train_seeds(&plan, &Bench);
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
    fn a_job_that_cannot_be_fails_for_every_seed_in_words() {
        let config = TrainConfig { batch_size: 0, ..TrainConfig::default() };
        let recipe = Recipe { arch: arch(4, 3), init: Init::default(), train: config };
        let split = small_split();
        let plan = Plan { recipe: &recipe, split: &split, seeds: &[1, 2], workers: 2 };
        let outcomes = train_seeds(&plan, &Bench);
        assert_eq!(outcomes.len(), 2);
        assert!(
            outcomes.iter().all(|o| o.as_ref().is_err_and(|e| e.to_string().contains("batch")))
        );
    }

    fn outcome(accuracy: f64, loss: f64, quality: Option<Quality>) -> SeedOutcome<f64> {
        let valid = Evaluation { accuracy, loss, confusion: vec![] };
        let end = Some(End { train: valid.clone(), valid });
        let run = Run { stop: Stop::Updates, updates: 1, kept: 1, lost: 0, history: vec![], end };
        SeedOutcome { seed: 1, run, model: Model { arch: arch(1, 1), params: vec![] }, quality }
    }

    fn quality(closed: bool, agreement: f64, states: usize) -> Option<Quality> {
        Some(Quality { certified: None, closed, agreement, states })
    }

    #[test]
    fn the_seed_kept_is_the_first_by_accuracy_closing_agreement_states_and_loss() {
        let base = outcome(0.9, 0.5, quality(true, 0.9, 5));
        let cases = [
            (outcome(0.91, 9.0, None), Reason::Accuracy),
            (outcome(0.9, 0.4, quality(true, 0.9, 5)), Reason::Loss),
            (outcome(0.9, 9.0, quality(true, 0.9, 4)), Reason::FewerStates),
            (outcome(0.9, 9.0, quality(true, 1.0, 9)), Reason::Agreement),
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
        assert_eq!(selection, Some(Selection { index: 1, reason: Reason::Certified }));
        let open = outcome(0.9, 0.1, quality(false, 1.0, 2));
        let selection = select(&[open.clone(), base.clone()]);
        assert_eq!(selection, Some(Selection { index: 1, reason: Reason::Closed }));
        let equal = select(&[base.clone(), base.clone()]);
        assert_eq!(equal, Some(Selection { index: 0, reason: Reason::First }));
    }

    #[test]
    fn a_run_without_a_result_and_a_loss_that_is_no_number_are_never_preferred() {
        let mut diverged = outcome(1.0, 0.0, None);
        diverged.run.end = None;
        let nan = outcome(0.5, -f64::NAN, None);
        let good = outcome(0.5, 3.0, None);
        let selection = select(&[diverged.clone(), nan.clone(), good]);
        assert_eq!(selection, Some(Selection { index: 2, reason: Reason::Loss }));
        let selection = select(&[diverged.clone(), nan]);
        assert_eq!(selection, Some(Selection { index: 1, reason: Reason::Only }));
        assert_eq!(select(&[diverged]), None);
        assert_eq!(select::<f64>(&[]), None);
    }
}
