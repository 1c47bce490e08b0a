//! The cross-entropy of a read-out, and its gradient.

use super::functions::exp;
use super::simd::{PAD, vectors, vectors_mut};
use pulp::Simd;

/// From this many classes on, the exponentials are computed on vectors in single precision.
// PERF: with double precision, 1,280 read-outs of 33,278 classes and 300 units take 1.0 s a step instead
// of 0.63 (two threads of a busy machine, in turns).
pub const VECTOR_CLASSES: usize = 64;
/// Vectors whose exponentials are summed in single precision at a time.
const VECTORS_PER_SUM: usize = 16;

/// The index of the argmax value; the first of equals.
pub fn argmax(values: &[f32]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Whether the target is the first of the largest logits.
#[inline(always)]
pub fn is_correct<S: Simd>(simd: S, logits: &[f32], target: usize) -> bool {
    if logits.len() < VECTOR_CLASSES {
        return argmax(logits) == target;
    }
    let top = largest(simd, logits);
    logits[target] == top && !logits[..target].contains(&top)
}

/// `−ln softmax(logits)[target]`. Replaces the logits by `weight` times its gradient.
#[inline(always)]
pub fn cross_entropy<S: Simd>(simd: S, logits: &mut [f32], target: usize, weight: f64) -> f64 {
    if logits.len() < VECTOR_CLASSES {
        return exact_cross_entropy(logits, target, weight);
    }
    let (top, at_target) = (largest(simd, logits), logits[target]);
    let sum = exponentials(simd, logits, top);
    let scale = simd.splat_f32s((weight / sum) as f32);
    let (whole, tail) = logits.split_at_mut(logits.len() / S::F32_LANES * S::F32_LANES);
    for x in vectors_mut::<S>(whole) {
        *x = simd.mul_f32s(*x, scale);
    }
    tail.iter_mut().for_each(|x| *x *= (weight / sum) as f32);
    logits[target] -= weight as f32;
    sum.ln() + top as f64 - at_target as f64
}

/// The same in double precision.
fn exact_cross_entropy(logits: &mut [f32], target: usize, weight: f64) -> f64 {
    let (top, at_target) = (logits[argmax(logits)] as f64, logits[target] as f64);
    let sum: f64 = logits.iter().map(|&l| (l as f64 - top).exp()).sum();
    for l in &mut *logits {
        *l = (weight * (*l as f64 - top).exp() / sum) as f32;
    }
    logits[target] -= weight as f32;
    sum.ln() + top - at_target
}

/// The largest logit; unspecified if one is NaN.
#[inline(always)]
fn largest<S: Simd>(simd: S, logits: &[f32]) -> f32 {
    let (whole, tail) = logits.split_at(logits.len() / S::F32_LANES * S::F32_LANES);
    let mut tops = [simd.splat_f32s(f32::NEG_INFINITY); 4];
    let (fours, rest) = vectors::<S>(whole).as_chunks::<4>();
    for four in fours {
        for j in 0..4 {
            tops[j] = simd.max_f32s(tops[j], four[j]);
        }
    }
    for &x in rest {
        tops[0] = simd.max_f32s(tops[0], x);
    }
    let pairs = [simd.max_f32s(tops[0], tops[1]), simd.max_f32s(tops[2], tops[3])];
    let top = simd.reduce_max_f32s(simd.max_f32s(pairs[0], pairs[1]));
    tail.iter().fold(top, |top, &x| top.max(x))
}

/// Replaces the logits by `exp(logit − top)`; returns the sum. It is NaN if a logit is.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, logits: &mut [f32], top: f32) -> f64 {
    let (whole, tail) = logits.split_at_mut(logits.len() / S::F32_LANES * S::F32_LANES);
    let (top, mut total) = (simd.splat_f32s(top), 0.0);
    for part in vectors_mut::<S>(whole).chunks_mut(VECTORS_PER_SUM) {
        let mut sum = simd.splat_f32s(0.0);
        for x in part {
            *x = exp(simd, simd.sub_f32s(*x, top));
            sum = simd.add_f32s(sum, *x);
        }
        total += simd.reduce_sum_f32s(sum) as f64;
    }
    let mut last = [f32::NEG_INFINITY; PAD];
    last[..tail.len()].copy_from_slice(tail);
    for x in vectors_mut::<S>(&mut last) {
        *x = exp(simd, simd.sub_f32s(*x, top));
    }
    tail.copy_from_slice(&last[..tail.len()]);
    total + tail.iter().map(|&x| x as f64).sum::<f64>()
}
