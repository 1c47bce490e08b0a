//! What the arithmetic of the program that runs is charged.

use super::interval::up;
use crate::engine::Arithmetic;

/// Bounds on the errors of a program's operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Relative, of +, −, ·, / and √.
    pub unit: f64,
    /// Absolute, of the sigmoid.
    pub sigmoid: f64,
    /// Absolute, of tanh.
    pub tanh: f64,
    /// Relative, of exp.
    pub exp: f64,
    /// Absolute: underflow, flushing, clamping, in all, per quantity.
    pub lost: f64,
    /// ν: roundings of the normalisation of α, beside those of the sum.
    pub normalisation: usize,
}

impl Errors {
    /// The error model of a kind of arithmetic.
    pub fn of(arithmetic: Arithmetic) -> Errors {
        match arithmetic {
            Arithmetic::F64 => Errors {
                unit: 2f64.powi(-53),
                sigmoid: 2f64.powi(-49),
                tanh: 2f64.powi(-49),
                exp: 2f64.powi(-49),
                lost: 1e-150,
                normalisation: 80,
            },
            // The functions' errors are those of `engine/cpu/functions.rs`, with room for programs
            // that do not fuse.
            Arithmetic::F32 => Errors {
                unit: 2f64.powi(-24),
                sigmoid: 6e-7,
                tanh: 6e-7,
                exp: 4e-7,
                lost: 1e-17,
                normalisation: 16,
            },
        }
    }

    /// η_A: how far the α of a layer with `k` centroids can be from summing to one.
    pub fn unbalanced(self, k: usize) -> f64 {
        self.gamma(k + self.normalisation)
    }

    /// γ_m: at least the relative error of a sum of m terms in any order.
    pub fn gamma(self, m: usize) -> f64 {
        let m = m as f64 * self.unit;
        up(m / (1.0 - m), 4)
    }
}
