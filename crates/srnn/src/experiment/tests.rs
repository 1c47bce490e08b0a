use super::testing::{experiment, outcome};
use super::*;
use crate::engine::Hardware;
use crate::engine::cpu::Cpu;
use crate::key::Key;
use crate::model::Model;
use crate::train::{CheckpointFolder, Control, Event, NoCheckpoints, NoObserver, Recipe, Schedule};
use std::collections::HashSet;

/// The data folder of tasks that read no files.
const NO_FILES: &str = "";

#[test]
fn trials_are_ordered_by_data_model_setting_and_seed() {
    let experiment = experiment();
    let names: Vec<String> =
        experiment.trials().iter().map(|trial| trial.id().to_string()).collect();
    assert_eq!(names.len(), 16);
    assert_eq!(
        names[..3],
        ["one/sr-gru/slow/seed-1", "one/sr-gru/slow/seed-2", "one/sr-gru/fast/seed-1"]
    );
    assert_eq!(names[4], "one/gru/slow/seed-1");
    assert_eq!(names[15], "two/gru/fast/seed-2");
}

#[test]
fn every_model_has_as_many_settings_and_updates() {
    let experiment = experiment();
    let updates: HashSet<u64> =
        experiment.trials().iter().map(|trial| trial.recipe().train.schedule.updates()).collect();
    assert_eq!(updates, HashSet::from([12]));
    let vanilla = experiment.trials()[4].recipe().train.schedule;
    assert_eq!((vanilla.ramp, vanilla.harden, vanilla.commitment), (0, 0, 0.0));
}

#[test]
fn the_digest_of_a_trial_depends_on_what_determines_its_outcome_and_not_on_names() {
    let base = experiment();
    let all: HashSet<String> = base.trials().iter().map(Trial::digest).collect();
    assert_eq!(all.len(), 16, "no two trials have the same digest");
    let first = |experiment: &Experiment| experiment.trials()[0].digest();
    let changes: [fn(&mut Experiment); 10] = [
        |e| e.data[0].seed = 2,
        |e| e.data[0].spec = "tomita:3".parse().unwrap(),
        |e| e.models[0].units = Some(5),
        |e| e.models[0].k = Some(4),
        |e| e.models[0].layers = Some(2),
        |e| e.settings[0].end = true,
        |e| e.settings[0].updates = Some(13),
        |e| e.settings[0].init = Some(Init { forget_bias: 1.0, ..Init::default() }),
        |e| e.tests[1].strings = 21,
        |e| e.tests.truncate(1),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = base.clone();
        change(&mut other);
        assert_ne!(first(&other), first(&base), "change {number}");
    }
    let mut renamed = base.clone();
    renamed.data[0].name = "other".into();
    renamed.settings[0].name = "other".into();
    renamed.tests[0].name = "other".into();
    renamed.seeds = 7;
    assert_eq!(first(&renamed), first(&base));
}

#[test]
fn the_layers_of_a_model_are_equal_and_one_layer_is_the_default() {
    let mut experiment = experiment();
    let layers = |experiment: &Experiment| experiment.trials()[0].recipe().arch.layers;
    let single = (layers(&experiment), experiment.trials()[0].digest());
    experiment.models[0].layers = Some(1);
    assert_eq!((layers(&experiment), experiment.trials()[0].digest()), single);
    experiment.models[0].layers = Some(3);
    assert_eq!(layers(&experiment), vec![single.0[0].clone(); 3]);
    experiment.validate().unwrap();
    let trial = experiment.trials()[0];
    let data = trial_data(trial.data, trial.tests, NO_FILES.as_ref()).unwrap();
    let done = run_trial(&trial, &data, &Hardware::cpu(1), &mut NoCheckpoints, &mut NoObserver);
    assert_eq!(done.unwrap().model.arch.layers.len(), 3);
}

#[test]
fn an_absent_number_of_layers_is_not_written() {
    let model = experiment().models[0].clone();
    let written = serde_json::to_string(&model).unwrap();
    assert!(!written.contains("layers"), "{written}");
    assert_eq!(serde_json::from_str::<ModelSpec>(&written).unwrap(), model);
    let stacked = ModelSpec { layers: Some(2), ..model };
    let written = serde_json::to_string(&stacked).unwrap();
    assert_eq!(serde_json::from_str::<ModelSpec>(&written).unwrap(), stacked);
}

#[test]
fn the_quick_version_applies_its_overrides() {
    let mut whole = experiment();
    whole.quick.updates = Some(6);
    whole.quick.strings = Some(5);
    whole.quick.train = Some(7);
    whole.quick.settings = vec!["fast".into()];
    let quick = whole.quick();
    quick.validate().unwrap();
    assert_eq!(quick.trials().len(), 2);
    assert_eq!(quick.trials()[0].recipe().train.schedule.updates(), 6);
    assert!(quick.tests.iter().all(|test| test.strings == 5));
    assert_eq!(experiment().quick().trials().len(), 4);
}

#[test]
fn a_model_may_list_its_settings() {
    let mut whole = experiment();
    whole.models[1].settings = vec!["fast".into()];
    whole.validate().unwrap();
    let names: Vec<String> = whole.trials().iter().map(|trial| trial.id().to_string()).collect();
    assert_eq!(names.iter().filter(|name| name.contains("/gru/")).count(), 4);
    assert!(names.iter().all(|name| !name.contains("/gru/slow/")), "{names:?}");
    let columns = table(&whole, &[]).blocks[0].columns.clone();
    assert_eq!([columns[0].settings.len(), columns[1].settings.len()], [2, 1]);
    whole.quick.settings = vec!["slow".into()];
    let quick = whole.quick();
    quick.validate().unwrap();
    assert_eq!(quick.models.len(), 1, "the other has no setting left");
}

#[test]
fn a_trial_is_reproducible_and_returns_its_network() {
    let experiment = experiment();
    let trial = experiment.trials()[1];
    let data = trial_data(trial.data, trial.tests, NO_FILES.as_ref()).unwrap();
    let done =
        run_trial(&trial, &data, &Hardware::cpu(1), &mut NoCheckpoints, &mut NoObserver).unwrap();
    assert_eq!(
        run_trial(&trial, &data, &Hardware::cpu(2), &mut NoCheckpoints, &mut NoObserver).unwrap(),
        done
    );
    let scores = done.outcome.scores.unwrap();
    let rows: Vec<&str> = scores.tests.iter().map(|test| test.row.as_str()).collect();
    assert_eq!(rows, ["near", "far"]);
    let updates: Vec<u64> = done.outcome.history.iter().map(|point| point.update).collect();
    assert_eq!(updates, [4, 8, 12]);
    assert_eq!(done.model.arch, trial.recipe().arch);
    let last = done.outcome.history[2];
    assert!((last.loss - scores.valid.loss).abs() < 1e-9, "{last:?} {scores:?}");
}

#[test]
fn the_data_of_a_trial_is_a_function_of_its_seed() {
    let experiment = experiment();
    let made = |seed| {
        let data = DataSpec { seed, ..experiment.data[0].clone() };
        trial_data(&data, &experiment.tests, NO_FILES.as_ref()).unwrap()
    };
    assert_eq!(made(1), made(1));
    assert_ne!(made(1).digest, made(2).digest);
    let key = Key::new(1);
    let TaskSets::Labelled(SplitWithTests { split, tests }) = made(1).sets else {
        panic!("labelled")
    };
    assert_eq!(split, crate::task::builtin::sets("tomita:1".parse().unwrap(), &key));
    let counts: Vec<usize> = tests.iter().map(|set| set.sequences.len()).collect();
    assert_eq!((counts.len(), made(1).counts().tests), (2, counts));
}

#[test]
fn an_interrupted_trial_has_no_outcome() {
    let experiment = experiment();
    let trial = experiment.trials()[0];
    let data = trial_data(trial.data, trial.tests, NO_FILES.as_ref()).unwrap();
    let mut stop = |event: &Event<'_>| match event {
        Event::Updated { update: 5, .. } => Control::Interrupt,
        _ => Control::Continue,
    };
    let error =
        run_trial(&trial, &data, &Hardware::cpu(1), &mut NoCheckpoints, &mut stop).unwrap_err();
    assert!(matches!(error, TrialError::Interrupted));
}

#[test]
fn an_interrupted_trial_resumes_to_the_same_outcome() {
    let experiment = experiment();
    let trial = experiment.trials()[0];
    let data = trial_data(trial.data, trial.tests, NO_FILES.as_ref()).unwrap();
    let hardware = Hardware::cpu(1);
    let root = tempfile::tempdir().unwrap();
    let mut store = CheckpointFolder::new(root.path());
    let mut stop = |event: &Event<'_>| match event {
        Event::Updated { update: 5, .. } => Control::Interrupt,
        _ => Control::Continue,
    };
    run_trial(&trial, &data, &hardware, &mut store, &mut stop).unwrap_err();
    let mut begun = None;
    let mut watch = |event: &Event<'_>| {
        if let Event::Started { update, .. } = event {
            begun = Some(*update);
        }
        Control::Continue
    };
    let resumed = run_trial(&trial, &data, &hardware, &mut store, &mut watch).unwrap();
    assert_eq!(begun, Some(5));
    let whole = run_trial(&trial, &data, &hardware, &mut NoCheckpoints, &mut NoObserver).unwrap();
    assert_eq!(resumed, whole);
}

/// Outcomes of the first data set and model: the second setting's second seed validates best.
fn outcomes(experiment: &Experiment, tests: &[[f64; 2]; 4]) -> Vec<TrialOutcome> {
    let valid = [(0.3, 0.1), (0.2, 0.9), (0.2, 0.8), (0.2, 0.7)];
    let trials = experiment.trials();
    (0..4).map(|i| outcome(&trials[i], valid[i], &tests[i])).collect()
}

#[test]
fn test_scores_never_select() {
    let experiment = experiment();
    let mut rng = Key::new(5).rng();
    for _ in 0..50 {
        let tests: [[f64; 2]; 4] = std::array::from_fn(|_| [rng.unit(), rng.unit()]);
        let table = table(&experiment, &outcomes(&experiment, &tests));
        let column = &table.blocks[0].columns[0];
        let selected = column.selected.as_ref().unwrap();
        assert_eq!(selected.trial.to_string(), "one/sr-gru/fast/seed-2");
        assert_eq!(column.entries[0].ours, Some(tests[3][0]));
        assert_eq!(column.entries[1].ours, Some(tests[3][1]));
    }
}

#[test]
fn a_table_marks_misses_and_has_statistics_over_the_seeds_of_the_selected_setting() {
    let experiment = experiment();
    let tests = [[0.0, 0.0], [0.0, 0.0], [0.3, 0.1], [0.1, 0.3]];
    let table = table(&experiment, &outcomes(&experiment, &tests));
    let column = &table.blocks[0].columns[0];
    assert_eq!((column.finished, column.trials), (4, 4));
    let [near, far] = column.entries[..] else { panic!("two tests") };
    assert_eq!((near.mark, far.mark), (Mark::Hit, Mark::Miss), "0.1 is at most 0.1");
    let spread = near.spread.unwrap();
    assert!((spread.mean - 0.2).abs() < 1e-12 && (spread.deviation - 0.02f64.sqrt()).abs() < 1e-12);
    assert_eq!((spread.best, spread.seeds), (0.1, 2));
    assert_eq!((column.count(Mark::Hit), column.count(Mark::Miss)), (1, 1));
    let other = &table.blocks[0].columns[1];
    assert_eq!((other.entries[0].paper, other.entries[1].paper), (Some(0.1), None));
    assert_eq!((other.finished, other.entries[0].mark), (0, Mark::Open));
    assert_eq!(table.blocks[1].columns[0].entries[0].paper, None, "nothing to compare with");
}

#[test]
fn seeds_that_diverged_are_counted_and_not_averaged() {
    let experiment = experiment();
    let mut found = outcomes(&experiment, &[[0.5; 2]; 4]);
    found[2].scores = None;
    let column = table(&experiment, &found).blocks[0].columns[0].clone();
    assert_eq!([column.settings[0].diverged, column.settings[1].diverged], [0, 1]);
    assert_eq!(column.entries[0].spread.unwrap().seeds, 1);
    assert_eq!(column.finished, 4);
}

#[test]
fn a_table_ignores_outcomes_of_other_settings_and_other_data() {
    let experiment = experiment();
    let mut found = outcomes(&experiment, &[[0.5; 2]; 4]);
    found[3].settings = "other".into();
    found[2].data = "newer data".into();
    let column = table(&experiment, &found).blocks[0].columns[0].clone();
    assert_eq!(column.finished, 1);
    assert_eq!(column.selected.unwrap().trial.to_string(), "one/sr-gru/fast/seed-1");
}

/// The copying task with delay 3, few sequences and few units.
fn copying() -> Experiment {
    let mut experiment = experiment();
    experiment.measure = Measure::CrossEntropy;
    experiment.times_below = 2.0;
    experiment.data.truncate(1);
    experiment.data[0].spec = "copy:T=3:40".parse().unwrap();
    experiment.models[0].arch = crate::train::ArchName::SrLstmP;
    experiment.models[1].arch = crate::train::ArchName::Lstm;
    experiment.settings.iter_mut().for_each(|setting| setting.readout = ReadFrom::U);
    experiment.tests.truncate(1);
    experiment.tests[0].spec = "copy".parse().unwrap();
    experiment.paper.clear();
    experiment.validate().unwrap();
    experiment
}

#[test]
fn cross_entropies_of_copying_are_compared_with_the_memoryless_baseline() {
    let experiment = copying();
    let baseline = crate::task::copying::baseline(3.try_into().unwrap());
    let trials = experiment.trials();
    let tests = [0.3 * baseline, 0.2 * baseline, 0.6 * baseline, 0.1 * baseline];
    let valid = [(0.0, 4.0), (0.5, 3.0), (0.9, 1.0), (0.1, 2.0)];
    let made = |i: usize| {
        let half = tests[i] / 2.0;
        outcome(&trials[i], valid[i], &[half])
    };
    let column = |seeds: &[usize]| {
        let outcomes: Vec<TrialOutcome> = seeds.iter().map(|&i| made(i)).collect();
        let table = table(&experiment, &outcomes);
        assert_eq!(table.blocks[0].baseline, Some(baseline));
        table.blocks[0].columns[0].clone()
    };
    let all = column(&[0, 1, 2, 3]);
    assert_eq!(all.selected.unwrap().trial.to_string(), "one/sr-gru/fast/seed-1");
    assert_eq!((all.entries[0].ours, all.entries[0].mark), (Some(tests[2]), Mark::Miss));
    assert_eq!(column(&[0, 1]).entries[0].mark, Mark::Hit, "less than half the baseline");
}

#[test]
fn a_trial_of_copying_uses_its_recipe_and_is_tested_at_every_step() {
    let experiment = copying();
    let trial = experiment.trials()[0];
    let data = trial_data(trial.data, trial.tests, NO_FILES.as_ref()).unwrap();
    assert_eq!(data.counts(), SequenceCounts { train: 40, valid: 1_000, tests: vec![20] });
    let done =
        run_trial(&trial, &data, &Hardware::cpu(1), &mut NoCheckpoints, &mut NoObserver).unwrap();
    let test = &done.outcome.scores.as_ref().unwrap().tests[0];
    assert!(test.error > 0.0 && test.loss.unwrap() > 0.0, "{test:?}");
    assert_eq!(done.outcome.test(0, Measure::CrossEntropy), test.loss);
    let (symbols, classes) = data.names();
    assert_eq!((symbols.len(), classes.len()), (10, done.model.arch.classes));
}

#[test]
fn a_state_report_covers_every_sequence_of_a_test() {
    let mut experiment = copying();
    experiment.data[0].spec = "copy:T=40:40".parse().unwrap();
    let made = trial_data(&experiment.data[0], &experiment.tests, NO_FILES.as_ref()).unwrap();
    let report = |trial: usize| {
        let Recipe { arch, init, .. } = experiment.trials()[trial].recipe();
        let model = Model::new(arch, &init, Key::new(1)).unwrap();
        state_report(&mut Cpu::new(&model, 1), &made, 0)
    };
    let (regularized, vanilla) = (report(0), report(4));
    assert_eq!(regularized.usage.unwrap().steps, 20 * 60);
    assert_eq!((regularized.sequences, vanilla.usage), (20, None));
    assert_eq!((vanilla.drift.h.unwrap().rows, vanilla.drift.c.unwrap().rows), (20, 20));
}

#[test]
fn absent_fields_of_models_and_settings_are_as_in_the_recipe_of_the_task() {
    let mut experiment = copying();
    experiment.models[0].units = None;
    let at = |delay: &str, experiment: &mut Experiment| {
        experiment.data[0].spec = delay.parse().unwrap();
        let recipe = experiment.trials()[0].recipe();
        (recipe.arch.layers[0].units, recipe.init.forget_bias)
    };
    assert_eq!(at("copy:T=100", &mut experiment), (128, 100f64.ln()));
    assert_eq!(at("copy:T=500", &mut experiment), (256, 500f64.ln()));
    experiment.settings[0].init = Some(Init::default());
    experiment.models[0].units = Some(9);
    assert_eq!(at("copy:T=500", &mut experiment), (9, 0.0));
}

#[test]
fn curves_are_of_the_selected_trial_and_the_other_seeds_of_its_setting() {
    let experiment = experiment();
    let mut found = outcomes(&experiment, &[[0.5; 2]; 4]);
    for (number, outcome) in found.iter_mut().enumerate() {
        let (lambda, error, loss) = (1.0, number as f64, 0.0);
        let point = |update: u64| CurvePoint { update, lambda, error: error / update as f64, loss };
        outcome.history = vec![point(1), point(2)];
    }
    let made = curves(&experiment, &found);
    assert_eq!((made.len(), made[0].models.len(), made[1].models.len()), (2, 1, 0));
    let ModelCurves { setting, selected, others, .. } = &made[0].models[0];
    assert_eq!(setting, "fast", "its seeds have numbers 2 and 3");
    assert_eq!(selected[..], [(1, 3.0), (2, 1.5)]);
    assert_eq!(others[..], [[(1, 2.0), (2, 1.0)]]);
    let listed = curve_points(&experiment, &found);
    assert_eq!((listed.len(), listed[7].0.to_string()), (8, "one/sr-gru/fast/seed-2".into()));
    found[2].scores = None;
    assert!(curves(&experiment, &found)[0].models[0].others.is_empty(), "it diverged");
}

#[test]
fn invalid_experiments_are_refused() {
    type Change = fn(&mut Experiment);
    let cases: [(&str, Change); 19] = [
        ("[[data]] is empty", |e| e.data.clear()),
        ("\"one\" twice", |e| e.data[1].name = "one".into()),
        ("\"../one\" in [[data]]", |e| e.data[0].name = "../one".into()),
        ("\".\" in [[settings]]", |e| e.settings[0].name = ".".into()),
        ("seeds is 0", |e| e.seeds = 0),
        ("strings of the test \"far\" is 0", |e| e.tests[1].strings = 0),
        ("\"lstm\", which [[models]] does not have", |e| e.paper[0].model = "lstm".into()),
        ("\"pap\", which `paper`", |e| e.paper[0].data = "pap".into()),
        ("their number is 3", |e| e.paper[0].errors.push(0.5)),
        ("is 17: must be from 0 to 1", |e| e.paper[0].errors[0] = 17.0),
        ("\"gru\": its architecture has no centroids", |e| e.models[1].k = Some(2)),
        ("layers of the model \"gru\" is 0: must be", |e| e.models[1].layers = Some(0)),
        ("is 65: must be from 1 to 64", |e| e.models[0].layers = Some(65)),
        ("one/sr-gru/slow/seed-1: the read-out", |e| e.settings[0].readout = ReadFrom::Uc),
        ("one/sr-gru/fast/seed-1: batch_size", |e| e.settings[1].train.batch_size = 0),
        ("\"best\", which [[settings]]", |e| e.models[0].settings = vec!["best".into()]),
        ("times_below is 0: must be from 1", |e| e.times_below = 0.0),
        ("\"copy\" is no test set of \"tomita:1\"", |e| e.tests[0].spec = TestSource::Copying),
        ("\"three\", which [[data]]", |e| e.quick.data = vec!["three".into()]),
    ];
    experiment().validate().unwrap();
    for (words, change) in cases {
        let mut bad = experiment();
        change(&mut bad);
        let error = bad.validate().unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_schedule_is_scaled_before_it_is_adapted() {
    let mut experiment = experiment();
    experiment.settings[0].train.schedule = Schedule::default();
    experiment.settings[0].updates = Some(460);
    let scaled = experiment.trials()[0].recipe().train.schedule;
    assert_eq!((scaled.warmup, scaled.ramp, scaled.harden), (100, 200, 60));
}
