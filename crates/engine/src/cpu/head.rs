//! The classifier on the output of the top layer.

use super::add_product::StridedMatrix;
use super::cross_entropy::{cross_entropy, is_correct};
use super::head_products::{AddDots, BLOCK_ROWS, OrderedProduct, SelectedRows, class_blocks};
use super::kernels::ROWS;
use super::padded_head::{PaddedHead, is_read};
use super::scan::{HeadGradients, RowLengths, StepOutput};
use super::simd::{AlignedVec, padded};
use super::targets::ReadoutTarget;
use crate::dropout::DropoutMask;
use crate::model::{Arch, When};
use pulp::{Simd, WithSimd};

/// The features of four rows, their logits, and the gradients of the features.
#[derive(Default)]
pub struct HeadBuffers {
    pub readouts: Readouts,
    d_features: [AlignedVec; 3],
    /// `[selected, C]`.
    pub logits: Vec<f32>,
}

/// The read-outs of four rows: what the gradients of the classifier's weights are computed from.
#[derive(Default)]
pub struct Readouts {
    /// h, u, c `[readouts, ROWS, dp]`.
    features: [AlignedVec; 3],
    /// The selected rows of the features, ascending.
    pub rows: Vec<usize>,
    /// For each block of classes `[selected, classes of the block]`.
    d_logits: Vec<f32>,
}

impl Readouts {
    /// The gradients of the logits of a block of classes.
    fn d_logits(&self, (first, _): (usize, usize)) -> &[f32] {
        &self.d_logits[first * self.rows.len()..]
    }

    /// Adds the gradients of a block of weights to `into`, read-out by read-out. The weights are those
    /// of a part of the features and of a block of classes.
    pub fn weight_gradients<'a>(
        &'a self,
        part: usize,
        block: (usize, usize),
        width: usize,
        into: &'a mut [f32],
    ) -> OrderedProduct<'a> {
        OrderedProduct {
            c: into,
            c_rows: &BLOCK_ROWS[..block.1],
            a: StridedMatrix { values: self.d_logits(block), row: 1, next: block.1 },
            b: SelectedRows { values: &self.features[part], rows: &self.rows },
            width,
        }
    }
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
        let size = HeadBuffers::all_rows(arch, steps).len() * padded(arch.top().units);
        for (part, is_read) in [&mut self.readouts.features, &mut self.d_features]
            .into_iter()
            .flat_map(|parts| parts.iter_mut().zip(is_read(arch)))
        {
            part.clear(if is_read { size } else { 0 });
        }
    }

    /// The rows of the features of `steps` steps.
    pub fn all_rows(arch: &Arch, steps: usize) -> std::ops::Range<usize> {
        0..ROWS * if arch.readout.when == When::Last { 1 } else { steps }
    }

    /// Stores the features of step t of the rows whose read-out is there.
    pub fn store(&mut self, arch: &Arch, lengths: &RowLengths, t: usize, output: &StepOutput<'_>) {
        let dp = padded(arch.top().units);
        let every_step = arch.readout.when == When::EveryStep;
        for (part, from) in self.readouts.features.iter_mut().zip([output.h, output.u, output.c]) {
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
        HeadFeatures(&mut self.readouts.features)
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

/// Computes the logits of the selected rows.
pub struct HeadLogits<'a> {
    pub buffers: &'a mut HeadBuffers,
    pub head: &'a PaddedHead,
}

impl WithSimd for HeadLogits<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let HeadLogits { buffers: HeadBuffers { readouts, logits, .. }, head } = self;
        let (classes, width) = (head.bias.len(), head.dp);
        logits.resize(readouts.rows.len() * classes, 0.0);
        logits.chunks_exact_mut(classes).for_each(|logits| logits.copy_from_slice(&head.bias));
        if readouts.rows.is_empty() {
            return;
        }
        for (first, count) in class_blocks(classes) {
            for (part, weights) in head.parts() {
                let features =
                    SelectedRows { values: &readouts.features[part], rows: &readouts.rows };
                simd.vectorize(AddDots {
                    logits: &mut logits[first..],
                    stride: classes,
                    features,
                    weights: &weights[first * width..][..count * width],
                    width,
                });
            }
        }
    }
}

/// Cross-entropy of the selected rows. Replaces their logits by its gradients.
pub struct HeadLoss<'a> {
    pub logits: &'a mut [f32],
    /// One per selected row.
    pub targets: &'a [ReadoutTarget],
    /// Subtracted from the target's logit.
    pub margin: f32,
}

impl WithSimd for HeadLoss<'_> {
    type Output = ReadoutSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> ReadoutSums {
        let HeadLoss { logits, targets, margin } = self;
        let mut sums = ReadoutSums { counted: targets.len(), ..ReadoutSums::default() };
        let classes = logits.len() / targets.len().max(1);
        for (&ReadoutTarget { class, weight, .. }, logits) in
            targets.iter().zip(logits.chunks_exact_mut(classes.max(1)))
        {
            sums.correct += is_correct(simd, logits, class) as usize;
            logits[class] -= margin;
            sums.loss += weight * cross_entropy(simd, logits, class, weight);
        }
        sums
    }
}

/// The gradients of features, biases and weights, from those of the logits.
pub struct HeadBackward<'a> {
    pub buffers: &'a mut HeadBuffers,
    pub head: &'a PaddedHead,
    /// Gradients are added. Those of the weights are left out if it has none.
    pub d_head: &'a mut PaddedHead,
}

impl WithSimd for HeadBackward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let HeadBackward { buffers: HeadBuffers { readouts, d_features, logits }, head, d_head } =
            self;
        let (classes, width) = (head.bias.len(), head.dp);
        let count = readouts.rows.len();
        readouts.d_logits.resize(count * classes, 0.0);
        for (i, d_logits) in logits.chunks_exact(classes).enumerate() {
            for (first, n) in class_blocks(classes) {
                let into = &mut readouts.d_logits[count * first + i * n..][..n];
                into.copy_from_slice(&d_logits[first..][..n]);
            }
            d_head.bias.iter_mut().zip(d_logits).for_each(|(b, d)| *b += d);
        }
        for block in class_blocks(classes) {
            let (first, n) = block;
            for (part, weights) in head.parts() {
                simd.vectorize(OrderedProduct {
                    c: &mut d_features[part],
                    c_rows: &readouts.rows,
                    a: StridedMatrix { values: readouts.d_logits(block), row: n, next: 1 },
                    b: SelectedRows { values: &weights[first * width..], rows: &BLOCK_ROWS[..n] },
                    width,
                });
            }
            for (part, d_weights) in d_head.parts_mut() {
                let into = &mut d_weights[first * width..][..n * width];
                simd.vectorize(readouts.weight_gradients(part, block, width, into));
            }
        }
    }
}
