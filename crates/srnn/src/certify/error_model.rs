//! The error model: bounds on the rounding errors of the program that runs the network.

use super::interval::round_up;
use crate::engine::Arithmetic;

/// Bounds on the errors of a program's operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorModel {
    /// ū: relative error of +, −, ·, / and √.
    pub unit_roundoff: f64,
    /// ε_σ: absolute error of the sigmoid.
    pub sigmoid: f64,
    /// ε_t: absolute error of tanh.
    pub tanh: f64,
    /// ε_e: relative error of exp.
    pub exp: f64,
    /// ω: absolute loss of one quantity by underflow, flushing and clamping together.
    pub underflow: f64,
    /// ν: roundings in the normalisation of α, besides those of the sum.
    pub normalisation: usize,
}

impl ErrorModel {
    /// The error model of an arithmetic.
    pub fn of(arithmetic: Arithmetic) -> ErrorModel {
        match arithmetic {
            Arithmetic::F64 => ErrorModel {
                unit_roundoff: 2f64.powi(-53),
                sigmoid: 2f64.powi(-49),
                tanh: 2f64.powi(-49),
                exp: 2f64.powi(-49),
                underflow: 1e-150,
                normalisation: 80,
            },
            // The errors of `engine/cpu/functions.rs`, enlarged for programs without fused
            // multiply-add.
            Arithmetic::F32 => ErrorModel {
                unit_roundoff: 2f64.powi(-24),
                sigmoid: 6e-7,
                tanh: 6e-7,
                exp: 4e-7,
                underflow: 1e-17,
                normalisation: 16,
            },
        }
    }

    /// η_A: bound on |1 − Σα| for the computed α of a layer with `k` centroids.
    pub fn simplex_error(self, k: usize) -> f64 {
        self.gamma(k + self.normalisation)
    }

    /// γ_m: bound on the relative error of a sum of m terms in any order.
    pub fn gamma(self, m: usize) -> f64 {
        let m = m as f64 * self.unit_roundoff;
        round_up(m / (1.0 - m), 4)
    }
}
