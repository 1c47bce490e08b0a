//! One network: trained, proved, kept.

use srnn::certify::{Certificate, NotProved, Obstacle, Proof, Search, prove};
use srnn::engine::cpu::CpuTrainer;
use srnn::engine::{Arithmetic, Runner as _};
use srnn::extract::TransitionSystem;
use srnn::key::Key;
use srnn::model::{Model, ModelFile};
use srnn::task::Split;
use srnn::train::{Job, Nowhere, Recipe, Run, Silent, TrainConfig, train};
use srnn_automata::{Alphabet, Moore, distinguish};
use std::path::Path;
use std::time::Instant;

/// A trained network.
pub struct Trained {
    pub file: ModelFile,
    pub run: Run,
    pub seconds: f64,
}

/// The recipe with no evaluation but the last: nothing is selected by the others here, and the
/// weights are the same.
pub fn quietly(recipe: Recipe) -> Recipe {
    let validate_every = recipe.train.schedule.updates();
    Recipe { train: TrainConfig { validate_every, ..recipe.train }, ..recipe }
}

/// Trains one seed on one thread.
pub fn trained(split: &Split, recipe: &Recipe, seed: u64) -> Trained {
    let (begin, key) = (Instant::now(), Key::new(seed));
    let model = Model::new(recipe.arch.clone(), &recipe.init, key).expect("a valid architecture");
    let mut engine = CpuTrainer::new(&model, recipe.train.optimiser, 1);
    let job = Job { split, config: &recipe.train, key };
    let run = train(&mut engine, &job, &mut Nowhere, &mut Silent).expect("a valid job");
    let file = file(engine.model().expect("a CPU does not fail"), split);
    Trained { file, run, seconds: begin.elapsed().as_secs_f64() }
}

impl Trained {
    /// On the training and on the validation set; 0 where the run diverged.
    pub fn accuracies(&self) -> [f64; 2] {
        accuracies(&self.run)
    }

    /// Whether every word of the data is right.
    pub fn solved(&self) -> bool {
        self.accuracies() == [1.0, 1.0]
    }
}

/// On the training and on the validation set; 0 where the run diverged.
pub fn accuracies(run: &Run) -> [f64; 2] {
    run.end.as_ref().map_or([0.0; 2], |end| [end.train.accuracy, end.valid.accuracy])
}

/// A model with the names of its data.
pub fn file(model: Model<f32>, split: &Split) -> ModelFile {
    let (alphabet, classes) = (split.train.alphabet.clone(), split.train.classes.clone());
    ModelFile { model, alphabet, unknown: None, classes }
}

/// What came of the search for a certificate. One for f32 covers f64; f64 is tried where f32
/// fails.
pub struct Verdict {
    pub proof: Result<Proof, NotProved>,
    pub f32_seconds: f64,
    pub f64_seconds: f64,
}

/// The columns of [`Verdict::row`].
pub const VERDICT: &str =
    "verdict,cells,depth,margin,tolerance,obstacle,attempts,f32_seconds,f64_seconds";

/// Looks for a certificate as `learn` does.
pub fn verdict(file: &ModelFile) -> Verdict {
    let alphabet = Alphabet::new(file.alphabet.clone()).expect("names of symbols");
    let model = file.model.to_f64();
    let machine = TransitionSystem::new(&model, &alphabet).expect("an SR-GRU");
    let timed = |arithmetic| {
        let begin = Instant::now();
        let proof = prove(&machine, arithmetic, &Search::default());
        (proof, begin.elapsed().as_secs_f64())
    };
    let (proof, f32_seconds) = timed(Arithmetic::F32);
    if proof.is_ok() {
        return Verdict { proof, f32_seconds, f64_seconds: 0.0 };
    }
    let (proof, f64_seconds) = timed(Arithmetic::F64);
    Verdict { proof, f32_seconds, f64_seconds }
}

impl Verdict {
    pub fn automaton(&self) -> Option<&Moore<u32>> {
        self.proof.as_ref().ok().map(|proof| &proof.automaton)
    }

    pub fn row(&self) -> String {
        let seconds = format!("{:.3},{:.3}", self.f32_seconds, self.f64_seconds);
        match &self.proof {
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

    /// Writes the model, and the certificate beside it where there is one.
    pub fn save(&self, file: &ModelFile, folder: &Path) {
        file.save(folder).expect("a folder that can be written");
        if let Ok(proof) = &self.proof {
            let text = Certificate::new(file, proof).to_json();
            std::fs::write(folder.join("certificate.json"), text).expect("a disk with room");
        }
    }
}

fn obstacle(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Outside { what } => (*what).into(),
        Obstacle::OutOfSteps { steps } => format!("more than {steps} steps"),
        Obstacle::TooManyCells { cap } => format!("more than {cap} cells"),
        Obstacle::Expands(overflow) => {
            format!("cell {} expands from {:.1e}", overflow.cell, overflow.from)
        }
        Obstacle::Undecided(undecided) => format!("cell {} undecided", undecided.cell),
    }
}

/// `yes`, or the shortest word that tells them apart.
pub fn equality(found: &Moore<u32>, truth: &Moore<u32>) -> String {
    match distinguish(found, truth).expect("the same symbols") {
        None => "yes".into(),
        Some(word) => format!("no: {}", truth.alphabet().format_word(&word)),
    }
}
