//! Outward-rounded arithmetic: [`Interval`], and [`UpperBound`] on a non-negative number.
//!
//! Every IEEE 754 operation used here is within half a unit in the last place of the exact result,
//! so the next double on either side bounds it. A NaN becomes the weakest possible bound, so that
//! no comparison can skip it.

use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// All reals from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub lo: f64,
    pub hi: f64,
}

impl Interval {
    /// All reals: nothing is known.
    pub const ENTIRE: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    pub const ZERO: Interval = Interval::point(0.0);
    pub const ONE: Interval = Interval::point(1.0);

    /// The interval that contains only `x`.
    pub const fn point(x: f64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// The interval from `lo` to `hi`, without rounding; all reals unless lo ≤ hi.
    pub fn new(lo: f64, hi: f64) -> Interval {
        if lo <= hi { Interval { lo, hi } } else { Interval::ENTIRE }
    }

    /// The interval from `lo` to `hi`, each of which was rounded to nearest once.
    fn outward(lo: f64, hi: f64) -> Interval {
        Interval::new(lo.next_down(), hi.next_up())
    }

    /// All reals within `radius` of the interval.
    pub fn widen(self, radius: UpperBound) -> Interval {
        self + Interval::new(-radius.get(), radius.get())
    }

    /// The intersection of two intervals that have a point in common.
    pub fn intersection(self, other: Interval) -> Interval {
        Interval::new(self.lo.max(other.lo), self.hi.min(other.hi))
    }

    /// The largest magnitude of a point.
    pub fn magnitude(self) -> UpperBound {
        UpperBound::new(self.lo.abs().max(self.hi.abs()))
    }

    /// Whether the interval contains 0.
    pub fn contains_zero(self) -> bool {
        self.lo <= 0.0 && self.hi >= 0.0
    }

    /// A double near the middle, and a bound on the distance of the interval's points from it.
    pub fn mid_rad(self) -> (f64, f64) {
        let mid = 0.5 * self.lo + 0.5 * self.hi;
        if !mid.is_finite() {
            return (0.0, f64::INFINITY);
        }
        let radius = (self.hi - mid).max(mid - self.lo);
        (mid, if radius > 0.0 { radius.next_up() } else { 0.0 })
    }

    /// The square roots of the non-negative points.
    pub fn sqrt(self) -> Interval {
        let lo = self.lo.max(0.0).sqrt().next_down().max(0.0);
        Interval::new(lo, self.hi.max(0.0).sqrt().next_up())
    }

    /// The square.
    pub fn square(self) -> Interval {
        let (a, b) = (self.lo.abs(), self.hi.abs());
        let lo = if self.contains_zero() { 0.0 } else { a.min(b) };
        let square = Interval::outward(lo * lo, a.max(b) * a.max(b));
        Interval::new(square.lo.max(0.0), square.hi)
    }
}

impl Add for Interval {
    type Output = Interval;
    fn add(self, other: Interval) -> Interval {
        Interval::outward(self.lo + other.lo, self.hi + other.hi)
    }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { lo: -self.hi, hi: -self.lo }
    }
}

impl Sub for Interval {
    type Output = Interval;
    fn sub(self, other: Interval) -> Interval {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Interval;
    fn mul(self, other: Interval) -> Interval {
        if self == Interval::ZERO || other == Interval::ZERO {
            return Interval::ZERO;
        }
        corners(self, other, |a, b| a * b)
    }
}

impl Div for Interval {
    type Output = Interval;
    fn div(self, other: Interval) -> Interval {
        if other.contains_zero() { Interval::ENTIRE } else { corners(self, other, |a, b| a / b) }
    }
}

impl Sum for Interval {
    fn sum<I: Iterator<Item = Interval>>(terms: I) -> Interval {
        terms.fold(Interval::ZERO, Add::add)
    }
}

/// The image under an operation that is monotone in each argument: its extremes are at the corners.
fn corners(a: Interval, b: Interval, op: impl Fn(f64, f64) -> f64) -> Interval {
    let values = [op(a.lo, b.lo), op(a.lo, b.hi), op(a.hi, b.lo), op(a.hi, b.hi)];
    // `min` and `max` would skip a NaN (0·∞); a sum does not.
    if values.iter().sum::<f64>().is_nan() {
        return Interval::ENTIRE;
    }
    let [a, b, c, d] = values;
    Interval::outward(a.min(b).min(c.min(d)), a.max(b).max(c.max(d)))
}

/// An upper bound on a non-negative number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct UpperBound(f64);

impl UpperBound {
    pub const ZERO: UpperBound = UpperBound(0.0);

    /// The bound `bound`, without rounding; infinity if it is negative or NaN.
    pub fn new(bound: f64) -> UpperBound {
        if bound >= 0.0 { UpperBound(bound) } else { UpperBound(f64::INFINITY) }
    }

    /// The bound as a double.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The larger of two bounds.
    pub fn max(self, other: UpperBound) -> UpperBound {
        UpperBound(self.0.max(other.0))
    }

    /// The smaller of two bounds.
    pub fn min(self, other: UpperBound) -> UpperBound {
        UpperBound(self.0.min(other.0))
    }

    /// A bound on the square root.
    pub fn sqrt(self) -> UpperBound {
        UpperBound(self.0.sqrt().next_up())
    }
}

impl Add for UpperBound {
    type Output = UpperBound;
    fn add(self, other: UpperBound) -> UpperBound {
        // Adding 0 is exact.
        let exact = self.0 == 0.0 || other.0 == 0.0;
        let sum = self.0 + other.0;
        UpperBound(if exact { sum } else { sum.next_up() })
    }
}

impl Mul for UpperBound {
    type Output = UpperBound;
    fn mul(self, other: UpperBound) -> UpperBound {
        if self.0 == 0.0 || other.0 == 0.0 {
            UpperBound::ZERO
        } else {
            UpperBound((self.0 * other.0).next_up())
        }
    }
}

impl Div<f64> for UpperBound {
    type Output = UpperBound;
    fn div(self, by: f64) -> UpperBound {
        UpperBound::new((self.0 / by).next_up())
    }
}

impl Sum for UpperBound {
    fn sum<I: Iterator<Item = UpperBound>>(terms: I) -> UpperBound {
        terms.fold(UpperBound::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_becomes_the_weakest_bound() {
        let nan = Interval::new(f64::NAN, 1.0);
        assert_eq!(nan, Interval::ENTIRE);
        assert_eq!(Interval::ENTIRE - Interval::ENTIRE, Interval::ENTIRE);
        assert_eq!(Interval::new(0.0, 1.0) * Interval::ENTIRE, Interval::ENTIRE);
        assert_eq!(Interval::ONE / Interval::new(-1.0, 1.0), Interval::ENTIRE);
        assert_eq!(Interval::ENTIRE.mid_rad(), (0.0, f64::INFINITY));
        assert_eq!(UpperBound::new(f64::NAN).get(), f64::INFINITY);
        assert_eq!(UpperBound::new(-1.0).get(), f64::INFINITY);
    }

    #[test]
    fn operations_contain_the_exact_result_of_points_inside() {
        // Halves and thirds: a third is not a double, so that every result is rounded.
        let third = Interval::ONE / Interval::point(3.0);
        assert!(third.lo < third.hi);
        let one = third + third + third;
        assert!(one.lo <= 1.0 && 1.0 <= one.hi && one.hi - one.lo < 1e-15);
        let product = Interval::new(-2.0, 3.0) * Interval::new(-5.0, 1.0);
        assert!(product.lo <= -15.0 && product.hi >= 10.0 && product.lo > -15.1);
        let square = Interval::new(-2.0, 1.0).square();
        assert!(square.lo == 0.0 && square.hi >= 4.0 && square.hi < 4.1);
        let root = Interval::point(2.0).sqrt();
        assert!(root.lo * root.lo < 2.0 && root.hi * root.hi > 2.0 && root.hi - root.lo < 1e-15);
        let (mid, radius) = Interval::new(0.1, 0.7).mid_rad();
        assert!(mid - radius <= 0.1 && mid + radius >= 0.7 && radius < 0.31);
    }
}
