//! Enclosures of exp, σ, tanh and their secant slopes. The series are implemented here because no
//! library promises an error bound.

use crate::config::Gate;
use crate::interval::{Interval, UpperBound};

/// ln 2 to 40 bits: `n · LN2_HIGH` is exact for every exponent n of a double.
const LN2_HIGH: f64 = 0.693_147_180_559_208_2;
/// ln 2 − [`LN2_HIGH`], rounded.
const LN2_LOW: f64 = 7.371_002_565_167_799e-13;
/// Terms of the series after the 1. For |r| ≤ 0.35 the remainder is below 2⁻⁶² of the sum.
const TERMS: u32 = 14;
/// Beyond this |x| only coarse bounds are returned: eˣ is close to the limits of doubles.
const LARGEST: f64 = 708.0;

/// eˣ over an interval.
pub fn exp(x: Interval) -> Interval {
    Interval::new(exp_at(x.lo).lo, exp_at(x.hi).hi)
}

/// eˣ at one double.
fn exp_at(x: f64) -> Interval {
    if x < -LARGEST {
        return Interval::new(0.0, exp_at(-LARGEST).hi);
    }
    if x > LARGEST {
        return Interval::new(exp_at(LARGEST).lo, f64::INFINITY);
    }
    if x.is_nan() {
        return Interval::ENTIRE;
    }
    let n = (x / std::f64::consts::LN_2).round();
    let low = Interval::new(LN2_LOW.next_down(), LN2_LOW.next_up());
    let r = Interval::point(x) - Interval::point(n * LN2_HIGH) - Interval::point(n) * low;
    let e = exp_reduced(r);
    // Scaling by a power of two between 2⁻¹⁰²² and 2¹⁰²² is exact.
    let scale = f64::from_bits(((n as i64 + 1023) as u64) << 52);
    Interval::new(e.lo * scale, e.hi * scale)
}

/// eʳ for |r| ≤ 0.35, by 1 + r/1·(1 + r/2·(1 + …)).
fn exp_reduced(r: Interval) -> Interval {
    // The innermost bracket is 1 + r/15 + r²/(15·16) + …: within 0.35/15·e^0.35 < 0.05 of 1.
    let mut bracket = Interval::new(1.0 - 0.05, 1.0 + 0.05);
    for term in (1..=TERMS).rev() {
        bracket = Interval::ONE + r * bracket / Interval::point(term.into());
    }
    bracket
}

/// tanh over an interval, by 1 − 2/(e²ˣ + 1).
pub fn tanh(x: Interval) -> Interval {
    let at = |x: f64| {
        let two = Interval::point(2.0);
        let y = Interval::ONE - two / (exp(Interval::point(2.0 * x)) + Interval::ONE);
        // tanh x lies between 0 and x, and between −1 and 1.
        y.intersection(Interval::new(x.clamp(-1.0, 0.0), x.clamp(0.0, 1.0)))
    };
    Interval::new(at(x.lo).lo, at(x.hi).hi)
}

/// Slopes of all secants of tanh between points of `x`.
pub fn tanh_slopes(x: Interval) -> Interval {
    // tanh x = 2σ(2x) − 1, so that tanh'(x) = 4σ'(2x).
    Interval::point(4.0) * sigmoid_slopes(Interval::point(2.0) * x)
}

/// The values of a gate over an interval.
pub fn gate(kind: Gate, x: Interval) -> Interval {
    match kind {
        Gate::Sigmoid => Interval::new(sigmoid_at(x.lo).lo, sigmoid_at(x.hi).hi),
        Gate::HardSigmoid => {
            let y = fifth() * x + Interval::point(0.5);
            Interval::new(y.lo.clamp(0.0, 1.0), y.hi.clamp(0.0, 1.0))
        }
    }
}

/// Slopes of all secants of the gate between points of `x`.
pub fn gate_slopes(kind: Gate, x: Interval) -> Interval {
    match kind {
        Gate::Sigmoid => sigmoid_slopes(x),
        // The kinks are at ±2.5.
        Gate::HardSigmoid if x.lo >= 2.5 || x.hi <= -2.5 => Interval::ZERO,
        Gate::HardSigmoid if x.lo >= -2.5 && x.hi <= 2.5 => fifth(),
        Gate::HardSigmoid => Interval::new(0.0, fifth().hi),
    }
}

/// Upper end of [`gate_slopes`].
pub fn max_gate_slope(kind: Gate, x: Interval) -> UpperBound {
    UpperBound::new(gate_slopes(kind, x).hi)
}

/// Upper end of [`tanh_slopes`].
pub fn max_tanh_slope(x: Interval) -> UpperBound {
    UpperBound::new(tanh_slopes(x).hi)
}

fn fifth() -> Interval {
    Interval::ONE / Interval::point(5.0)
}

/// σ at one double, clamped to [0, 1].
fn sigmoid_at(x: f64) -> Interval {
    let y = Interval::ONE / (Interval::ONE + exp(Interval::point(-x)));
    Interval::new(y.lo.clamp(0.0, 1.0), y.hi.clamp(0.0, 1.0))
}

/// By the mean value theorem the slope of a secant is a derivative. σ' = σ(x)σ(−x) increases to 1/4
/// at 0 and then decreases, so its extremes over `x` are at the ends and at 0.
fn sigmoid_slopes(x: Interval) -> Interval {
    let slope = |x: f64| {
        let y = sigmoid_at(x) * sigmoid_at(-x);
        Interval::new(y.lo.clamp(0.0, 0.25), y.hi.clamp(0.0, 0.25))
    };
    let (a, b) = (slope(x.lo), slope(x.hi));
    let hi = if x.contains_zero() { 0.25 } else { a.hi.max(b.hi) };
    Interval::new(a.lo.min(b.lo), hi)
}
