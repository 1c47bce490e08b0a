//! Writes intervals' images for `bench/certificate/mpfr.py`: to standard output, for every
//! function `POINTS` records of four doubles: x, y, and the image's lower and upper end.
//!
//! x is a double of an interval (y of a second one, for the four operations), and the image is that
//! of the intervals: it must hold the function's value at x and y.

#[allow(dead_code)]
#[path = "../../../srnn/src/certify/interval.rs"]
mod interval;

use interval::Interval;
use srnn::key::{Key, Rng};
use std::io::{BufWriter, Write};

const POINTS: usize = 1_000_000;

type Binary = fn(Interval, Interval) -> Interval;

/// In the order of `mpfr.py`.
const FUNCTIONS: [(&str, Binary); 12] = [
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
        let mut draw = Key::new(31).child(name, 0).rng();
        for _ in 0..POINTS {
            let ((a, x), (b, y)) = (within(&mut draw), divisor(name, &mut draw));
            let Interval { lo, hi } = image(a, b);
            for value in [x, y, lo, hi] {
                out.write_all(&value.to_le_bytes())?;
            }
        }
    }
    out.flush()
}

/// An interval and a double in it; none that holds 0 to divide by.
fn divisor(name: &str, draw: &mut Rng) -> (Interval, f64) {
    loop {
        let found = within(draw);
        if name != "quotient" || found.0.mig() > 0.0 {
            return found;
        }
    }
}

fn within(draw: &mut Rng) -> (Interval, f64) {
    let a = awkward(draw);
    let b = match draw.below(4) {
        0 | 1 => return (Interval::point(a), a),
        2 => a + a.abs() * 10f64.powf(draw.uniform(-16.0, 0.0)),
        _ => awkward(draw),
    };
    let interval = Interval::new(a.min(b), a.max(b));
    let x = match draw.below(3) {
        0 => interval.lo,
        1 => interval.hi,
        _ => interval.lo + draw.unit() * (interval.hi - interval.lo),
    };
    (interval, x.clamp(interval.lo, interval.hi))
}

/// Zero, denormal, tiny, next to powers of two, to the clamp of exp and to where its reduction
/// changes, small, moderate, large and huge, of both signs.
fn awkward(draw: &mut Rng) -> f64 {
    let near = |x: f64, draw: &mut Rng| {
        f64::from_bits((x.to_bits() as i64 + draw.below(9) as i64 - 4) as u64)
    };
    let size = match draw.below(10) {
        0 => [0.0, 5e-324, f64::MIN_POSITIVE, 1.0][draw.below(4)],
        1 => 10f64.powf(draw.uniform(-320.0, -15.0)),
        2 => near(2f64.powi(draw.below(140) as i32 - 70), draw),
        3 => near(700.0, draw),
        4 => near(std::f64::consts::LN_2 * (draw.below(1010) as f64 + 0.5), draw),
        5 => draw.uniform(0.0, 1.0),
        6 => draw.uniform(0.0, 40.0),
        7 => draw.uniform(0.0, 760.0),
        8 => 10f64.powf(draw.uniform(-15.0, 4.0)),
        _ => 10f64.powf(draw.uniform(4.0, 150.0)),
    };
    if draw.below(2) == 0 { size } else { -size }
}
