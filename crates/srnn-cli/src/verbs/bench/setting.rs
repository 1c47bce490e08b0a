//! What is measured: a cell and its sizes, by name or free, and the networks and batches of them.

use crate::failure::Failure;
use clap::ValueEnum;
use srnn::engine::{Batch, Inputs, Regime, Targets};
use srnn::key::Key;
use srnn::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Recurrent, Reset,
    Score, Temperature, When,
};

/// A cell and its sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name; `free` where the sizes are the user's.
    pub name: String,
    /// The cell.
    pub cell: CellName,
    /// The sizes.
    pub shape: Shape,
    /// λ: 1 is the paper's network, less the direct form that training begins with.
    pub lambda: f64,
    /// What the hardware allows.
    pub floor: Floor,
}

/// What the hardware allows a training step to take, by arithmetic and memory alone; `None` where
/// nobody has worked it out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floor {
    /// Microseconds a token on two cores with AVX-512.
    pub two_cores: Option<f64>,
    /// Milliseconds a training step on an NVIDIA H200.
    pub h200: Option<f64>,
}

/// Sizes, in the letters of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// B.
    pub rows: usize,
    /// T, start and end token included.
    pub steps: usize,
    /// E: numbers a step, or the width of the embedding.
    pub width: usize,
    /// D.
    pub units: usize,
    /// K; plain cells have none and do not look.
    pub k: usize,
    /// Symbols of the alphabet; 0 where steps read numbers.
    pub symbols: usize,
    /// C.
    pub classes: usize,
}

/// A cell, with centroids (`sr-`) or plain, with peepholes (`-p`) or without.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum CellName {
    SrLstmP,
    SrLstm,
    SrGru,
    LstmP,
    Lstm,
    Gru,
}

/// Beyond this many numbers in a batch a shape is taken for a mistake.
const MOST_NUMBERS: usize = 1 << 28;

/// What two cores with AVX-512 do in a microsecond, in floating-point operations: a multiplication
/// and an addition in 16 lanes, 3.69 times a nanosecond.
const TWO_CORES: f64 = 2.0 * 2.0 * 16.0 * 3690.0;

/// Distinct tokens in a batch of `imdb`: 32×298 draws of 10,000, and two of its own.
const IMDB_TOKENS: f64 = 6149.0;

/// The recurrence of 256 units with 10 centroids, in microseconds a token on two cores.
const TEN_CENTROIDS: f64 = 0.46;

/// The same with the products of `imdb`'s inputs: rows of the embedding with W, the gradient of W
/// and that of the rows, over a batch's distinct tokens.
const IMDB: f64 =
    TEN_CENTROIDS + 3.0 * 2.0 * IMDB_TOKENS * 256.0 * 1024.0 / (32.0 * 300.0) / TWO_CORES;

/// The same with the products of `copying`'s ten numbers a step: with W, and the gradient of W.
const COPYING: f64 = TEN_CENTROIDS + 2.0 * 2.0 * 10.0 * 1024.0 / TWO_CORES;

/// The settings with names: the shapes of the paper's experiments.
pub fn named() -> Vec<Setting> {
    let lstm = |name: &str, numbers: &str, classes, two_cores, h200| Setting {
        name: name.into(),
        cell: CellName::SrLstmP,
        shape: Shape { classes, ..numbers.parse().expect("written here") },
        lambda: 1.0,
        floor: Floor { two_cores: Some(two_cores), h200 },
    };
    let tomita = lstm("tomita", "64,16,100,100,50,2", 2, 0.58, None);
    vec![
        lstm("bp", "64,100,100,100,5,28", 2, 0.14, Some(0.05)),
        lstm("mnist", "128,784,1,256,10", 10, TEN_CENTROIDS, Some(0.53)),
        lstm("mnist-50", "128,784,1,256,50", 10, 1.45, None),
        lstm("mnist-100", "128,784,1,256,100", 10, 2.7, Some(1.6)),
        lstm("imdb", "32,300,256,256,10,10000", 2, IMDB, Some(0.2)),
        lstm("copying", "128,520,10,256,10", 10, COPYING, Some(0.35)),
        Setting { cell: CellName::SrGru, ..tomita },
    ]
}

impl std::str::FromStr for Shape {
    type Err = String;

    /// `B,T,IN,D,K`, or `B,T,IN,D,K,V` for tokens.
    fn from_str(text: &str) -> Result<Shape, String> {
        let form = "give five numbers B,T,IN,D,K, or six, B,T,IN,D,K,V, for tokens of V symbols";
        let numbers: Result<Vec<usize>, _> = text.split(',').map(|n| n.trim().parse()).collect();
        let (rows, steps, width, units, k, symbols) = match numbers.as_deref() {
            Ok(&[b, t, e, d, k]) => (b, t, e, d, k, None),
            Ok(&[b, t, e, d, k, v]) => (b, t, e, d, k, Some(v)),
            Ok(other) => return Err(format!("{} numbers: {form}", other.len())),
            Err(error) => return Err(format!("{error}: {form}")),
        };
        if symbols == Some(0) {
            return Err("an alphabet of no symbols: leave V away where steps read numbers".into());
        }
        Ok(Shape { rows, steps, width, units, k, symbols: symbols.unwrap_or(0), classes: 2 })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shape { rows, steps, width, units, k, symbols, .. } = self;
        write!(f, "{rows},{steps},{width},{units},{k}")?;
        if *symbols > 0 { write!(f, ",{symbols}") } else { Ok(()) }
    }
}

impl CellName {
    /// As it is written.
    pub fn name(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_string()
    }

    /// Whether it moves between centroids.
    pub fn has_centroids(self) -> bool {
        matches!(self, CellName::SrLstmP | CellName::SrLstm | CellName::SrGru)
    }

    fn cell(self) -> Cell {
        match self {
            CellName::SrLstmP | CellName::LstmP => Cell::Lstm { peephole: true },
            CellName::SrLstm | CellName::Lstm => Cell::Lstm { peephole: false },
            CellName::SrGru | CellName::Gru => Cell::Gru { reset: Reset::AfterMatrix },
        }
    }
}

impl Setting {
    /// A setting without a name.
    pub fn free(cell: CellName, shape: Shape) -> Setting {
        Setting { name: "free".into(), cell, shape, lambda: 1.0, floor: Floor::default() }
    }

    /// The same sizes with another cell or λ, of which no floor is known.
    pub fn with(&self, cell: CellName, lambda: f64) -> Setting {
        let same = cell == self.cell && lambda == self.lambda;
        let floor = if same { self.floor } else { Floor::default() };
        Setting { cell, lambda, floor, ..self.clone() }
    }

    /// How its steps are made.
    pub fn regime(&self) -> Regime {
        Regime {
            lambda: self.lambda,
            commitment: 0.0,
            entropy: 0.0,
            saturation: 0.0,
            writing: 0.0,
            tau: 1.0,
            margin: 0.0,
            // Small: what is timed should stay what was checked.
            learning_rate: 1e-4,
        }
    }

    /// Its network, from a seed.
    pub fn model(&self, seed: u64) -> Result<Model<f32>, Failure> {
        self.check()?;
        // Orthogonal matrices take minutes to make at a thousand units.
        let init = Init { recurrent: Recurrent::Uniform, ..Init::default() };
        Ok(Model::new(self.arch(), &init, Key::new(seed))?)
    }

    /// A batch of `rows` rows of `steps` steps, named by `key`.
    pub fn batch(&self, rows: usize, steps: usize, key: Key) -> Batch {
        let Shape { width, symbols, classes, .. } = self.shape;
        let mut input = key.child("input", 0).rng();
        let mut targets = key.child("targets", 0).rng();
        let token = |stream: &mut srnn::key::Rng, t: usize| match t {
            0 => symbols as u32,
            t if t + 1 == steps => symbols as u32 + 1,
            _ => stream.below(symbols) as u32,
        };
        Batch {
            offsets: (0..=rows).map(|b| b * steps).collect(),
            input: match symbols {
                0 => Inputs::Real((0..rows * steps * width).map(|_| input.unit() as f32).collect()),
                _ => Inputs::Tokens(
                    (0..rows * steps).map(|i| token(&mut input, i % steps)).collect(),
                ),
            },
            targets: Targets::Rows((0..rows).map(|_| targets.below(classes) as u32).collect()),
            class_weights: vec![],
        }
    }

    fn arch(&self) -> Arch {
        let Shape { width, units, k, symbols, classes, .. } = self.shape;
        let centroids = Centroids { k, score: Score::Dot, tau: Temperature::ONE };
        Arch {
            input: match symbols {
                0 => Input::Real { width },
                _ => Input::Tokens { symbols, embedding: width, start: true, end: true },
            },
            layers: vec![Layer {
                cell: self.cell.cell(),
                units,
                gate: Gate::Sigmoid,
                bias: true,
                centroids: self.cell.has_centroids().then_some(centroids),
            }],
            readout: Readout { from: ReadFrom::H, when: When::Last },
            classes,
        }
    }

    /// What an architecture does not know: rows and steps.
    fn check(&self) -> Result<(), Failure> {
        let Shape { rows, steps, width, symbols, .. } = self.shape;
        let wrong = |what: String, remedy: &str| {
            Err(Failure::new(format!("shape {}: {what}", self.shape), remedy))
        };
        let least = if symbols > 0 { 2 } else { 1 };
        if rows == 0 {
            return wrong("B is 0".into(), "give at least one row");
        }
        if steps < least {
            let remedy =
                "T is at least 1, for tokens 2: they begin and end with tokens of their own";
            return wrong(format!("T is {steps}"), remedy);
        }
        let numbers = rows.checked_mul(steps).and_then(|n| n.checked_mul(width));
        match numbers {
            Some(0..=MOST_NUMBERS) => Ok(()),
            _ => wrong(format!("B·T·IN is above {MOST_NUMBERS}"), "make one of them smaller"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_of_imdb_counts_as_many_distinct_tokens_as_its_batches_have() {
        let imdb = named().into_iter().find(|setting| setting.name == "imdb").expect("named");
        let batch = imdb.batch(imdb.shape.rows, imdb.shape.steps, Key::new(1));
        let Inputs::Tokens(tokens) = batch.input else { panic!("imdb reads tokens") };
        let distinct = tokens.iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
        assert!((distinct / IMDB_TOKENS - 1.0).abs() < 0.02, "{distinct}");
        assert!((4.7..4.8).contains(&IMDB), "{IMDB} µs a token");
    }
}
