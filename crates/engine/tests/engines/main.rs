//! One suite for every engine.
//!
//! The reference is checked against finite differences (`differences`) and against PyTorch
//! (`fixtures`). Every other engine is checked against the reference (`agreement`). A new engine is
//! added with one file like `cpu.rs`.

mod agreement;
mod cases;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod deferred_rows;
mod differences;
mod fixtures;
mod hard_transitions;
mod kinks;
mod optimisers;
mod prefetch;
mod stateless;
