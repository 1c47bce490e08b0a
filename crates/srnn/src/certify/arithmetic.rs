//! The arithmetic of the program that runs, and what it is charged.

use super::interval::up;
use serde::{Deserialize, Serialize};

/// What a certificate holds for: the network in real arithmetic, and every program that computes
/// it within the error model of [`Arithmetic::errors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// Double precision: the engine `reference`.
    F64,
    /// Single precision as well: the engine `cpu`.
    F32,
}

impl Arithmetic {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Arithmetic::F64 => "f64",
            Arithmetic::F32 => "f32",
        }
    }

    /// The engines whose programs it covers.
    pub fn engines(self) -> &'static [&'static str] {
        match self {
            Arithmetic::F64 => &["reference"],
            Arithmetic::F32 => &["reference", "cpu"],
        }
    }

    /// Its error model.
    pub fn errors(self) -> Errors {
        match self {
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
}

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
