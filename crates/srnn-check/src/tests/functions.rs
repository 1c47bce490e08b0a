//! The elementary functions at a million random points each: the enclosure contains the exact value
//! and is narrow. The oracle is `double_double`; it agrees with dashu-float at 140 bits at ten
//! thousand points.

use super::common::Random;
use super::double_double::DoubleDouble;
use crate::config::Gate;
use crate::functions::{exp, gate, gate_slopes, tanh, tanh_slopes};
use crate::interval::Interval;
use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

const POINTS: usize = 1_000_000;

/// A random number of either sign; its magnitude is log-uniform from 2⁻²⁰ to `largest`.
fn point(random: &mut Random, largest: f64) -> f64 {
    let magnitude = (random.unit() * (largest.log2() + 20.0) - 20.0).exp2();
    if random.bits() & 1 == 0 { magnitude } else { -magnitude }
}

fn assert_contains(found: Interval, exact: DoubleDouble, x: f64) {
    let inside = exact.is_at_least(found.lo) && exact.negated().is_at_least(-found.hi);
    assert!(inside, "at {x:e}: {exact:?} outside {found:?}");
}

/// Width in units of the last place of `scale`.
fn width(found: Interval, scale: f64) -> f64 {
    (found.hi - found.lo) / (scale.abs().next_up() - scale.abs())
}

#[test]
fn the_oracle_agrees_with_a_library_at_140_bits() {
    type Big = FBig<HalfEven, 2>;
    let big = |x: f64| Big::try_from(x).unwrap().with_precision(140).value();
    let mut random = Random(1);
    for _ in 0..10_000 {
        let x = point(&mut random, 650.0);
        let (ours, theirs) = (DoubleDouble::new(x).exp(), big(x).exp());
        let gap = (big(ours.hi) + big(ours.lo) - &theirs) / &theirs;
        assert!(
            gap.to_f64().value().abs() < 1e-28,
            "exp({x:e}) is off by {}",
            gap.to_f64().value()
        );
    }
}

#[test]
fn exp_encloses_a_million_points_within_eight_units_in_the_last_place() {
    let mut random = Random(2);
    for _ in 0..POINTS {
        let x = point(&mut random, 650.0);
        let found = exp(Interval::point(x));
        assert_contains(found, DoubleDouble::new(x).exp(), x);
        assert!(width(found, found.lo) <= 8.0, "{} at {x:e}", width(found, found.lo));
    }
}

#[test]
fn sigmoid_encloses_a_million_points_tightly() {
    let mut random = Random(3);
    for _ in 0..POINTS {
        let x = point(&mut random, 650.0);
        let found = gate(Gate::Sigmoid, Interval::point(x));
        assert_contains(found, DoubleDouble::new(x).sigmoid(), x);
        assert!(width(found, found.lo) <= 24.0, "{} at {x:e}", width(found, found.lo));
    }
}

#[test]
fn tanh_encloses_a_million_points_within_the_units_of_one() {
    let mut random = Random(4);
    for _ in 0..POINTS {
        let x = point(&mut random, 300.0);
        let found = tanh(Interval::point(x));
        assert_contains(found, DoubleDouble::new(x).tanh(), x);
        assert!(width(found, 1.0) <= 16.0, "{} at {x:e}", width(found, 1.0));
    }
    for x in [1e-9, 1e-100, 5e-324] {
        let found = tanh(Interval::point(x));
        assert!(found.lo <= x - x * x * x / 3.0 && found.hi >= x, "{found:?} at {x:e}");
    }
}

#[test]
fn square_roots_enclose_a_million_points() {
    let mut random = Random(5);
    for _ in 0..POINTS {
        let x = point(&mut random, 1e6).abs();
        let root = Interval::point(x).sqrt();
        let below = DoubleDouble::product_of(root.lo, root.lo);
        let above = DoubleDouble::product_of(root.hi, root.hi);
        assert!(below.negated().is_at_least(-x) && above.is_at_least(x), "{root:?} of {x:e}");
        assert!(width(root, root.lo) <= 3.0, "{root:?} of {x:e}");
    }
}

#[test]
fn slopes_enclose_the_secants_of_random_pairs() {
    let mut random = Random(6);
    let secant = |of: &dyn Fn(f64) -> DoubleDouble, a: f64, b: f64| {
        let gap = DoubleDouble::new(b).plus(DoubleDouble::new(-a));
        of(b).plus(of(a).negated()).over(gap)
    };
    let hard = |x: f64| {
        let y = DoubleDouble::new(x).over(DoubleDouble::new(5.0)).plus(DoubleDouble::new(0.5));
        DoubleDouble::new(y.hi.clamp(0.0, 1.0))
    };
    for _ in 0..100_000 {
        let (a, b) = (8.0 * random.sign(), 8.0 * random.sign());
        let (a, b) = (a.min(b), a.max(b) + 1e-3);
        let (inner, outer) = (a + 0.3 * (b - a), Interval::new(a, b));
        let sigmoid = |x: f64| DoubleDouble::new(x).sigmoid();
        let tanh = |x: f64| DoubleDouble::new(x).tanh();
        let loose = |found: Interval| Interval::new(found.lo - 1e-12, found.hi + 1e-12);
        assert_contains(gate_slopes(Gate::Sigmoid, outer), secant(&sigmoid, inner, b), a);
        assert_contains(tanh_slopes(outer), secant(&tanh, a, inner), a);
        // The oracle of the hard sigmoid rounds to doubles.
        let slopes = loose(gate_slopes(Gate::HardSigmoid, outer));
        assert_contains(slopes, secant(&hard, inner, b), a);
    }
}

#[test]
fn arguments_outside_the_range_of_exp_give_coarse_bounds() {
    assert_eq!(exp(Interval::point(-1e9)).lo, 0.0);
    assert!(exp(Interval::point(-1e9)).hi < 1e-300);
    assert_eq!(exp(Interval::point(1e9)).hi, f64::INFINITY);
    assert!(exp(Interval::point(1e9)).lo > 1e300);
    assert_eq!(gate(Gate::Sigmoid, Interval::ENTIRE), Interval::new(0.0, 1.0));
    assert_eq!(tanh(Interval::ENTIRE), Interval::new(-1.0, 1.0));
    assert_eq!(gate_slopes(Gate::Sigmoid, Interval::ENTIRE), Interval::new(0.0, 0.25));
    assert_eq!(gate_slopes(Gate::HardSigmoid, Interval::new(2.5, 9.0)), Interval::ZERO);
}
