//! The floating-point arithmetic that a certificate covers.

use serde::{Deserialize, Serialize};

/// What a certificate covers: the network in real arithmetic, and every program that computes it
/// within the error model of this arithmetic (`certify::ErrorModel` of the crate `srnn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// Double precision: the engine `reference`.
    F64,
    /// Single precision as well: the engine `cpu`.
    F32,
}

impl Arithmetic {
    /// `f64` or `f32`.
    pub fn name(self) -> &'static str {
        match self {
            Arithmetic::F64 => "f64",
            Arithmetic::F32 => "f32",
        }
    }

    /// The engines that it covers.
    pub fn engines(self) -> &'static [&'static str] {
        match self {
            Arithmetic::F64 => &["reference"],
            Arithmetic::F32 => &["reference", "cpu"],
        }
    }
}
