//! One suite for every engine.
//!
//! Finite differences check the reference (`differences`), programs written apart from it check
//! it again (`fixtures`), and every other engine is checked against it (`agreement`). A new
//! engine joins with one file like `cpu.rs`.

mod agreement;
mod ahead;
mod cases;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod differences;
mod fixtures;
mod hard;
mod history;
mod kinks;
mod lazy;
mod optimisers;
