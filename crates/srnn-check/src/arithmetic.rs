//! The error model: what a program that runs the network may lose in each operation.

use crate::interval::Up;
use serde::Deserialize;

/// Which programs a certificate speaks of, besides real arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// Double precision.
    F64,
    /// Double and single precision: all charges of single precision are the larger ones.
    F32,
}

impl Arithmetic {
    /// The engines that compute within the model.
    pub fn engines(self) -> &'static [&'static str] {
        match self {
            Arithmetic::F64 => &["reference"],
            Arithmetic::F32 => &["reference", "cpu"],
        }
    }

    /// Its charges.
    pub fn charges(self) -> Charges {
        let up = |bound: f64| Up::new(bound.next_up());
        match self {
            Arithmetic::F64 => Charges {
                unit: f64::EPSILON / 2.0,
                sigmoid: up(2f64.powi(-49)),
                tanh: up(2f64.powi(-49)),
                exp: up(2f64.powi(-49)),
                lost: up(1e-150),
                normalised: 80,
            },
            Arithmetic::F32 => Charges {
                unit: f64::from(f32::EPSILON) / 2.0,
                sigmoid: up(6e-7),
                tanh: up(6e-7),
                exp: up(4e-7),
                lost: up(1e-17),
                normalised: 16,
            },
        }
    }
}

/// The charges of one arithmetic: ū, ε_σ, ε_t, ε_e, ω and ν.
#[derive(Clone, Copy, Debug)]
pub struct Charges {
    unit: f64,
    pub sigmoid: Up,
    pub tanh: Up,
    pub exp: Up,
    pub lost: Up,
    normalised: usize,
}

impl Charges {
    /// γ_m = m ū/(1 − m ū).
    pub fn gamma(&self, m: usize) -> Up {
        let lost = (m as f64 * self.unit).next_up();
        if lost < 1.0 {
            Up::new((lost / (1.0 - lost).next_down()).next_up())
        } else {
            Up::new(f64::INFINITY)
        }
    }

    /// `count`·ū.
    pub fn units(&self, count: f64) -> Up {
        Up::new(count * self.unit)
    }

    /// γ_{K+ν}: how far the program's α are from summing to one, and from e^l/Σe^l.
    pub fn normalisation(&self, k: usize) -> Up {
        self.gamma(k + self.normalised)
    }
}
