//! Soundness by sampling.
