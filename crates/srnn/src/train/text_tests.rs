use super::super::checkpoint::{Checkpoint, CheckpointError, LatestCheckpoint, NoCheckpoints};
use super::super::config::{Sampling, TrainConfig};
use super::super::evaluate::evaluate;
use super::super::job::TrainJob;
use super::super::observer::{Control, Event, NoObserver};
use super::super::recipe::{ArchName, Recipe, Sizes, recipe_corpus};
use super::super::run::{resume, train};
use super::super::schedule::Schedule;
use super::super::{CheckpointStore, RunIdentity, Stop};
use super::*;
use crate::engine::reference::ReferenceTrainer;
use crate::engine::{Mode, Trainer};
use crate::model::Model;
use crate::task::Split;
use crate::task::text::corpus::{CorpusOptions, sets};

/// A text of two kinds of lines: the last word of a line depends on the first.
fn split(window: usize) -> Split<Corpus> {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["a x x b\n", "c x x d\n"];
    let text = |turn: usize| (0..24).map(|i| lines[(i * i % 7 % 2) ^ turn]).collect::<String>();
    for (set, turn) in [("train", 0), ("valid", 1), ("test", 1)] {
        std::fs::write(folder.path().join(format!("{set}.txt")), text(turn)).unwrap();
    }
    let options = CorpusOptions { vocabulary: 7, window, ..CorpusOptions::default() };
    sets(folder.path(), &options).unwrap()
}

fn recipe(arch: ArchName, updates: u64) -> Recipe {
    let sizes = Sizes { units: 10, k: 14, ..Sizes::corpus(arch, 7) };
    let mut recipe = recipe_corpus(&sizes);
    recipe.train.batch_size = 3;
    recipe.train.schedule = Schedule { ramp: 0, ..Schedule::plain(updates) };
    recipe.train.validate_every = 7;
    recipe.train.regularisation.readout_dropout = 0.1;
    recipe.train.regularisation.noise.word_dropout = 0.1;
    recipe
}

fn reference(recipe: &Recipe) -> ReferenceTrainer {
    let model = Model::new(recipe.arch.clone(), &recipe.init, Key::new(3)).unwrap();
    ReferenceTrainer::new(&model.to_f64(), recipe.train.optimiser)
}

#[test]
fn a_text_in_windows_has_the_loss_of_the_text_in_one_row() {
    for arch in [ArchName::Lstm, ArchName::SrLstmP, ArchName::SrGru] {
        let mut engine = reference(&recipe(arch, 1));
        let [windows, whole] = [4, 1_000].map(|window| split(window).valid);
        assert_eq!((windows.windows(), whole.windows()), (30, 1));
        let [windows, whole] =
            [windows, whole].map(|text| evaluate(&mut engine, &text, Mode::default()).unwrap());
        // Carried states have single precision.
        assert!((windows.loss - whole.loss).abs() < 1e-6, "{arch} {} {}", windows.loss, whole.loss);
        assert_eq!(windows.accuracy, whole.accuracy);
    }
}

/// Keeps the last checkpoint.
struct LastCheckpoint(Option<Checkpoint<f64>>);

impl CheckpointStore<f64> for LastCheckpoint {
    fn save(&mut self, _: &RunIdentity, c: &Checkpoint<f64>) -> Result<(), CheckpointError> {
        self.0 = Some(c.clone());
        Ok(())
    }
    fn latest(&mut self, _: &RunIdentity) -> Result<LatestCheckpoint<f64>, CheckpointError> {
        Ok(LatestCheckpoint { checkpoint: self.0.clone(), skipped: vec![] })
    }
}

#[test]
fn a_language_model_stopped_within_an_epoch_resumes_to_the_same_bits() {
    let (split, recipe) = (split(4), recipe(ArchName::SrLstmP, 25));
    let job = TrainJob { split: &split, config: &recipe.train, key: Key::new(5) };
    let mut whole = reference(&recipe);
    let expected = train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    for stop in [1, 4, 10, 13] {
        let mut store = LastCheckpoint(None);
        let mut interrupt = |event: &Event<'_>| match event {
            Event::Updated { update, .. } if *update == stop => Control::Interrupt,
            _ => Control::Continue,
        };
        let first = train(&mut reference(&recipe), &job, &mut store, &mut interrupt).unwrap();
        assert_eq!(first.stop, Stop::Interrupted);
        let checkpoint = store.0.take().unwrap();
        assert!(checkpoint.carried.iter().any(|&x| x != 0.0), "states are carried");
        let mut resumed = reference(&recipe);
        let run = resume(&mut resumed, checkpoint, &job, &mut store, &mut NoObserver).unwrap();
        assert_eq!(
            (run, resumed.snapshot().unwrap()),
            (expected.clone(), whole.snapshot().unwrap())
        );
    }
}

#[test]
fn texts_are_read_as_streams_and_other_data_are_not() {
    let split = split(8);
    let Recipe { arch, train, .. } = recipe(ArchName::Lstm, 5);
    let refused = |config: &TrainConfig| {
        let job = TrainJob { split: &split, config, key: Key::new(1) };
        job.validate(&arch).unwrap_err().to_string()
    };
    let error = refused(&TrainConfig { sampling: Sampling::Epochs, ..train.clone() });
    assert!(error.contains("are a text") && error.contains("streams"), "{error}");
    let mut shifted = train.clone();
    shifted.regularisation.noise.shift = 1;
    assert!(refused(&shifted).contains("shift"));
    let mut eager = train;
    eager.schedule.curriculum = 3;
    assert!(refused(&eager).contains("curriculum"));
}
