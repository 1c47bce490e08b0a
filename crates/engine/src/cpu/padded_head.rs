//! The classifier's weights on whole vectors.

use super::panels::add;
use super::simd::{AlignedVec, padded};
use super::thread_pool::ThreadPool;
use crate::model::{Arch, Layout};

/// Classes whose weights one task copies.
// PERF: a copy of fewer takes less time than waking a thread.
const CLASSES_PER_TASK: usize = 1024;

/// The classifier's weights, or their gradients: for each of h, u, c `[C, dp]`, empty where it is
/// not read; and the bias `[C]`.
#[derive(Clone, Default)]
pub struct PaddedHead {
    weights: [AlignedVec; 3],
    pub bias: Vec<f32>,
    pub dp: usize,
}

/// Which of h, u, c are read.
pub fn is_read(arch: &Arch) -> [bool; 3] {
    let from = arch.readout.from;
    [from.h(), from.u(), from.c()]
}

impl PaddedHead {
    /// Assigns the weights of a model; reuses the memory.
    pub fn assign(&mut self, arch: &Arch, layout: &Layout, params: &[f32], pool: &ThreadPool) {
        let (d, features) = (arch.top().units, arch.features());
        self.resize(arch, is_read(arch));
        let (source, width) = (&params[layout.head_weight.clone()], self.dp);
        for (i, (_, part)) in self.parts_mut().enumerate() {
            pool.for_each_chunk(part, CLASSES_PER_TASK * width, |task, part| {
                let source = &source[task * CLASSES_PER_TASK * features..];
                let rows = part.chunks_exact_mut(width).zip(source.chunks_exact(features));
                for (into, from) in rows {
                    into[..d].copy_from_slice(&from[i * d..][..d]);
                    into[d..].fill(0.0);
                }
            });
        }
        self.bias.copy_from_slice(&params[layout.head_bias.clone()]);
    }

    /// Zeros for the gradients of biases and weights.
    pub fn clear(&mut self, arch: &Arch) {
        self.resize(arch, is_read(arch));
        self.weights.iter_mut().for_each(|part| part.fill(0.0));
        self.bias.fill(0.0);
    }

    /// Zeros for the gradients of the biases alone.
    pub fn clear_biases(&mut self, arch: &Arch) {
        self.resize(arch, [false; 3]);
        self.bias.fill(0.0);
    }

    fn resize(&mut self, arch: &Arch, parts: [bool; 3]) {
        self.dp = padded(arch.top().units);
        for (part, is_there) in self.weights.iter_mut().zip(parts) {
            part.resize(if is_there { arch.classes * self.dp } else { 0 });
        }
        self.bias.resize(arch.classes, 0.0);
    }

    /// The weights that are there, with the indices of h, u, c.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &AlignedVec)> {
        self.weights.iter().enumerate().filter(|(_, part)| !part.is_empty())
    }

    /// The weights that are there, with the indices of h, u, c.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = (usize, &mut AlignedVec)> {
        self.weights.iter_mut().enumerate().filter(|(_, part)| !part.is_empty())
    }

    /// The adjoint of [`PaddedHead::assign`]: adds these gradients to those of weights and biases.
    pub fn add_gradients(&self, arch: &Arch, into: &mut [f32], biases: &mut [f32]) {
        let (d, features) = (arch.top().units, arch.features());
        for (i, (_, part)) in self.parts().enumerate() {
            let rows = into.chunks_exact_mut(features).zip(part.chunks_exact(self.dp));
            rows.for_each(|(into, from)| add(&mut into[i * d..][..d], &from[..d]));
        }
        add(biases, &self.bias);
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
            add(into, from);
        }
        add(&mut self.bias, &other.bias);
    }
}
