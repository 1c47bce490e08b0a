//! Updates on vectors and threads.

use super::prepare::Machine;
use crate::engine::Snapshot;
use crate::train::{Moments, Update, moments_mut, norm};
use pulp::{Simd, WithSimd};

/// Numbers of a piece of an update.
// PERF: fewer do not pay for going to another core's cache.
const UPDATE_PIECE: usize = 1 << 17;

/// Some parameters in a row, with their moments.
#[derive(Default)]
pub struct Part<'a> {
    pub params: &'a mut [f32],
    pub moments: Moments<'a, f32>,
}

impl<'a> Part<'a> {
    /// All there are.
    pub fn all(state: &'a mut Snapshot<f32>) -> Part<'a> {
        Part { params: &mut state.params, moments: moments_mut(&mut state.moments) }
    }

    /// Takes the first `count` away.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Part<'a> {
        fn first<'a>(all: &mut &'a mut [f32], count: usize) -> &'a mut [f32] {
            let (first, later) = std::mem::take(all).split_at_mut(count);
            *all = later;
            first
        }
        let params = first(&mut self.params, count);
        // A moment that the rule does not have is empty.
        let moments = self.moments.each_mut().map(|all| first(all, count.min(all.len())));
        Part { params, moments }
    }
}

/// Applies an update piece by piece: which, changes no bit.
pub fn apply(
    update: Update<f32>,
    state: &mut Snapshot<f32>,
    gradient: &[f32],
    machine: Machine<'_>,
) {
    let pieces = pieces(update, Part::all(state), gradient);
    machine.workers.on_each(pieces, |piece| machine.level.run(piece));
}

/// The pieces of an update of some parameters.
pub fn pieces<'a>(update: Update<f32>, mut part: Part<'a>, gradient: &'a [f32]) -> Vec<Piece<'a>> {
    let gradients = gradient.chunks(UPDATE_PIECE);
    gradients.map(|gradient| Piece { update, part: part.take(gradient.len()), gradient }).collect()
}

/// A piece of an update.
// PERF: on its vectors; a build for any x86-64 has only four lanes (84,000 parameters: 37 µs, 62).
pub struct Piece<'a> {
    update: Update<f32>,
    part: Part<'a>,
    gradient: &'a [f32],
}

impl WithSimd for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.update.apply(self.part.params, self.part.moments, self.gradient);
    }
}

/// The norm of a gradient.
pub struct Norm<'a>(pub &'a [f32]);

impl WithSimd for Norm<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        norm(self.0)
    }
}
