use super::super::double_double::{self, DoubleDouble};
use super::*;
use crate::key::{Key, Rng};

/// Points for each function. `bench/certificate/mpfr` does the same against MPFR.
const POINTS: usize = 1_000_000;

/// A double at which implementations tend to fail: zero, denormal, near a threshold; within
/// ±`limit`.
fn awkward(rng: &mut Rng, limit: f64) -> f64 {
    let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
    let near = |x: f64, rng: &mut Rng| {
        let steps = rng.below(9) as i64 - 4;
        f64::from_bits((x.to_bits() as i64 + steps) as u64)
    };
    let size = match rng.below(9) {
        0 => 0.0,
        1 => 10f64.powf(rng.uniform(-320.0, -15.0)),
        2 => near(2f64.powi(rng.below(70) as i32 - 60), rng),
        3 => near(700.0, rng),
        4 => near(std::f64::consts::LN_2 * (rng.below(1010) as f64 + 0.5), rng),
        5 => rng.uniform(0.0, 1.0),
        6 => rng.uniform(0.0, 40.0),
        7 => rng.uniform(0.0, 708.0),
        _ => 10f64.powf(rng.uniform(-15.0, limit.log10())),
    };
    sign * size.min(limit)
}

/// A random interval (a point, a narrow or a wide one) and a double in it.
fn interval(rng: &mut Rng, limit: f64) -> (Interval, f64) {
    let a = awkward(rng, limit);
    let b = match rng.below(4) {
        0 | 1 => return (Interval::point(a), a),
        2 => (a + a.abs() * 10f64.powf(rng.uniform(-16.0, 0.0))).min(limit),
        _ => awkward(rng, limit),
    };
    let within = Interval::new(a.min(b), a.max(b));
    let x = match rng.below(3) {
        0 => within.lo,
        1 => within.hi,
        _ => (within.lo + rng.unit() * (within.hi - within.lo)).clamp(within.lo, within.hi),
    };
    (within, x)
}

/// Whether the interval contains the value, up to the relative error 2⁻⁹⁸ of the oracle.
fn contains(found: Interval, exact: DoubleDouble) -> bool {
    let tolerance = DoubleDouble::of(exact.high.abs() * 2f64.powi(-98));
    exact.plus(tolerance).at_least(found.lo) && exact.minus(tolerance).at_most(found.hi)
}

/// Asserts that the image of random intervals contains the exact value at a point of them.
fn assert_encloses(
    name: &str,
    image: impl Fn(Interval) -> Interval,
    exact: impl Fn(f64) -> DoubleDouble,
) {
    let mut rng = Key::new(11).child(name, 0).rng();
    for _ in 0..POINTS {
        let (within, x) = interval(&mut rng, 708.0);
        let (found, exact) = (image(within), exact(x));
        assert!(
            contains(found, exact),
            "{name}({within:?}) = {found:?} without {exact:?} at {x:e}"
        );
    }
}

#[test]
fn the_image_under_exp_holds_a_million_values() {
    assert_encloses("exp", Interval::exp, DoubleDouble::exp);
}

#[test]
fn the_image_under_the_sigmoid_holds_a_million_values() {
    assert_encloses("sigmoid", Interval::sigmoid, double_double::sigmoid);
}

#[test]
fn the_image_under_tanh_holds_a_million_values() {
    // Beyond 354 twice the argument is outside the range of the oracle.
    assert_encloses("tanh", Interval::tanh, |x| double_double::tanh(x.clamp(-354.0, 354.0)));
}

#[test]
fn the_slopes_of_the_sigmoid_hold_a_million_values() {
    assert_encloses("sigmoid slope", Interval::sigmoid_slope, double_double::sigmoid_slope);
}

#[test]
fn the_slopes_of_tanh_hold_a_million_values() {
    let exact = |x: f64| {
        if x.abs() > 354.0 { DoubleDouble::of(1e-307) } else { double_double::tanh_slope(x) }
    };
    assert_encloses("tanh slope", Interval::tanh_slope, exact);
}

#[test]
fn the_images_under_roots_squares_and_the_hard_sigmoid_hold_a_million_values() {
    assert_encloses("sqrt", Interval::sqrt, |x| DoubleDouble::of(x.max(0.0)).sqrt());
    // Squares below 1e-290 are not exact sums of two doubles.
    let square = |x: f64| {
        if x.abs() < 1e-145 { DoubleDouble::of(x * x) } else { DoubleDouble::product(x, x) }
    };
    assert_encloses("square", Interval::square, square);
    let hard = |x: f64| {
        let line = DoubleDouble::of(x).over(DoubleDouble::of(5.0)).plus(DoubleDouble::of(0.5));
        if line.high > 1.0 {
            DoubleDouble::of(1.0)
        } else if line.high < 0.0 {
            DoubleDouble::of(0.0)
        } else {
            line
        }
    };
    assert_encloses("hard sigmoid", Interval::hard_sigmoid, hard);
}

#[test]
fn secant_slopes_of_the_hard_sigmoid_lie_between_any_two_points() {
    let mut rng = Key::new(12).rng();
    for _ in 0..POINTS {
        let (a, b) = (rng.uniform(-6.0, 6.0), rng.uniform(-6.0, 6.0));
        let slopes = Interval::new(a.min(b), a.max(b)).hard_sigmoid_slope();
        let hard = |x: f64| (x / 5.0 + 0.5).clamp(0.0, 1.0);
        let (t, s) = (a + rng.unit() * (b - a), a + rng.unit() * (b - a));
        let slope = (hard(t) - hard(s)) / (t - s);
        let tolerance = 1e-15 / (t - s).abs();
        assert!(
            (slopes.lo - tolerance..=slopes.hi + tolerance).contains(&slope),
            "{a} {b}: {slope}"
        );
    }
}

#[test]
fn images_under_the_four_operations_hold_a_million_values() {
    type Operation =
        (&'static str, fn(Interval, Interval) -> Interval, fn(f64, f64) -> DoubleDouble);
    let operations: [Operation; 4] = [
        ("sum", |a, b| a + b, DoubleDouble::sum),
        ("difference", |a, b| a - b, |a, b| DoubleDouble::sum(a, -b)),
        (
            "product",
            |a, b| a * b,
            |a, b| match (a * b).abs() < 1e-290 {
                true => DoubleDouble::of(a * b),
                false => DoubleDouble::product(a, b),
            },
        ),
        ("quotient", |a, b| a / b, |a, b| DoubleDouble::of(a).over(DoubleDouble::of(b))),
    ];
    for (name, image, exact) in operations {
        let mut rng = Key::new(13).child(name, 0).rng();
        for _ in 0..POINTS {
            let ((a, x), (b, y)) = (interval(&mut rng, 1e12), interval(&mut rng, 1e12));
            // The oracle divides correctly if neither quotient nor remainder underflows.
            if name == "quotient" && (b.mig() < 1e-100 || x.abs() < 1e-100) {
                continue;
            }
            let (found, exact) = (image(a, b), exact(x, y));
            assert!(contains(found, exact), "{name} {a:?} {b:?}: {found:?} without {exact:?}");
        }
    }
}

#[test]
fn enclosures_of_points_are_narrow() {
    let mut rng = Key::new(14).rng();
    for _ in 0..100_000 {
        let x = Interval::point(rng.uniform(-700.0, 700.0));
        let e = x.exp();
        assert!(e.hi - e.lo <= 2f64.powi(-48) * e.lo, "{x:?}: {e:?}");
        let narrow = [x.sigmoid(), x.tanh(), x.sigmoid_slope(), x.tanh_slope()];
        assert!(narrow.iter().all(|y| y.hi - y.lo <= 2f64.powi(-47)), "{x:?}: {narrow:?}");
        let hard = Interval::point(rng.uniform(-2.0, 2.0)).hard_sigmoid();
        assert!(hard.hi - hard.lo <= 2f64.powi(-50));
    }
}

#[test]
fn nan_and_overflow_are_enclosed_by_the_whole_range() {
    let nan = Interval::point(f64::NAN);
    let (zero, all) = (Interval::point(0.0), Interval::new(f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(nan.exp(), Interval::new(0.0, f64::INFINITY));
    assert_eq!(nan.sigmoid(), Interval::new(0.0, 1.0));
    assert_eq!(nan.tanh(), Interval::new(-1.0, 1.0));
    assert_eq!(nan.sigmoid_slope(), Interval::new(0.0, 0.25));
    assert_eq!(nan.tanh_slope(), Interval::new(0.0, 1.0));
    assert!(nan.sqrt().hi.is_nan() && nan.square().hi.is_nan());
    assert_eq!(zero * all, all);
    assert_eq!(all.sigmoid(), Interval::new(0.0, 1.0));
    assert_eq!(all.tanh(), Interval::new(-1.0, 1.0));
    let huge = Interval::point(800.0).exp();
    assert!(huge.lo <= 700f64.exp() && huge.hi == f64::INFINITY);
    assert!(Interval::point(-800.0).exp().hi >= (-700f64).exp());
}

#[test]
fn sums_rounded_up_are_no_less_than_exact_ones() {
    let mut rng = Key::new(15).rng();
    for terms in [1, 2, 3, 10, 100, 1000] {
        for _ in 0..200 {
            let x: Vec<[f64; 3]> =
                (0..terms).map(|_| [0; 3].map(|_| 10f64.powf(rng.uniform(-6.0, 3.0)))).collect();
            let sum: f64 = x.iter().map(|x| x[0] * x[1] / x[2]).sum();
            let exact = x.iter().fold(DoubleDouble::of(0.0), |sum, x| {
                sum.plus(DoubleDouble::product(x[0], x[1]).over(DoubleDouble::of(x[2])))
            });
            assert!(exact.at_most(round_up(sum, terms)), "{terms} terms: {exact:?}");
        }
    }
}
