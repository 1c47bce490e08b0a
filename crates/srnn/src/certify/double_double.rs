//! Double-double arithmetic with about 100 bits: the oracle of the enclosures, fast enough for a
//! million points a second. It is itself tested against an arbitrary-precision library.

/// `high + low`, with |low| at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug)]
pub struct DoubleDouble {
    pub high: f64,
    pub low: f64,
}

impl DoubleDouble {
    /// The value `x`, exactly.
    pub fn of(x: f64) -> DoubleDouble {
        DoubleDouble { high: x, low: 0.0 }
    }

    /// `a + b`, exactly.
    pub fn sum(a: f64, b: f64) -> DoubleDouble {
        let high = a + b;
        let part = high - a;
        DoubleDouble { high, low: (a - (high - part)) + (b - part) }
    }

    /// `a·b`, exactly where nothing underflows.
    pub fn product(a: f64, b: f64) -> DoubleDouble {
        let high = a * b;
        DoubleDouble { high, low: a.mul_add(b, -high) }
    }

    pub fn plus(self, other: DoubleDouble) -> DoubleDouble {
        let (high, low) =
            (DoubleDouble::sum(self.high, other.high), DoubleDouble::sum(self.low, other.low));
        let carried = DoubleDouble::sum(high.high, high.low + low.high);
        DoubleDouble::sum(carried.high, carried.low + low.low)
    }

    pub fn minus(self, other: DoubleDouble) -> DoubleDouble {
        self.plus(DoubleDouble { high: -other.high, low: -other.low })
    }

    pub fn times(self, other: DoubleDouble) -> DoubleDouble {
        let DoubleDouble { high, low } = DoubleDouble::product(self.high, other.high);
        DoubleDouble::sum(high, low + (self.high * other.low + self.low * other.high))
    }

    pub fn over(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        let rest = self.minus(other.times(DoubleDouble::of(first)));
        let second = rest.high / other.high;
        let rest = rest.minus(other.times(DoubleDouble::of(second)));
        DoubleDouble::sum(first, second).plus(DoubleDouble::of(rest.high / other.high))
    }

    pub fn sqrt(self) -> DoubleDouble {
        if self.high == 0.0 {
            return self;
        }
        let root = self.high.sqrt();
        let rest = self.minus(DoubleDouble::product(root, root));
        DoubleDouble::sum(root, rest.high / (2.0 * root))
    }

    /// The product with a power of two, which is exact.
    fn scaled(self, by: f64) -> DoubleDouble {
        DoubleDouble { high: self.high * by, low: self.low * by }
    }

    /// `eˣ` for |x| ≤ 709: x = n ln 2 + r, Taylor on r/256, squared eight times.
    pub fn exp(x: f64) -> DoubleDouble {
        // ln 2 in three doubles.
        const LN_2: [f64; 3] = [
            f64::from_bits(0x3fe6_2e42_fefa_39ef),
            f64::from_bits(0x3c7a_bc9e_3b39_803f),
            f64::from_bits(0x3907_b57a_079a_1934),
        ];
        let n = (x / LN_2[0]).round();
        let part = |i: usize| DoubleDouble::product(-n, LN_2[i]);
        let r = DoubleDouble::of(x).plus(part(0)).plus(part(1)).plus(part(2)).scaled(1.0 / 256.0);
        let one = DoubleDouble::of(1.0);
        // e^r − 1: squaring it does not double the relative error of the 1.
        let term =
            |sum: DoubleDouble, i: i32| one.plus(r.over(DoubleDouble::of(i as f64)).times(sum));
        let mut less_one = (2..=13).rev().fold(one, term).times(r);
        for _ in 0..8 {
            less_one = less_one.scaled(2.0).plus(less_one.times(less_one));
        }
        let half = 2f64.powi((n / 2.0) as i32);
        one.plus(less_one).scaled(half).scaled(2f64.powi(n as i32 - (n / 2.0) as i32))
    }

    /// Whether the value is at least `x`.
    pub fn at_least(self, x: f64) -> bool {
        if self.high == x { self.low >= 0.0 } else { self.high > x }
    }

    /// Whether the value is at most `x`.
    pub fn at_most(self, x: f64) -> bool {
        if self.high == x { self.low <= 0.0 } else { self.high < x }
    }
}

/// `1/(1 + e⁻ˣ)`.
pub fn sigmoid(x: f64) -> DoubleDouble {
    let (one, e) = (DoubleDouble::of(1.0), DoubleDouble::exp(-x.abs()));
    let small = e.over(one.plus(e));
    if x < 0.0 { small } else { one.minus(small) }
}

/// `tanh x`; near 0 its absolute error is that of 1.
pub fn tanh(x: f64) -> DoubleDouble {
    let (one, e) = (DoubleDouble::of(1.0), DoubleDouble::exp(-2.0 * x.abs()));
    let t = one.minus(e).over(one.plus(e));
    if x < 0.0 { DoubleDouble { high: -t.high, low: -t.low } } else { t }
}

/// `σ'(x)`.
pub fn sigmoid_slope(x: f64) -> DoubleDouble {
    let (one, e) = (DoubleDouble::of(1.0), DoubleDouble::exp(-x.abs()));
    let whole = one.plus(e);
    e.over(whole.times(whole))
}

/// `tanh'(x)`.
pub fn tanh_slope(x: f64) -> DoubleDouble {
    sigmoid_slope(2.0 * x).scaled(4.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use dashu_float::FBig;
    use dashu_float::ops::SquareRoot as _;
    use dashu_float::round::mode::HalfEven;

    type Big = FBig<HalfEven, 2>;

    fn big(x: f64) -> Big {
        Big::try_from(x).expect("finite").with_precision(200).value()
    }

    fn of(x: DoubleDouble) -> Big {
        big(x.high) + big(x.low)
    }

    /// The largest error over 10,000 points, relative or absolute.
    fn worst(
        ours: impl Fn(f64) -> DoubleDouble,
        exact: impl Fn(Big) -> Big,
        relative: bool,
    ) -> f64 {
        let mut rng = Key::new(3).child("oracle", 0).rng();
        let mut worst = 0f64;
        for i in 0..10_000 {
            let size = [1e-6, 0.5, 3.0, 40.0, 300.0][i % 5];
            let x = rng.uniform(-size, size);
            let exact = exact(big(x));
            let scale = if relative { exact.clone() } else { big(1.0) };
            let off = (of(ours(x)) - exact) / scale;
            worst = worst.max(off.to_f64().value().abs());
        }
        worst
    }

    #[test]
    fn double_doubles_have_98_bits() {
        let one = || big(1.0);
        let e = |x: Big| x.exp();
        let sigma = |x: Big| one() / (one() + (-x).exp());
        let bound = 2f64.powi(-98);
        let found = [
            worst(DoubleDouble::exp, e, true),
            worst(sigmoid, sigma, true),
            worst(sigmoid_slope, |x| sigma(x.clone()) * sigma(-x), true),
            worst(
                tanh,
                |x| (one() - (-x.clone() - x.clone()).exp()) / (one() + (-x.clone() - x).exp()),
                false,
            ),
            worst(|x| DoubleDouble::of(x).over(DoubleDouble::of(3.0)), |x| x / big(3.0), true),
            worst(
                |x| DoubleDouble::of(x.abs()).sqrt(),
                |x| if x < big(0.0) { (-x).sqrt() } else { x.sqrt() },
                true,
            ),
        ];
        assert!(found.iter().all(|&off| off <= bound), "{found:?} against {bound:e}");
    }
}
