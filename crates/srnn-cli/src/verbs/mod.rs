//! One file a verb.

use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Subcommand;

/// What to do.
#[derive(Subcommand)]
pub enum Verb {}

/// Does it.
pub fn run(verb: Verb, _output: &Output) -> Result<Answer, Failure> {
    match verb {}
}
