//! Which networks are trained to predict the next token, with recipes that follow from the data and
//! from a time budget.

use super::NextKind;
use crate::engine::{Optimiser, Rule};
use crate::learn::Preference;
use crate::model::{ReadFrom, Readout, When};
use crate::task::TokenSequences;
use crate::train::{
    ArchName, Averaging, BUDGET_CORES, EVALUATIONS, EarlyStopping, InputNoise, KeepModel,
    LearningRate, Recipe, Regularisation, Reseed, Sampling, Schedule, Sizes, TrainConfig, estimate,
    recipe_corpus,
};

/// What is trained and how one model is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct NextPlan {
    /// How the kept candidate is chosen: `Readable` or `Accuracy`, which means the least bits.
    pub preference: Preference,
    /// The networks to train, each with its own recipe.
    pub networks: Vec<(NextKind, Recipe)>,
    /// The seeds of each.
    pub seeds: Vec<u64>,
    /// The fraction of the validation sequences that the thresholds may flag.
    pub flagged: f64,
}

/// Centroids of the SR-GRU, and so the largest number of states of its automaton.
const STATES: usize = 50;
/// Centroids of the SR-LSTM-P, which also has a cell state.
const CENTROIDS: usize = 20;

/// With fewer tokens in the training set, networks have 64 units, else 128.
const SMALL: usize = 200_000;

/// Tokens per update, which bound the rows of a batch, and bounds on these.
const BATCH_TOKENS: usize = 800;
const BATCH: std::ops::RangeInclusive<usize> = 8..=64;

/// Passes over the training set, and bounds on the updates that they take.
const PASSES: usize = 30;
const UPDATES: std::ops::RangeInclusive<u64> = 1_500..=12_000;

/// Evaluations without an improvement that end a run. The SR-GRU has fewer in the phase that may end
/// early.
const PATIENCE: usize = 6;
const PATIENCE_HARDENING: usize = 3;

impl NextPlan {
    /// The plan for a training set and a budget in seconds on two cores.
    pub fn new(train: &TokenSequences, seeds: Vec<u64>, budget: f64) -> NextPlan {
        let share = BUDGET_CORES * budget / NextKind::NETWORKS.len() as f64;
        let network = |kind| (kind, network_recipe(kind, train, seeds.len(), share));
        let networks = NextKind::NETWORKS.into_iter().map(network).collect();
        NextPlan { preference: Preference::default(), networks, seeds, flagged: 0.01 }
    }
}

fn network_recipe(kind: NextKind, train: &TokenSequences, seeds: usize, share: f64) -> Recipe {
    let (arch, k) = match kind {
        NextKind::SrGru => (ArchName::SrGru, STATES),
        NextKind::SrLstmP => (ArchName::SrLstmP, CENTROIDS),
        _ => (ArchName::Lstm, 1),
    };
    let units = if train.predictions() < SMALL { 64 } else { 128 };
    let mut recipe =
        recipe_corpus(&Sizes { units, k, ..Sizes::corpus(arch, train.alphabet.len()) });
    recipe.train = config(kind, train);
    if kind == NextKind::SrGru {
        // The prediction is a function of the state, as in an automaton.
        recipe.arch.readout = Readout::new(ReadFrom::H, When::EveryStep);
    }
    let needed = estimate(&recipe.arch, &recipe.train, train, seeds).core_seconds;
    recipe.shorten(needed, share);
    recipe
}

fn config(kind: NextKind, train: &TokenSequences) -> TrainConfig {
    let mean = train.predictions() / train.sequences.len().max(1);
    let batch_size = (BATCH_TOKENS / mean.max(1)).clamp(*BATCH.start(), *BATCH.end());
    let passes = (PASSES * train.sequences.len() / batch_size) as u64;
    let updates = passes.clamp(*UPDATES.start(), *UPDATES.end());
    let (schedule, learning_rate, averaging, evaluations) = match kind {
        NextKind::SrGru => {
            let rate = LearningRate::Constant { rate: 2e-3 };
            (homotopy().scaled_to(updates), rate, Averaging::Never, PATIENCE_HARDENING)
        }
        _ => {
            let rate = LearningRate::Cosine { rate: 3e-3, last: 1e-5 };
            let averaging = Averaging::Exponential { every: 10, decay: 0.9 };
            (Schedule::plain(updates), rate, averaging, PATIENCE)
        }
    };
    TrainConfig {
        optimiser: Optimiser { weight_decay: 0.01, ..Optimiser::new(Rule::ADAM, 1.0) },
        learning_rate,
        batch_size,
        sampling: Sampling::SimilarLengths,
        schedule,
        regularisation: Regularisation {
            readout_dropout: 0.1,
            // Teaches the networks to read `<unk>`.
            noise: InputNoise { word_dropout: 0.005, ..InputNoise::default() },
            averaging,
            ..Regularisation::default()
        },
        validate_every: (updates / EVALUATIONS).max(1),
        keep: KeepModel::LowestLoss,
        stopping: EarlyStopping::Patience { evaluations },
        ..TrainConfig::default()
    }
}

/// The SR-GRU goes from a plain network to hard states, of which an automaton is made. Centroids that
/// begin at hidden states are all used: in `records/next` the automaton had 0.48 to 0.79 bits per token, and 1.11
/// with centroids that were not moved.
fn homotopy() -> Schedule {
    let reseed = Reseed::KMeans { sequences: 256 };
    // The last phase continues hardening, and early stopping may end it.
    let (warmup, ramp, settle, harden, finish) = (600, 1_800, 600, 100, 1_500);
    let phases = Schedule { warmup, ramp, settle, harden, finish, ..Schedule::default() };
    Schedule { curriculum: 0, reseed, ..phases }
}

#[cfg(test)]
mod tests {
    use super::super::testing::counting;
    use super::*;
    use crate::train::{MIN_UPDATES, Phase};

    #[test]
    fn every_network_can_be_stopped_early() {
        let plan = NextPlan::new(&counting(300, 1), vec![1], 1e6);
        for (kind, Recipe { arch, train, .. }) in &plan.networks {
            let schedule = train.schedule.adapted_to(arch);
            assert_eq!(schedule.last_phase(), Phase::Finish, "{kind:?}");
            let EarlyStopping::Patience { evaluations } = train.stopping else {
                panic!("{kind:?}")
            };
            let possible = (schedule.finish / train.validate_every) as usize;
            assert!(possible > evaluations, "{kind:?}: {possible} evaluations");
        }
    }

    #[test]
    fn recipes_are_valid_and_a_small_budget_shortens_them() {
        let train = counting(300, 1);
        let updates = |budget| -> Vec<u64> {
            let plan = NextPlan::new(&train, vec![1, 2], budget);
            for (_, recipe) in &plan.networks {
                recipe.arch.validate().unwrap();
                recipe.train.validate().unwrap();
                assert_eq!(recipe.arch.classes, 4);
            }
            plan.networks.iter().map(|(_, recipe)| recipe.train.schedule.updates()).collect()
        };
        let (long, short) = (updates(1e6), updates(0.1));
        assert!(long.iter().all(|&updates| updates >= *UPDATES.start()), "{long:?}");
        assert!(long.iter().zip(&short).all(|(long, short)| long > short), "{long:?} {short:?}");
        assert!(short.iter().all(|&updates| updates >= MIN_UPDATES), "{short:?}");
    }
}
