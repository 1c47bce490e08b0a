//! The verbs that read the files of a run, tested by running the program.

mod automata;
mod bad_input;
mod bench;
mod candidates;
mod compile;
mod conform;
mod data;
mod data_sources;
mod explain;
mod hostile_names;
#[path = "../common/images.rs"]
mod images;
mod merge;
mod models;
mod program;
mod proofs;
mod repair;
mod running;
mod terminal;
