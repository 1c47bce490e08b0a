use crate::engine::Hardware;
use crate::experiment::testing::experiment;
use crate::experiment::{Experiment, TaskSets, TestSource, TrainSource, run_trial, trial_data};
use crate::train::{NoCheckpoints, NoObserver};
use tempfile::TempDir;

/// A data folder with `imdb/`: twenty training reviews of each class, and three for the test.
fn data_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("imdb")).unwrap();
    for (set, count) in [("train", 20), ("test", 3)] {
        let line = |n: usize| {
            let (label, word) = [(0, "dull"), (1, "grand")][n % 2];
            format!("{label}\t{}\t5\tSo {word} a film! We stayed for {n} minutes.\n", n / 2)
        };
        let table: String = (0..2 * count).map(line).collect();
        std::fs::write(folder.path().join(format!("imdb/{set}.tsv")), table).unwrap();
    }
    folder
}

fn reviews_experiment(tokens: &str) -> Experiment {
    let mut experiment = experiment();
    experiment.data.truncate(1);
    experiment.data[0].spec = "imdb:vocabulary=6:train=4".parse().unwrap();
    for (test, spec) in experiment.tests.iter_mut().zip(["imdb", tokens]) {
        (test.spec, test.strings) = (spec.parse().unwrap(), 6);
    }
    experiment
}

#[test]
fn names_round_trip_and_invalid_ones_are_refused() {
    let sources = ["imdb", "imdb:vocabulary=500", "imdb:train=10:valid=100", "imdb:most=20"];
    for name in sources {
        assert_eq!(name.parse::<TrainSource>().unwrap().to_string(), name);
    }
    let equal = "imdb:valid=10:train=10:vocabulary=10000".parse::<TrainSource>().unwrap();
    assert_eq!(equal.to_string(), "imdb:train=10");
    for name in [
        "imdb:",
        "imdb:10",
        "imdb:train=0",
        "imdb:train=1:train=1",
        "imdb:most=19",
        "imdb:test=5",
        "imdbs",
        "imdb:vocabulary=1",
    ] {
        let error = name.parse::<TrainSource>().unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("imdb:train=10"), "{error}");
    }
    for name in ["imdb", "imdb:tokens=100", "imdb:train", "imdb:train:tokens=5"] {
        assert_eq!(name.parse::<TestSource>().unwrap().to_string(), name);
    }
    for name in ["imdb:", "imdb:tokens=0", "imdb:100", "imdb:train=3", "imdb:tokens=3:train"] {
        assert!(name.parse::<TestSource>().is_err(), "{name}");
    }
}

#[test]
fn an_experiment_trains_on_cut_reviews_and_tests_on_longer_ones() {
    let experiment = reviews_experiment("imdb:tokens=5");
    experiment.validate().unwrap();
    let trial = experiment.trials()[0];
    let data = trial_data(trial.data, trial.tests, data_folder().path()).unwrap();
    let TaskSets::Labelled(sets) = &data.sets else { panic!("reviews are labelled sequences") };
    let longest = |set: &crate::task::Dataset| set.sequences.iter().map(|s| s.tokens.len()).max();
    assert_eq!(sets.tests.iter().map(longest).collect::<Vec<_>>(), [Some(11), Some(5)]);
    assert_eq!((longest(&sets.split.train), longest(&sets.split.valid)), (Some(4), Some(4)));
    assert_eq!((data.counts().train, data.counts().valid), (36, 4));
    let done = run_trial(&trial, &data, &Hardware::cpu(1), &mut NoCheckpoints, &mut NoObserver);
    assert_eq!(done.unwrap().outcome.scores.unwrap().tests.len(), 2);
    let small = trial.data.spec.with_train(20).to_string();
    assert_eq!(small, "imdb:vocabulary=6:train=4:most=20");
}

#[test]
fn a_test_of_training_reviews_has_them_longer_than_training() {
    let experiment = reviews_experiment("imdb:train:tokens=5");
    let trial = experiment.trials()[0];
    let data = trial_data(trial.data, trial.tests, data_folder().path()).unwrap();
    let TaskSets::Labelled(sets) = &data.sets else { panic!("reviews are labelled sequences") };
    for (tested, trained) in sets.tests[1].sequences.iter().zip(&sets.split.train.sequences) {
        assert_eq!((tested.tokens.len(), &tested.tokens[..4]), (5, &trained.tokens[..]));
    }
}

#[test]
fn what_the_folder_does_not_have_is_refused_with_a_remedy() {
    let folder = data_folder();
    let error = |experiment: &Experiment| {
        let trial = experiment.trials()[0];
        trial_data(trial.data, trial.tests, folder.path()).unwrap_err().to_string()
    };
    let mut experiment = reviews_experiment("imdb:tokens=5");
    experiment.data[0].spec = "imdb:vocabulary=7:train=4".parse().unwrap();
    assert!(error(&experiment).contains("set vocabulary=6 or less"), "{}", error(&experiment));
    let mut experiment = reviews_experiment("imdb:tokens=5");
    experiment.tests[1].strings = 7;
    assert!(error(&experiment).contains("\"far\" needs 7 reviews, and there are 6"));
    let mut experiment = reviews_experiment("imdb");
    experiment.tests[0].spec = "copy".parse().unwrap();
    assert!(experiment.validate().is_err());
}
