//! Sums of two doubles, about 100 bits: what enclosures are tested against, a million points a
//! second. They are tested themselves, against a library of any precision.

/// `high + low`, with |low| at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    pub high: f64,
    pub low: f64,
}

impl Double {
    /// A double, exactly.
    pub fn of(x: f64) -> Double {
        Double { high: x, low: 0.0 }
    }

    /// `a + b`, exactly.
    pub fn sum(a: f64, b: f64) -> Double {
        let high = a + b;
        let part = high - a;
        Double { high, low: (a - (high - part)) + (b - part) }
    }

    /// `a·b`, exactly where nothing underflows.
    pub fn product(a: f64, b: f64) -> Double {
        let high = a * b;
        Double { high, low: a.mul_add(b, -high) }
    }

    pub fn plus(self, other: Double) -> Double {
        let (high, low) = (Double::sum(self.high, other.high), Double::sum(self.low, other.low));
        let carried = Double::sum(high.high, high.low + low.high);
        Double::sum(carried.high, carried.low + low.low)
    }

    pub fn minus(self, other: Double) -> Double {
        self.plus(Double { high: -other.high, low: -other.low })
    }

    pub fn times(self, other: Double) -> Double {
        let Double { high, low } = Double::product(self.high, other.high);
        Double::sum(high, low + (self.high * other.low + self.low * other.high))
    }

    pub fn over(self, other: Double) -> Double {
        let first = self.high / other.high;
        let rest = self.minus(other.times(Double::of(first)));
        let second = rest.high / other.high;
        let rest = rest.minus(other.times(Double::of(second)));
        Double::sum(first, second).plus(Double::of(rest.high / other.high))
    }

    pub fn sqrt(self) -> Double {
        if self.high == 0.0 {
            return self;
        }
        let root = self.high.sqrt();
        let rest = self.minus(Double::product(root, root));
        Double::sum(root, rest.high / (2.0 * root))
    }

    /// Times a power of two.
    fn scaled(self, by: f64) -> Double {
        Double { high: self.high * by, low: self.low * by }
    }

    /// `eˣ` for |x| ≤ 709: x = n ln 2 + r, Taylor on r/256, squared eight times.
    pub fn exp(x: f64) -> Double {
        // ln 2 in three doubles.
        const LN_2: [f64; 3] = [
            f64::from_bits(0x3fe6_2e42_fefa_39ef),
            f64::from_bits(0x3c7a_bc9e_3b39_803f),
            f64::from_bits(0x3907_b57a_079a_1934),
        ];
        let n = (x / LN_2[0]).round();
        let part = |i: usize| Double::product(-n, LN_2[i]);
        let r = Double::of(x).plus(part(0)).plus(part(1)).plus(part(2)).scaled(1.0 / 256.0);
        let one = Double::of(1.0);
        // e^r − 1, so that squaring doubles no relative error of the 1.
        let term = |sum: Double, i: i32| one.plus(r.over(Double::of(i as f64)).times(sum));
        let mut less_one = (2..=13).rev().fold(one, term).times(r);
        for _ in 0..8 {
            less_one = less_one.scaled(2.0).plus(less_one.times(less_one));
        }
        let half = 2f64.powi((n / 2.0) as i32);
        one.plus(less_one).scaled(half).scaled(2f64.powi(n as i32 - (n / 2.0) as i32))
    }

    /// Whether it is at least `x`.
    pub fn at_least(self, x: f64) -> bool {
        if self.high == x { self.low >= 0.0 } else { self.high > x }
    }

    /// Whether it is at most `x`.
    pub fn at_most(self, x: f64) -> bool {
        if self.high == x { self.low <= 0.0 } else { self.high < x }
    }
}

/// `1/(1 + e⁻ˣ)`.
pub fn sigmoid(x: f64) -> Double {
    let (one, e) = (Double::of(1.0), Double::exp(-x.abs()));
    let small = e.over(one.plus(e));
    if x < 0.0 { small } else { one.minus(small) }
}

/// `tanh x`; near 0 its absolute error is that of 1.
pub fn tanh(x: f64) -> Double {
    let (one, e) = (Double::of(1.0), Double::exp(-2.0 * x.abs()));
    let t = one.minus(e).over(one.plus(e));
    if x < 0.0 { Double { high: -t.high, low: -t.low } } else { t }
}

/// `σ'(x)`.
pub fn sigmoid_slope(x: f64) -> Double {
    let (one, e) = (Double::of(1.0), Double::exp(-x.abs()));
    let whole = one.plus(e);
    e.over(whole.times(whole))
}

/// `tanh'(x)`.
pub fn tanh_slope(x: f64) -> Double {
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

    fn of(x: Double) -> Big {
        big(x.high) + big(x.low)
    }

    /// The largest |ours − exact| / scale over 10,000 points.
    fn worst(ours: impl Fn(f64) -> Double, exact: impl Fn(Big) -> Big, relative: bool) -> f64 {
        let mut draw = Key::new(3).child("oracle", 0).rng();
        let mut worst = 0f64;
        for i in 0..10_000 {
            let size = [1e-6, 0.5, 3.0, 40.0, 300.0][i % 5];
            let x = draw.uniform(-size, size);
            let exact = exact(big(x));
            let scale = if relative { exact.clone() } else { big(1.0) };
            let off = (of(ours(x)) - exact) / scale;
            worst = worst.max(off.to_f64().value().abs());
        }
        worst
    }

    #[test]
    fn sums_of_two_doubles_have_a_hundred_bits() {
        let one = || big(1.0);
        let e = |x: Big| x.exp();
        let sigma = |x: Big| one() / (one() + (-x).exp());
        let bound = 2f64.powi(-98);
        let found = [
            worst(Double::exp, e, true),
            worst(sigmoid, sigma, true),
            worst(sigmoid_slope, |x| sigma(x.clone()) * sigma(-x), true),
            worst(
                tanh,
                |x| (one() - (-x.clone() - x.clone()).exp()) / (one() + (-x.clone() - x).exp()),
                false,
            ),
            worst(|x| Double::of(x).over(Double::of(3.0)), |x| x / big(3.0), true),
            worst(
                |x| Double::of(x.abs()).sqrt(),
                |x| if x < big(0.0) { (-x).sqrt() } else { x.sqrt() },
                true,
            ),
        ];
        assert!(found.iter().all(|&off| off <= bound), "{found:?} against {bound:e}");
    }
}
