use super::super::checkpoint::{
    Checkpoint, CheckpointError, CheckpointFolder, CheckpointStore, LatestCheckpoint,
    NoCheckpoints, RunIdentity,
};
use super::super::config::TrainConfig;
use super::super::evaluate::evaluate;
use super::super::job::TrainJob;
use super::super::observer::{Control, Event, NoObserver};
use super::super::recipe::{ArchName, Sizes, recipe_default, recipe_memory};
use super::super::run::train_phases;
use super::super::schedule::Schedule;
use super::super::testing::{engine, small_split};
use super::*;
use crate::engine::reference::Reference;
use crate::engine::{Fields, Mode, Runner as _, Trainer as _, Transition};
use crate::key::Key;

const AT_ZERO: Mode = Mode { transition: Transition::Mixture, lambda: 0.0, tau: 1.0 };

/// Phases that end between two regular evaluations.
fn config() -> TrainConfig {
    let schedule = Schedule {
        warmup: 10,
        ramp: 5,
        settle: 9,
        harden: 6,
        finish: 0,
        curriculum: 4,
        ..Schedule::default()
    };
    TrainConfig {
        schedule,
        batch_size: 6,
        validate_every: 4,
        checkpoint_every: 7,
        keep_phases: KeepPhases::LowestLoss,
        ..TrainConfig::default()
    }
}

fn trained(config: &TrainConfig) -> (PhasedRun<f64>, Vec<f64>) {
    let split = small_split();
    let job = TrainJob { split: &split, config, key: Key::new(1) };
    let mut engine = engine(4, 3, 1);
    let run = train_phases(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    (run, engine.snapshot().unwrap().params)
}

#[test]
fn every_phase_but_the_ramp_keeps_the_network_of_its_lowest_validation_loss() {
    let (PhasedRun { run, phases }, _) = trained(&config());
    let names: Vec<Phase> = phases.iter().map(|network| network.record.phase).collect();
    assert_eq!(names, [Phase::Warmup, Phase::Settle, Phase::Harden]);
    assert!(run.history.iter().any(|record| record.update == 10), "evaluated at the phase's end");
    let (split, arch) = (small_split(), engine(4, 3, 1).arch().clone());
    for network in &phases {
        let mut of_phase: Vec<_> =
            run.history.iter().filter(|record| record.phase == network.record.phase).collect();
        of_phase.sort_by(|a, b| a.valid.loss.total_cmp(&b.valid.loss));
        assert!(of_phase.len() > 1 && *of_phase[0] == network.record);
        let model = network.model(&arch);
        assert_eq!(model.arch.is_state_regularized(), network.record.lambda == 1.0);
        let Ok(found) = evaluate(&mut Reference::new(&model), &split.valid, Mode::default());
        let loss = network.record.valid.loss;
        assert!((found.loss - loss).abs() < 1e-12, "the deployed model: {} {loss}", found.loss);
    }
}

#[test]
fn keeping_networks_changes_neither_the_result_nor_a_configuration_without_it() {
    let without = TrainConfig { keep_phases: KeepPhases::Never, ..config() };
    let ((kept, params), (none, same)) = (trained(&config()), trained(&without));
    assert_eq!(params, same);
    assert!(none.phases.is_empty());
    assert_eq!(kept.run.final_evaluation, none.run.final_evaluation);
    let regular = |r: &&Record| r.update.is_multiple_of(4) || r.update == 30;
    let scores = |r: &Record| (r.update, r.train, r.valid);
    let kept: Vec<_> = kept.run.history.iter().filter(regular).map(scores).collect();
    assert_eq!(kept, none.run.history.iter().map(scores).collect::<Vec<_>>());
    assert!(!serde_json::to_string(&without).unwrap().contains("keep_phases"));
}

/// Keeps the newest checkpoint in a folder, and the progress as it is written.
struct Watched(CheckpointFolder, usize);

impl CheckpointStore<f64> for Watched {
    fn save(&mut self, id: &RunIdentity, new: &Checkpoint<f64>) -> Result<(), CheckpointError> {
        self.1 = new.phases.len();
        self.0.save(id, new)
    }
    fn latest(&mut self, id: &RunIdentity) -> Result<LatestCheckpoint<f64>, CheckpointError> {
        self.0.latest(id)
    }
}

#[test]
fn networks_of_phases_survive_an_interruption_bit_by_bit() {
    let (split, config) = (small_split(), config());
    let (expected, params) = trained(&config);
    let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
    for (stop, kept) in [(2, 0), (7, 1), (12, 1), (20, 2), (29, 3)] {
        let root = tempfile::tempdir().unwrap();
        let mut store = Watched(CheckpointFolder::new(root.path()), 9);
        let mut interrupt = |event: &Event<'_>| match event {
            Event::Updated { update, .. } if *update == stop => Control::Interrupt,
            _ => Control::Continue,
        };
        train_phases(&mut engine(4, 3, 1), &job, &mut store, &mut interrupt).unwrap();
        assert_eq!(store.1, kept, "stopped at {stop}");
        let mut other = engine(4, 3, 99);
        let run = train_phases(&mut other, &job, &mut store, &mut NoObserver).unwrap();
        assert_eq!(run, expected, "stopped at {stop}");
        assert_eq!(other.snapshot().unwrap().params, params, "stopped at {stop}");
    }
}

#[test]
fn a_network_without_centroids_has_the_logits_of_lambda_zero() {
    for arch in ArchName::ALL {
        let sizes = Sizes { arch, units: 5, k: 3, ..Sizes::of(2, 2) };
        let ends = recipe_memory(&sizes).map_or(recipe_default(&sizes).arch, |recipe| recipe.arch);
        for arch in [recipe_default(&sizes).arch, ends] {
            let model = Model::new(arch, &recipe_default(&sizes).init, Key::new(7)).unwrap();
            let model = model.to_f64();
            let vanilla = without_centroids(&model);
            vanilla.arch.validate().unwrap();
            assert!(!vanilla.arch.is_state_regularized());
            let batch = |arch: &Arch| {
                use super::super::examples::Examples as _;
                small_split().valid.batch(&[0, 3, 9], arch)
            };
            let logits = |model: &Model<f64>, mode| {
                let mut engine = Reference::new(model);
                let Ok(trace) = engine.trace(&batch(&model.arch), mode, Fields::default());
                trace.logits
            };
            assert_eq!(logits(&vanilla, Mode::default()), logits(&model, AT_ZERO));
        }
    }
}
