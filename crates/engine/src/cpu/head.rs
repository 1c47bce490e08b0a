//! The classifier on what the top layer left behind.

use super::kernels::{ROWS, add_scaled, dot};
use super::scan::{FromHead, Left, Lengths};
use super::simd::{Aligned, padded};
use crate::IGNORE;
use crate::model::{Arch, Layout, When};
use pulp::{Simd, WithSimd};

/// The classifier's weights, or their gradients: for each of h, u, c `[C, dp]`, empty where it is
/// not read; and the bias `[C]`.
#[derive(Clone, Default)]
pub struct Head {
    pub weights: [Aligned; 3],
    pub bias: Vec<f32>,
    dp: usize,
}

/// Which of h, u, c are read.
fn wanted(arch: &Arch) -> [bool; 3] {
    let from = arch.readout.from;
    [from.h(), from.u(), from.c()]
}

impl Head {
    /// The weights, padded.
    pub fn prepare(arch: &Arch, layout: &Layout, params: &[f32]) -> Head {
        let mut head = Head::default();
        head.clear(arch);
        let source = &params[layout.head_weight.clone()];
        head.each_entry(arch, |into, at| *into = source[at]);
        head.bias.copy_from_slice(&params[layout.head_bias.clone()]);
        head
    }

    /// Makes it all zero.
    pub fn clear(&mut self, arch: &Arch) {
        self.dp = padded(arch.top().units);
        for (part, wanted) in self.weights.iter_mut().zip(wanted(arch)) {
            part.clear(if wanted { arch.classes * self.dp } else { 0 });
        }
        self.bias.clear();
        self.bias.resize(arch.classes, 0.0);
    }

    /// The adjoint of [`Head::prepare`].
    pub fn finish(&mut self, arch: &Arch, layout: &Layout, grads: &mut [f32]) {
        let into = layout.head_weight.start;
        self.each_entry(arch, |value, at| grads[into + at] += *value);
        let bias = &mut grads[layout.head_bias.clone()];
        bias.iter_mut().zip(&self.bias).for_each(|(into, b)| *into += b);
    }

    /// Makes these another's, for another core to read.
    pub fn receive(&mut self, from: &Head) {
        for (into, from) in self.weights.iter_mut().zip(&from.weights) {
            into.receive(from);
        }
        self.bias.clone_from(&from.bias);
        self.dp = from.dp;
    }

    /// Adds another's numbers.
    pub fn add(&mut self, other: &Head) {
        for (into, from) in self.weights.iter_mut().zip(&other.weights) {
            into.iter_mut().zip(from.iter()).for_each(|(into, from)| *into += from);
        }
        self.bias.iter_mut().zip(&other.bias).for_each(|(into, from)| *into += from);
    }

    /// Every entry with its index in `head.weight`.
    fn each_entry(&mut self, arch: &Arch, mut visit: impl FnMut(&mut f32, usize)) {
        let (d, features) = (arch.top().units, arch.features());
        let mut first = 0;
        for part in self.weights.iter_mut().filter(|part| !part.is_empty()) {
            for (class, row) in part.chunks_exact_mut(padded(d)).enumerate() {
                for (j, value) in row[..d].iter_mut().enumerate() {
                    visit(value, class * features + first + j);
                }
            }
            first += d;
        }
    }
}

/// What the classifier read of four rows, what it said, and the gradients it sends back.
#[derive(Default)]
pub struct HeadSpace {
    /// h, u, c `[readouts, ROWS, dp]`.
    features: [Aligned; 3],
    d_features: [Aligned; 3],
    /// `[readouts, ROWS, C]`.
    pub logits: Vec<f32>,
}

/// Sums over read-outs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    /// Σ weight · cross-entropy.
    pub loss: f64,
    pub correct: usize,
    pub counted: usize,
}

impl HeadSpace {
    /// Makes room, and reads zeros where a row is empty.
    pub fn fit(&mut self, arch: &Arch, steps: usize) {
        let readouts = if arch.readout.when == When::Last { 1 } else { steps };
        let size = readouts * ROWS * padded(arch.top().units);
        for (part, wanted) in [&mut self.features, &mut self.d_features]
            .into_iter()
            .flat_map(|parts| parts.iter_mut().zip(wanted(arch)))
        {
            part.resize(if wanted { size } else { 0 });
            part.fill(0.0);
        }
        self.logits.clear();
        self.logits.resize(readouts * ROWS * arch.classes, 0.0);
    }

    /// Keeps what step t left behind, for the rows the classifier reads there.
    pub fn keep(&mut self, arch: &Arch, lengths: &Lengths, t: usize, left: &Left<'_>) {
        let dp = padded(arch.top().units);
        let every_step = arch.readout.when == When::EveryStep;
        for (part, from) in self.features.iter_mut().zip([left.h, left.u, left.c]) {
            if part.is_empty() {
                continue;
            }
            for r in 0..ROWS {
                if lengths.has(r, t) && (every_step || lengths.is_last(r, t)) {
                    let row = if every_step { t * ROWS + r } else { r };
                    part[row * dp..][..dp].copy_from_slice(&from[r * dp..][..dp]);
                }
            }
        }
    }

    /// The gradients for the top layer.
    pub fn gradients(&self, arch: &Arch) -> FromHead<'_> {
        let [dh, du, dc] = &self.d_features;
        FromHead { dh, du, dc, every_step: arch.readout.when == When::EveryStep }
    }
}

/// All logits.
pub struct Say<'a> {
    pub space: &'a mut HeadSpace,
    pub head: &'a Head,
}

impl WithSimd for Say<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Say { space, head } = self;
        for (row, logits) in space.logits.chunks_exact_mut(head.bias.len()).enumerate() {
            logits.copy_from_slice(&head.bias);
            for (part, features) in head.weights.iter().zip(&space.features) {
                for (class, w) in part.chunks_exact(head.dp).enumerate() {
                    logits[class] += dot(simd, w, &features[row * head.dp..][..head.dp]);
                }
            }
        }
    }
}

/// Cross-entropy of the read-outs, and its gradients.
pub struct Learn<'a> {
    pub space: &'a mut HeadSpace,
    pub head: &'a Head,
    /// `[readouts, ROWS]`: the class and its share in the loss; [`IGNORE`] where there is none.
    pub targets: &'a [(u32, f64)],
    /// What the target's logit is put behind by.
    pub margin: f32,
    pub d_head: &'a mut Head,
}

impl WithSimd for Learn<'_> {
    type Output = Said;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Said {
        let Learn { space, head, targets, margin, d_head } = self;
        let (classes, dp) = (head.bias.len(), head.dp);
        let mut said = Said::default();
        let mut d_logits = vec![0.0f32; classes];
        for (row, logits) in space.logits.chunks_exact_mut(classes).enumerate() {
            let (target, weight) = targets[row];
            if target == IGNORE {
                continue;
            }
            said.counted += 1;
            said.correct += (largest(logits) == target as usize) as usize;
            logits[target as usize] -= margin;
            said.loss += weight * cross_entropy(logits, target as usize, weight, &mut d_logits);
            for (part, w) in head.weights.iter().enumerate().filter(|(_, w)| !w.is_empty()) {
                let features = &space.features[part][row * dp..][..dp];
                let d_features = &mut space.d_features[part][row * dp..][..dp];
                for (class, &d) in d_logits.iter().enumerate() {
                    add_scaled(simd, d_features, d, &w[class * dp..][..dp]);
                    let d_w = &mut d_head.weights[part][class * dp..][..dp];
                    add_scaled(simd, d_w, d, features);
                }
            }
            d_head.bias.iter_mut().zip(&d_logits).for_each(|(b, d)| *b += d);
        }
        said
    }
}

/// The index of the largest value; the first of equals.
pub fn largest(values: &[f32]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// `−ln softmax(logits)[target]`, and `weight` times its gradient.
fn cross_entropy(logits: &[f32], target: usize, weight: f64, d_logits: &mut [f32]) -> f64 {
    let top = logits[largest(logits)] as f64;
    let sum: f64 = logits.iter().map(|&l| (l as f64 - top).exp()).sum();
    for (d, &l) in d_logits.iter_mut().zip(logits) {
        *d = (weight * (l as f64 - top).exp() / sum) as f32;
    }
    d_logits[target] -= weight as f32;
    sum.ln() + top - logits[target] as f64
}
