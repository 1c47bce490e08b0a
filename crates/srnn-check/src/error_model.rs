//! The error model: bounds on the rounding errors of the program that runs the network.

use crate::interval::UpperBound;
use serde::Deserialize;

/// The arithmetic that a certificate covers besides real arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// Double precision.
    F64,
    /// Double and single precision: every bound of single precision is the larger one.
    F32,
}

impl Arithmetic {
    /// Names of the engines that compute within the error model.
    pub fn engines(self) -> &'static [&'static str] {
        match self {
            Arithmetic::F64 => &["reference"],
            Arithmetic::F32 => &["reference", "cpu"],
        }
    }

    /// The bounds of this arithmetic.
    pub fn error_model(self) -> ErrorModel {
        let up = |bound: f64| UpperBound::new(bound.next_up());
        match self {
            Arithmetic::F64 => ErrorModel {
                unit_roundoff: f64::EPSILON / 2.0,
                sigmoid: up(2f64.powi(-49)),
                tanh: up(2f64.powi(-49)),
                exp: up(2f64.powi(-49)),
                underflow: up(1e-150),
                normalisation: 80,
            },
            Arithmetic::F32 => ErrorModel {
                unit_roundoff: f64::from(f32::EPSILON) / 2.0,
                sigmoid: up(6e-7),
                tanh: up(6e-7),
                exp: up(4e-7),
                underflow: up(1e-17),
                normalisation: 16,
            },
        }
    }
}

/// The bounds ū, ε_σ, ε_t, ε_e, ω and ν of one arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct ErrorModel {
    unit_roundoff: f64,
    pub sigmoid: UpperBound,
    pub tanh: UpperBound,
    pub exp: UpperBound,
    pub underflow: UpperBound,
    normalisation: usize,
}

impl ErrorModel {
    /// γ_m = m ū/(1 − m ū).
    pub fn gamma(&self, m: usize) -> UpperBound {
        let error = (m as f64 * self.unit_roundoff).next_up();
        if error < 1.0 {
            UpperBound::new((error / (1.0 - error).next_down()).next_up())
        } else {
            UpperBound::new(f64::INFINITY)
        }
    }

    /// `count`·ū.
    pub fn roundings(&self, count: f64) -> UpperBound {
        UpperBound::new(count * self.unit_roundoff)
    }

    /// η_A = γ_{K+ν}: bound on |1 − Σα| of the computed α, and on their relative error.
    pub fn simplex_error(&self, k: usize) -> UpperBound {
        self.gamma(k + self.normalisation)
    }
}
