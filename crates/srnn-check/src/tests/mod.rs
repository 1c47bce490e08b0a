//! Unit tests: elementary functions against an oracle, and enclosures against points.

#[path = "../../tests/common/mod.rs"]
pub mod common;
mod double_double;
mod functions;
mod single_precision;
mod soundness;
mod threads;
