//! Intervals of doubles with outward rounding.
//!
//! Each operation is rounded to nearest and then moved outward by one double, so the interval
//! contains the exact result. The exponential is implemented here because libraries do not promise
//! an error bound.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// All reals from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

impl Interval {
    /// The interval from `lo` to `hi`.
    pub fn new(lo: f64, hi: f64) -> Interval {
        debug_assert!(lo <= hi || lo.is_nan() || hi.is_nan(), "from {lo} to {hi}");
        Interval { lo, hi }
    }

    /// The interval that contains only `x`.
    pub fn point(x: f64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// All reals within `radius` of the interval.
    pub fn widen(self, radius: f64) -> Interval {
        Interval { lo: (self.lo - radius).next_down(), hi: (self.hi + radius).next_up() }
    }

    /// A double near the middle.
    pub fn mid(self) -> f64 {
        self.lo + 0.5 * (self.hi - self.lo)
    }

    /// Upper bound on the distance of a point of the interval from [`Interval::mid`].
    pub fn rad(self) -> f64 {
        let mid = self.mid();
        (self.hi - mid).max(mid - self.lo).next_up()
    }

    /// The largest magnitude of a point.
    pub fn mag(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The smallest magnitude of a point.
    pub fn mig(self) -> f64 {
        if self.lo <= 0.0 && self.hi >= 0.0 { 0.0 } else { self.lo.abs().min(self.hi.abs()) }
    }

    /// `self²`, never below 0.
    pub fn square(self) -> Interval {
        let (mig, mag) = (self.mig(), self.mag());
        Interval { lo: (mig * mig).next_down().max(0.0), hi: (mag * mag).next_up() }
    }

    /// The square roots of the non-negative points.
    pub fn sqrt(self) -> Interval {
        let root = |x: f64| if x < 0.0 { 0.0 } else { x.sqrt() };
        Interval { lo: root(self.lo).next_down().max(0.0), hi: root(self.hi).next_up() }
    }

    /// `eˣ`.
    pub fn exp(self) -> Interval {
        Interval { lo: exp(self.lo).lo, hi: exp(self.hi).hi }
    }

    /// `1/(1 + e⁻ˣ)`.
    pub fn sigmoid(self) -> Interval {
        let at = |x: f64| {
            let e = exp(-x.abs());
            let small = e / (e + Interval::point(1.0)); // σ(−|x|) ≤ ½
            if x < 0.0 { small } else { Interval::point(1.0) - small }
        };
        Interval { lo: at(self.lo).lo.max(0.0), hi: at(self.hi).hi.min(1.0) }
    }

    /// `tanh x`.
    pub fn tanh(self) -> Interval {
        let at = |x: f64| {
            let e = exp(-2.0 * x.abs());
            let one = Interval::point(1.0);
            let t = (one - e) / (one + e); // tanh |x|
            if x < 0.0 { -t } else { t }
        };
        Interval { lo: at(self.lo).lo.max(-1.0), hi: at(self.hi).hi.min(1.0) }
    }

    /// The slopes of σ over the interval; σ' decreases with |x|.
    pub fn sigmoid_slope(self) -> Interval {
        let at = |x: f64| {
            let (e, one) = (exp(-x), Interval::point(1.0));
            e / (one + e).square()
        };
        Interval { lo: at(self.mag()).lo.max(0.0), hi: at(self.mig()).hi.min(0.25) }
    }

    /// The slopes of tanh over the interval; tanh' decreases with |x|.
    pub fn tanh_slope(self) -> Interval {
        let twice = Interval { lo: 2.0 * self.lo, hi: 2.0 * self.hi };
        let slope = twice.sigmoid_slope();
        // tanh'(x) = 4 σ'(2x); scaling by 4 is exact.
        Interval { lo: 4.0 * slope.lo, hi: 4.0 * slope.hi }
    }

    /// `clamp(x/5 + ½, 0, 1)`.
    pub fn hard_sigmoid(self) -> Interval {
        let line = self / Interval::point(5.0) + Interval::point(0.5);
        Interval { lo: line.lo.clamp(0.0, 1.0), hi: line.hi.clamp(0.0, 1.0) }
    }

    /// The secant slopes of the hard sigmoid over the interval.
    pub fn hard_sigmoid_slope(self) -> Interval {
        let fifth = Interval::point(1.0) / Interval::point(5.0);
        match (self.hi <= -2.5 || self.lo >= 2.5, self.lo >= -2.5 && self.hi <= 2.5) {
            (true, _) => Interval::point(0.0),
            (_, true) => fifth,
            _ => Interval { lo: 0.0, hi: fifth.hi },
        }
    }
}

impl Add for Interval {
    type Output = Interval;
    fn add(self, other: Interval) -> Interval {
        Interval { lo: (self.lo + other.lo).next_down(), hi: (self.hi + other.hi).next_up() }
    }
}

impl Sub for Interval {
    type Output = Interval;
    fn sub(self, other: Interval) -> Interval {
        Interval { lo: (self.lo - other.hi).next_down(), hi: (self.hi - other.lo).next_up() }
    }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { lo: -self.hi, hi: -self.lo }
    }
}

impl Mul for Interval {
    type Output = Interval;
    fn mul(self, other: Interval) -> Interval {
        outward([self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi])
    }
}

impl Div for Interval {
    type Output = Interval;
    /// # Panics
    /// If the divisor contains 0.
    fn div(self, other: Interval) -> Interval {
        assert!(other.lo > 0.0 || other.hi < 0.0, "division by {other:?}");
        outward([self.lo / other.lo, self.lo / other.hi, self.hi / other.lo, self.hi / other.hi])
    }
}

impl std::iter::Sum for Interval {
    fn sum<I: Iterator<Item = Interval>>(terms: I) -> Interval {
        terms.fold(Interval::point(0.0), |sum, term| sum + term)
    }
}

/// The hull of four doubles, each at most half a unit in the last place from its exact value. If
/// one of them is 0·∞ or ∞/∞, the result is all reals: `min` and `max` would skip a NaN.
fn outward(ends: [f64; 4]) -> Interval {
    if ends.iter().any(|end| end.is_nan()) {
        return Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    }
    let lo = ends.into_iter().fold(f64::INFINITY, f64::min);
    let hi = ends.into_iter().fold(f64::NEG_INFINITY, f64::max);
    Interval { lo: lo.next_down(), hi: hi.next_up() }
}

/// `eˣ` of a double.
///
/// `x = n ln 2 + r` with |r| ≤ 0.35. ln 2 is split so that n times its head is exact for
/// |n| ≤ 1100 (the head ends in 21 zero bits). The difference is exact too, and its tail costs half
/// a unit in the last place of r. Taylor to degree 13 leaves 0.35¹⁴/14! < 5e-18. Horner's scheme
/// has an error below 3 units in the last place of the result. Together this is below 2⁻⁵¹ of the
/// result; the bound used is 2⁻⁵⁰.
fn exp(x: f64) -> Interval {
    const HEAD: f64 = 0.693_147_180_369_123_8;
    const TAIL: f64 = 1.908_214_929_270_587_7e-10;
    if !(-700.0..=700.0).contains(&x) {
        return exp_out_of_range(x);
    }
    let n = (x * std::f64::consts::LOG2_E).round();
    let r = (x - n * HEAD) - n * TAIL;
    let taylor = (1..=13).rev().fold(1.0, |sum, i| 1.0 + r / i as f64 * sum);
    // 2ⁿ, |n| ≤ 1010: a normal double.
    let scale = f64::from_bits(((n as i64 + 1023) as u64) << 52);
    let (value, error) = (taylor * scale, taylor * scale * 2f64.powi(-50));
    Interval { lo: value - error, hi: value + error }
}

/// Coarse bounds on `eˣ` for |x| > 700 and NaN; e⁷⁰⁰ ≈ 1.01e304.
fn exp_out_of_range(x: f64) -> Interval {
    let lo = if x > 0.0 { 1e304 } else { 0.0 };
    let hi = if x < 0.0 { 1e-304 } else { f64::INFINITY };
    Interval { lo, hi }
}

/// Upper bound on an exact sum, given the computed one. The sum has `terms` non-negative terms, in
/// any order, and each term is a product or quotient of at most three doubles.
pub fn round_up(sum: f64, terms: usize) -> f64 {
    // (1 + ε)^(n+4) ≤ 1 + 2(n + 4)ε for n ε ≪ 1; the smallest normal number covers underflow.
    sum * (1.0 + 2.0 * (terms + 4) as f64 * f64::EPSILON) + f64::MIN_POSITIVE
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
