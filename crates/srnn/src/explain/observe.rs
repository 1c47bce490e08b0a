//! The steps of one layer on a batch, in double precision and with their tokens.

use crate::engine::Real;
use crate::engine::reference::argmax;
use crate::engine::{Batch, Fields, Inputs, LayerTrace, Mode, Runner, Trace};
use crate::model::{Arch, When};
use std::convert::Infallible;
use std::ops::Range;

/// The steps of one layer on the rows of a batch. The step of an end token is left out: it makes no
/// stochastic transition, and only the classifier reads it. The step of a start token is kept: it
/// gives the state before the first symbol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// `[B+1]`: row `b` has the steps `offsets[b]..offsets[b + 1]`.
    pub offsets: Vec<usize>,
    /// The token of each step `[N]`; empty if the network reads vectors.
    pub tokens: Vec<u32>,
    /// The last read-out of each row `[B][C]`; empty if it is unknown.
    pub logits: Vec<Vec<f64>>,
    /// D.
    pub units: usize,
    /// K; 0 for a vanilla layer.
    pub centroids: usize,
    /// α `[N,K]`; empty if it was not requested or the layer has none.
    pub alpha: Vec<f64>,
    /// h `[N,D]`, or empty.
    pub h: Vec<f64>,
    /// c `[N,D]`, or empty.
    pub c: Vec<f64>,
    /// A number for each step `[N]`, such as the nesting depth after it; empty until
    /// [`Observation::sum_quantity`] or the caller sets it.
    pub quantity: Vec<f64>,
}

/// The state vectors of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vector {
    /// The hidden state.
    H,
    /// The cell state.
    C,
}

/// Runs a batch in the default mode and keeps the requested fields of a layer.
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
    let kept = kept_steps(batch, &model.arch);
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
        alpha: select_steps(alpha, &kept, centroids),
        h: select_steps(h, &kept, shape.units),
        c: select_steps(c, &kept, shape.units),
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

    /// The predicted class of row `b`; `None` if a logit is unknown or not finite.
    pub fn class(&self, b: usize) -> Option<u32> {
        let logits = self.logits.get(b)?;
        logits.iter().all(|logit| logit.is_finite()).then(|| argmax(logits) as u32)
    }

    /// α of a step `[K]`.
    pub fn alpha_at(&self, n: usize) -> &[f64] {
        &self.alpha[n * self.centroids..][..self.centroids]
    }

    /// A vector of all steps `[N,D]`; empty if it was not requested or the layer has none.
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

    /// Sets the quantity of each step to the sum of `value` over the tokens of its row so far. With
    /// +1 for `(`, −1 for `)` and 0 for all other tokens, this is the nesting depth.
    pub fn sum_quantity(&mut self, value: impl Fn(u32) -> f64) {
        let running = |row: Range<usize>| {
            let mut sum = 0.0;
            let add = |&id: &u32| {
                sum += value(id);
                sum
            };
            self.tokens[row].iter().map(add).collect::<Vec<f64>>()
        };
        self.quantity = (0..self.rows()).flat_map(|b| running(self.row(b))).collect();
    }

    /// From the first negative quantity of a row on, repeats that quantity: a string with a surplus
    /// `)` stays unbalanced, and has no depth after it.
    pub fn hold_below_zero(&mut self) {
        for b in 0..self.rows() {
            let row = self.row(b);
            let row = &mut self.quantity[row];
            if let Some(negative) = row.iter().position(|&quantity| quantity < 0.0) {
                let first = row[negative];
                row[negative..].fill(first);
            }
        }
    }
}

/// The steps that do not read an end token.
fn kept_steps(batch: &Batch, arch: &Arch) -> Vec<usize> {
    let end_tokens = usize::from(arch.input.end().is_some());
    let row = |b: usize| {
        let Range { start, end } = batch.row(b);
        start..end.saturating_sub(end_tokens).max(start)
    };
    (0..batch.rows()).flat_map(row).collect()
}

fn offsets(batch: &Batch, arch: &Arch) -> Vec<usize> {
    let end_tokens = usize::from(arch.input.end().is_some());
    let lengths = (0..batch.rows()).map(|b| batch.row(b).len().saturating_sub(end_tokens));
    let ends = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn select_steps<F: Real>(values: &[F], kept: &[usize], width: usize) -> Vec<f64> {
    match values.is_empty() {
        true => vec![],
        false => kept
            .iter()
            .flat_map(|&n| &values[n * width..][..width])
            .map(|&value| value.to())
            .collect(),
    }
}

/// The read-out of a row without steps is the bias, because the initial state is zero.
fn last_readout<F: Real>(
    arch: &Arch,
    batch: &Batch,
    trace: &Trace<F>,
    bias: &[F],
    b: usize,
) -> Vec<f64> {
    let step = match arch.readout.when {
        When::Last => Some(b),
        When::EveryStep => batch.row(b).last(),
    };
    let logits = step.map_or(bias, |n| &trace.logits[n * arch.classes..][..arch.classes]);
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
            readout: Readout::new(ReadFrom::U, When::Last),
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
            initial: vec![],
        };
        let fields = Fields { alpha: true, c: true, ..Fields::default() };
        let mut engine = engine();
        let Ok(whole) = engine.trace(&batch, Mode::default(), fields);
        let mut observation = observe(&mut engine, &batch, 0, fields);
        assert_eq!(
            (&observation.offsets[..], &observation.tokens[..]),
            (&[0, 4, 5][..], &[2, 0, 1, 1, 2][..])
        );
        assert_eq!(observation.vector_at(Vector::C, 4), &whole.layers[0].c[5 * 3..6 * 3]);
        assert_eq!(observation.alpha_at(3), &whole.layers[0].alpha[3 * 2..4 * 2]);
        assert!(observation.h.is_empty() && observation.class(1).is_some());
        assert_eq!(observation.logits.concat(), whole.logits);
        observation.sum_quantity(|id| [1.0, -1.0].get(id as usize).copied().unwrap_or(0.0));
        assert_eq!(observation.quantity, [0.0, 1.0, 0.0, -1.0, 0.0]);
    }

    #[test]
    fn after_a_negative_quantity_a_row_stays_constant() {
        let quantity = vec![1.0, -1.0, 0.0, 3.0, 0.0, 2.0];
        let mut observation =
            Observation { offsets: vec![0, 4, 6], quantity, ..Observation::default() };
        observation.hold_below_zero();
        assert_eq!(observation.quantity, [1.0, -1.0, -1.0, -1.0, 0.0, 2.0]);
    }
}
