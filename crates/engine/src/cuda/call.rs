//! What a layer is, what it is asked for, and the memory it has for that.

use super::chunks::Cut;
use super::device::{Address, Room};
use super::many::Counts;
use crate::Transition;
use crate::model::{Cell, Gate, Layer, LayerSlots, Reset};

/// A constant of a kernel that is compiled for a layer.
pub type Definition = (&'static str, String);

/// A yes or no, as kernels are told it.
pub fn flag(is: bool) -> String {
    (is as u8).to_string()
}

/// A layer's shape, and where its parameters lie in the flat vector.
pub struct Shape {
    pub layer: Layer,
    pub slots: LayerSlots,
    /// E: the width of what it reads.
    pub width: usize,
    pub end: bool,
    /// Whether it may have kernels made for its shape.
    pub special: bool,
    /// When its scan is cut.
    pub cut: Cut,
}

impl Shape {
    /// What every kernel compiled for a layer is told of it; nothing where the reset gate acts
    /// before the matrix, for which there are only the kernels for any layer.
    pub fn definitions(&self) -> Option<Vec<Definition>> {
        let layer = &self.layer;
        let cell = match layer.cell {
            Cell::Lstm { .. } => "LSTM",
            Cell::Gru { reset: Reset::AfterMatrix } => "GRU_AFTER",
            Cell::Gru { reset: Reset::BeforeMatrix } => return None,
        };
        Some(vec![
            ("QUICK", flag(true)),
            ("D", layer.units.to_string()),
            ("CELL", cell.into()),
            ("HARD", flag(layer.gate == Gate::HardSigmoid)),
            ("PEEPHOLE", flag(layer.cell.has_peephole())),
        ])
    }
}

/// What changes from call to call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    pub transition: Transition,
    /// 1, or anything below: λ itself is in what may change with every update.
    pub lambda: f64,
    /// Which terms of the loss there are.
    pub commits: bool,
    pub weighs_entropy: bool,
    pub presses: bool,
    /// Whether gradients will be asked for.
    pub learns: bool,
    /// Where what may change with every update is.
    pub press: Address,
    /// When h, u and c are read by others.
    pub keep_h: Keep,
    pub keep_u: Keep,
    pub keep_c: Keep,
}

impl Call {
    /// Whether h, u or c of every step are read by others.
    pub fn keeps_every_step(&self) -> bool {
        [self.keep_h, self.keep_u, self.keep_c].contains(&Keep::Always)
    }

    /// The same with h, u and c kept at these times.
    pub fn keeping(self, [keep_h, keep_u, keep_c]: [Keep; 3]) -> Call {
        Call { keep_h, keep_u, keep_c, ..self }
    }
}

/// When something is kept for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    Never,
    /// At the last step of each row.
    AtLast,
    Always,
}

/// What a layer reads.
#[derive(Clone, Copy)]
pub enum Reads {
    /// Tokens, through an embedding at this address.
    Tokens { embedding: Address },
    /// Vectors `[N,E]`: those of the batch at the bottom, else those of the layer below.
    Vectors { at: Address, bottom: bool },
}

/// The gradients a layer is sent: `[readouts][stride]` each, 0 where there is none.
#[derive(Clone, Copy, Default)]
pub struct Outside {
    pub dh: Address,
    pub du: Address,
    pub dc: Address,
    pub stride: usize,
    /// Whether there is one for every step, or for the last of each row.
    pub every_step: bool,
}

/// The memory of one layer.
#[derive(Default)]
pub struct Rooms {
    pub m: Room<f32>,
    pub candidate: Room<f32>,
    pub bias: Room<f32>,
    pub x: Room<f32>,
    pub carry_in: Room<f32>,
    pub gates: Room<f32>,
    pub cells: Room<f32>,
    pub extra: Room<f32>,
    pub c: Room<f32>,
    pub u: Room<f32>,
    pub alpha: Room<f32>,
    pub h: Room<f32>,
    pub da_in: Room<f32>,
    pub da_state: Room<f32>,
    pub d_scores: Room<f32>,
    pub d_mixture: Room<f32>,
    pub sums: Room<f32>,
    pub measured: Room<f64>,
    pub alpha_last: Room<f32>,
    pub d_m: Room<f32>,
    pub d_x: Room<f32>,
    pub d_m_parts: Room<f32>,
    pub d_s_parts: Room<f32>,
    pub d_x_parts: Room<f32>,
    pub d_below: Room<f32>,
    pub arrived: Counts,
}
