//! The read-outs of a group that have a target.

use super::group::{BatchContext, Group};
use super::head::HeadBuffers;
use super::kernels::ROWS;
use crate::IGNORE;
use crate::model::When;

/// A read-out with a target.
#[derive(Clone, Copy, Debug)]
pub struct ReadoutTarget {
    /// The row of the features.
    pub row: usize,
    pub class: usize,
    /// The weight in the loss.
    pub weight: f64,
}

/// The read-outs of a group that have a target.
pub fn targets(context: &BatchContext<'_>, group: &Group) -> Vec<ReadoutTarget> {
    let (batch, ids) = (context.batch, context.batch.target_ids());
    let when = context.arch.readout.when;
    let target = |row: usize| {
        let (readout, r) = (row / ROWS, row % ROWS);
        let at = match (group.rows[r]?, when) {
            (b, When::Last) => b,
            (_, When::EveryStep) if !group.lengths.has(r, readout) => return None,
            (b, When::EveryStep) => batch.row(b).start + readout,
        };
        let &class = ids.get(at).filter(|&&class| class != IGNORE)?;
        let weight = batch.class_weight(class) / context.total_weight;
        Some(ReadoutTarget { row, class: class as usize, weight })
    };
    HeadBuffers::all_rows(context.arch, group.lengths.longest()).filter_map(target).collect()
}
