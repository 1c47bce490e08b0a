//! Recipes: architecture, initialisation and training that work together, and those of the paper.

use super::config::{EarlyStopping, KeepModel, Sampling, TrainConfig};
use super::learning_rate::LearningRate;
use super::schedule::Schedule;
use crate::engine::{Optimiser, Rule};
use crate::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, ReadFrom, Readout, Reset, Score, Temperature,
    When,
};
use crate::task::{copying, images};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The architectures of the paper by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArchName {
    /// GRU with centroids.
    SrGru,
    /// LSTM with centroids.
    SrLstm,
    /// LSTM with peepholes and centroids.
    SrLstmP,
    /// The vanilla GRU.
    Gru,
    /// The vanilla LSTM.
    Lstm,
    /// The LSTM with peepholes.
    LstmP,
}

impl ArchName {
    /// All of them.
    pub const ALL: [ArchName; 6] = [
        ArchName::SrGru,
        ArchName::SrLstm,
        ArchName::SrLstmP,
        ArchName::Gru,
        ArchName::Lstm,
        ArchName::LstmP,
    ];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            ArchName::SrGru => "sr-gru",
            ArchName::SrLstm => "sr-lstm",
            ArchName::SrLstmP => "sr-lstm-p",
            ArchName::Gru => "gru",
            ArchName::Lstm => "lstm",
            ArchName::LstmP => "lstm-p",
        }
    }

    /// Whether it has centroids.
    pub fn is_state_regularized(self) -> bool {
        matches!(self, ArchName::SrGru | ArchName::SrLstm | ArchName::SrLstmP)
    }

    /// Whether it has a cell state c besides the hidden state.
    pub fn has_cell_state(self) -> bool {
        !matches!(self, ArchName::SrGru | ArchName::Gru)
    }

    fn cell(self, reset: Reset) -> Cell {
        match self {
            ArchName::SrGru | ArchName::Gru => Cell::Gru { reset },
            ArchName::SrLstm | ArchName::Lstm => Cell::Lstm { peephole: false },
            ArchName::SrLstmP | ArchName::LstmP => Cell::Lstm { peephole: true },
        }
    }
}

impl fmt::Display for ArchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown architecture name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture \"{0}\": use sr-gru, sr-lstm, sr-lstm-p, gru, lstm or lstm-p")]
pub struct UnknownArch(pub String);

impl FromStr for ArchName {
    type Err = UnknownArch;
    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let found = ArchName::ALL.into_iter().find(|arch| arch.name() == name);
        found.ok_or_else(|| UnknownArch(name.to_string()))
    }
}

/// The recipe `memory` was requested for an architecture without a cell state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the recipe memory trains a cell state, and {0} has none: use sr-lstm-p, sr-lstm, lstm-p or \
     lstm, or another recipe"
)]
pub struct NoCellState(pub ArchName);

/// The architecture of a recipe and its dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The architecture. Default SR-GRU.
    pub arch: ArchName,
    /// The number of symbols of the alphabet; 0 for real-valued inputs.
    pub symbols: usize,
    /// C: the number of classes.
    pub classes: usize,
    /// D: hidden units. Default 100.
    pub units: usize,
    /// K: centroids, if the architecture has them. Default 50.
    pub k: usize,
    /// τ. Default 1.
    pub tau: Temperature,
}

impl Sizes {
    /// The defaults for an alphabet and a number of classes.
    pub fn of(symbols: usize, classes: usize) -> Sizes {
        let (arch, tau) = (ArchName::SrGru, Temperature::ONE);
        Sizes { arch, symbols, classes, units: 100, k: 50, tau }
    }

    /// Sizes for the copying task with delay T: 128 units up to T = 100, 256 beyond; k = 5.
    pub fn copying(arch: ArchName, delay: NonZeroUsize) -> Sizes {
        // PAPER: T = 100 and T = 500 only; k = 5, 10 and 20.
        let units = if delay.get() <= 100 { 128 } else { 256 };
        Sizes { arch, units, k: 5, ..Sizes::of(copying::SYMBOLS, copying::CLASSES) }
    }

    /// Sizes for images read pixel by pixel: 256 units, k = 10.
    pub fn images(arch: ArchName) -> Sizes {
        // PAPER: k = 10, 50 and 100.
        Sizes { arch, units: 256, k: 10, ..Sizes::of(0, images::CLASSES) }
    }

    /// Sizes for a language model: 300 units, k = 1,000, as in the paper.
    pub fn corpus(arch: ArchName, vocabulary: usize) -> Sizes {
        Sizes { arch, units: 300, k: 1_000, ..Sizes::of(vocabulary, vocabulary) }
    }
}

/// Everything a run needs except data and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// The architecture.
    pub arch: Arch,
    /// The initialisation.
    pub init: Init,
    /// The training configuration.
    pub train: TrainConfig,
}

/// The default recipe, which solves all seven Tomita grammars from every seed.
///
/// Curriculum, homotopy, commitment loss and hardening; Adam; sigmoid gates with biases; a start
/// token; the classifier reads h.
pub fn recipe_default(sizes: &Sizes) -> Recipe {
    let arch = Arch {
        // The embedding is as wide as the hidden state, as in the authors' code. The engines
        // precompute W·E per token, so its width costs nothing per step.
        input: tokens(sizes, EndToken::Without),
        layers: vec![layer(sizes, Reset::AfterMatrix, Gate::Sigmoid, Biases::With)],
        readout: Readout::new(ReadFrom::H, When::Last),
        classes: sizes.classes,
    };
    let config = TrainConfig::default();
    let schedule = config.schedule.adapted_to(&arch);
    Recipe { arch, init: Init::default(), train: TrainConfig { schedule, ..config } }
}

/// A recipe for counting in cell states. It fails for architectures without a cell state.
///
/// State regularization from the first update, as in the paper. The hardening phase then penalises
/// unsaturated gates, writing and the entropy of α. At the end the cells are sharpened. An end
/// token; the classifier reads u.
///
/// There is no homotopy: it did not help balanced parentheses (`experiments/bp-ablation.toml`).
pub fn recipe_memory(sizes: &Sizes) -> Result<Recipe, NoCellState> {
    if !sizes.arch.has_cell_state() {
        return Err(NoCellState(sizes.arch));
    }
    let arch = Arch {
        input: tokens(sizes, EndToken::With),
        layers: vec![layer(sizes, Reset::AfterMatrix, Gate::Sigmoid, Biases::With)],
        readout: Readout::new(ReadFrom::U, When::Last),
        classes: sizes.classes,
    };
    let schedule = Schedule {
        warmup: 0,
        ramp: 0,
        settle: 3_000,
        harden: 5_000,
        commitment: 0.0,
        saturation: 10.0,
        writing: 1.0,
        sharpen: 16.0,
        ..Schedule::default()
    };
    let train = TrainConfig {
        learning_rate: LearningRate::Cosine { rate: 3e-3, last: 0.0 },
        schedule: schedule.adapted_to(&arch),
        validate_every: 1_000,
        ..TrainConfig::default()
    };
    Ok(Recipe { arch, init: Init { forget_bias: 1.0, ..Init::default() }, train })
}

/// Default updates of the paper's recipe.
// PAPER: the text gives no number of updates. This one equals the longest homotopy measured for the
// default recipe, so that the two are comparable.
const PAPER_UPDATES: u64 = 5_000;

/// Training as the paper describes it: state regularization from the first update, RMSprop with
/// learning rate 0.01 and momentum 0.9; no clipping, no curriculum; start and end token.
// PAPER: the text does not specify gates, biases, reset placement and the decay of squares. These
// values are those of the authors' public code, or of the library it uses. Its curriculum ("for each
// length ℓ ascending, ℓ epochs on the strings up to ℓ") is not implemented.
pub fn recipe_paper(sizes: &Sizes) -> Recipe {
    let arch = Arch {
        input: tokens(sizes, EndToken::With),
        layers: vec![layer(sizes, Reset::BeforeMatrix, Gate::HardSigmoid, Biases::Without)],
        // "The end token lets the network consider both the cell state and the hidden state."
        readout: Readout::new(
            if sizes.arch.has_cell_state() { ReadFrom::Uc } else { ReadFrom::H },
            When::Last,
        ),
        classes: sizes.classes,
    };
    let rule = Rule::RmsProp { decay: 0.9, momentum: 0.9, epsilon: 1e-6, centred: false };
    let train = TrainConfig {
        optimiser: Optimiser::new(rule, f64::INFINITY),
        learning_rate: LearningRate::Constant { rate: 0.01 },
        schedule: Schedule::plain(PAPER_UPDATES),
        stopping: EarlyStopping::Never,
        keep: KeepModel::Best,
        ..TrainConfig::default()
    };
    Recipe { arch, init: Init::default(), train }
}

/// Default updates of the copying recipe.
const COPYING_UPDATES: u64 = 20_000;

/// The copying memory task with delay T: no start and no end token; the classifier reads u at
/// every step; batches of 128; Adam; the same initialisation for every architecture.
///
/// With a forget bias of ln T the initial network remembers for about T steps. Large embeddings
/// let a symbol change the gates.
// PAPER: RMSprop with learning rate 0.001 and decay 0.9; the initialisation is not specified. Chrono
// initialisation was slower in single runs: its input gates are initially closed.
pub fn recipe_copying(sizes: &Sizes, delay: NonZeroUsize) -> Recipe {
    let Sizes { symbols, classes, units, .. } = *sizes;
    let arch = Arch {
        input: Input::Tokens { symbols, embedding: units, start: false, end: false },
        layers: vec![layer(sizes, Reset::AfterMatrix, Gate::Sigmoid, Biases::With)],
        readout: Readout::new(ReadFrom::U, When::EveryStep),
        classes,
    };
    let train = TrainConfig {
        learning_rate: LearningRate::Cosine { rate: 3e-3, last: 1e-4 },
        batch_size: 128,
        schedule: Schedule::plain(COPYING_UPDATES),
        ..TrainConfig::default()
    };
    let forget_bias = (delay.get() as f64).ln();
    let init = Init { forget_bias, embedding: 2.0, ..Init::default() };
    Recipe { arch, init, train }
}

/// Default updates of the image recipe: 60 epochs over 55,000 images.
const IMAGE_UPDATES: u64 = 60 * 430;

/// Images read pixel by pixel, one number a step. The classifier reads the last h and c, or h where
/// there is no cell state. Batches of 128 in epochs; Adam; chrono initialisation for the 784 steps
/// of an MNIST image.
// PAPER: "no sophisticated weight-initialization"; the rest is not specified. With half-open forget
// gates the initial network forgets an image long before its last pixel.
pub fn recipe_images(sizes: &Sizes) -> Recipe {
    let arch = Arch {
        input: Input::Real { width: 1 },
        layers: vec![layer(sizes, Reset::AfterMatrix, Gate::Sigmoid, Biases::With)],
        readout: Readout::new(
            if sizes.arch.has_cell_state() { ReadFrom::Hc } else { ReadFrom::H },
            When::Last,
        ),
        classes: sizes.classes,
    };
    let train = TrainConfig {
        learning_rate: LearningRate::Cosine { rate: 1e-3, last: 0.0 },
        batch_size: 128,
        sampling: Sampling::Epochs,
        schedule: Schedule::plain(IMAGE_UPDATES),
        ..TrainConfig::default()
    };
    Recipe { arch, init: Init { chrono: Some(28 * 28), ..Init::default() }, train }
}

/// Default updates of the recipe for texts.
const CORPUS_UPDATES: u64 = 20_000;

/// Language models: no start and no end token; the classifier reads u at every step. 64 rows of
/// consecutive windows; Adam.
// PAPER: "BPTT 20"; the rest is not specified.
pub fn recipe_corpus(sizes: &Sizes) -> Recipe {
    let Sizes { symbols, classes, units, .. } = *sizes;
    let arch = Arch {
        input: Input::Tokens { symbols, embedding: units, start: false, end: false },
        layers: vec![layer(sizes, Reset::AfterMatrix, Gate::Sigmoid, Biases::With)],
        readout: Readout::new(ReadFrom::U, When::EveryStep),
        classes,
    };
    let train = TrainConfig {
        learning_rate: LearningRate::Cosine { rate: 2e-3, last: 0.0 },
        sampling: Sampling::Streams,
        schedule: Schedule::plain(CORPUS_UPDATES),
        keep: KeepModel::LowestLoss,
        ..TrainConfig::default()
    };
    Recipe { arch, init: Init { forget_bias: 1.0, ..Init::default() }, train }
}

enum EndToken {
    With,
    Without,
}

enum Biases {
    With,
    Without,
}

fn tokens(sizes: &Sizes, end_token: EndToken) -> Input {
    Input::Tokens {
        symbols: sizes.symbols,
        embedding: sizes.units,
        start: true,
        end: matches!(end_token, EndToken::With),
    }
}

fn layer(sizes: &Sizes, reset: Reset, gate: Gate, biases: Biases) -> Layer {
    let centroids = Centroids { k: sizes.k, score: Score::Dot, tau: sizes.tau };
    Layer {
        cell: sizes.arch.cell(reset),
        units: sizes.units,
        gate,
        bias: matches!(biases, Biases::With),
        centroids: sizes.arch.is_state_regularized().then_some(centroids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_of_every_architecture_is_valid() {
        for arch in ArchName::ALL {
            assert_eq!(arch.name().parse(), Ok(arch));
            let sizes = Sizes { arch, ..Sizes::of(2, 2) };
            let copying = recipe_copying(&sizes, NonZeroUsize::MIN);
            let memory = recipe_memory(&sizes);
            assert_eq!(memory.is_err(), !arch.has_cell_state());
            let images = recipe_images(&Sizes::images(arch));
            let corpus = recipe_corpus(&Sizes::corpus(arch, 5));
            let recipes = [recipe_default(&sizes), recipe_paper(&sizes), copying, images, corpus];
            for recipe in recipes.into_iter().chain(memory) {
                recipe.arch.validate().unwrap();
                recipe.train.validate().unwrap();
                assert_eq!(recipe.arch.is_state_regularized(), arch.is_state_regularized());
            }
        }
        assert!("sr-rnn".parse::<ArchName>().unwrap_err().to_string().contains("sr-lstm-p"));
    }

    #[test]
    fn a_network_without_centroids_has_no_ramp_or_hardening_but_as_many_updates() {
        let vanilla = recipe_default(&Sizes { arch: ArchName::Gru, ..Sizes::of(2, 2) }).train;
        let s = &vanilla.schedule;
        assert_eq!((s.warmup, s.ramp, s.settle, s.harden, s.finish), (1_000, 0, 0, 0, 3_600));
        assert_eq!((s.curriculum, s.commitment, s.entropy), (1_000, 0.0, 0.0));
    }
}
