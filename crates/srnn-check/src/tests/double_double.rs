//! Double-double arithmetic with about 31 digits: the oracle of the tests, itself tested against a
//! library.

/// `hi + lo`, with |lo| at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug)]
pub struct DoubleDouble {
    pub hi: f64,
    pub lo: f64,
}

impl DoubleDouble {
    pub fn new(x: f64) -> DoubleDouble {
        DoubleDouble { hi: x, lo: 0.0 }
    }

    fn sum_of(a: f64, b: f64) -> DoubleDouble {
        let hi = a + b;
        let part = hi - a;
        DoubleDouble { hi, lo: (a - (hi - part)) + (b - part) }
    }

    pub fn product_of(a: f64, b: f64) -> DoubleDouble {
        let hi = a * b;
        DoubleDouble { hi, lo: a.mul_add(b, -hi) }
    }

    pub fn plus(self, other: DoubleDouble) -> DoubleDouble {
        let sum = DoubleDouble::sum_of(self.hi, other.hi);
        let low = DoubleDouble::sum_of(self.lo, other.lo);
        let sum = DoubleDouble::sum_of(sum.hi, sum.lo + low.hi);
        DoubleDouble::sum_of(sum.hi, sum.lo + low.lo)
    }

    pub fn negated(self) -> DoubleDouble {
        DoubleDouble { hi: -self.hi, lo: -self.lo }
    }

    pub fn times(self, other: DoubleDouble) -> DoubleDouble {
        let product = DoubleDouble::product_of(self.hi, other.hi);
        let cross = self.hi * other.lo + self.lo * other.hi;
        DoubleDouble::sum_of(product.hi, product.lo + cross)
    }

    pub fn over(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.hi / other.hi;
        let rest = self.plus(other.times(DoubleDouble::new(first)).negated());
        let second = rest.hi / other.hi;
        let rest = rest.plus(other.times(DoubleDouble::new(second)).negated());
        let third = rest.hi / other.hi;
        DoubleDouble::sum_of(first, second).plus(DoubleDouble::new(third))
    }

    /// eˣ for |x| ≤ 700.
    pub fn exp(self) -> DoubleDouble {
        // ln 2 to 31 digits; the test of exp covers it.
        let ln2 = DoubleDouble { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
        let n = (self.hi / ln2.hi).round();
        let r = self.plus(ln2.times(DoubleDouble::new(n)).negated());
        let mut sum = DoubleDouble::new(1.0);
        for term in (1..=26).rev() {
            sum =
                DoubleDouble::new(1.0).plus(r.times(sum).over(DoubleDouble::new(f64::from(term))));
        }
        let scale = 2f64.powi(n as i32);
        DoubleDouble { hi: sum.hi * scale, lo: sum.lo * scale }
    }

    pub fn sigmoid(self) -> DoubleDouble {
        DoubleDouble::new(1.0).over(DoubleDouble::new(1.0).plus(self.negated().exp()))
    }

    pub fn tanh(self) -> DoubleDouble {
        let one = DoubleDouble::new(1.0);
        let e = self.plus(self).exp();
        e.plus(one.negated()).over(e.plus(one))
    }

    /// Whether the value is at least `bound`.
    pub fn is_at_least(self, bound: f64) -> bool {
        (self.hi - bound) + self.lo >= 0.0
    }
}
