//! The three products of the scan, on four rows at a time.
//!
//! A *strip* is one vector of units; there are Q = Dp/lanes of them. A matrix `[n, NB·D]` is stored as
//! a *panel* of `[Q][n][NB]` vectors, so that the weights of a strip are contiguous. The gates of a
//! row are `[Q][NB]` vectors.

use super::lane_sums::lane_sums;
use super::simd::{HalfVectors, half_vectors, padded, strips, strips_mut, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// Rows that share every load of a weight.
pub const ROWS: usize = 4;

/// A value for each of the four rows.
pub type PerRow<A> = [A; ROWS];

/// The four rows of a `[ROWS, width]` slice.
#[inline(always)]
pub fn rows(values: &[f32], width: usize) -> PerRow<&[f32]> {
    std::array::from_fn(|r| &values[r * width..(r + 1) * width])
}

/// `acc[r][b] += Σ_j v[r][j] · panel[j][b]`: one strip of units of `v·M`.
#[inline(always)]
pub fn accumulate<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    acc: &mut [[S::f32s; NB]; TILE],
    v: [&[f32]; TILE],
    panel: &[S::f32s],
) {
    let panel = panel.as_chunks::<NB>().0;
    let v = v.map(|v| &v[..panel.len()]);
    for (j, weights) in panel.iter().enumerate() {
        for r in 0..TILE {
            let x = simd.splat_f32s(v[r][j]);
            for b in 0..NB {
                acc[r][b] = simd.mul_add_e_f32s(x, weights[b], acc[r][b]);
            }
        }
    }
}

// PERF: the two adjoints are operations of their own, one compiled function per instruction set
// and NB. Inlined where they are used they take the compiler minutes and run no faster.

/// Whether 20 sums fit in registers: in the 32 of AVX-512, which its half vectors have too. A strip
/// has `per` vectors.
// PERF: for k = 5 and 10, tiles of five read everything half as often as tiles of four (T=784,
// d=256, k=10: 237 ms, 245 in tiles of four).
#[inline(always)]
fn wide_tiles<S: Simd>(per: usize) -> bool {
    S::F32_LANES * per == 16
}

/// `out[r][j] = Σ y[r] · M_j` for all j: the adjoint of [`accumulate`] in v.
pub struct Dots<'a, const NB: usize> {
    /// `[ROWS, width]`; the first n of each row are assigned.
    pub out: &'a mut [f32],
    pub width: usize,
    pub n: usize,
    /// `[ROWS, Q·NB]` vectors.
    pub y: &'a [f32],
    /// `[Q][n][NB]`.
    pub panel: &'a [f32],
}

impl<const NB: usize> WithSimd for Dots<'_, NB> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Dots { out, width, n, y, panel } = self;
        let y = vectors::<S>(y);
        let y: PerRow<&[S::f32s]> =
            std::array::from_fn(|r| &y[r * y.len() / ROWS..][..y.len() / ROWS]);
        let panel = vectors::<S>(panel);
        let mut j = 0;
        while wide_tiles::<S>(1) && j + 5 <= n {
            dots_tile::<S, NB, 5>(simd, out, width, n, j, y, panel);
            j += 5;
        }
        while j + 4 <= n {
            dots_tile::<S, NB, 4>(simd, out, width, n, j, y, panel);
            j += 4;
        }
        while j < n {
            dots_tile::<S, NB, 1>(simd, out, width, n, j, y, panel);
            j += 1;
        }
    }
}

#[inline(always)]
fn dots_tile<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    out: &mut [f32],
    width: usize,
    n: usize,
    first: usize,
    y: PerRow<&[S::f32s]>,
    panel: &[S::f32s],
) {
    let zero = simd.splat_f32s(0.0);
    let mut acc = [[zero; TILE]; ROWS];
    for (q, strip) in panel.chunks_exact(n * NB).enumerate() {
        let weights = &strip[first * NB..][..TILE * NB];
        let y: PerRow<&[S::f32s]> = y.map(|y| &y[q * NB..][..NB]);
        for b in 0..NB {
            for r in 0..ROWS {
                for j in 0..TILE {
                    acc[r][j] = simd.mul_add_e_f32s(y[r][b], weights[j * NB + b], acc[r][j]);
                }
            }
        }
    }
    lane_sums(simd, &acc, &mut out[first..], width);
}

/// `dM[j][b] += Σ_i v_i[j] · da_i[b]` over the I rows of many steps: the adjoint of
/// [`accumulate`] in M.
pub struct Outer<'a, const NB: usize> {
    /// `[Q][n][NB]`.
    pub d_panel: &'a mut [f32],
    pub n: usize,
    /// `[I, width]`; the first n numbers of each row are used.
    pub v: &'a [f32],
    pub width: usize,
    /// D.
    pub units: usize,
    /// `[I, Q·NB]` vectors.
    pub da: &'a [f32],
    pub side_output: SideOutput<'a>,
}

/// A second output of the same pass over da.
// PERF: during the product it costs next to nothing (T=100, d=100, k=5, a table of 28 rows: 2.93 ms a
// step on one thread, 3.12 with a pass of its own).
pub enum SideOutput<'a> {
    None,
    /// `[Q][4]` vectors. The sums of da are added to the first NB of each four.
    BiasSums(&'a mut [f32]),
    /// A table `[U][Q][NB]`, and the row that da of each item is added to.
    Table(&'a mut [f32], &'a [u32]),
}

impl<const NB: usize> WithSimd for Outer<'_, NB> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Outer { d_panel, n, v, width, units, da, side_output } = self;
        let q_count = padded(units) / S::F32_LANES;
        // PERF: Zen 4 executes a 512-bit instruction as two halves, so a half vector takes half the
        // time. With 100 units the last strip has only 4. 1.14 ms per step, 1.15 without (T=16,
        // d=100, k=50, two threads). The sums of a single block are too few to keep the processor
        // busy.
        let half = half_vectors(simd, units).filter(|_| NB > 1);
        let whole = q_count - half.is_some() as usize;
        let (mut items, mut d) =
            (Items { v, width, da, q: 0, q_count }, OuterOutput { d_panel, n, side_output });
        while items.q < whole {
            strip::<S, NB, 1>(simd, items, &mut d);
            items.q += 1;
        }
        if let Some(half) = half {
            strip::<HalfVectors, NB, 2>(half, items, &mut d);
        }
    }
}

/// The rows of many steps, and the strip of units that is computed.
#[derive(Clone, Copy)]
struct Items<'a> {
    v: &'a [f32],
    width: usize,
    da: &'a [f32],
    q: usize,
    q_count: usize,
}

/// Where the products are added.
struct OuterOutput<'a> {
    d_panel: &'a mut [f32],
    n: usize,
    side_output: SideOutput<'a>,
}

/// One strip of units.
#[inline(always)]
fn strip<S: Simd, const NB: usize, const PER: usize>(
    simd: S,
    items: Items<'_>,
    OuterOutput { d_panel, n, side_output }: &mut OuterOutput<'_>,
) {
    let into = &mut strips_mut::<S, PER>(d_panel)[items.q * *n * NB..][..*n * NB];
    let mut j = 0;
    match side_output {
        SideOutput::None => {}
        SideOutput::BiasSums(all) => {
            let mut sum = BlockSum([simd.splat_f32s(0.0); NB]);
            j = first_tile::<S, NB, PER>(simd, into, items, &mut sum);
            let all = &mut strips_mut::<S, PER>(all)[items.q * 4..];
            for (into, sum) in all.iter_mut().zip(sum.0) {
                into[0] = simd.add_f32s(into[0], sum);
            }
        }
        SideOutput::Table(all, rows) => {
            let (table, Items { q, q_count, .. }) = (strips_mut::<S, PER>(all), items);
            let mut sink = TableSink::<S, PER> { table, rows, q, q_count };
            j = first_tile::<S, NB, PER>(simd, into, items, &mut sink);
        }
    }
    rest_of_tiles::<S, NB, PER>(simd, into, items, j);
}

/// Receives da of each item.
trait ItemSink<S: Simd, const NB: usize> {
    fn add_item(&mut self, simd: S, item: usize, da: &[S::f32s; NB]);
}

/// Ignores the items.
struct Discard;

impl<S: Simd, const NB: usize> ItemSink<S, NB> for Discard {
    #[inline(always)]
    fn add_item(&mut self, _: S, _: usize, _: &[S::f32s; NB]) {}
}

/// Sums the items.
struct BlockSum<V, const NB: usize>([V; NB]);

impl<S: Simd, const NB: usize> ItemSink<S, NB> for BlockSum<S::f32s, NB> {
    #[inline(always)]
    fn add_item(&mut self, simd: S, _: usize, da: &[S::f32s; NB]) {
        for (sum, &da) in self.0.iter_mut().zip(da) {
            *sum = simd.add_f32s(*sum, da);
        }
    }
}

/// Adds each item to a row of a table.
struct TableSink<'a, S: Simd, const PER: usize> {
    table: &'a mut [[S::f32s; PER]],
    rows: &'a [u32],
    q: usize,
    q_count: usize,
}

impl<S: Simd, const NB: usize, const PER: usize> ItemSink<S, NB> for TableSink<'_, S, PER> {
    #[inline(always)]
    fn add_item(&mut self, simd: S, item: usize, da: &[S::f32s; NB]) {
        let at = (self.rows[item] as usize * self.q_count + self.q) * NB;
        for (into, &da) in self.table[at..][..NB].iter_mut().zip(da) {
            into[0] = simd.add_f32s(into[0], da);
        }
    }
}

/// The first tile of dM, together with the side output; returns its number of rows.
#[inline(always)]
fn first_tile<S: Simd, const NB: usize, const PER: usize>(
    simd: S,
    strip: &mut [[S::f32s; PER]],
    items: Items<'_>,
    sink: &mut impl ItemSink<S, NB>,
) -> usize {
    match strip.len() / NB {
        0 => outer_tile::<S, NB, 0, PER>(simd, strip, 0, items, sink),
        5.. if wide_tiles::<S>(PER) => outer_tile::<S, NB, 5, PER>(simd, strip, 0, items, sink),
        _ => outer_tile::<S, NB, 1, PER>(simd, strip, 0, items, sink),
    }
}

/// The rows of dM from j on.
#[inline(always)]
fn rest_of_tiles<S: Simd, const NB: usize, const PER: usize>(
    simd: S,
    strip: &mut [[S::f32s; PER]],
    items: Items<'_>,
    mut j: usize,
) {
    let (n, discard) = (strip.len() / NB, &mut Discard);
    while wide_tiles::<S>(PER) && j + 5 <= n {
        j += outer_tile::<S, NB, 5, PER>(simd, strip, j, items, discard);
    }
    while j + 4 <= n {
        j += outer_tile::<S, NB, 4, PER>(simd, strip, j, items, discard);
    }
    while j < n {
        j += outer_tile::<S, NB, 1, PER>(simd, strip, j, items, discard);
    }
}

/// TILE rows of dM from `first` on; returns TILE.
#[inline(always)]
fn outer_tile<S: Simd, const NB: usize, const TILE: usize, const PER: usize>(
    simd: S,
    strip: &mut [[S::f32s; PER]],
    first: usize,
    Items { v, width, da, q, q_count }: Items<'_>,
    sink: &mut impl ItemSink<S, NB>,
) -> usize {
    let mut acc = [[simd.splat_f32s(0.0); NB]; TILE];
    for (item, da) in strips::<S, PER>(da).chunks_exact(q_count * NB).enumerate() {
        let v = &v[item * width + first..][..TILE];
        let blocks = &da[q * NB..][..NB];
        let mut da = [simd.splat_f32s(0.0); NB];
        for b in 0..NB {
            da[b] = blocks[b][0];
        }
        for j in 0..TILE {
            let x = simd.splat_f32s(v[j]);
            for b in 0..NB {
                acc[j][b] = simd.mul_add_e_f32s(x, da[b], acc[j][b]);
            }
        }
        sink.add_item(simd, item, &da);
    }
    let into = &mut strip[first * NB..][..TILE * NB];
    for j in 0..TILE {
        for b in 0..NB {
            let into = &mut into[j * NB + b][0];
            *into = simd.add_f32s(*into, acc[j][b]);
        }
    }
    TILE
}

/// `y += a·x`, element by element.
#[inline(always)]
pub fn add_scaled<S: Simd>(simd: S, y: &mut [f32], a: f32, x: &[f32]) {
    let a = simd.splat_f32s(a);
    for (y, &x) in vectors_mut::<S>(y).iter_mut().zip(vectors::<S>(x)) {
        *y = simd.mul_add_e_f32s(a, x, *y);
    }
}

/// `⟨x, y⟩` of two padded vectors.
#[inline(always)]
pub fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let mut acc = simd.splat_f32s(0.0);
    for (&x, &y) in vectors::<S>(x).iter().zip(vectors::<S>(y)) {
        acc = simd.mul_add_e_f32s(x, y, acc);
    }
    simd.reduce_sum_f32s(acc)
}
