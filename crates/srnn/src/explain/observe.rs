//! One layer's steps on a batch, in double precision and with the token of each.

use crate::engine::Real;
use crate::engine::reference::argmax;
use crate::engine::{Batch, Fields, Inputs, LayerTrace, Mode, Runner, Trace};
use crate::model::{Arch, When};
use std::convert::Infallible;
use std::ops::Range;

/// What one layer did on the rows of a batch. The step of an end token is left out: it takes no
/// stochastic step, and only the classifier reads it. That of a start token is kept: it is where
/// the first symbol finds the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// `[B+1]`: row `b` has the steps `offsets[b]..offsets[b + 1]`.
    pub offsets: Vec<usize>,
    /// The ids read `[N]`; empty where the network reads vectors.
    pub tokens: Vec<u32>,
    /// The last read-out of each row `[B][C]`; empty where it is not known.
    pub logits: Vec<Vec<f64>>,
    /// D.
    pub units: usize,
    /// K; 0 for a vanilla layer.
    pub centroids: usize,
    /// α `[N,K]`; empty where it was not asked for or is not there.
    pub alpha: Vec<f64>,
    /// h `[N,D]`, or empty.
    pub h: Vec<f64>,
    /// c `[N,D]`, or empty.
    pub c: Vec<f64>,
    /// A number that goes with each step, such as the nesting depth after it `[N]`; empty until
    /// [`Observation::measure`] or the caller fills it in.
    pub quantity: Vec<f64>,
}

/// A vector of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vector {
    /// The hidden state.
    H,
    /// The cell state.
    C,
}

/// Runs a batch as the deployed network and keeps the asked-for fields of a layer.
///
/// # Panics
/// If there is no such layer.
pub fn observe<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    batch: &Batch,
    layer: usize,
    fields: Fields,
) -> Observation {
    let Ok(model) = engine.model();
    let bias = &model.params[model.layout().head_bias.clone()];
    let Ok(trace) = engine.trace(batch, Mode::default(), fields);
    let kept = kept(batch, &model.arch);
    let shape = &model.arch.layers[layer];
    let LayerTrace { alpha, h, c, .. } = &trace.layers[layer];
    let centroids = shape.centroids.map_or(0, |centroids| centroids.k);
    Observation {
        offsets: offsets(batch, &model.arch),
        tokens: match &batch.input {
            Inputs::Tokens(ids) => kept.iter().map(|&n| ids[n]).collect(),
            Inputs::Real(_) => vec![],
        },
        logits: (0..batch.rows())
            .map(|b| last_readout(&model.arch, batch, &trace, bias, b))
            .collect(),
        units: shape.units,
        centroids,
        alpha: rows_of(alpha, &kept, centroids),
        h: rows_of(h, &kept, shape.units),
        c: rows_of(c, &kept, shape.units),
        quantity: vec![],
    }
}

impl Observation {
    /// B.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The steps of row `b`.
    pub fn row(&self, b: usize) -> Range<usize> {
        self.offsets[b]..self.offsets[b + 1]
    }

    /// N.
    pub fn steps(&self) -> usize {
        *self.offsets.last().expect("offsets hold at least the 0")
    }

    /// The class said of row `b`; `None` where the logits are not known, or no numbers.
    pub fn class(&self, b: usize) -> Option<u32> {
        let logits = self.logits.get(b)?;
        logits.iter().all(|logit| logit.is_finite()).then(|| argmax(logits) as u32)
    }

    /// α of a step `[K]`.
    pub fn alpha_at(&self, n: usize) -> &[f64] {
        &self.alpha[n * self.centroids..][..self.centroids]
    }

    /// A vector of all steps `[N,D]`; empty where it was not asked for or is not there.
    pub fn vector(&self, which: Vector) -> &[f64] {
        match which {
            Vector::H => &self.h,
            Vector::C => &self.c,
        }
    }

    /// A vector of one step `[D]`.
    pub fn vector_at(&self, which: Vector, n: usize) -> &[f64] {
        &self.vector(which)[n * self.units..][..self.units]
    }

    /// Sets the quantity of each step to the sum of what the row's tokens so far are worth: with
    /// +1 for `(`, −1 for `)` and 0 for everything else, start tokens too, the nesting depth.
    pub fn measure(&mut self, worth: impl Fn(u32) -> f64) {
        let running = |row: Range<usize>| {
            let mut sum = 0.0;
            let add = |&id: &u32| {
                sum += worth(id);
                sum
            };
            self.tokens[row].iter().map(add).collect::<Vec<f64>>()
        };
        self.quantity = (0..self.rows()).flat_map(|b| running(self.row(b))).collect();
    }

    /// From the first step of a row at which the quantity is below 0 it stays there: a string with a
    /// `)` too many is lost, whatever follows, and has no depth any more.
    pub fn hold_below_zero(&mut self) {
        for b in 0..self.rows() {
            let row = self.row(b);
            let row = &mut self.quantity[row];
            if let Some(lost) = row.iter().position(|&quantity| quantity < 0.0) {
                let held = row[lost];
                row[lost..].fill(held);
            }
        }
    }
}

/// The steps that are no end token's.
fn kept(batch: &Batch, arch: &Arch) -> Vec<usize> {
    let closing = usize::from(arch.input.end().is_some());
    let row = |b: usize| {
        let Range { start, end } = batch.row(b);
        start..end.saturating_sub(closing).max(start)
    };
    (0..batch.rows()).flat_map(row).collect()
}

fn offsets(batch: &Batch, arch: &Arch) -> Vec<usize> {
    let closing = usize::from(arch.input.end().is_some());
    let lengths = (0..batch.rows()).map(|b| batch.row(b).len().saturating_sub(closing));
    let ends = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn rows_of<F: Real>(values: &[F], kept: &[usize], width: usize) -> Vec<f64> {
    match values.is_empty() {
        true => vec![],
        false => kept
            .iter()
            .flat_map(|&n| &values[n * width..][..width])
            .map(|&value| value.to())
            .collect(),
    }
}

/// A row without steps reads the initial state, which is zero.
fn last_readout<F: Real>(
    arch: &Arch,
    batch: &Batch,
    trace: &Trace<F>,
    bias: &[F],
    b: usize,
) -> Vec<f64> {
    let place = match arch.readout.when {
        When::Last => Some(b),
        When::EveryStep => batch.row(b).last(),
    };
    let logits = place.map_or(bias, |n| &trace.logits[n * arch.classes..][..arch.classes]);
    logits.iter().map(|&logit| logit.to()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Targets;
    use crate::engine::reference::Reference;
    use crate::key::Key;
    use crate::model::{
        Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Score, Temperature,
    };

    fn engine() -> Reference {
        let centroids = Centroids { k: 2, score: Score::Dot, tau: Temperature::ONE };
        let cell = Cell::Lstm { peephole: true };
        let layer =
            Layer { cell, units: 3, gate: Gate::Sigmoid, bias: true, centroids: Some(centroids) };
        let arch = Arch {
            input: Input::Tokens { symbols: 2, embedding: 2, start: true, end: true },
            layers: vec![layer],
            readout: Readout { from: ReadFrom::U, when: When::Last },
            classes: 2,
        };
        let model = Model::new(arch, &Init::default(), Key::new(1)).unwrap();
        Reference::new(&model.to_f64())
    }

    #[test]
    fn steps_of_end_tokens_are_left_out_and_those_of_start_tokens_kept() {
        let tokens = vec![2, 0, 1, 1, 3, 2, 3];
        let batch = Batch {
            offsets: vec![0, 5, 7],
            input: Inputs::Tokens(tokens),
            targets: Targets::None,
            class_weights: vec![],
        };
        let fields = Fields { alpha: true, c: true, ..Fields::default() };
        let mut engine = engine();
        let Ok(whole) = engine.trace(&batch, Mode::default(), fields);
        let mut seen = observe(&mut engine, &batch, 0, fields);
        assert_eq!((&seen.offsets[..], &seen.tokens[..]), (&[0, 4, 5][..], &[2, 0, 1, 1, 2][..]));
        assert_eq!(seen.vector_at(Vector::C, 4), &whole.layers[0].c[5 * 3..6 * 3]);
        assert_eq!(seen.alpha_at(3), &whole.layers[0].alpha[3 * 2..4 * 2]);
        assert!(seen.h.is_empty() && seen.class(1).is_some());
        assert_eq!(seen.logits.concat(), whole.logits);
        seen.measure(|id| [1.0, -1.0].get(id as usize).copied().unwrap_or(0.0));
        assert_eq!(seen.quantity, [0.0, 1.0, 0.0, -1.0, 0.0]);
    }

    #[test]
    fn a_row_that_is_below_zero_once_stays_there() {
        let quantity = vec![1.0, -1.0, 0.0, 3.0, 0.0, 2.0];
        let mut seen = Observation { offsets: vec![0, 4, 6], quantity, ..Observation::default() };
        seen.hold_below_zero();
        assert_eq!(seen.quantity, [1.0, -1.0, -1.0, -1.0, 0.0, 2.0]);
    }
}
