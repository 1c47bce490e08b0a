//! Pairs of doubles, about 31 digits: the bulk oracle, itself tested against a library.

/// `hi + lo`, |lo| at most half a unit in the last place of hi.
#[derive(Clone, Copy, Debug)]
pub struct Twofold {
    pub hi: f64,
    pub lo: f64,
}

impl Twofold {
    pub fn new(x: f64) -> Twofold {
        Twofold { hi: x, lo: 0.0 }
    }

    fn sum_of(a: f64, b: f64) -> Twofold {
        let hi = a + b;
        let part = hi - a;
        Twofold { hi, lo: (a - (hi - part)) + (b - part) }
    }

    pub fn product_of(a: f64, b: f64) -> Twofold {
        let hi = a * b;
        Twofold { hi, lo: a.mul_add(b, -hi) }
    }

    pub fn plus(self, other: Twofold) -> Twofold {
        let sum = Twofold::sum_of(self.hi, other.hi);
        let low = Twofold::sum_of(self.lo, other.lo);
        let sum = Twofold::sum_of(sum.hi, sum.lo + low.hi);
        Twofold::sum_of(sum.hi, sum.lo + low.lo)
    }

    pub fn negated(self) -> Twofold {
        Twofold { hi: -self.hi, lo: -self.lo }
    }

    pub fn times(self, other: Twofold) -> Twofold {
        let product = Twofold::product_of(self.hi, other.hi);
        let cross = self.hi * other.lo + self.lo * other.hi;
        Twofold::sum_of(product.hi, product.lo + cross)
    }

    pub fn over(self, other: Twofold) -> Twofold {
        let first = self.hi / other.hi;
        let rest = self.plus(other.times(Twofold::new(first)).negated());
        let second = rest.hi / other.hi;
        let rest = rest.plus(other.times(Twofold::new(second)).negated());
        let third = rest.hi / other.hi;
        Twofold::sum_of(first, second).plus(Twofold::new(third))
    }

    /// eˣ for |x| ≤ 700.
    pub fn exp(self) -> Twofold {
        // ln 2 to 31 digits; tested below through exp itself.
        let ln2 = Twofold { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
        let n = (self.hi / ln2.hi).round();
        let r = self.plus(ln2.times(Twofold::new(n)).negated());
        let mut sum = Twofold::new(1.0);
        for term in (1..=26).rev() {
            sum = Twofold::new(1.0).plus(r.times(sum).over(Twofold::new(f64::from(term))));
        }
        let scale = 2f64.powi(n as i32);
        Twofold { hi: sum.hi * scale, lo: sum.lo * scale }
    }

    pub fn sigmoid(self) -> Twofold {
        Twofold::new(1.0).over(Twofold::new(1.0).plus(self.negated().exp()))
    }

    pub fn tanh(self) -> Twofold {
        let one = Twofold::new(1.0);
        let e = self.plus(self).exp();
        e.plus(one.negated()).over(e.plus(one))
    }

    /// Whether it is `bound` or more.
    pub fn reaches(self, bound: f64) -> bool {
        (self.hi - bound) + self.lo >= 0.0
    }
}
