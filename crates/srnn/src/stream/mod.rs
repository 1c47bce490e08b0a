//! Fast execution of automata over text of any size.
//!
//! A [`CompiledAutomaton`] is a complete automaton compiled for bytes. [`run_lines`] runs it over a
//! reader, one word per line, in constant memory, and reports line and column of an invalid symbol.
//! The results equal those of [`Moore::run`](srnn_automata::Moore::run), which is the specification.
//!
//! ```
//! use srnn::stream::{ByteClasses, CompiledAutomaton};
//! use srnn_automata::{Alphabet, Limits, regex};
//!
//! let bits = Alphabet::of_chars("01")?;
//! let even = regex::compile("(0|10*1)*", &bits, &Limits::default())?;
//! let bytes = ByteClasses::of_characters(&bits).expect("characters of ASCII");
//! let compiled = CompiledAutomaton::new(&even, &bytes);
//!
//! let mut ends = Vec::new();
//! let last = compiled.end_states(compiled.start(), b"0110\n1\n\n10", &mut ends)?;
//! let accepted: Vec<bool> = ends.iter().map(|&end| even.is_accepting(end)).collect();
//! assert_eq!(accepted, [true, false, true]);
//! assert!(!even.is_accepting(last));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are two kernels. [`Kernel::Table`] looks up the next state in a table, which takes one load
//! from the cache per symbol. [`Kernel::Shuffle`] holds up to 16 states in a vector register and
//! advances all of them with one instruction. A piece of text is a function from states to states, so
//! a long word is cut into four pieces, whose functions are computed in parallel and composed.

mod byte_classes;
mod compiled;
mod kernel;
mod lines;
#[cfg(target_arch = "x86_64")]
mod shuffle_kernel;
mod table_kernel;
#[cfg(test)]
mod tests;

pub use byte_classes::ByteClasses;
pub use compiled::{CompiledAutomaton, Kernel};
pub use lines::{StreamError, StreamProgress, run_lines};
