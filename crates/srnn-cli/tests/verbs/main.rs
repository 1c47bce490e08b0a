//! The verbs that read what a run left behind, by running the real binary.

mod automata;
mod bad_input;
mod bench;
mod conform;
mod data;
mod explain;
mod hostile_names;
#[path = "../common/images.rs"]
mod images;
mod models;
mod program;
mod proofs;
mod running;
