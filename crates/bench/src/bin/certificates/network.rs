//! Trains, proves and saves one network.

use srnn::certify::{Certificate, NotProved, Obstacle, Proof, ProofSearch, prove};
use srnn::engine::cpu::CpuTrainer;
use srnn::engine::key::Key;
use srnn::engine::model::{Model, ModelFile};
use srnn::engine::{Arithmetic, Runner as _};
use srnn::extract::TransitionSystem;
use srnn::task::Split;
use srnn::train::{NoCheckpoints, NoObserver, Recipe, Run, TrainConfig, TrainJob, train};
use srnn_automata::{Alphabet, Moore, distinguish};
use std::path::Path;
use std::time::Instant;

/// A trained network and the time of its training.
pub struct TrainedNetwork {
    pub file: ModelFile,
    pub run: Run,
    pub seconds: f64,
}

/// The recipe with validation only after the last update. The weights are the same, because nothing
/// is selected by validation here.
pub fn validate_at_end(recipe: Recipe) -> Recipe {
    let validate_every = recipe.train.schedule.updates();
    Recipe { train: TrainConfig { validate_every, ..recipe.train }, ..recipe }
}

/// Trains one seed on one thread.
pub fn train_network(split: &Split, recipe: &Recipe, seed: u64) -> TrainedNetwork {
    let (start, key) = (Instant::now(), Key::new(seed));
    let model = Model::new(recipe.arch.clone(), &recipe.init, key).expect("a valid architecture");
    let mut engine = CpuTrainer::new(&model, recipe.train.optimiser, 1);
    let job = TrainJob { split, config: &recipe.train, key };
    let run = train(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).expect("a valid job");
    let file = model_file(engine.model().expect("the CPU engine does not fail"), split);
    TrainedNetwork { file, run, seconds: start.elapsed().as_secs_f64() }
}

impl TrainedNetwork {
    /// Accuracy on the training and on the validation set; 0 if the run diverged.
    pub fn accuracies(&self) -> [f64; 2] {
        accuracies(&self.run)
    }

    /// Whether every word of both sets is classified correctly.
    pub fn solved(&self) -> bool {
        self.accuracies() == [1.0, 1.0]
    }
}

/// Accuracy on the training and on the validation set; 0 if the run diverged.
pub fn accuracies(run: &Run) -> [f64; 2] {
    run.final_evaluation.as_ref().map_or([0.0; 2], |end| [end.train.accuracy, end.valid.accuracy])
}

/// The model with the alphabet and classes of the data.
pub fn model_file(model: Model<f32>, split: &Split) -> ModelFile {
    let (alphabet, classes) = (split.train.alphabet.clone(), split.train.classes.clone());
    ModelFile { model, alphabet, unknown: None, classes, image: None, tokenizer: None }
}

/// The result of the search for a proof, and its time. A proof for f32 covers f64; f64 is tried
/// only if f32 fails.
pub struct TimedProof {
    pub result: Result<Proof, NotProved>,
    pub f32_seconds: f64,
    pub f64_seconds: f64,
}

/// The columns of [`TimedProof::row`].
pub const PROOF_COLUMNS: &str =
    "verdict,cells,depth,margin,tolerance,obstacle,attempts,f32_seconds,f64_seconds";

/// Searches for a proof with the default limits.
pub fn timed_proof(file: &ModelFile) -> TimedProof {
    let alphabet = Alphabet::new(file.alphabet.clone()).expect("names of symbols");
    let model = file.model.to_f64();
    let machine = TransitionSystem::new(&model, &alphabet).expect("an SR-GRU");
    let timed = |arithmetic| {
        let start = Instant::now();
        let result = prove(&machine, arithmetic, &ProofSearch::default());
        (result, start.elapsed().as_secs_f64())
    };
    let (result, f32_seconds) = timed(Arithmetic::F32);
    if result.is_ok() {
        return TimedProof { result, f32_seconds, f64_seconds: 0.0 };
    }
    let (result, f64_seconds) = timed(Arithmetic::F64);
    TimedProof { result, f32_seconds, f64_seconds }
}

impl TimedProof {
    pub fn automaton(&self) -> Option<&Moore<u32>> {
        self.result.as_ref().ok().map(|proof| &proof.automaton)
    }

    pub fn row(&self) -> String {
        let seconds = format!("{:.3},{:.3}", self.f32_seconds, self.f64_seconds);
        match &self.result {
            Ok(proof) => {
                let (name, cells) = (proof.arithmetic.name(), proof.cells.len());
                let depth = proof.cells.iter().map(|cell| cell.depth).max().unwrap_or(0);
                let margin = proof.cells.iter().map(|cell| cell.margin).fold(f64::MAX, f64::min);
                format!("{name},{cells},{depth},{margin:.4},{},,,{seconds}", proof.tolerance)
            }
            Err(failed) => {
                let last = failed.attempts.last().expect("an attempt");
                let (obstacle, attempts) = (obstacle(&last.obstacle), failed.attempts.len());
                let (cells, depth, tolerance) = (last.cells, last.depth, last.tolerance);
                format!("none,{cells},{depth},,{tolerance},{obstacle},{attempts},{seconds}")
            }
        }
    }

    /// Saves the model and, if there is a proof, the certificate.
    pub fn save(&self, file: &ModelFile, folder: &Path) {
        file.save(folder).expect("the folder can be written");
        if let Ok(proof) = &self.result {
            let text = Certificate::new(file, proof).to_json();
            std::fs::write(folder.join("certificate.json"), text)
                .expect("the folder can be written");
        }
    }
}

fn obstacle(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Unsupported { what } => (*what).into(),
        Obstacle::OutOfSteps { steps } => format!("more than {steps} steps"),
        Obstacle::TooManyCells { cap } => format!("more than {cap} cells"),
        Obstacle::Expands(image) => {
            format!("cell {} expands from {:.1e}", image.cell, image.source_radius)
        }
        Obstacle::Undecided(undecided) => format!("cell {} undecided", undecided.cell),
        Obstacle::Refused { why } => format!("refused by the checker: {why}"),
    }
}

/// `yes`, or `no` and a shortest word on which they differ.
pub fn equality(found: &Moore<u32>, truth: &Moore<u32>) -> String {
    match distinguish(found, truth).expect("the same symbols") {
        None => "yes".into(),
        Some(word) => format!("no: {}", truth.alphabet().format_word(&word)),
    }
}
