//! Writes enclosures of interval functions for `bench/certificate/mpfr.py`.
//!
//! ```sh
//! cargo run --release -p srnn-bench --bin enclosures
//! ```
//!
//! Standard output gets, for every function, `POINTS` records of four doubles: x, y, and the lower
//! and upper end of the image. x is a point of a random interval and y of a second one (for the
//! four operations). The image of the intervals must contain the value at x and y.

#[allow(dead_code)]
#[path = "../../../srnn/src/certify/interval.rs"]
mod interval;

use interval::Interval;
use srnn::engine::key::{Key, Rng};
use std::io::{BufWriter, Write};

const POINTS: usize = 1_000_000;

type BinaryFunction = fn(Interval, Interval) -> Interval;

/// The functions, in the order of `mpfr.py`.
const FUNCTIONS: [(&str, BinaryFunction); 12] = [
    ("exp", |a, _| a.exp()),
    ("sigmoid", |a, _| a.sigmoid()),
    ("tanh", |a, _| a.tanh()),
    ("sigmoid slope", |a, _| a.sigmoid_slope()),
    ("tanh slope", |a, _| a.tanh_slope()),
    ("sqrt", |a, _| a.sqrt()),
    ("square", |a, _| a.square()),
    ("hard sigmoid", |a, _| a.hard_sigmoid()),
    ("sum", |a, b| a + b),
    ("difference", |a, b| a - b),
    ("product", |a, b| a * b),
    ("quotient", |a, b| a / b),
];

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (name, image) in FUNCTIONS {
        let mut rng = Key::new(31).child(name, 0).rng();
        for _ in 0..POINTS {
            let ((a, x), (b, y)) = (random_interval(&mut rng), second_argument(name, &mut rng));
            let Interval { lo, hi } = image(a, b);
            for value in [x, y, lo, hi] {
                out.write_all(&value.to_le_bytes())?;
            }
        }
    }
    out.flush()
}

/// An interval and a point of it. The interval does not contain 0 if the function is the quotient.
fn second_argument(name: &str, rng: &mut Rng) -> (Interval, f64) {
    loop {
        let found = random_interval(rng);
        if name != "quotient" || found.0.mig() > 0.0 {
            return found;
        }
    }
}

/// A random interval and a point of it.
fn random_interval(rng: &mut Rng) -> (Interval, f64) {
    let a = random_number(rng);
    let b = match rng.below(4) {
        0 | 1 => return (Interval::point(a), a),
        2 => a + a.abs() * 10f64.powf(rng.uniform(-16.0, 0.0)),
        _ => random_number(rng),
    };
    let interval = Interval::new(a.min(b), a.max(b));
    let x = match rng.below(3) {
        0 => interval.lo,
        1 => interval.hi,
        _ => interval.lo + rng.unit() * (interval.hi - interval.lo),
    };
    (interval, x.clamp(interval.lo, interval.hi))
}

/// A random number of either sign: zero, denormal, tiny, next to a power of two, next to a
/// threshold of exp, small, moderate, large or huge.
fn random_number(rng: &mut Rng) -> f64 {
    let near = |x: f64, rng: &mut Rng| {
        f64::from_bits((x.to_bits() as i64 + rng.below(9) as i64 - 4) as u64)
    };
    let size = match rng.below(10) {
        0 => [0.0, 5e-324, f64::MIN_POSITIVE, 1.0][rng.below(4)],
        1 => 10f64.powf(rng.uniform(-320.0, -15.0)),
        2 => near(2f64.powi(rng.below(140) as i32 - 70), rng),
        3 => near(700.0, rng),
        4 => near(std::f64::consts::LN_2 * (rng.below(1010) as f64 + 0.5), rng),
        5 => rng.uniform(0.0, 1.0),
        6 => rng.uniform(0.0, 40.0),
        7 => rng.uniform(0.0, 760.0),
        8 => 10f64.powf(rng.uniform(-15.0, 4.0)),
        _ => 10f64.powf(rng.uniform(4.0, 150.0)),
    };
    if rng.below(2) == 0 { size } else { -size }
}
