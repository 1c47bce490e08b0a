use super::super::oracle::{self, Double};
use super::*;
use crate::key::{Key, Rng};

/// Per function. `bench/certificate/mpfr` does the same against MPFR.
const POINTS: usize = 1_000_000;

/// A double of the kinds that break functions; not beyond ±`limit`.
fn awkward(draw: &mut Rng, limit: f64) -> f64 {
    let sign = if draw.below(2) == 0 { 1.0 } else { -1.0 };
    let near = |x: f64, draw: &mut Rng| {
        let steps = draw.below(9) as i64 - 4;
        f64::from_bits((x.to_bits() as i64 + steps) as u64)
    };
    let size = match draw.below(9) {
        0 => 0.0,
        1 => 10f64.powf(draw.uniform(-320.0, -15.0)),
        2 => near(2f64.powi(draw.below(70) as i32 - 60), draw),
        3 => near(700.0, draw),
        4 => near(std::f64::consts::LN_2 * (draw.below(1010) as f64 + 0.5), draw),
        5 => draw.uniform(0.0, 1.0),
        6 => draw.uniform(0.0, 40.0),
        7 => draw.uniform(0.0, 708.0),
        _ => 10f64.powf(draw.uniform(-15.0, limit.log10())),
    };
    sign * size.min(limit)
}

/// An interval and a double in it: points, neighbours, and wide ones.
fn interval(draw: &mut Rng, limit: f64) -> (Interval, f64) {
    let a = awkward(draw, limit);
    let b = match draw.below(4) {
        0 | 1 => return (Interval::point(a), a),
        2 => (a + a.abs() * 10f64.powf(draw.uniform(-16.0, 0.0))).min(limit),
        _ => awkward(draw, limit),
    };
    let within = Interval::new(a.min(b), a.max(b));
    let x = match draw.below(3) {
        0 => within.lo,
        1 => within.hi,
        _ => (within.lo + draw.unit() * (within.hi - within.lo)).clamp(within.lo, within.hi),
    };
    (within, x)
}

/// As far as the oracle knows: it errs by less than 2⁻⁹⁸.
fn contains(found: Interval, exact: Double) -> bool {
    let room = Double::of(exact.high.abs() * 2f64.powi(-98));
    exact.plus(room).at_least(found.lo) && exact.minus(room).at_most(found.hi)
}

/// No point of an interval has a value outside the interval's image.
fn encloses(name: &str, image: impl Fn(Interval) -> Interval, exact: impl Fn(f64) -> Double) {
    let mut draw = Key::new(11).child(name, 0).rng();
    for _ in 0..POINTS {
        let (within, x) = interval(&mut draw, 708.0);
        let (found, exact) = (image(within), exact(x));
        assert!(
            contains(found, exact),
            "{name}({within:?}) = {found:?} without {exact:?} at {x:e}"
        );
    }
}

#[test]
fn the_image_under_exp_holds_a_million_values() {
    encloses("exp", Interval::exp, Double::exp);
}

#[test]
fn the_image_under_the_sigmoid_holds_a_million_values() {
    encloses("sigmoid", Interval::sigmoid, oracle::sigmoid);
}

#[test]
fn the_image_under_tanh_holds_a_million_values() {
    // Beyond 354 twice the argument leaves the oracle.
    encloses("tanh", Interval::tanh, |x| oracle::tanh(x.clamp(-354.0, 354.0)));
}

#[test]
fn the_slopes_of_the_sigmoid_hold_a_million_values() {
    encloses("sigmoid slope", Interval::sigmoid_slope, oracle::sigmoid_slope);
}

#[test]
fn the_slopes_of_tanh_hold_a_million_values() {
    let exact = |x: f64| if x.abs() > 354.0 { Double::of(1e-307) } else { oracle::tanh_slope(x) };
    encloses("tanh slope", Interval::tanh_slope, exact);
}

#[test]
fn the_images_under_roots_squares_and_the_hard_sigmoid_hold_a_million_values() {
    encloses("sqrt", Interval::sqrt, |x| Double::of(x.max(0.0)).sqrt());
    // Squares below 1e-290 are not exact sums of two doubles.
    let square = |x: f64| if x.abs() < 1e-145 { Double::of(x * x) } else { Double::product(x, x) };
    encloses("square", Interval::square, square);
    let hard = |x: f64| {
        let line = Double::of(x).over(Double::of(5.0)).plus(Double::of(0.5));
        if line.high > 1.0 {
            Double::of(1.0)
        } else if line.high < 0.0 {
            Double::of(0.0)
        } else {
            line
        }
    };
    encloses("hard sigmoid", Interval::hard_sigmoid, hard);
}

#[test]
fn secant_slopes_of_the_hard_sigmoid_lie_between_any_two_points() {
    let mut draw = Key::new(12).rng();
    for _ in 0..POINTS {
        let (a, b) = (draw.uniform(-6.0, 6.0), draw.uniform(-6.0, 6.0));
        let slopes = Interval::new(a.min(b), a.max(b)).hard_sigmoid_slope();
        let hard = |x: f64| (x / 5.0 + 0.5).clamp(0.0, 1.0);
        let (t, s) = (a + draw.unit() * (b - a), a + draw.unit() * (b - a));
        let slope = (hard(t) - hard(s)) / (t - s);
        let room = 1e-15 / (t - s).abs();
        assert!((slopes.lo - room..=slopes.hi + room).contains(&slope), "{a} {b}: {slope}");
    }
}

#[test]
fn images_under_the_four_operations_hold_a_million_values() {
    type Operation = (&'static str, fn(Interval, Interval) -> Interval, fn(f64, f64) -> Double);
    let operations: [Operation; 4] = [
        ("sum", |a, b| a + b, Double::sum),
        ("difference", |a, b| a - b, |a, b| Double::sum(a, -b)),
        (
            "product",
            |a, b| a * b,
            |a, b| match (a * b).abs() < 1e-290 {
                true => Double::of(a * b),
                false => Double::product(a, b),
            },
        ),
        ("quotient", |a, b| a / b, |a, b| Double::of(a).over(Double::of(b))),
    ];
    for (name, image, exact) in operations {
        let mut draw = Key::new(13).child(name, 0).rng();
        for _ in 0..POINTS {
            let ((a, x), (b, y)) = (interval(&mut draw, 1e12), interval(&mut draw, 1e12));
            // The oracle divides where neither quotient nor remainder underflows.
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
    let mut draw = Key::new(14).rng();
    for _ in 0..100_000 {
        let x = Interval::point(draw.uniform(-700.0, 700.0));
        let e = x.exp();
        assert!(e.hi - e.lo <= 2f64.powi(-48) * e.lo, "{x:?}: {e:?}");
        let narrow = [x.sigmoid(), x.tanh(), x.sigmoid_slope(), x.tanh_slope()];
        assert!(narrow.iter().all(|y| y.hi - y.lo <= 2f64.powi(-47)), "{x:?}: {narrow:?}");
        let hard = Interval::point(draw.uniform(-2.0, 2.0)).hard_sigmoid();
        assert!(hard.hi - hard.lo <= 2f64.powi(-50));
    }
}

#[test]
fn what_is_no_number_or_beyond_the_doubles_is_enclosed_by_everything() {
    let nothing = Interval::point(f64::NAN);
    let (zero, all) = (Interval::point(0.0), Interval::new(f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(nothing.exp(), Interval::new(0.0, f64::INFINITY));
    assert_eq!(nothing.sigmoid(), Interval::new(0.0, 1.0));
    assert_eq!(nothing.tanh(), Interval::new(-1.0, 1.0));
    assert_eq!(nothing.sigmoid_slope(), Interval::new(0.0, 0.25));
    assert_eq!(nothing.tanh_slope(), Interval::new(0.0, 1.0));
    assert!(nothing.sqrt().hi.is_nan() && nothing.square().hi.is_nan());
    assert_eq!(zero * all, all);
    assert_eq!(all.sigmoid(), Interval::new(0.0, 1.0));
    assert_eq!(all.tanh(), Interval::new(-1.0, 1.0));
    let huge = Interval::point(800.0).exp();
    assert!(huge.lo <= 700f64.exp() && huge.hi == f64::INFINITY);
    assert!(Interval::point(-800.0).exp().hi >= (-700f64).exp());
}

#[test]
fn sums_rounded_up_are_no_less_than_exact_ones() {
    let mut draw = Key::new(15).rng();
    for terms in [1, 2, 3, 10, 100, 1000] {
        for _ in 0..200 {
            let x: Vec<[f64; 3]> =
                (0..terms).map(|_| [0; 3].map(|_| 10f64.powf(draw.uniform(-6.0, 3.0)))).collect();
            let sum: f64 = x.iter().map(|x| x[0] * x[1] / x[2]).sum();
            let exact = x.iter().fold(Double::of(0.0), |sum, x| {
                sum.plus(Double::product(x[0], x[1]).over(Double::of(x[2])))
            });
            assert!(exact.at_most(up(sum, terms)), "{terms} terms: {exact:?}");
        }
    }
}
