//! Four rows through the whole network: all layers up, the classifier, all layers down.

use super::cells::{Gru, GruResetBefore, Lstm};
use super::head::{self, Head, HeadSpace};
use super::kernels::ROWS;
use super::prepare::{Prepared, Source};
use super::scan::{self, Cut, FromHead, Left, Lengths, Pressure, Scan, Space};
use super::sums::Sums;
use crate::form::Form;
use crate::key::Stream;
use crate::model::{Arch, Cell, Reset, When};
use crate::tokens::Tokens;
use crate::{Batch, Fields, IGNORE, Inputs, LayerTrace, Mode, Transition};
use pulp::{Simd, WithSimd};

/// What all groups of a batch share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub arch: &'a Arch,
    pub batch: &'a Batch,
    pub tokens: &'a Tokens,
    pub layers: &'a [Prepared],
    pub table: &'a [f32],
    pub head: &'a Head,
    pub mode: Mode,
    pub pressure: Pressure,
    pub margin: f32,
    pub total_weight: f64,
    pub cut: Cut,
}

/// Up to four rows of a batch, the longest first.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub rows: [Option<usize>; ROWS],
    pub lengths: Lengths,
}

/// All rows of a batch in groups of similar length: a group takes as long as its longest row.
pub fn groups(arch: &Arch, batch: &Batch) -> Vec<Group> {
    let mut order: Vec<usize> = (0..batch.rows()).collect();
    order.sort_by_key(|&b| (std::cmp::Reverse(batch.row(b).len()), b));
    let group = |rows: &[usize]| {
        let rows: [Option<usize>; ROWS] = std::array::from_fn(|r| rows.get(r).copied());
        let lengths = rows.map(|row| row.map_or(0, |b| batch.row(b).len()));
        let end_token = arch.input.end().is_some();
        Group { rows, lengths: Lengths { rows: lengths, end_token } }
    };
    order.chunks(ROWS).map(group).collect()
}

/// The memory of one worker.
#[derive(Default)]
pub struct GroupSpace {
    layers: Vec<Space>,
    head: HeadSpace,
}

/// One row's part of a trace.
pub struct RowTrace {
    pub row: usize,
    pub layers: Vec<LayerTrace<f32>>,
    pub logits: Vec<f32>,
}

/// Loss and gradients of one group, added to `sums`.
pub struct Learn<'a> {
    pub shared: Shared<'a>,
    pub group: Group,
    pub space: &'a mut GroupSpace,
    pub sums: &'a mut Sums,
}

impl WithSimd for Learn<'_> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        let Learn { shared, group, space, sums } = self;
        up(simd, shared, &group, space, None);
        let when = shared.arch.readout.when;
        let ids = shared.batch.target_ids();
        let target = |readout: usize, r: usize| match group.rows[r] {
            Some(b) if when == When::Last => ids.get(b).copied().unwrap_or(IGNORE),
            Some(b) if group.lengths.has(r, readout) => {
                ids.get(shared.batch.row(b).start + readout).copied().unwrap_or(IGNORE)
            }
            _ => IGNORE,
        };
        let readouts = if when == When::Last { 1 } else { group.lengths.longest() };
        let targets: Vec<(u32, f64)> = (0..readouts * ROWS)
            .map(|i| target(i / ROWS, i % ROWS))
            .map(|y| (y, shared.batch.class_weight(y) / shared.total_weight))
            .collect();
        let said = simd.vectorize(head::Learn {
            space: &mut space.head,
            head: shared.head,
            targets: &targets,
            margin: shared.margin,
            d_head: &mut sums.head,
        });
        sums.said.loss += said.loss;
        sums.said.correct += said.correct;
        sums.said.counted += said.counted;
        down(simd, shared, &group, space, sums);
    }
}

/// What one group did.
pub struct Observe<'a> {
    pub shared: Shared<'a>,
    pub group: Group,
    pub space: &'a mut GroupSpace,
    pub fields: Fields,
}

impl WithSimd for Observe<'_> {
    type Output = Vec<RowTrace>;

    fn with_simd<S: Simd>(self, simd: S) -> Vec<RowTrace> {
        let Observe { shared, group, space, fields } = self;
        let empty = || vec![LayerTrace::default(); shared.layers.len()];
        let mut traces: [Vec<LayerTrace<f32>>; ROWS] = std::array::from_fn(|_| empty());
        let observes = fields != Fields::default();
        let mut record = |l: usize, t: usize, left: &Left<'_>| {
            let p = &shared.layers[l];
            for r in (0..ROWS).filter(|&r| group.lengths.has(r, t)) {
                let out = &mut traces[r][l];
                for (wanted, into, from, width, padded) in [
                    (fields.alpha, &mut out.alpha, left.alpha, p.k, p.kp),
                    (fields.u, &mut out.u, left.u, p.d, p.dp),
                    (fields.h, &mut out.h, left.h, p.d, p.dp),
                    (fields.c, &mut out.c, left.c, p.d, p.dp),
                ] {
                    if wanted && !from.is_empty() {
                        into.extend_from_slice(&from[r * padded..][..width]);
                    }
                }
            }
        };
        up(simd, shared, &group, space, observes.then_some(&mut record));
        let classes = shared.arch.classes;
        let logits = |r: usize| -> Vec<f32> {
            let readouts = match shared.arch.readout.when {
                When::Last => 1,
                When::EveryStep => group.lengths.rows[r],
            };
            let at = |i: usize| &space.head.logits[(i * ROWS + r) * classes..][..classes];
            (0..readouts).flat_map(at).copied().collect()
        };
        let rows = group.rows.into_iter().zip(traces).enumerate();
        rows.filter_map(|(r, (row, layers))| {
            row.map(|row| RowTrace { row, layers, logits: logits(r) })
        })
        .collect()
    }
}

/// The four rows' inputs, where the bottom layer reads them.
fn read_inputs(shared: &Shared<'_>, group: &Group, space: &mut Space) {
    let p = &shared.layers[0];
    let steps = group.lengths.longest();
    let at = |t: usize, r: usize| {
        let row = group.rows[r].filter(|_| group.lengths.has(r, t));
        row.map(|b| shared.batch.row(b).start + t)
    };
    match &shared.batch.input {
        Inputs::Tokens(_) => {
            space.ids.clear();
            space.ids.resize(steps, [0; ROWS]);
            for (r, b) in group.rows.iter().enumerate().filter_map(|(r, row)| Some((r, (*row)?))) {
                let places = &shared.tokens.places[shared.batch.row(b)];
                space.ids.iter_mut().zip(places).for_each(|(ids, &place)| ids[r] = place);
            }
        }
        Inputs::Real(x) => {
            space.read.resize(steps * ROWS * p.n_in_p);
            for (i, into) in space.read.chunks_exact_mut(p.n_in_p).enumerate() {
                into.fill(0.0);
                if let Some(n) = at(i / ROWS, i % ROWS) {
                    into[..p.n_in].copy_from_slice(&x[n * p.n_in..][..p.n_in]);
                }
            }
        }
    }
}

/// Who watches: told the layer, the step and what it left behind.
type Watch<'a> = &'a mut dyn FnMut(usize, usize, &Left<'_>);

/// All layers forward, and the classifier.
fn up<S: Simd>(
    simd: S,
    shared: Shared<'_>,
    group: &Group,
    space: &mut GroupSpace,
    mut watch: Option<Watch<'_>>,
) {
    let (count, lengths) = (shared.layers.len(), group.lengths);
    space.layers.resize_with(count, Space::default);
    read_inputs(&shared, group, &mut space.layers[0]);
    space.head.fit(shared.arch, lengths.longest());
    let every_step = shared.arch.readout.when == When::EveryStep;
    let is_read = |t: usize| every_step || (0..ROWS).any(|r| lengths.is_last(r, t));
    for l in 0..count {
        let (below, own) = space.layers.split_at_mut(l);
        let below = below.last().map(|space| (&shared.layers[l - 1], space));
        let mut draws = draws(&shared, group, l);
        let top = l + 1 == count;
        let head = &mut space.head;
        let observes = watch.is_some();
        let seen = &mut |t: usize, left: Left<'_>| {
            if top && is_read(t) {
                head.keep(shared.arch, &lengths, t, &left);
            }
            if let Some(watch) = &mut watch {
                watch(l, t, &left);
            }
        };
        let observed = &|t: usize| observes || (top && is_read(t));
        let scan = scan_of(&shared, group, l);
        let own = &mut own[0];
        match kind(scan.p) {
            KindOf::Lstm => {
                scan::forward::<S, Lstm>(simd, scan, own, below, &mut draws, seen, observed)
            }
            KindOf::GruLowRank => {
                scan::forward::<S, Gru<4>>(simd, scan, own, below, &mut draws, seen, observed)
            }
            KindOf::GruDirect => {
                scan::forward::<S, Gru<3>>(simd, scan, own, below, &mut draws, seen, observed)
            }
            KindOf::GruResetBefore => scan::forward::<S, GruResetBefore>(
                simd, scan, own, below, &mut draws, seen, observed,
            ),
        }
    }
    simd.vectorize(head::Say { space: &mut space.head, head: shared.head });
}

/// All layers backward.
fn down<S: Simd>(
    simd: S,
    shared: Shared<'_>,
    group: &Group,
    space: &mut GroupSpace,
    sums: &mut Sums,
) {
    let count = shared.layers.len();
    let Space { ids, d_ids, .. } = &mut space.layers[0];
    // Where a row has ended nothing is added: to any place.
    d_ids.clear();
    d_ids.resize(ids.len(), [0; ROWS]);
    for (r, &length) in group.lengths.rows.iter().enumerate() {
        for (into, ids) in d_ids.iter_mut().zip(ids.iter()).take(length) {
            into[r] = sums.places[ids[r] as usize];
        }
    }
    for l in (0..count).rev() {
        let (below, rest) = space.layers.split_at_mut(l);
        let below = below.last().map(|space| (&shared.layers[l - 1], space));
        let (own, above) = rest.split_first_mut().expect("this layer");
        let above = above.first().map(|space| (&shared.layers[l + 1], space));
        let head = match above {
            None => space.head.gradients(shared.arch),
            Some(_) => FromHead::default(),
        };
        let scan = scan_of(&shared, group, l);
        let (d, m) = (&mut sums.panels[l], &mut sums.measured[l]);
        match kind(scan.p) {
            KindOf::Lstm => scan::backward::<S, Lstm>(simd, scan, own, below, above, head, d, m),
            KindOf::GruLowRank => {
                scan::backward::<S, Gru<4>>(simd, scan, own, below, above, head, d, m)
            }
            KindOf::GruDirect => {
                scan::backward::<S, Gru<3>>(simd, scan, own, below, above, head, d, m)
            }
            KindOf::GruResetBefore => {
                scan::backward::<S, GruResetBefore>(simd, scan, own, below, above, head, d, m)
            }
        }
    }
}

fn scan_of<'a>(shared: &Shared<'a>, group: &Group, l: usize) -> Scan<'a> {
    let p = &shared.layers[l];
    let above = shared.layers.get(l + 1);
    let emits_hidden = above.is_some_and(|above| above.source == Source::Hidden);
    // The commitment is a mean over the units.
    let mut pressure = shared.pressure;
    pressure.commitment /= p.d as f32;
    let (lengths, mode, cut) = (group.lengths, shared.mode, shared.cut);
    let table = if l == 0 { shared.table } else { &[] };
    Scan { p, table, lengths, mode, pressure, emits_hidden, cut }
}

/// The draws of each row in layer l, if there are any; an absent row has none to make.
fn draws(shared: &Shared<'_>, group: &Group, l: usize) -> Vec<Stream> {
    if shared.mode.transition == Transition::Mixture {
        return vec![];
    }
    let stream = |row: &Option<usize>| shared.mode.transition.draws(row.unwrap_or(0), l);
    group.rows.iter().map(stream).collect()
}

/// The compiled kinds.
enum KindOf {
    Lstm,
    GruLowRank,
    GruDirect,
    GruResetBefore,
}

fn kind(p: &Prepared) -> KindOf {
    match (p.cell, p.form) {
        (Cell::Lstm { .. }, _) => KindOf::Lstm,
        (Cell::Gru { reset: Reset::BeforeMatrix }, _) => KindOf::GruResetBefore,
        (Cell::Gru { .. }, Form::LowRank) => KindOf::GruLowRank,
        (Cell::Gru { .. }, Form::Direct) => KindOf::GruDirect,
    }
}
