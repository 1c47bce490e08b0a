//! The shape of a layer, the variable part of a call, and the device memory of a layer.

use super::chunks::ChunkPolicy;
use super::gpu::{Address, Buffer};
use super::grouped::Counters;
use crate::Transition;
use crate::form::{Recurrence, state_blocks};
use crate::layer_state::RowStart;
use crate::model::{Cell, Gate, Layer, LayerSlots, Reset};

/// A macro definition for a kernel that is compiled for a layer.
pub type Define = (&'static str, String);

/// A boolean as a macro value: `0` or `1`.
pub fn flag(is: bool) -> String {
    (is as u8).to_string()
}

/// A layer, and the positions of its parameters in the flat vector.
pub struct LayerShape {
    pub layer: Layer,
    pub slots: LayerSlots,
    /// E, the width of the input.
    pub width: usize,
    pub end: bool,
    /// Whether the layer may use kernels that are compiled for its shape.
    pub specialised: bool,
    /// When the scan is split into chunks.
    pub chunking: ChunkPolicy,
}

impl LayerShape {
    /// The macro definitions that all layer-specific kernels need. `None` for a reset gate before
    /// the matrix, which only the generic kernels support.
    pub fn defines(&self) -> Option<Vec<Define>> {
        let layer = &self.layer;
        let cell = match layer.cell {
            Cell::Lstm { .. } => "LSTM",
            Cell::Gru { reset: Reset::AfterMatrix } => "GRU_AFTER",
            Cell::Gru { reset: Reset::BeforeMatrix } => return None,
        };
        Some(vec![
            ("FAST_MATH", flag(true)),
            ("D", layer.units.to_string()),
            ("CELL", cell.into()),
            ("HARD_GATES", flag(layer.gate == Gate::HardSigmoid)),
            ("PEEPHOLE", flag(layer.cell.has_peephole())),
        ])
    }
}

/// What a scan carries from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedVector {
    /// h, D numbers.
    H,
    /// α, K numbers.
    Alpha,
    /// u and α, D + K numbers, of which h is a mixture.
    UAndAlpha,
}

impl CarriedVector {
    /// Numbers of u or h, and numbers of α.
    pub fn len(self, d: usize, k: usize) -> (usize, usize) {
        match self {
            CarriedVector::H => (d, 0),
            CarriedVector::Alpha => (0, k),
            CarriedVector::UAndAlpha => (d, k),
        }
    }

    /// The number of D-wide blocks that the vector feeds. Of α, a GRU needs h itself, too.
    pub fn state_blocks(self, cell: Cell) -> usize {
        state_blocks(
            cell,
            if self == CarriedVector::H { Recurrence::Direct } else { Recurrence::LowRank },
        )
    }
}

impl From<Recurrence> for CarriedVector {
    fn from(form: Recurrence) -> CarriedVector {
        match form {
            Recurrence::LowRank => CarriedVector::Alpha,
            Recurrence::Direct => CarriedVector::H,
        }
    }
}

/// What may differ between two calls of the same layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerCall {
    pub transition: Transition,
    /// 1, or any value below 1. The value of λ is in the uploaded coefficients.
    pub lambda: f64,
    /// Which loss terms are active.
    pub has_commitment: bool,
    pub has_entropy: bool,
    pub gate_penalty: bool,
    /// Whether a backward pass follows.
    pub saves_for_backward: bool,
    /// Whether rows start from zero or from the states at `first`.
    pub start: RowStart,
    /// Address of the layer's coefficients for this update.
    pub coefficients: Address,
    /// The layer's states before the first step.
    pub first: FirstState,
    /// At which steps h, u and c are stored.
    pub store_h: StoreWhen,
    pub store_u: StoreWhen,
    pub store_c: StoreWhen,
}

impl LayerCall {
    /// Whether h, u or c of every step is stored.
    pub fn stores_every_step(&self) -> bool {
        [self.store_h, self.store_u, self.store_c].contains(&StoreWhen::EveryStep)
    }

    /// The same call, with h, u and c stored at these steps.
    pub fn storing(self, [store_h, store_u, store_c]: [StoreWhen; 3]) -> LayerCall {
        LayerCall { store_h, store_u, store_c, ..self }
    }
}

/// Addresses of h and c `[B,D]` before the first step; 0 where rows start from zero, and c of a GRU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FirstState {
    pub h: Address,
    pub c: Address,
}

/// At which steps a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreWhen {
    Never,
    /// At the last step of each row.
    LastStep,
    EveryStep,
}

/// The input of a layer.
#[derive(Clone, Copy)]
pub enum LayerInput {
    /// Tokens, looked up in the embedding at this address.
    Tokens { embedding: Address },
    /// Vectors `[N,E]`: of the batch for the bottom layer, else of the layer below.
    Vectors { at: Address, bottom: bool },
}

/// Gradients of a layer's outputs from above: `[readouts][stride]` each, 0 where there is none.
#[derive(Clone, Copy, Default)]
pub struct OutputGrads {
    pub dh: Address,
    pub du: Address,
    pub dc: Address,
    pub stride: usize,
    /// Whether there is one gradient per step, or one per row, for its last step.
    pub every_step: bool,
}

/// Addresses of the flat parameter vector and of its gradients.
#[derive(Clone, Copy)]
pub struct ParamAddresses {
    pub params: Address,
    pub grads: Address,
}

/// The device memory of one layer.
#[derive(Default)]
pub struct LayerBuffers {
    pub m: Buffer<f32>,
    pub candidate: Buffer<f32>,
    pub bias: Buffer<f32>,
    pub x: Buffer<f32>,
    pub carry_in: Buffer<f32>,
    pub gates: Buffer<f32>,
    pub cells: Buffer<f32>,
    pub gru_state: Buffer<f32>,
    pub c: Buffer<f32>,
    pub u: Buffer<f32>,
    pub alpha: Buffer<f32>,
    pub h: Buffer<f32>,
    /// The last step of each row: h, then c of a cell that has one.
    pub last: Buffer<f32>,
    /// Gradients of h and c from the step after, of a stepwise scan.
    pub d_carry: Buffer<f32>,
    pub d_cell: Buffer<f32>,
    pub da_in: Buffer<f32>,
    pub da_state: Buffer<f32>,
    pub d_scores: Buffer<f32>,
    pub d_mixture: Buffer<f32>,
    pub sums: Buffer<f32>,
    pub loss_terms: Buffer<f64>,
    pub alpha_last: Buffer<f32>,
    pub d_m: Buffer<f32>,
    pub d_x: Buffer<f32>,
    pub d_m_parts: Buffer<f32>,
    pub d_s_parts: Buffer<f32>,
    pub d_x_parts: Buffer<f32>,
    pub input_grads_below: Buffer<f32>,
    pub arrived: Counters,
}

/// Values for the tests of other modules.
#[cfg(test)]
pub mod testing {
    use super::*;

    /// A training call without additional loss terms and stored outputs.
    pub const CALL: LayerCall = LayerCall {
        transition: Transition::Mixture,
        lambda: 1.0,
        has_commitment: false,
        has_entropy: false,
        gate_penalty: false,
        saves_for_backward: true,
        start: RowStart::Zero,
        coefficients: 0,
        first: FirstState { h: 0, c: 0 },
        store_h: StoreWhen::Never,
        store_u: StoreWhen::Never,
        store_c: StoreWhen::Never,
    };

    /// A layer that reads vectors of three numbers; its parameters have no place.
    pub fn shape(layer: Layer) -> LayerShape {
        let [w_ih, w_hh, b_ih, b_hh, peephole, centroids] = [const { 0..0 }; 6];
        let slots = LayerSlots { w_ih, w_hh, b_ih, b_hh, peephole, centroids };
        let chunking = ChunkPolicy::WhenProfitable;
        LayerShape { layer, slots, width: 3, end: true, specialised: true, chunking }
    }
}
