//! What the stages of learning share: the request, one round of training, and the step from trained
//! networks to a result.

use super::select::{assess_quality, search_proof};
use super::{
    KeptModel, LabelVerdict, LearnCallbacks, LearnError, LearnRequest, Learned, NoResult, Round,
    Stage, worker_count,
};
use crate::engine::{DeviceError, Hardware, Mode, Optimiser, Trainer};
use crate::extract::{ExtractError, ExtractRequest, extract};
use crate::model::Model;
use crate::task::{Dataset, Split};
use crate::train::{
    CheckpointStore, Control, Evaluation, Observer, Recipe, SeedOutcome, SeedPlan, Selection,
    SelectionReason, Stop, TrainContext, evaluate, select, train_seeds,
};
use srnn_automata::{Alphabet, Symbol, Word};

/// A request with the values that all stages share.
pub(super) struct Pipeline<'r, 'a, C> {
    pub(super) request: &'r LearnRequest<'a>,
    pub(super) callbacks: &'r C,
    pub(super) alphabet: Alphabet,
    /// Training and validation words.
    pub(super) words: Vec<Word>,
}

impl<'r, 'a, C: LearnCallbacks> Pipeline<'r, 'a, C> {
    pub(super) fn new(request: &'r LearnRequest<'a>, callbacks: &'r C) -> Result<Self, LearnError> {
        let names = request.data.split.train.alphabet.clone();
        let alphabet = Alphabet::new(names).map_err(LearnError::Alphabet)?;
        Ok(Pipeline { request, callbacks, alphabet, words: words(&request.data.split) })
    }

    pub(super) fn begin(&self, stage: Stage) -> Result<(), LearnError> {
        match self.callbacks.stage(stage) {
            Control::Continue => Ok(()),
            Control::Interrupt | Control::TimeUp => Err(LearnError::Interrupted),
        }
    }

    pub(super) fn train(
        &self,
        recipe: &Recipe,
        seeds: &[u64],
        round: Round,
        split: &Split,
    ) -> Result<Vec<SeedOutcome<f32>>, LearnError> {
        let hardware = &self.request.hardware;
        let workers = worker_count(seeds.len(), hardware.threads);
        let hardware = hardware.shared_by(workers);
        let context = RoundContext { callbacks: self.callbacks, round, hardware };
        let outcomes = train_seeds(&SeedPlan { recipe, split, seeds, workers }, &context);
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        match outcomes.iter().any(|outcome| outcome.run.stop == Stop::Interrupted) {
            true => Err(LearnError::Interrupted),
            false => Ok(outcomes),
        }
    }

    /// Selects the best network of the last round, extracts its automata and searches for a proof.
    pub(super) fn finish(
        &self,
        round: Round,
        mut outcomes: Vec<SeedOutcome<f32>>,
        label_verdict: LabelVerdict,
    ) -> Result<Learned<'a>, LearnError> {
        let LearnRequest { data, hardware, extraction, .. } = self.request;
        self.begin(Stage::Select)?;
        let mut proofs = assess_quality(self, &mut outcomes);
        let selection = match &label_verdict {
            LabelVerdict::Corrected(correction) if correction.reproduced => Some(Selection {
                index: outcomes.len() - 1,
                reason: SelectionReason::ExplainsLabels,
            }),
            _ => select(&outcomes),
        };
        let Some(selection) = selection else {
            return Err(LearnError::NoResult(Box::new(NoResult { round, outcomes })));
        };
        let model = &outcomes[selection.index].model;
        self.begin(Stage::Extract)?;
        let mut engine = self.request.engine(model);
        let mut evaluated = |set: &Dataset| {
            let Ok(evaluation) = evaluate(&mut engine, set, Mode::default());
            evaluation
        };
        let valid = evaluated(&data.split.valid);
        let test = data.split.test.as_ref().filter(|test| !test.sequences.is_empty());
        let test = test.map(&mut evaluated);
        let truth = data.truth.as_ref();
        let extract_request = ExtractRequest { alphabet: &self.alphabet, data: &self.words, truth };
        let extraction = extract(&mut engine, &extract_request, extraction);
        self.begin(Stage::Certify)?;
        let states = extraction
            .as_ref()
            .ok()
            .and_then(|found| found.cover.kept.as_ref().map(|kept| kept.minimal.state_count()));
        let plan = self.request.candidates.as_ref();
        let verdict = match proofs.remove(&selection.index) {
            Some(proved) => Some(proved),
            // An automaton that cannot be kept needs no long search.
            None if plan.is_some_and(|plan| !plan.may_keep(states)) => None,
            None => search_proof(self, model, &self.request.proof),
        };
        let device = hardware.device.to_string();
        Ok(Learned {
            data,
            device,
            label_verdict,
            outcomes,
            round,
            untrained: vec![],
            other_rounds: vec![],
            selection,
            valid,
            test,
            extraction,
            verdict,
            comparison: None,
            model: KeptModel::Network,
        })
    }

    /// The result of a training that has none, until another candidate takes its place.
    pub(super) fn without_result(&self, none: NoResult) -> Learned<'a> {
        let NoResult { round, outcomes } = none;
        let classes = self.request.data.split.train.classes.len();
        let confusion = vec![vec![0; classes]; classes];
        Learned {
            data: self.request.data,
            device: self.request.hardware.device.to_string(),
            label_verdict: LabelVerdict::Trusted,
            outcomes,
            round,
            untrained: vec![],
            other_rounds: vec![],
            selection: Selection { index: 0, reason: SelectionReason::Only },
            valid: Evaluation { accuracy: 0.0, loss: f64::INFINITY, confusion },
            test: None,
            extraction: Err(ExtractError::NotANetwork),
            verdict: None,
            comparison: None,
            model: KeptModel::Network,
        }
    }
}

/// Provides trainers, checkpoints and observers for one round of training.
pub(crate) struct RoundContext<'r, C> {
    pub callbacks: &'r C,
    pub round: Round,
    /// The share of one trainer.
    pub hardware: Hardware,
}

impl<C: LearnCallbacks> TrainContext<f32> for RoundContext<'_, C> {
    fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<f32> + Send>, DeviceError> {
        self.hardware.trainer(model, optimiser)
    }
    fn checkpoints(&self, seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        self.callbacks.checkpoints(self.round, seed)
    }
    fn observer(&self, seed: u64) -> Box<dyn Observer + '_> {
        self.callbacks.observer(self.round, seed)
    }
}

/// Training and validation words.
fn words(split: &Split) -> Vec<Word> {
    let of = |set: &Dataset| -> Vec<Word> {
        set.sequences.iter().map(|s| s.tokens.iter().map(|&t| Symbol(t)).collect()).collect()
    };
    [of(&split.train), of(&split.valid)].concat()
}
