//! A memory-less network in the form the enclosures read it.

use super::interval::Interval;
use super::matrix::{Factor, Matrix, product, upper_product};
use crate::model::{Arch, Cell, Gate, LayerSlots, Layout, Model, Reset, Score};

/// A network of GRU layers with centroids.
pub struct Network {
    /// Bottom first.
    pub layers: Vec<Layer>,
    /// Where each layer's α begins in a state; n at the end.
    pub offsets: Vec<usize>,
    /// The classifier.
    pub head: Head,
    /// Its shape.
    pub arch: Arch,
}

/// One layer.
pub struct Layer {
    /// K.
    pub k: usize,
    /// D.
    pub d: usize,
    /// The width of what it reads.
    pub width: usize,
    /// The gates' nonlinearity.
    pub gate: Gate,
    /// Where the reset gate acts.
    pub reset: Reset,
    /// How u is compared with centroids.
    pub score: Score,
    /// τ.
    pub tau: f64,
    /// S `[K,D]`.
    pub s: Vec<f64>,
    /// The same, to multiply α with.
    pub mixture: Factor,
    /// From α to h, q_r, q_z and, with the reset gate after the matrix, q_n: `[K, (3 or 4)·D]`.
    pub state: Factor,
    /// What is added to q `[3D]`.
    pub state_bias: Vec<f64>,
    /// `Σ_d |S_id||R_jd|` `[K,3D]`.
    pub state_size: Vec<f64>,
    /// R_nᵀ `[D,D]`.
    pub candidate: Factor,
    /// What it reads.
    pub input: Input,
    /// |b_ih| + |b_hh| `[3D]`.
    pub bias_size: Vec<f64>,
    /// |b_hh| `[3D]`.
    pub recurrent_bias_size: Vec<f64>,
}

/// Where a layer's input part comes from.
pub enum Input {
    /// The bottom layer: a constant per token.
    Tokens(Vec<Constant>),
    /// A layer above: what the layer below hands up.
    Below(Below),
}

/// `W x + b` of a token.
pub struct Constant {
    /// `[3D]`.
    pub value: Vec<Interval>,
    /// `Σ_e |W_je||x_e|` `[3D]`.
    pub size: Vec<f64>,
}

/// Matrices from the layer below.
pub struct Below {
    /// S₋Wᵀ `[K₋,3D]`.
    pub from_alpha: Factor,
    /// `Σ_d |S₋_id||W_jd|` `[K₋,3D]`.
    pub alpha_size: Vec<f64>,
    /// Wᵀ `[D₋,3D]`.
    pub from_hidden: Factor,
    /// `[3D]`.
    pub bias: Vec<Interval>,
}

/// The classifier.
pub struct Head {
    /// Wᵀ `[D,C]`.
    pub weight: Matrix,
    /// `[C]`.
    pub bias: Vec<f64>,
}

impl Network {
    /// Of a model whose layers are all GRUs with centroids.
    ///
    /// # Panics
    /// If one is not; [`TransitionSystem`](crate::extract::TransitionSystem) refuses such a model.
    pub fn new(model: &Model<f64>) -> Network {
        let (arch, layout) = (model.arch.clone(), model.layout());
        let layers: Vec<Layer> =
            (0..arch.layers.len()).map(|l| layer(&arch, &layout, &model.params, l)).collect();
        let mut offsets = vec![0];
        layers.iter().for_each(|layer| offsets.push(offsets[offsets.len() - 1] + layer.k));
        let top = layers.last().expect("at least one layer");
        let weight = Matrix::exact(top.d, model.params[layout.head_weight.clone()].to_vec());
        let weight = weight.transposed();
        let bias = model.params[layout.head_bias.clone()].to_vec();
        Network { offsets, head: Head { weight, bias }, layers, arch }
    }

    /// Whether decisions depend on the last step and not on the state alone.
    pub fn reads_u_on_the_way(&self) -> bool {
        self.arch.readout.from.u() && self.arch.input.end().is_none()
    }

    /// Numbers of a state: the K of all layers together.
    pub fn width(&self) -> usize {
        self.offsets[self.layers.len()]
    }
}

fn layer(arch: &Arch, layout: &Layout, params: &[f64], l: usize) -> Layer {
    let (shape, slots) = (&arch.layers[l], &layout.layers[l]);
    let centroids = shape.centroids.expect("a layer with centroids");
    let Cell::Gru { reset } = shape.cell else { panic!("layer {l} is no GRU") };
    let (d, k) = (shape.units, centroids.k);
    let s = params[slots.centroids.clone()].to_vec();
    let r = Matrix::exact(d, params[slots.w_hh.clone()].to_vec()).transposed(); // [D,3D]
    let blocks = if reset == Reset::AfterMatrix { 3 } else { 2 };
    let q = product(&Matrix::exact(d, s.clone()), &Factor::new(&r));
    let bias = |range: &std::ops::Range<usize>| match range.is_empty() {
        true => vec![0.0; 3 * d],
        false => params[range.clone()].to_vec(),
    };
    let (b_ih, b_hh) = (bias(&slots.b_ih), bias(&slots.b_hh));
    // With the reset gate before the matrix b_hh is added outside, with the input part.
    let after = reset == Reset::AfterMatrix;
    let state_bias = if after { b_hh.clone() } else { vec![0.0; 3 * d] };
    let outside: Vec<Interval> = (0..3 * d)
        .map(|j| Interval::point(b_ih[j]) + Interval::point(b_hh[j] - state_bias[j]))
        .collect();
    Layer {
        k,
        d,
        width: arch.width_below(l),
        gate: shape.gate,
        reset,
        score: centroids.score,
        tau: centroids.tau.get(),
        state: Factor::new(&beside(&Matrix::exact(d, s.clone()), &q, blocks * d)),
        mixture: Factor::new(&Matrix::exact(d, s.clone())),
        state_bias,
        state_size: sizes(&s, d, &r),
        candidate: Factor::new(&columns(&r, 2 * d, d)),
        input: input(arch, layout, params, l, slots, outside),
        bias_size: b_ih.iter().zip(&b_hh).map(|(a, b)| (a.abs() + b.abs()).next_up()).collect(),
        recurrent_bias_size: b_hh.iter().map(|b| b.abs()).collect(),
        s,
    }
}

fn input(
    arch: &Arch,
    layout: &Layout,
    params: &[f64],
    l: usize,
    slots: &LayerSlots,
    bias: Vec<Interval>,
) -> Input {
    let width = arch.width_below(l);
    let w = Matrix::exact(width, params[slots.w_ih.clone()].to_vec()).transposed(); // [E,3D]
    if l > 0 {
        let s = params[layout.layers[l - 1].centroids.clone()].to_vec();
        let from_hidden = Factor::new(&w);
        let from_alpha = product(&Matrix::exact(width, s.clone()), &from_hidden);
        let (from_alpha, alpha_size) = (Factor::new(&from_alpha), sizes(&s, width, &w));
        return Input::Below(Below { from_alpha, alpha_size, from_hidden, bias });
    }
    let embedding = &params[layout.embedding.clone()];
    let table = product(&Matrix::exact(width, embedding.to_vec()), &Factor::new(&w));
    let size = sizes(embedding, width, &w);
    let n = bias.len();
    let constants = (0..table.rows()).map(|token| {
        let at =
            |j: usize| Interval::point(table.mid[token * n + j]).widen(table.rad[token * n + j]);
        let value = (0..n).map(|j| at(j) + bias[j]).collect();
        Constant { value, size: size[token * n..][..n].to_vec() }
    });
    Input::Tokens(constants.collect())
}

/// `|A|·|B|`, A `[m,n]`, rounded up.
fn sizes(a: &[f64], n: usize, b: &Matrix) -> Vec<f64> {
    let absolute: Vec<f64> = b.mid.iter().map(|x| x.abs()).collect();
    let row = |row: &[f64]| {
        let row: Vec<f64> = row.iter().map(|x| x.abs()).collect();
        upper_product(&row, &absolute, b.columns)
    };
    a.chunks_exact(n).flat_map(row).collect()
}

/// A, and the first `n` columns of B, side by side.
fn beside(a: &Matrix, b: &Matrix, n: usize) -> Matrix {
    let join = |a: &[f64], b: &[f64], p: usize, q: usize| {
        let rows = a.chunks_exact(p).zip(b.chunks_exact(q));
        rows.flat_map(|(a, b)| a.iter().chain(&b[..n]).copied().collect::<Vec<f64>>()).collect()
    };
    Matrix {
        columns: a.columns + n,
        mid: join(&a.mid, &b.mid, a.columns, b.columns),
        rad: join(&a.rad, &b.rad, a.columns, b.columns),
    }
}

/// `n` columns from `first` on.
pub fn columns(a: &Matrix, first: usize, n: usize) -> Matrix {
    let cut = |values: &[f64]| {
        let rows = values.chunks_exact(a.columns);
        rows.flat_map(|row| row[first..first + n].iter().copied()).collect()
    };
    Matrix { columns: n, mid: cut(&a.mid), rad: cut(&a.rad) }
}
