//! Shared by the tests: small saturated networks, a plain simulation, a prover that only calls the
//! checker, and falsified versions of any certificate.

#![allow(dead_code)] // Every test file uses a part of it.

pub mod certify;
pub mod model;
pub mod refute;
pub mod simulate;
pub mod tampering;

/// A pseudo-random generator: the same seed gives the same tests.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    /// 64 bits (splitmix).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From −1 to 1.
    pub fn sign(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
}

/// The two files of a model and a certificate.
#[derive(Clone)]
pub struct Files {
    pub config: Vec<u8>,
    pub weights: Vec<u8>,
    pub certificate: Vec<u8>,
}

impl Files {
    pub fn check(&self) -> Result<srnn_check::Checked, srnn_check::Refused> {
        srnn_check::check(&self.config, &self.weights, &self.certificate)
    }
}
