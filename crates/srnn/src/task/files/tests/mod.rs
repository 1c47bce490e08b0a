//! Tests of readers and writers together.

mod bad;
mod fuzz;
mod loading;
mod reading;
mod round_trip;

use super::*;
use crate::task::Dataset;

/// A format by its name.
fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// Every sequence as its token names and its label.
fn named(data: &Dataset) -> Vec<(Vec<&str>, &str)> {
    let name = |&id: &u32| data.alphabet[id as usize].as_str();
    let named = |s: &crate::task::Sequence| {
        (s.tokens.iter().map(name).collect(), data.classes[s.label as usize].as_str())
    };
    data.sequences.iter().map(named).collect()
}

/// Reads a text as if it were a file of this name.
fn read_text(name: &str, text: &str, options: &ReadOptions) -> Result<Samples, DataError> {
    read_from(name, text.as_bytes(), options)
}

/// The sequences of a text as `label:token|token`.
fn lines(name: &str, text: &str, options: &ReadOptions) -> Vec<String> {
    let samples = read_text(name, text, options).unwrap_or_else(|error| panic!("{error}"));
    let line = |(tokens, label): (Vec<&str>, &str)| format!("{label}:{}", tokens.join("|"));
    named(&samples.data).into_iter().map(line).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
