//! Update rules, for both precisions.

use crate::Snapshot;
use serde::{Deserialize, Serialize};
use std::ops::{Add, Div, Mul, Sub};

/// A gradient step: clip, regularise, apply a rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimiser {
    /// The rule.
    pub rule: Rule,
    /// A gradient with a larger norm is scaled down to this one; infinity never clips. Default 1.
    pub clip: f64,
    /// L2: `l2 · parameter` is added to the gradient. Default 0.
    pub l2: f64,
    /// Decoupled weight decay, as in AdamW: an update also subtracts
    /// `rate · weight_decay · parameter`. Default 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight_decay: f64,
}

/// An update rule. The step size comes with each update (`Regime::learning_rate`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Rule {
    /// `v = decay·v + (1 − decay)·g²` (centred: minus the squared mean of g),
    /// `m = momentum·m + g/√(v + epsilon)`, `p −= rate·m`.
    RmsProp {
        /// Decay of the mean of squares.
        decay: f64,
        /// Momentum of the scaled gradient.
        momentum: f64,
        /// Added under the root.
        epsilon: f64,
        /// Whether the squared mean gradient is subtracted.
        centred: bool,
    },
    /// Adam with bias correction.
    Adam {
        /// Decay of the mean gradient.
        beta1: f64,
        /// Decay of the mean of squares.
        beta2: f64,
        /// Added to the root.
        epsilon: f64,
    },
    /// AdaDelta: steps scaled by the root of the mean squared past steps.
    AdaDelta {
        /// Decay of both means.
        decay: f64,
        /// Added under both roots.
        epsilon: f64,
    },
}

impl Rule {
    /// Adam with its usual constants.
    pub const ADAM: Rule = Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

    /// The number of moments: vectors as long as the parameters.
    pub fn moments(&self) -> usize {
        match self {
            Rule::RmsProp { centred: true, .. } => 3,
            Rule::RmsProp { .. } | Rule::Adam { .. } | Rule::AdaDelta { .. } => 2,
        }
    }
}

/// The two precisions.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    /// From double precision, rounded.
    fn of(x: f64) -> Self;
    /// To double precision, exactly.
    fn to(self) -> f64;
    /// √.
    fn sqrt(self) -> Self;
}

macro_rules! real {
    ($($float:ident)*) => {$(
        impl Real for $float {
            fn of(x: f64) -> $float {
                x as $float
            }
            fn to(self) -> f64 {
                self as f64
            }
            fn sqrt(self) -> $float {
                self.sqrt()
            }
        }
    )*};
}
real!(f32 f64);

impl Optimiser {
    /// A rule with a clipped gradient, without L2 and weight decay.
    pub const fn new(rule: Rule, clip: f64) -> Optimiser {
        Optimiser { rule, clip, l2: 0.0, weight_decay: 0.0 }
    }

    /// A snapshot of `params` with zero moments.
    pub fn begin<F: Real>(&self, params: Vec<F>) -> Snapshot<F> {
        // PERF: each allocated as zeros, which take no memory before they are written.
        let zeros = |_| vec![F::default(); params.len()];
        let moments = (0..self.rule.moments()).map(zeros).collect();
        Snapshot { params, moments, updates: 0 }
    }

    /// Applies one update in place and returns the gradient's norm before clipping. A gradient
    /// with a NaN or an infinity changes nothing.
    pub fn update<F: Real>(&self, state: &mut Snapshot<F>, gradient: &[F], rate: f64) -> f64 {
        self.update_with(state, norm(gradient), rate, |update, state| {
            update.apply(&mut state.params, moments_mut(&mut state.moments), gradient);
        })
    }

    /// The same, for a gradient of this [`norm`]. `apply` applies the update to all parameters.
    pub fn update_with<F: Real>(
        &self,
        state: &mut Snapshot<F>,
        norm: f64,
        rate: f64,
        apply: impl FnOnce(Update<F>, &mut Snapshot<F>),
    ) -> f64 {
        if norm.is_finite() {
            state.updates += 1;
            let scale = if norm > self.clip { self.clip / norm } else { 1.0 };
            let (scale, l2) = (F::of(scale), F::of(self.l2));
            let shrink = F::of(1.0 - rate * self.weight_decay);
            let step_size = StepSize::new(self.rule, rate, state.updates);
            apply(Update { rule: self.rule, scale, l2, shrink, step_size }, state);
        }
        norm
    }
}

/// The moments of some parameters, in the order of the rule; unused ones are empty.
pub type Moments<'a, F> = [&'a mut [F]; MAX_MOMENTS];

/// No rule has more moments.
pub const MAX_MOMENTS: usize = 3;

/// The moments of a whole snapshot.
pub fn moments_mut<F>(moments: &mut [Vec<F>]) -> Moments<'_, F> {
    let mut all = moments.iter_mut();
    std::array::from_fn(|_| all.next().map_or(&mut [][..], |moment| moment.as_mut_slice()))
}

/// An update, the same for every parameter: it may be applied piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct Update<F> {
    pub(crate) rule: Rule,
    pub(crate) scale: F,
    pub(crate) l2: F,
    /// The factor of every parameter by weight decay.
    pub(crate) shrink: F,
    pub(crate) step_size: StepSize<F>,
}

/// The step size of an update: all that it depends on where gradients are zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepSize<F> {
    pub rate: F,
    /// Adam's bias corrections of the mean gradient and of the mean of squares.
    pub bias_corrections: [F; 2],
}

impl<F: Real> StepSize<F> {
    pub fn new(rule: Rule, rate: f64, number: u64) -> Self {
        let correction = |beta: f64| F::of(1.0 / (1.0 - beta.powf(number as f64)));
        let bias_corrections = match rule {
            Rule::Adam { beta1, beta2, .. } => [correction(beta1), correction(beta2)],
            Rule::RmsProp { .. } | Rule::AdaDelta { .. } => [F::of(1.0); 2],
        };
        StepSize { rate: F::of(rate), bias_corrections }
    }
}

impl<F: Real> Update<F> {
    /// Applies it to some parameters with their moments and gradient.
    // PERF: inlined, so that it is compiled for the vectors of its caller.
    #[inline(always)]
    pub fn apply(&self, params: &mut [F], moments: Moments<'_, F>, gradient: &[F]) {
        let Update { rule, scale, l2, shrink, step_size } = *self;
        let StepSize { rate, bias_corrections } = step_size;
        let params = params.iter_mut().zip(gradient);
        match rule {
            Rule::RmsProp { decay, momentum, epsilon, centred } => {
                let (keep, momentum, epsilon) = (F::of(decay), F::of(momentum), F::of(epsilon));
                let take = F::of(1.0 - decay);
                let [squares, velocities, means] = moments;
                for (j, (p, &g)) in params.enumerate() {
                    let g = g * scale + l2 * *p;
                    squares[j] = keep * squares[j] + take * g * g;
                    let mut variance = squares[j];
                    if centred {
                        let mean = &mut means[j];
                        *mean = keep * *mean + take * g;
                        variance = at_least_zero(variance - *mean * *mean);
                    }
                    velocities[j] = momentum * velocities[j] + g / (variance + epsilon).sqrt();
                    *p = *p * shrink - rate * velocities[j];
                }
            }
            Rule::Adam { beta1, beta2, epsilon } => {
                let (keep1, take1) = (F::of(beta1), F::of(1.0 - beta1));
                let (keep2, take2, epsilon) = (F::of(beta2), F::of(1.0 - beta2), F::of(epsilon));
                let ([means, squares, _], [fix1, fix2]) = (moments, bias_corrections);
                for (((p, &g), m), v) in params.zip(means.iter_mut()).zip(squares.iter_mut()) {
                    let g = g * scale + l2 * *p;
                    // PERF: all loads before any store: where the vectors have the same page offset, a
                    // load would wait for an earlier store.
                    let (mean, square) = (keep1 * *m + take1 * g, keep2 * *v + take2 * g * g);
                    *p = *p * shrink - rate * (mean * fix1) / ((square * fix2).sqrt() + epsilon);
                    (*m, *v) = (mean, square);
                }
            }
            Rule::AdaDelta { decay, epsilon } => {
                let (keep, take, epsilon) = (F::of(decay), F::of(1.0 - decay), F::of(epsilon));
                let [squares, steps, _] = moments;
                for (j, (p, &g)) in params.enumerate() {
                    let g = g * scale + l2 * *p;
                    squares[j] = keep * squares[j] + take * g * g;
                    let step = ((steps[j] + epsilon) / (squares[j] + epsilon)).sqrt() * g;
                    steps[j] = keep * steps[j] + take * step * step;
                    *p = *p * shrink - rate * step;
                }
            }
        }
    }
}

/// A field that is not written if it is zero: configurations from before it have the same digest.
fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn at_least_zero<F: Real>(x: F) -> F {
    if x < F::default() { F::default() } else { x }
}

/// The Euclidean norm, in double precision.
// PERF: inlined, as [`Update::apply`].
#[inline(always)]
pub fn norm<F: Real>(values: &[F]) -> f64 {
    let mut squares = SquareSum::default();
    squares.add(0, values);
    squares.norm()
}

/// The sum of the squares of a vector, in double precision; in sixteen sums so that it vectorises.
/// Zeros may be left out: they change no bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct SquareSum([f64; LANES]);

const LANES: usize = 16;

impl SquareSum {
    /// Adds the squares of the numbers from index `first` of the vector on.
    #[inline(always)]
    pub fn add<F: Real>(&mut self, first: usize, values: &[F]) {
        let mut sums = self.0;
        let lane = first % LANES;
        let (before, values) = values.split_at(values.len().min((LANES - lane) % LANES));
        for (sum, x) in sums[lane..].iter_mut().zip(before) {
            *sum += x.to() * x.to();
        }
        let (whole, rest) = values.as_chunks::<LANES>();
        for chunk in whole {
            for j in 0..LANES {
                sums[j] += chunk[j].to() * chunk[j].to();
            }
        }
        for (sum, x) in sums.iter_mut().zip(rest) {
            *sum += x.to() * x.to();
        }
        self.0 = sums;
    }

    /// Adds the sum over other numbers of the same vector.
    pub fn merge(&mut self, other: &SquareSum) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, other)| *sum += other);
    }

    /// The norm of the vector.
    pub fn norm(&self) -> f64 {
        self.0.iter().sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMSPROP: Rule =
        Rule::RmsProp { decay: 0.9, momentum: 0.9, epsilon: 1e-6, centred: false };
    const CENTRED: Rule = Rule::RmsProp { decay: 0.9, momentum: 0.0, epsilon: 1e-6, centred: true };
    const ADADELTA: Rule = Rule::AdaDelta { decay: 0.9, epsilon: 1e-6 };

    fn unclipped(rule: Rule) -> Optimiser {
        Optimiser::new(rule, f64::INFINITY)
    }

    #[test]
    fn the_first_updates_have_the_values_of_their_formulas() {
        let first = |rule: Rule| {
            let mut state = unclipped(rule).begin(vec![1.0f64]);
            unclipped(rule).update(&mut state, &[0.5], 0.01);
            1.0 - state.params[0]
        };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // Bias correction makes the size of Adam's first step the rate.
        assert!(close(first(Rule::ADAM), 0.01 * 0.5 / (0.5 + 1e-8)));
        assert!(close(first(RMSPROP), 0.01 * 0.5 / (0.025f64 + 1e-6).sqrt()));
        assert!(close(first(CENTRED), 0.01 * 0.5 / (0.025f64 - 0.0025 + 1e-6).sqrt()));
        assert!(close(first(ADADELTA), 0.01 * (1e-6 / (0.025f64 + 1e-6)).sqrt() * 0.5));
    }

    #[test]
    fn every_rule_minimises_a_quadratic() {
        for (rule, rate) in
            [(Rule::ADAM, 0.01), (RMSPROP, 0.001), (CENTRED, 0.001), (ADADELTA, 1.0)]
        {
            let mut state = unclipped(rule).begin(vec![1.0f64, -2.0]);
            for _ in 0..2_000 {
                let gradient = state.params.clone();
                unclipped(rule).update(&mut state, &gradient, rate);
            }
            assert!(norm(&state.params) < 0.1, "{rule:?}: {:?}", state.params);
            assert_eq!(state.updates, 2_000);
        }
    }

    #[test]
    fn a_long_gradient_is_clipped_and_a_nan_or_infinity_changes_nothing() {
        let clipped = Optimiser::new(RMSPROP, 1.0);
        let (mut a, mut b) = (clipped.begin(vec![0.0f64; 2]), clipped.begin(vec![0.0f64; 2]));
        assert_eq!(clipped.update(&mut a, &[300.0, 400.0], 0.1), 500.0);
        clipped.update(&mut b, &[0.6, 0.8], 0.1);
        assert!((a.params[0] - b.params[0]).abs() < 1e-12);
        let before = a.clone();
        for broken in [f64::NAN, f64::INFINITY] {
            assert!(!clipped.update(&mut a, &[broken, 1.0], 0.1).is_finite());
            assert_eq!(a, before);
        }
    }
}
