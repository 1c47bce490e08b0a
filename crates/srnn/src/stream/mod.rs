//! An automaton as a program: what a network has learned, run over text of any size.
//!
//! A [`Program`] is a complete automaton compiled for bytes; [`words`] runs it over everything a
//! reader gives, one word a line, in constant memory, and names line and column of what is no
//! symbol. The answers are those of [`Moore::run`](srnn_automata::Moore::run), which stays the
//! specification.
//!
//! ```
//! use srnn::stream::{Bytes, Program};
//! use srnn_automata::{Alphabet, Limits, regex};
//!
//! let bits = Alphabet::of_chars("01")?;
//! let even = regex::compile("(0|10*1)*", &bits, &Limits::default())?;
//! let bytes = Bytes::of_characters(&bits).expect("characters of ASCII");
//! let program = Program::new(&even, &bytes);
//!
//! let mut ends = Vec::new();
//! let last = program.words(program.start(), b"0110\n1\n\n10", &mut ends)?;
//! let answers: Vec<bool> = ends.iter().map(|&end| even.is_accepting(end)).collect();
//! assert_eq!(answers, [true, false, true]);
//! assert!(!even.is_accepting(last));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two kernels do the work. [`Kernel::Walk`] looks the next state up in a table, which takes the
//! time of a load from the cache for every symbol. [`Kernel::Shuffle`] holds up to 16 states in a
//! vector register, where the next states of all of them are one instruction; since a piece of
//! text is a function from states to states, a long word is cut in four, and the four functions
//! are computed side by side and composed.

mod bytes;
mod lines;
mod program;
#[cfg(target_arch = "x86_64")]
mod shuffle;
mod step;
#[cfg(test)]
mod tests;
mod walk;

pub use bytes::{Bytes, LINE_END};
pub use lines::{Broken, Reading, words};
pub use program::{Foreign, Kernel, Program};
