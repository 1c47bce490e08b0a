//! The cases every engine is tried on: architecture × batch × regime, each with a name.
//!
//! [`product`] enumerates cell × gate × score × λ and rotates everything else, so that every value of
//! every option is combined with every cell. [`edge_cases`] is written by hand: shapes that break
//! kernels. [`large_batches`] is separate. All numbers of a case are drawn from a key with its name.

mod given_states;
mod large_batches;
mod mixtures;

pub use large_batches::large_batches;

use srnn_engine::key::{Key, Rng};
use srnn_engine::model::{
    Arch, Cell, Centroids, Gate, HeadWeights, Input, Layer, Layout, Model, ReadFrom, Readout,
    Reset, Score, Temperature, When,
};
use srnn_engine::{Batch, Dropout, IGNORE, Inputs, LayerState, Regime, Targets};

/// A test case.
pub struct Case {
    /// A description; also the name of its key.
    pub name: String,
    /// In single precision, so that engines of both precisions start from the same numbers.
    pub model: Model<f32>,
    pub batch: Batch,
    pub regime: Regime,
}

impl Case {
    /// The key of all random numbers of this case.
    pub fn key(&self) -> Key {
        Key::new(0).child(&self.name, 0)
    }
}

/// All cases; the same in every call.
pub fn all() -> Vec<Case> {
    let specs = product().into_iter().chain(edge_cases()).chain(given_states::given_states());
    specs.map(Spec::build).collect()
}

/// A case before its numbers are drawn.
struct Spec {
    name: String,
    input: Input,
    layers: Vec<Layer>,
    readout: Readout,
    classes: usize,
    /// Symbols per row, start and end token not counted.
    lengths: Vec<usize>,
    weighted: bool,
    /// Whether rows start from random states.
    given_states: bool,
    regime: Regime,
}

const GRU: Cell = Cell::Gru { reset: Reset::AfterMatrix };
const GRU_BEFORE: Cell = Cell::Gru { reset: Reset::BeforeMatrix };
const LSTM: Cell = Cell::Lstm { peephole: false };
const LSTM_P: Cell = Cell::Lstm { peephole: true };

/// The paper's regime.
const PAPER: Regime = Regime::plain(0.01);
/// Every term at once.
const ALL_TERMS: Regime = Regime {
    lambda: 0.4,
    commitment: 0.7,
    entropy: 0.3,
    saturation: 0.6,
    writing: 0.4,
    tau: 0.8,
    margin: 0.0,
    dropout: Dropout { readout: 0.2, embedding: 0.3, seed: 7 },
    learning_rate: 0.01,
};

fn layer(cell: Cell, units: usize, centroids: Option<Centroids>) -> Layer {
    Layer { cell, units, gate: Gate::Sigmoid, bias: true, centroids }
}

fn centroids(k: usize, score: Score, tau: f64) -> Option<Centroids> {
    Some(Centroids { k, score, tau: Temperature::new(tau).expect("a temperature of the table") })
}

fn dot(k: usize) -> Option<Centroids> {
    centroids(k, Score::Dot, 1.0)
}

fn tokens(symbols: usize, embedding: usize, start: bool, end: bool) -> Input {
    Input::Tokens { symbols, embedding, start, end }
}

fn read(from: ReadFrom, when: When) -> Readout {
    Readout::new(from, when)
}

/// The same read-out with the embedding as its weights.
fn tie(readout: Readout) -> Readout {
    Readout { weights: HeadWeights::Embedding, ..readout }
}

/// Cell × gate × score × λ. The other options rotate, with periods that are coprime where it matters.
fn product() -> Vec<Spec> {
    let mut specs = vec![];
    for cell in [GRU, GRU_BEFORE, LSTM, LSTM_P] {
        for gate in [Gate::Sigmoid, Gate::HardSigmoid] {
            for score in [None, Some(Score::Dot), Some(Score::Euclidean)] {
                for lambda in [0.0, 0.4, 1.0] {
                    specs.push(rotated(specs.len(), cell, gate, score, lambda));
                }
            }
        }
    }
    specs
}

fn rotated(i: usize, cell: Cell, gate: Gate, score: Option<Score>, lambda: f64) -> Spec {
    // i / 9 and i / 18 change more slowly than λ and score, and so are combined with all of them.
    let turn = i + i / 9 + i / 18;
    let stochastic =
        score.and_then(|score| centroids(1 + (i + i / 7) % 5, score, [1.0, 0.5, 2.0][i % 3]));
    let units = [1, 2, 3, 5, 7][turn % 5];
    let layer = Layer { cell, units, gate, bias: turn % 3 != 1, centroids: stochastic };
    let all = [ReadFrom::H, ReadFrom::U, ReadFrom::C, ReadFrom::Uc, ReadFrom::Hc];
    let from = all[turn % if cell.has_memory() { 5 } else { 2 }];
    let when = [When::Last, When::EveryStep][(i / 2 + i / 18) % 2];
    let input = match (i + i / 5) % 5 {
        4 => Input::Real { width: 1 + turn % 3 },
        j => tokens(1 + turn % 4, 1 + turn % 4, j & 1 == 1, j & 2 == 2),
    };
    let regime = Regime {
        lambda,
        commitment: if (i / 3 + turn).is_multiple_of(2) { 0.7 } else { 0.0 },
        entropy: if (i / 6 + turn).is_multiple_of(3) { 0.3 } else { 0.0 },
        writing: if (i + turn).is_multiple_of(3) { 0.5 } else { 0.0 },
        saturation: if (i / 2 + turn).is_multiple_of(3) { 0.9 } else { 0.0 },
        tau: if turn.is_multiple_of(4) { 0.8 } else { 1.0 },
        margin: [0.0, 1.5, 0.0][turn % 3],
        dropout: Dropout {
            readout: [0.0, 0.3, 0.0, 0.6][(i / 4 + turn) % 4],
            embedding: [0.0, 0.0, 0.4][(i / 3 + turn) % 3],
            seed: i as u64,
        },
        ..PAPER
    };
    Spec {
        name: format!("product {i}: {cell:?} {gate:?} {score:?} λ={lambda}"),
        input,
        layers: vec![layer],
        readout: read(from, when),
        classes: 2 + turn % 3,
        lengths: [vec![4, 1, 0, 6], vec![3], vec![1, 1], vec![5, 2, 7], vec![0, 3]][i % 5].clone(),
        weighted: turn.is_multiple_of(2),
        given_states: false,
        regime,
    }
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            name: String::new(),
            input: tokens(3, 4, true, false),
            layers: vec![layer(LSTM_P, 7, dot(5))],
            readout: read(ReadFrom::H, When::Last),
            classes: 2,
            lengths: vec![5, 1, 0, 9, 3, 3, 2],
            weighted: false,
            given_states: false,
            regime: PAPER,
        }
    }
}

/// The shapes that break kernels, and several layers.
fn edge_cases() -> Vec<Spec> {
    let mut specs = shapes();
    specs.extend(stacks());
    specs.extend(extremes());
    specs.extend(tied());
    specs
}

/// The classifier's weights are the embedding: few classes and many, with and without dropout.
fn tied() -> Vec<Spec> {
    let of = |name: &str, classes: usize, from, when, regime| Spec {
        name: format!("tied: {name}"),
        input: tokens(classes - 2, 14, true, true),
        readout: tie(read(from, when)),
        classes,
        regime,
        ..Spec::default()
    };
    vec![
        of("few classes, last step", 5, ReadFrom::Uc, When::Last, PAPER),
        of("few classes, every step, all terms", 6, ReadFrom::Hc, When::EveryStep, ALL_TERMS),
        of("many classes, every step, all terms", 90, ReadFrom::Uc, When::EveryStep, ALL_TERMS),
        Spec {
            weighted: true,
            ..of("many classes, last step", 70, ReadFrom::Hc, When::Last, ALL_TERMS)
        },
    ]
}

/// D around the vector widths, K around 1, 8 and 16, B around the rows of a kernel.
fn shapes() -> Vec<Spec> {
    let sized = |cell, units, k, score, rows: usize| Spec {
        name: format!("shape: {cell:?} D={units} K={k} {score:?} B={rows}"),
        layers: vec![layer(cell, units, centroids(k, score, 1.0))],
        lengths: (0..rows).map(|b| [6, 1, 4, 9, 2][b % 5]).collect(),
        ..Spec::default()
    };
    let plain = |cell, units, rows: usize| Spec {
        name: format!("shape: plain {cell:?} D={units} B={rows}"),
        layers: vec![layer(cell, units, None)],
        ..sized(cell, units, 1, Score::Dot, rows)
    };
    vec![
        sized(LSTM_P, 1, 1, Score::Dot, 1),
        sized(LSTM_P, 17, 2, Score::Euclidean, 5),
        sized(LSTM_P, 33, 10, Score::Dot, 3),
        sized(LSTM_P, 100, 5, Score::Dot, 4),
        sized(LSTM, 16, 8, Score::Dot, 8),
        sized(LSTM, 33, 17, Score::Euclidean, 2),
        sized(LSTM, 7, 50, Score::Dot, 6),
        sized(GRU, 100, 10, Score::Euclidean, 2),
        sized(GRU, 17, 16, Score::Dot, 9),
        sized(GRU, 32, 1, Score::Dot, 4),
        sized(GRU, 7, 9, Score::Dot, 13),
        sized(GRU_BEFORE, 33, 5, Score::Dot, 5),
        sized(GRU_BEFORE, 15, 12, Score::Euclidean, 4),
        sized(LSTM_P, 5, 40, Score::Dot, 7),
        sized(GRU, 3, 64, Score::Euclidean, 5),
        sized(LSTM_P, 64, 50, Score::Dot, 5),
        sized(GRU, 50, 30, Score::Dot, 3),
        plain(LSTM_P, 120, 5),
        plain(GRU, 130, 3),
        Spec {
            name: "shape: many centroids at every step".into(),
            layers: vec![layer(LSTM, 37, dot(25))],
            input: tokens(3, 4, true, true),
            readout: read(ReadFrom::Hc, When::EveryStep),
            regime: Regime { lambda: 1.0, commitment: 0.0, ..ALL_TERMS },
            ..Spec::default()
        },
    ]
}

/// Several layers: with centroids, without, and mixed. With an end token the upper layer reads u where
/// the lower one takes no stochastic step.
fn stacks() -> Vec<Spec> {
    let two = |name: &str, low, high| Spec {
        name: format!("stack: {name}"),
        layers: vec![low, high],
        input: tokens(3, 4, true, true),
        ..Spec::default()
    };
    let euclidean = centroids(4, Score::Euclidean, 0.7);
    let mut specs = vec![
        two("two SR-LSTM-P", layer(LSTM_P, 7, dot(5)), layer(LSTM_P, 9, dot(3))),
        two("two SR-GRU", layer(GRU, 8, dot(5)), layer(GRU, 5, euclidean)),
        two("two plain LSTM", layer(LSTM, 6, None), layer(LSTM, 17, None)),
        two("two plain GRU", layer(GRU, 6, None), layer(GRU, 7, None)),
        two("plain below regularized", layer(LSTM, 7, None), layer(LSTM_P, 7, dot(4))),
        two("regularized below plain", layer(GRU, 7, dot(4)), layer(GRU_BEFORE, 6, None)),
        two("GRU below LSTM", layer(GRU_BEFORE, 5, euclidean), layer(LSTM, 7, dot(6))),
    ];
    let three = vec![
        layer(LSTM, 5, dot(3)),
        Layer { gate: Gate::HardSigmoid, bias: false, ..layer(LSTM_P, 6, None) },
        layer(GRU, 7, euclidean),
    ];
    specs.push(Spec {
        name: "stack: three, mixed, all terms".into(),
        layers: three.clone(),
        input: tokens(3, 4, false, true),
        readout: read(ReadFrom::U, When::EveryStep),
        classes: 4,
        weighted: true,
        regime: ALL_TERMS,
        ..Spec::default()
    });
    specs.push(Spec {
        name: "stack: three on real inputs, λ = 0".into(),
        layers: three,
        input: Input::Real { width: 3 },
        regime: Regime { lambda: 0.0, ..ALL_TERMS },
        ..Spec::default()
    });
    specs.push(Spec {
        regime: ALL_TERMS,
        readout: read(ReadFrom::Hc, When::EveryStep),
        ..two("two SR-LSTM, all terms", layer(LSTM, 7, dot(5)), layer(LSTM, 6, euclidean))
    });
    specs
}

/// Temperatures, long rows, many classes, rows that are all empty, large vocabularies.
fn extremes() -> Vec<Spec> {
    let named = |name: &str| Spec { name: format!("extreme: {name}"), ..Spec::default() };
    let sharp = centroids(6, Score::Dot, 0.05);
    vec![
        Spec { layers: vec![layer(GRU, 7, sharp)], ..named("sharp temperature") },
        Spec {
            layers: vec![layer(LSTM_P, 7, centroids(6, Score::Euclidean, 10.0))],
            ..named("flat temperature")
        },
        Spec {
            lengths: vec![60, 41],
            layers: vec![layer(LSTM_P, 10, dot(5))],
            ..named("sixty steps")
        },
        Spec {
            lengths: vec![1; 5],
            input: tokens(2, 3, false, true),
            ..named("end token after one symbol")
        },
        Spec {
            lengths: vec![0; 4],
            input: tokens(2, 3, false, true),
            regime: ALL_TERMS,
            ..named("end token alone: no stochastic step at all")
        },
        Spec {
            lengths: vec![0; 3],
            input: tokens(2, 3, false, false),
            ..named("nothing but empty rows")
        },
        Spec {
            input: tokens(200, 3, true, true),
            lengths: vec![30, 20, 10],
            ..named("most of the vocabulary absent")
        },
        Spec {
            classes: 23,
            readout: read(ReadFrom::Uc, When::EveryStep),
            weighted: true,
            ..named("23 classes at every step")
        },
        Spec {
            input: Input::Real { width: 28 },
            layers: vec![layer(LSTM_P, 12, dot(10))],
            lengths: vec![28; 3],
            classes: 10,
            readout: read(ReadFrom::C, When::Last),
            ..named("rows of an image")
        },
    ]
}

impl Spec {
    fn build(self) -> Case {
        let key = Key::new(0).child(&self.name, 0);
        let arch = Arch {
            input: self.input.clone(),
            layers: self.layers.clone(),
            readout: self.readout,
            classes: self.classes,
        };
        arch.validate().unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let batch = self.batch(&arch, key.child("batch", 0));
        let params = parameters(&arch, key.child("parameters", 0));
        Case { name: self.name, model: Model { arch, params }, batch, regime: self.regime }
    }

    fn batch(&self, arch: &Arch, key: Key) -> Batch {
        let mut rng = key.rng();
        let mut offsets = vec![0];
        let mut ids = vec![];
        for &length in &self.lengths {
            ids.extend(self.input.start());
            if let Input::Tokens { symbols, .. } = self.input {
                ids.extend((0..length).map(|_| rng.below(symbols) as u32));
            }
            ids.extend(self.input.end());
            let real = offsets[offsets.len() - 1] + length;
            offsets.push(if matches!(self.input, Input::Real { .. }) { real } else { ids.len() });
        }
        let steps = offsets[offsets.len() - 1];
        let input = match self.input {
            Input::Tokens { .. } => Inputs::Tokens(ids),
            Input::Real { width } => {
                Inputs::Real((0..steps * width).map(|_| rng.normal() as f32).collect())
            }
        };
        let weights = if self.weighted { self.classes } else { 0 };
        let class_weights = (0..weights).map(|_| rng.uniform(0.5, 2.0) as f32).collect();
        let targets = self.targets(steps, &mut rng);
        let initial = match self.given_states {
            true => given_states::states(arch, self.lengths.len(), &mut rng),
            false => vec![],
        };
        Batch { targets, offsets, input, class_weights, initial }
    }

    /// A random class for each row or step; every fourth step has none.
    fn targets(&self, steps: usize, rng: &mut Rng) -> Targets {
        let mut class = || rng.below(self.classes) as u32;
        match self.readout.when {
            When::Last => Targets::Rows(self.lengths.iter().map(|_| class()).collect()),
            When::EveryStep => Targets::Steps(
                (0..steps).map(|n| if n % 4 == 2 { IGNORE } else { class() }).collect(),
            ),
        }
    }
}

/// Larger than at initialisation, so that gates saturate and states change; biases are not zero.
fn parameters(arch: &Arch, key: Key) -> Vec<f32> {
    let layout = Layout::of(arch);
    let mut params = vec![f32::NAN; layout.len];
    for (i, slot) in layout.slots.iter().enumerate() {
        let mut rng = key.child("slot", i as u64).rng();
        let matrix = slot.name.starts_with("rnn.weight") || slot.name.starts_with("head.weight");
        // Hard gates saturate beyond ±2.5: with these weights about every tenth does.
        let hard = arch.layers.iter().any(|layer| layer.gate == Gate::HardSigmoid);
        let gain = if hard { 4.0 } else { 2.0 };
        let bound = if matrix { gain / (slot.shape[1] as f64).sqrt() } else { 0.8 };
        params[slot.range.clone()].fill_with(|| rng.uniform(-bound, bound) as f32);
    }
    params
}

#[test]
fn case_names_and_so_their_keys_are_unique() {
    let every = || all().into_iter().chain(large_batches());
    let names: std::collections::BTreeSet<String> = every().map(|case| case.name).collect();
    assert_eq!(names.len(), every().count());
}
