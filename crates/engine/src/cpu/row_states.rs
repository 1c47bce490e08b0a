//! The states in which the rows of a group start, and those after their last steps.

use super::group::Group;
use super::kernels::ROWS;
use super::prepare::PreparedLayer;
use super::scan::{RowLengths, StepOutput};
use super::scan_buffers::ScanBuffers;
use crate::Batch;
use crate::LayerState;
use crate::layer_state::RowStart;
use crate::model::Arch;

/// The states of four rows after their last steps, bottom layer first.
pub struct GroupStates {
    group: Group,
    layers: Vec<LayerState>,
}

impl GroupStates {
    /// Space for the states; `None` if rows start from zero.
    pub fn new(arch: &Arch, batch: &Batch, group: Group) -> Option<GroupStates> {
        let layers = || LayerState::zeros(arch, ROWS);
        (batch.row_start(arch) == RowStart::Given).then(|| GroupStates { group, layers: layers() })
    }

    /// Stores h and c of layer `l` for the rows that end with step t.
    pub fn store(&mut self, l: usize, lengths: &RowLengths, t: usize, output: &StepOutput<'_>) {
        let LayerState { h, c } = &mut self.layers[l];
        for r in (0..ROWS).filter(|&r| lengths.is_last(r, t)) {
            copy_row(output.h, h, r);
            copy_row(output.c, c, r);
        }
    }
}

/// Copies row r of padded rows to row r of rows without padding; `into` may be empty.
fn copy_row(from: &[f32], into: &mut [f32], r: usize) {
    let (padded, width) = (from.len() / ROWS, into.len() / ROWS);
    into[r * width..][..width].copy_from_slice(&from[r * padded..][..width]);
}

/// The states of all rows of a batch, from those of its groups.
pub fn collect(
    arch: &Arch,
    rows: usize,
    groups: impl IntoIterator<Item = GroupStates>,
) -> Vec<LayerState> {
    let mut groups = groups.into_iter().peekable();
    if groups.peek().is_none() {
        return vec![];
    }
    let mut all = LayerState::zeros(arch, rows);
    for GroupStates { group, layers } in groups {
        let members = group.rows.iter().enumerate();
        for (r, b) in members.filter_map(|(r, row)| Some((r, (*row)?))) {
            for (into, from) in all.iter_mut().zip(&layers) {
                for (into, from) in [(&mut into.h, &from.h), (&mut into.c, &from.c)] {
                    let width = from.len() / ROWS;
                    into[b * width..][..width].copy_from_slice(&from[r * width..][..width]);
                }
            }
        }
    }
    all
}

/// Writes the given initial states of a group's rows to the first step of what the layer carries.
pub fn write_initial(
    given: &LayerState,
    group: &Group,
    p: &PreparedLayer,
    buffers: &mut ScanBuffers,
) {
    let members = group.rows.iter().enumerate();
    for (r, b) in members.filter_map(|(r, row)| Some((r, (*row)?))) {
        buffers.carry[r * p.np..][..p.d].copy_from_slice(&given.h[b * p.d..][..p.d]);
        if p.cell.has_memory() {
            buffers.c[r * p.dp..][..p.d].copy_from_slice(&given.c[b * p.d..][..p.d]);
        }
    }
}
