//! Four rows through the whole network: all layers forward, the classifier, all layers backward.

use super::cells::{Gru, GruResetBefore, Lstm};
use super::head::{HeadBackward, HeadBuffers, HeadFeatures, HeadLogits, HeadLoss, ReadoutSums};
use super::kernels::ROWS;
use super::large_head::HeadSums;
use super::padded_head::PaddedHead;
use super::prepare::{PreparedLayer, ReadSource};
use super::row_states::{GroupStates, write_initial};
use super::scan::{self, HeadGradients, LayerScan, RowLengths, StepOutput};
use super::scan_buffers::{RecomputePolicy, ScanBuffers};
use super::sums::ChunkSums;
use super::targets::targets;
use crate::dropout::DropoutMask;
use crate::form::Recurrence;
use crate::key::Rng;
use crate::model::{Arch, Cell, Reset, When};
use crate::objective::RegularisationWeights;
use crate::tokens::BatchTokens;
use crate::{Batch, Fields, Inputs, LayerTrace, Mode, Transition};
use pulp::{Simd, WithSimd};

/// What all groups of a batch share.
#[derive(Clone, Copy)]
pub struct BatchContext<'a> {
    pub arch: &'a Arch,
    pub batch: &'a Batch,
    pub tokens: &'a BatchTokens,
    pub layers: &'a [PreparedLayer],
    pub table: &'a [f32],
    pub head: &'a PaddedHead,
    pub head_sums: HeadSums,
    pub mode: Mode,
    pub weights: RegularisationWeights<f32>,
    pub margin: f32,
    /// The masks of the features.
    pub dropout: DropoutMask,
    pub total_weight: f64,
    pub recompute: RecomputePolicy,
}

/// Up to four rows of a batch, the longest first.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub rows: [Option<usize>; ROWS],
    pub lengths: RowLengths,
}

/// All rows of a batch in groups of similar length: a group takes as long as its longest row.
pub fn groups(arch: &Arch, batch: &Batch) -> Vec<Group> {
    let mut order: Vec<usize> = (0..batch.rows()).collect();
    order.sort_by_key(|&b| (std::cmp::Reverse(batch.row(b).len()), b));
    let group = |rows: &[usize]| {
        let rows: [Option<usize>; ROWS] = std::array::from_fn(|r| rows.get(r).copied());
        let lengths = rows.map(|row| row.map_or(0, |b| batch.row(b).len()));
        let end_token = arch.input.end().is_some();
        Group { rows, lengths: RowLengths { rows: lengths, end_token } }
    };
    order.chunks(ROWS).map(group).collect()
}

/// The memory of one worker.
#[derive(Default)]
pub struct GroupBuffers {
    layers: Vec<ScanBuffers>,
    head: HeadBuffers,
}

/// One row's part of a trace.
pub struct RowTrace {
    pub row: usize,
    pub layers: Vec<LayerTrace<f32>>,
    pub logits: Vec<f32>,
}

/// Loss and gradients of one group, added to `sums`.
pub struct TrainGroup<'a> {
    pub context: BatchContext<'a>,
    pub group: Group,
    pub buffers: &'a mut GroupBuffers,
    pub sums: &'a mut ChunkSums,
    /// The memory of the read-outs, if they are kept.
    pub index: usize,
}

impl WithSimd for TrainGroup<'_> {
    type Output = Option<GroupStates>;

    fn with_simd<S: Simd>(self, simd: S) -> Option<GroupStates> {
        let TrainGroup { context, group, buffers, sums, index } = self;
        let states = forward_all(simd, context, &group, buffers, None);
        sums.readouts.add(loss(simd, &context, &group, &mut buffers.head));
        simd.vectorize(HeadBackward {
            buffers: &mut buffers.head,
            head: context.head,
            d_head: &mut sums.head,
        });
        if context.head_sums == HeadSums::InBlocks {
            std::mem::swap(&mut buffers.head.readouts, &mut sums.groups[index]);
        }
        drop_out(&context, &group, buffers.head.d_features_mut());
        backward_all(simd, context, &group, buffers, sums);
        states
    }
}

/// The loss of one group, and the rows' last states if the batch gives their initial ones.
pub struct LossGroup<'a> {
    pub context: BatchContext<'a>,
    pub group: Group,
    pub buffers: &'a mut GroupBuffers,
}

impl WithSimd for LossGroup<'_> {
    type Output = (ReadoutSums, Option<GroupStates>);

    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let LossGroup { context, group, buffers } = self;
        let states = forward_all(simd, context, &group, buffers, None);
        (loss(simd, &context, &group, &mut buffers.head), states)
    }
}

/// The loss of the read-outs that have a target. Replaces their logits by the gradients of them.
fn loss<S: Simd>(
    simd: S,
    context: &BatchContext<'_>,
    group: &Group,
    head: &mut HeadBuffers,
) -> ReadoutSums {
    let targets = targets(context, group);
    head.readouts.rows.clear();
    head.readouts.rows.extend(targets.iter().map(|target| target.row));
    simd.vectorize(HeadLogits { buffers: head, head: context.head });
    let (logits, margin) = (&mut head.logits, context.margin);
    simd.vectorize(HeadLoss { logits, targets: &targets, margin })
}

/// The traces of one group.
pub struct TraceGroup<'a> {
    pub context: BatchContext<'a>,
    pub group: Group,
    pub buffers: &'a mut GroupBuffers,
    pub fields: Fields,
}

impl WithSimd for TraceGroup<'_> {
    type Output = (Vec<RowTrace>, Option<GroupStates>);

    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let TraceGroup { context, group, buffers, fields } = self;
        let empty = || vec![LayerTrace::default(); context.layers.len()];
        let mut traces: [Vec<LayerTrace<f32>>; ROWS] = std::array::from_fn(|_| empty());
        let observes = fields != Fields::default();
        let mut record = |l: usize, t: usize, output: &StepOutput<'_>| {
            let p = &context.layers[l];
            for r in (0..ROWS).filter(|&r| group.lengths.has(r, t)) {
                let out = &mut traces[r][l];
                for (wanted, into, from, width, padded) in [
                    (fields.alpha, &mut out.alpha, output.alpha, p.k, p.kp),
                    (fields.u, &mut out.u, output.u, p.d, p.dp),
                    (fields.h, &mut out.h, output.h, p.d, p.dp),
                    (fields.c, &mut out.c, output.c, p.d, p.dp),
                ] {
                    if wanted && !from.is_empty() {
                        into.extend_from_slice(&from[r * padded..][..width]);
                    }
                }
            }
        };
        let states = forward_all(simd, context, &group, buffers, observes.then_some(&mut record));
        let rows = HeadBuffers::all_rows(context.arch, group.lengths.longest());
        buffers.head.readouts.rows.clear();
        buffers.head.readouts.rows.extend(rows);
        simd.vectorize(HeadLogits { buffers: &mut buffers.head, head: context.head });
        let classes = context.arch.classes;
        let logits = |r: usize| -> Vec<f32> {
            let readouts = match context.arch.readout.when {
                When::Last => 1,
                When::EveryStep => group.lengths.rows[r],
            };
            let at = |i: usize| &buffers.head.logits[(i * ROWS + r) * classes..][..classes];
            (0..readouts).flat_map(at).copied().collect()
        };
        let rows = group.rows.into_iter().zip(traces).enumerate();
        let rows = rows.filter_map(|(r, (row, layers))| {
            row.map(|row| RowTrace { row, layers, logits: logits(r) })
        });
        (rows.collect(), states)
    }
}

/// Writes the four rows' inputs to the buffers that the bottom layer reads.
fn read_inputs(context: &BatchContext<'_>, group: &Group, buffers: &mut ScanBuffers) {
    let p = &context.layers[0];
    let steps = group.lengths.longest();
    let at = |t: usize, r: usize| {
        let row = group.rows[r].filter(|_| group.lengths.has(r, t));
        row.map(|b| context.batch.row(b).start + t)
    };
    match &context.batch.input {
        Inputs::Tokens(_) => {
            buffers.table_rows.clear();
            buffers.table_rows.resize(steps, [0; ROWS]);
            for (r, b) in group.rows.iter().enumerate().filter_map(|(r, row)| Some((r, (*row)?))) {
                let places = &context.tokens.places[context.batch.row(b)];
                let table_rows = buffers.table_rows.iter_mut().zip(places);
                table_rows.for_each(|(rows, &place)| rows[r] = place);
            }
        }
        Inputs::Real(x) => {
            buffers.read.resize(steps * ROWS * p.n_in_p);
            for (i, into) in buffers.read.chunks_exact_mut(p.n_in_p).enumerate() {
                into.fill(0.0);
                if let Some(n) = at(i / ROWS, i % ROWS) {
                    into[..p.n_in].copy_from_slice(&x[n * p.n_in..][..p.n_in]);
                }
            }
        }
    }
}

/// Called with the layer, the step and what the step computed.
type StepObserver<'a> = &'a mut dyn FnMut(usize, usize, &StepOutput<'_>);

/// All layers forward, and the features of the classifier. Returns the rows' last states if the batch gives their
/// initial ones.
fn forward_all<S: Simd>(
    simd: S,
    context: BatchContext<'_>,
    group: &Group,
    buffers: &mut GroupBuffers,
    mut observer: Option<StepObserver<'_>>,
) -> Option<GroupStates> {
    let (count, lengths) = (context.layers.len(), group.lengths);
    buffers.layers.resize_with(count, ScanBuffers::default);
    read_inputs(&context, group, &mut buffers.layers[0]);
    buffers.head.resize(context.arch, lengths.longest());
    let mut states = GroupStates::new(context.arch, context.batch, *group);
    let every_step = context.arch.readout.when == When::EveryStep;
    let is_read = |t: usize| every_step || (0..ROWS).any(|r| lengths.is_last(r, t));
    for l in 0..count {
        let (below, own) = buffers.layers.split_at_mut(l);
        let below = below.last().map(|buffers| (&context.layers[l - 1], buffers));
        let mut rngs = rngs(&context, group, l);
        let top = l + 1 == count;
        let head = &mut buffers.head;
        let observes = observer.is_some();
        let keeps_states = states.is_some();
        let on_step = &mut |t: usize, output: StepOutput<'_>| {
            if top && is_read(t) {
                head.store(context.arch, &lengths, t, &output);
            }
            if let Some(observer) = &mut observer {
                observer(l, t, &output);
            }
            if let Some(states) = &mut states {
                states.store(l, &lengths, t, &output);
            }
        };
        let is_last = |t: usize| (0..ROWS).any(|r| lengths.is_last(r, t));
        let observed = &|t: usize| observes || (top && is_read(t)) || (keeps_states && is_last(t));
        let initial = |buffers: &mut ScanBuffers| {
            if let Some(given) = context.batch.initial.get(l) {
                write_initial(given, group, &context.layers[l], buffers);
            }
        };
        let scan = layer_scan(&context, group, l);
        let own = &mut own[0];
        match variant(scan.p) {
            CellVariant::Lstm => scan::forward::<S, Lstm>(
                simd, scan, own, below, &mut rngs, &initial, on_step, observed,
            ),
            CellVariant::GruLowRank => scan::forward::<S, Gru<4>>(
                simd, scan, own, below, &mut rngs, &initial, on_step, observed,
            ),
            CellVariant::GruDirect => scan::forward::<S, Gru<3>>(
                simd, scan, own, below, &mut rngs, &initial, on_step, observed,
            ),
            CellVariant::GruResetBefore => scan::forward::<S, GruResetBefore>(
                simd, scan, own, below, &mut rngs, &initial, on_step, observed,
            ),
        }
    }
    drop_out(&context, group, buffers.head.features_mut());
    states
}

/// Multiplies the features of four rows, or their gradients, by their masks.
fn drop_out(context: &BatchContext<'_>, group: &Group, mut features: HeadFeatures<'_>) {
    if !context.dropout.is_active() {
        return;
    }
    for (r, b) in group.rows.iter().enumerate().filter_map(|(r, row)| Some((r, (*row)?))) {
        match context.arch.readout.when {
            When::Last => features.drop_out(context.arch, context.dropout, (0, r), b),
            When::EveryStep => {
                for (t, n) in context.batch.row(b).enumerate() {
                    features.drop_out(context.arch, context.dropout, (t, r), n);
                }
            }
        }
    }
}

/// All layers backward.
fn backward_all<S: Simd>(
    simd: S,
    context: BatchContext<'_>,
    group: &Group,
    buffers: &mut GroupBuffers,
    sums: &mut ChunkSums,
) {
    let count = context.layers.len();
    let ScanBuffers { table_rows, d_table_rows, .. } = &mut buffers.layers[0];
    // Where a row has ended its gradient is zero: it may be added to any row.
    d_table_rows.clear();
    d_table_rows.resize(table_rows.len(), [0; ROWS]);
    for (r, &length) in group.lengths.rows.iter().enumerate() {
        for (into, rows) in d_table_rows.iter_mut().zip(table_rows.iter()).take(length) {
            into[r] = sums.table_rows[rows[r] as usize];
        }
    }
    for l in (0..count).rev() {
        let (below, rest) = buffers.layers.split_at_mut(l);
        let below = below.last().map(|buffers| (&context.layers[l - 1], buffers));
        let (own, above) = rest.split_first_mut().expect("this layer");
        let above = above.first().map(|buffers| (&context.layers[l + 1], buffers));
        let head = match above {
            None => buffers.head.gradients(context.arch),
            Some(_) => HeadGradients::default(),
        };
        let scan = layer_scan(&context, group, l);
        let (d, terms) = (&mut sums.panels[l], &mut sums.regularisation[l]);
        match variant(scan.p) {
            CellVariant::Lstm => {
                scan::backward::<S, Lstm>(simd, scan, own, below, above, head, d, terms)
            }
            CellVariant::GruLowRank => {
                scan::backward::<S, Gru<4>>(simd, scan, own, below, above, head, d, terms)
            }
            CellVariant::GruDirect => {
                scan::backward::<S, Gru<3>>(simd, scan, own, below, above, head, d, terms)
            }
            CellVariant::GruResetBefore => {
                scan::backward::<S, GruResetBefore>(simd, scan, own, below, above, head, d, terms)
            }
        }
    }
}

fn layer_scan<'a>(context: &BatchContext<'a>, group: &Group, l: usize) -> LayerScan<'a> {
    let p = &context.layers[l];
    let above = context.layers.get(l + 1);
    let emits_hidden = above.is_some_and(|above| above.source == ReadSource::Hidden);
    // The commitment loss is a mean over the units.
    let mut weights = context.weights;
    weights.commitment /= p.d as f32;
    let (lengths, mode, recompute) = (group.lengths, context.mode, context.recompute);
    let table = if l == 0 { context.table } else { &[] };
    let start = context.batch.row_start(context.arch);
    LayerScan { p, table, lengths, mode, weights, emits_hidden, start, recompute }
}

/// A generator for each row in layer l; none where nothing is sampled.
fn rngs(context: &BatchContext<'_>, group: &Group, l: usize) -> Vec<Rng> {
    if context.mode.transition == Transition::Mixture {
        return vec![];
    }
    let rng = |row: &Option<usize>| context.mode.transition.row_rng(row.unwrap_or(0), l);
    group.rows.iter().map(rng).collect()
}

/// The cell kernels that are compiled.
enum CellVariant {
    Lstm,
    GruLowRank,
    GruDirect,
    GruResetBefore,
}

fn variant(p: &PreparedLayer) -> CellVariant {
    match (p.cell, p.form) {
        (Cell::Lstm { .. }, _) => CellVariant::Lstm,
        (Cell::Gru { reset: Reset::BeforeMatrix }, _) => CellVariant::GruResetBefore,
        (Cell::Gru { .. }, Recurrence::LowRank) => CellVariant::GruLowRank,
        (Cell::Gru { .. }, Recurrence::Direct) => CellVariant::GruDirect,
    }
}
