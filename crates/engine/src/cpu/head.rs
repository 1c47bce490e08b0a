//! The classifier on the output of the top layer.

use super::kernels::{ROWS, add_scaled, dot};
use super::scan::{HeadGradients, RowLengths, StepOutput};
use super::simd::{AlignedVec, padded};
use crate::IGNORE;
use crate::dropout::DropoutMask;
use crate::model::{Arch, Layout, When};
use pulp::{Simd, WithSimd};

/// The classifier's weights, or their gradients: for each of h, u, c `[C, dp]`, empty where it is
/// not read; and the bias `[C]`.
#[derive(Clone, Default)]
pub struct PaddedHead {
    pub weights: [AlignedVec; 3],
    pub bias: Vec<f32>,
    dp: usize,
}

/// Which of h, u, c are read.
fn wanted(arch: &Arch) -> [bool; 3] {
    let from = arch.readout.from;
    [from.h(), from.u(), from.c()]
}

impl PaddedHead {
    /// The weights of a model.
    pub fn prepare(arch: &Arch, layout: &Layout, params: &[f32]) -> PaddedHead {
        let mut head = PaddedHead::default();
        head.clear(arch);
        let source = &params[layout.head_weight.clone()];
        head.each_entry(arch, |into, at| *into = source[at]);
        head.bias.copy_from_slice(&params[layout.head_bias.clone()]);
        head
    }

    /// All zeros.
    pub fn clear(&mut self, arch: &Arch) {
        self.dp = padded(arch.top().units);
        for (part, wanted) in self.weights.iter_mut().zip(wanted(arch)) {
            part.clear(if wanted { arch.classes * self.dp } else { 0 });
        }
        self.bias.clear();
        self.bias.resize(arch.classes, 0.0);
    }

    /// The adjoint of [`PaddedHead::prepare`]: adds these gradients to `grads`.
    pub fn add_gradients(&mut self, arch: &Arch, layout: &Layout, grads: &mut [f32]) {
        let into = layout.head_weight.start;
        self.each_entry(arch, |value, at| grads[into + at] += *value);
        let bias = &mut grads[layout.head_bias.clone()];
        bias.iter_mut().zip(&self.bias).for_each(|(into, b)| *into += b);
    }

    /// Copies with non-temporal stores, for another core to read.
    pub fn copy_non_temporal(&mut self, from: &PaddedHead) {
        for (into, from) in self.weights.iter_mut().zip(&from.weights) {
            into.copy_non_temporal(from);
        }
        self.bias.clone_from(&from.bias);
        self.dp = from.dp;
    }

    /// Adds gradients.
    pub fn add(&mut self, other: &PaddedHead) {
        for (into, from) in self.weights.iter_mut().zip(&other.weights) {
            into.iter_mut().zip(from.iter()).for_each(|(into, from)| *into += from);
        }
        self.bias.iter_mut().zip(&other.bias).for_each(|(into, from)| *into += from);
    }

    /// Visits every entry with its index in `head.weight`.
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

/// The features of four rows, their logits, and the gradients of the features.
#[derive(Default)]
pub struct HeadBuffers {
    /// h, u, c `[readouts, ROWS, dp]`.
    features: [AlignedVec; 3],
    d_features: [AlignedVec; 3],
    /// `[readouts, ROWS, C]`.
    pub logits: Vec<f32>,
}

/// Sums over the read-outs that have a target.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadoutSums {
    /// Σ weight · cross-entropy.
    pub loss: f64,
    pub correct: usize,
    pub counted: usize,
}

impl ReadoutSums {
    pub fn add(&mut self, other: ReadoutSums) {
        self.loss += other.loss;
        self.correct += other.correct;
        self.counted += other.counted;
    }
}

impl HeadBuffers {
    /// Zeros for `steps` steps: the features of an empty row are zeros.
    pub fn resize(&mut self, arch: &Arch, steps: usize) {
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

    /// Stores the features of step t of the rows whose read-out is there.
    pub fn store(&mut self, arch: &Arch, lengths: &RowLengths, t: usize, output: &StepOutput<'_>) {
        let dp = padded(arch.top().units);
        let every_step = arch.readout.when == When::EveryStep;
        for (part, from) in self.features.iter_mut().zip([output.h, output.u, output.c]) {
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

    pub fn features_mut(&mut self) -> HeadFeatures<'_> {
        HeadFeatures(&mut self.features)
    }

    pub fn d_features_mut(&mut self) -> HeadFeatures<'_> {
        HeadFeatures(&mut self.d_features)
    }

    /// The gradients of what was read from the top layer.
    pub fn gradients(&self, arch: &Arch) -> HeadGradients<'_> {
        let [dh, du, dc] = &self.d_features;
        HeadGradients { dh, du, dc, every_step: arch.readout.when == When::EveryStep }
    }
}

/// The features of four rows, or their gradients: h, u, c `[readouts, ROWS, dp]`.
pub struct HeadFeatures<'a>(&'a mut [AlignedVec; 3]);

impl HeadFeatures<'_> {
    /// Multiplies the features of row `r` at step `t` by the masks of a read-out of the batch.
    pub fn drop_out(
        &mut self,
        arch: &Arch,
        mask: DropoutMask,
        (t, r): (usize, usize),
        readout: usize,
    ) {
        let d = arch.top().units;
        let mut first = readout * arch.features();
        for part in self.0.iter_mut().filter(|part| !part.is_empty()) {
            mask.apply(first as u64, &mut part[(t * ROWS + r) * padded(d)..][..d]);
            first += d;
        }
    }
}

/// Computes all logits.
pub struct HeadLogits<'a> {
    pub buffers: &'a mut HeadBuffers,
    pub head: &'a PaddedHead,
}

impl WithSimd for HeadLogits<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let HeadLogits { buffers, head } = self;
        for (row, logits) in buffers.logits.chunks_exact_mut(head.bias.len()).enumerate() {
            logits.copy_from_slice(&head.bias);
            for (part, features) in head.weights.iter().zip(&buffers.features) {
                for (class, w) in part.chunks_exact(head.dp).enumerate() {
                    logits[class] += dot(simd, w, &features[row * head.dp..][..head.dp]);
                }
            }
        }
    }
}

/// Cross-entropy of the read-outs, and its gradients.
pub struct HeadLoss<'a> {
    pub buffers: &'a mut HeadBuffers,
    pub head: &'a PaddedHead,
    /// `[readouts, ROWS]`: the class and its weight in the loss; [`IGNORE`] where there is none.
    pub targets: &'a [(u32, f64)],
    /// Subtracted from the target's logit.
    pub margin: f32,
    pub d_head: &'a mut PaddedHead,
}

impl WithSimd for HeadLoss<'_> {
    type Output = ReadoutSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> ReadoutSums {
        let HeadLoss { buffers, head, targets, margin, d_head } = self;
        let (classes, dp) = (head.bias.len(), head.dp);
        let mut sums = ReadoutSums::default();
        let mut d_logits = vec![0.0f32; classes];
        for (row, logits) in buffers.logits.chunks_exact_mut(classes).enumerate() {
            let (target, weight) = targets[row];
            if target == IGNORE {
                continue;
            }
            sums.counted += 1;
            sums.correct += (argmax(logits) == target as usize) as usize;
            logits[target as usize] -= margin;
            sums.loss += weight * cross_entropy(logits, target as usize, weight, &mut d_logits);
            for (part, w) in head.weights.iter().enumerate().filter(|(_, w)| !w.is_empty()) {
                let features = &buffers.features[part][row * dp..][..dp];
                let d_features = &mut buffers.d_features[part][row * dp..][..dp];
                for (class, &d) in d_logits.iter().enumerate() {
                    add_scaled(simd, d_features, d, &w[class * dp..][..dp]);
                    let d_w = &mut d_head.weights[part][class * dp..][..dp];
                    add_scaled(simd, d_w, d, features);
                }
            }
            d_head.bias.iter_mut().zip(&d_logits).for_each(|(b, d)| *b += d);
        }
        sums
    }
}

/// The index of the argmax value; the first of equals.
pub fn argmax(values: &[f32]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// `−ln softmax(logits)[target]`, and `weight` times its gradient.
fn cross_entropy(logits: &[f32], target: usize, weight: f64, d_logits: &mut [f32]) -> f64 {
    let top = logits[argmax(logits)] as f64;
    let sum: f64 = logits.iter().map(|&l| (l as f64 - top).exp()).sum();
    for (d, &l) in d_logits.iter_mut().zip(logits) {
        *d = (weight * (l as f64 - top).exp() / sum) as f32;
    }
    d_logits[target] -= weight as f32;
    sum.ln() + top - logits[target] as f64
}
