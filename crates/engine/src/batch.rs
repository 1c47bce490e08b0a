//! Batches: rows of steps, and their targets.

use crate::layer_state::{LayerState, RowStart};
use crate::model::{Arch, Input};

/// Rows of different lengths, one after the other: row `b` has the steps
/// `offsets[b]..offsets[b + 1]`. Start and end tokens are part of the rows. Nothing is padded.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[B+1]`, from 0 to N.
    pub offsets: Vec<usize>,
    /// What the steps read.
    pub input: Inputs,
    /// The expected classes.
    pub targets: Targets,
    /// Weight of each class in the loss `[C]`; empty is all ones.
    pub class_weights: Vec<f32>,
    /// The state in which the rows start, bottom layer first; every row then has a step. Empty:
    /// zeros.
    pub initial: Vec<LayerState>,
}

/// What the steps read.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// Token ids `[N]`.
    Tokens(Vec<u32>),
    /// Vectors `[N,E]`.
    Real(Vec<f32>),
}

/// The expected classes; must fit the architecture's read-out.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// None: such a batch can be traced, and its loss is 0.
    None,
    /// A class per row `[B]`.
    Rows(Vec<u32>),
    /// A class per step `[N]`; [`IGNORE`] where there is none.
    Steps(Vec<u32>),
}

/// The target of a step that has none.
pub const IGNORE: u32 = u32::MAX;

impl Batch {
    /// Rows of token ids without targets: each word between the start and end tokens of `input`,
    /// where it has them.
    pub fn of_words<W: IntoIterator<Item = u32>>(
        input: &Input,
        words: impl IntoIterator<Item = W>,
    ) -> Batch {
        let (mut offsets, mut ids) = (vec![0], Vec::new());
        for word in words {
            ids.extend(input.start());
            ids.extend(word);
            ids.extend(input.end());
            offsets.push(ids.len());
        }
        let input = Inputs::Tokens(ids);
        Batch { offsets, input, targets: Targets::None, class_weights: vec![], initial: vec![] }
    }

    /// B.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// N: the steps of all rows.
    pub fn steps(&self) -> usize {
        *self.offsets.last().expect("offsets hold at least the 0")
    }

    /// The steps of row `b`.
    pub fn row(&self, b: usize) -> std::ops::Range<usize> {
        self.offsets[b]..self.offsets[b + 1]
    }

    /// Where the rows start.
    ///
    /// # Panics
    /// If given states do not fit the architecture and the rows.
    pub(crate) fn row_start(&self, arch: &Arch) -> RowStart {
        if self.initial.is_empty() {
            return RowStart::Zero;
        }
        let (layers, states) = (arch.layers.len(), self.initial.len());
        assert_eq!(states, layers, "initial states of {states} layers instead of {layers}");
        for (l, (state, layer)) in self.initial.iter().zip(&arch.layers).enumerate() {
            let (found, h) = ([state.h.len(), state.c.len()], self.rows() * layer.units);
            let expected = [h, if layer.cell.has_memory() { h } else { 0 }];
            assert_eq!(found, expected, "numbers of h and c in the initial state of layer {l}");
        }
        let empty = (0..self.rows()).find(|&b| self.row(b).is_empty());
        assert_eq!(empty, None, "a row with an initial state has no step");
        RowStart::Given
    }

    /// The targets, one per read-out; empty without targets.
    pub fn target_ids(&self) -> &[u32] {
        match &self.targets {
            Targets::None => &[],
            Targets::Rows(ids) | Targets::Steps(ids) => ids,
        }
    }

    /// The weight of class `c` in the loss.
    pub fn class_weight(&self, c: u32) -> f64 {
        self.class_weights.get(c as usize).map_or(1.0, |&w| w as f64)
    }

    /// The sum of the class weights over all targets, by which the loss is divided; 1 where that sum
    /// is 0.
    pub fn total_weight(&self) -> f64 {
        let targets = self.target_ids().iter().filter(|&&y| y != IGNORE);
        let total: f64 = targets.map(|&y| self.class_weight(y)).sum();
        if total > 0.0 { total } else { 1.0 }
    }

    /// The number of steps that take the stochastic step: all but the end token of each row.
    pub fn stochastic_steps(&self, end_token: bool) -> usize {
        let nonempty = (0..self.rows()).filter(|&b| !self.row(b).is_empty()).count();
        self.steps() - if end_token { nonempty } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerState;
    use crate::model::{Cell, Gate, Layer, ReadFrom, Readout, When};

    fn arch() -> Arch {
        let (cell, gate) = (Cell::Lstm { peephole: false }, Gate::Sigmoid);
        let input = Input::Tokens { symbols: 3, embedding: 2, start: false, end: false };
        let layers = vec![Layer { cell, units: 4, gate, bias: true, centroids: None }];
        Arch { input, layers, readout: Readout::new(ReadFrom::H, When::Last), classes: 2 }
    }

    #[test]
    #[should_panic(expected = "initial state of layer 0")]
    fn states_of_another_number_of_rows_are_refused() {
        let batch = Batch::of_words(&arch().input, [vec![0], vec![1, 2]]);
        Batch { initial: LayerState::zeros(&arch(), 3), ..batch }.row_start(&arch());
    }

    #[test]
    #[should_panic(expected = "has no step")]
    fn an_empty_row_has_no_initial_state() {
        let batch = Batch::of_words(&arch().input, [vec![0], vec![]]);
        Batch { initial: LayerState::zeros(&arch(), 2), ..batch }.row_start(&arch());
    }
}
