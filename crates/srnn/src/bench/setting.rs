//! The settings to measure: a cell with its sizes, and the network and batches of it.

use super::without_remedy;
use crate::UserError;
use crate::key::{Key, Rng};
use crate::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Recurrent, Reset,
    Score, Temperature, When,
};
use srnn_engine::{Batch, Inputs, LayerState, Regime, Targets};

/// A cell and its sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchSetting {
    /// The name; `free` for --shape.
    pub name: String,
    /// The cell.
    pub cell: BenchCell,
    /// Its sizes.
    pub shape: BenchShape,
    /// λ: 1 is the paper's network; training starts below 1.
    pub lambda: f64,
    /// The lower bound of the step's time.
    pub floor: TimeFloor,
}

/// Lower bounds of a training step's time by arithmetic and memory bandwidth; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeFloor {
    /// Microseconds per token on two cores with AVX-512.
    pub two_cores: Option<f64>,
    /// Milliseconds per training step on an NVIDIA H200.
    pub h200: Option<f64>,
}

/// Sizes, with the paper's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchShape {
    /// B.
    pub rows: usize,
    /// T, start and end token included.
    pub steps: usize,
    /// E: the width of a real input, or of the embedding.
    pub width: usize,
    /// D.
    pub units: usize,
    /// K; ignored for plain cells.
    pub k: usize,
    /// V; 0 for real inputs.
    pub symbols: usize,
    /// C.
    pub classes: usize,
    /// When the classifier reads. At every step it is a language model: rows have no start and end
    /// token, and start from given states.
    pub when: When,
}

/// A cell, with centroids (`sr-`) or plain, with peepholes (`-p`) or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchCell {
    /// SR-LSTM-P.
    SrLstmP,
    /// SR-LSTM.
    SrLstm,
    /// SR-GRU.
    SrGru,
    /// LSTM with peepholes.
    LstmP,
    /// LSTM.
    Lstm,
    /// GRU.
    Gru,
}

/// Maximum numbers in a batch; a larger shape is probably a typing error.
const MAX_NUMBERS: usize = 1 << 28;

/// Floating-point operations per microsecond on two cores with AVX-512: each core does a
/// multiplication and an addition in 16 lanes, 3.69 times per nanosecond.
const TWO_CORES: f64 = 2.0 * 2.0 * 16.0 * 3690.0;

/// Distinct tokens in a batch of `imdb`: 32×298 draws from 10,000, and the start and end tokens.
const IMDB_TOKENS: f64 = 6149.0;

/// The recurrence of 256 units with 10 centroids, in microseconds per token on two cores.
const TEN_CENTROIDS: f64 = 0.46;

/// The same plus the input products of `imdb` over a batch's distinct tokens: embedding × W, and the
/// gradients of both.
const IMDB: f64 =
    TEN_CENTROIDS + 3.0 * 2.0 * IMDB_TOKENS * 256.0 * 1024.0 / (32.0 * 300.0) / TWO_CORES;

/// The same plus the input products of `copying`, with ten numbers per step: input × W and the gradient
/// of W.
const COPYING: f64 = TEN_CENTROIDS + 2.0 * 2.0 * 10.0 * 1024.0 / TWO_CORES;

/// The shape of `reproduce lm`.
const LANGUAGE_MODEL: BenchShape = BenchShape {
    classes: 33_278,
    when: When::EveryStep,
    ..BenchShape::tokens(64, 20, 300, 300, 1_000, 33_278)
};

/// The named settings: the shapes of the paper's experiments.
pub fn named_settings() -> Vec<BenchSetting> {
    let lstm = |name: &str, shape, two_cores, h200| BenchSetting {
        name: name.into(),
        cell: BenchCell::SrLstmP,
        shape,
        lambda: 1.0,
        floor: TimeFloor { two_cores: Some(two_cores), h200 },
    };
    let digits =
        |steps, width, k| BenchShape { classes: 10, ..BenchShape::real(128, steps, width, 256, k) };
    let tomita = lstm("tomita", BenchShape::tokens(64, 16, 100, 100, 50, 2), 0.58, None);
    vec![
        lstm("bp", BenchShape::tokens(64, 100, 100, 100, 5, 28), 0.14, Some(0.05)),
        lstm("mnist", digits(784, 1, 10), TEN_CENTROIDS, Some(0.53)),
        lstm("mnist-50", digits(784, 1, 50), 1.45, None),
        lstm("mnist-100", digits(784, 1, 100), 2.7, Some(1.6)),
        lstm("imdb", BenchShape::tokens(32, 300, 256, 256, 10, 10_000), IMDB, Some(0.2)),
        lstm("copying", digits(520, 10, 10), COPYING, Some(0.35)),
        BenchSetting { cell: BenchCell::SrGru, ..tomita },
        BenchSetting::free(BenchCell::SrLstmP, LANGUAGE_MODEL).named("lm"),
    ]
}

impl BenchShape {
    /// Two classes, and an input of tokens.
    pub(super) const fn tokens(
        rows: usize,
        steps: usize,
        width: usize,
        units: usize,
        k: usize,
        symbols: usize,
    ) -> BenchShape {
        BenchShape { rows, steps, width, units, k, symbols, classes: 2, when: When::Last }
    }

    /// Two classes, and an input of numbers.
    pub(super) const fn real(
        rows: usize,
        steps: usize,
        width: usize,
        units: usize,
        k: usize,
    ) -> BenchShape {
        BenchShape { symbols: 0, ..BenchShape::tokens(rows, steps, width, units, k, 0) }
    }
}

impl std::fmt::Display for BenchShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BenchShape { rows, steps, width, units, k, symbols, .. } = self;
        write!(f, "{rows},{steps},{width},{units},{k}")?;
        if *symbols > 0 { write!(f, ",{symbols}") } else { Ok(()) }
    }
}

impl BenchCell {
    /// All cells.
    pub const ALL: [BenchCell; 6] = [
        BenchCell::SrLstmP,
        BenchCell::SrLstm,
        BenchCell::SrGru,
        BenchCell::LstmP,
        BenchCell::Lstm,
        BenchCell::Gru,
    ];

    /// The name for --cell.
    pub fn name(self) -> &'static str {
        match self {
            BenchCell::SrLstmP => "sr-lstm-p",
            BenchCell::SrLstm => "sr-lstm",
            BenchCell::SrGru => "sr-gru",
            BenchCell::LstmP => "lstm-p",
            BenchCell::Lstm => "lstm",
            BenchCell::Gru => "gru",
        }
    }

    /// Whether the cell has centroids.
    pub(super) fn has_centroids(self) -> bool {
        matches!(self, BenchCell::SrLstmP | BenchCell::SrLstm | BenchCell::SrGru)
    }

    fn cell(self) -> Cell {
        match self {
            BenchCell::SrLstmP | BenchCell::LstmP => Cell::Lstm { peephole: true },
            BenchCell::SrLstm | BenchCell::Lstm => Cell::Lstm { peephole: false },
            BenchCell::SrGru | BenchCell::Gru => Cell::Gru { reset: Reset::AfterMatrix },
        }
    }
}

impl BenchSetting {
    /// The setting of --shape.
    pub fn free(cell: BenchCell, shape: BenchShape) -> BenchSetting {
        BenchSetting { name: "free".into(), cell, shape, lambda: 1.0, floor: TimeFloor::default() }
    }

    fn named(self, name: &str) -> BenchSetting {
        BenchSetting { name: name.into(), ..self }
    }

    /// The same sizes with a cell and λ; the floor is unknown if either changes.
    pub fn with(&self, cell: BenchCell, lambda: f64) -> BenchSetting {
        let same = cell == self.cell && lambda == self.lambda;
        let floor = if same { self.floor } else { TimeFloor::default() };
        BenchSetting { cell, lambda, floor, ..self.clone() }
    }

    /// The regime of the timed steps.
    pub(super) fn regime(&self) -> Regime {
        // Small, so that the timed weights stay close to the checked ones.
        Regime { lambda: self.lambda, ..Regime::plain(1e-4) }
    }

    /// The network, initialised from a seed.
    pub(super) fn model(&self, seed: u64) -> Result<Model<f32>, UserError> {
        self.check()?;
        // Orthogonal matrices of a thousand units take minutes.
        let init = Init { recurrent: Recurrent::Uniform, ..Init::default() };
        Model::new(self.arch(), &init, Key::new(seed)).map_err(without_remedy)
    }

    /// A random batch of `rows` rows of `steps` steps.
    pub(super) fn batch(&self, rows: usize, steps: usize, key: Key) -> Batch {
        let BenchShape { width, symbols, classes, when, .. } = self.shape;
        let mut input = key.child("input", 0).rng();
        let mut targets = key.child("targets", 0).rng();
        let token = |stream: &mut Rng, t: usize| match when {
            When::Last if t == 0 => symbols as u32,
            When::Last if t + 1 == steps => symbols as u32 + 1,
            When::Last | When::EveryStep => stream.below(symbols) as u32,
        };
        let mut class = |count: usize| (0..count).map(|_| targets.below(classes) as u32).collect();
        Batch {
            offsets: (0..=rows).map(|b| b * steps).collect(),
            input: match symbols {
                0 => Inputs::Real((0..rows * steps * width).map(|_| input.unit() as f32).collect()),
                _ => Inputs::Tokens(
                    (0..rows * steps).map(|i| token(&mut input, i % steps)).collect(),
                ),
            },
            targets: match when {
                When::Last => Targets::Rows(class(rows)),
                When::EveryStep => Targets::Steps(class(rows * steps)),
            },
            class_weights: vec![],
            initial: match when {
                When::Last => vec![],
                When::EveryStep => LayerState::zeros(&self.arch(), rows),
            },
        }
    }

    fn arch(&self) -> Arch {
        let BenchShape { width, units, k, symbols, classes, when, .. } = self.shape;
        let framed = when == When::Last;
        let centroids = Centroids { k, score: Score::Dot, tau: Temperature::ONE };
        Arch {
            input: match symbols {
                0 => Input::Real { width },
                _ => Input::Tokens { symbols, embedding: width, start: framed, end: framed },
            },
            layers: vec![Layer {
                cell: self.cell.cell(),
                units,
                gate: Gate::Sigmoid,
                bias: true,
                centroids: self.cell.has_centroids().then_some(centroids),
            }],
            readout: Readout::new(if framed { ReadFrom::H } else { ReadFrom::U }, when),
            classes,
        }
    }

    /// Checks every size, to name the number that is wrong.
    fn check(&self) -> Result<(), UserError> {
        let BenchShape { rows, steps, width, units, k, symbols, .. } = self.shape;
        let wrong = |what: String, remedy: &str| {
            Err(UserError::new(format!("shape {}: {what}", self.shape), remedy))
        };
        let centroids = if self.cell.has_centroids() { k } else { 1 };
        let sizes = [
            ("B (rows)", rows),
            ("T (steps)", steps),
            ("IN (input width)", width),
            ("D (units)", units),
            ("K (centroids)", centroids),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return wrong(format!("{name} is 0"), "give at least 1");
        }
        if symbols > 0 && steps < 2 && self.shape.when == When::Last {
            let remedy = "give at least 2: tokens include a start and an end token";
            return wrong(format!("T (steps) is {steps}"), remedy);
        }
        let numbers = rows.checked_mul(steps).and_then(|n| n.checked_mul(width));
        match numbers {
            Some(0..=MAX_NUMBERS) => Ok(()),
            _ => wrong(format!("B·T·IN is above {MAX_NUMBERS}"), "make one of them smaller"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_of_imdb_counts_as_many_distinct_tokens_as_its_batches_have() {
        let imdb =
            named_settings().into_iter().find(|setting| setting.name == "imdb").expect("named");
        let batch = imdb.batch(imdb.shape.rows, imdb.shape.steps, Key::new(1));
        let Inputs::Tokens(tokens) = batch.input else { panic!("imdb reads tokens") };
        let distinct = tokens.iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
        assert!((distinct / IMDB_TOKENS - 1.0).abs() < 0.02, "{distinct}");
        assert!((4.7..4.8).contains(&IMDB), "{IMDB} µs a token");
    }
}
