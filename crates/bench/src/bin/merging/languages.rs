//! Random automata, and the acceptors of MLRegTest.

use crate::words::{below, stream};
use srnn_automata::text::att;
use srnn_automata::{Alphabet, Limits, Moore, random_dfa};
use std::path::{Path, PathBuf};

/// Symbols with the names 0, 1, 2, …
pub fn numbered(symbols: usize) -> Alphabet {
    Alphabet::new((0..symbols).map(|i| i.to_string()).collect()).expect("numbers are distinct")
}

/// A minimal automaton with this number of states and uniform random transitions.
pub fn random_automaton(
    states: usize,
    symbols: usize,
    bits: &mut impl FnMut() -> u64,
) -> Moore<u32> {
    let alphabet = numbered(symbols);
    loop {
        let size = states + below(states / 3 + 2, bits);
        let dfa = random_dfa(size as u32, &alphabet, 0.5, bits).minimize();
        if dfa.state_count() == states {
            return dfa.map_outputs(|&accepts| u32::from(accepts));
        }
    }
}

/// As Abbadingo makes them: random over two symbols, with the depth 2·log₂ n − 2.
pub fn abbadingo_automaton(states: usize, bits: &mut impl FnMut() -> u64) -> Moore<u32> {
    let depth = (2.0 * (states as f64).log2() - 2.0).round() as usize;
    loop {
        let found = random_automaton(states, 2, bits);
        let words = found.access_words();
        let deepest = words.iter().flatten().map(Vec::len).max();
        if deepest == Some(depth) {
            return found;
        }
    }
}

/// `count` acceptors of a folder, drawn by the seed, with their names.
pub fn acceptors(folder: &Path, count: usize, seed: u64) -> Vec<(String, Moore<u32>)> {
    let entries = std::fs::read_dir(folder).expect("the folder of acceptors can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "att"));
    files.sort();
    let mut bits = stream(seed);
    for i in 0..count {
        let other = i + below(files.len() - i, &mut bits);
        files.swap(i, other);
    }
    files.truncate(count);
    files.sort();
    files.iter().map(|path| (stem(path), acceptor(path))).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file has a name").to_string_lossy().replace('.', "-")
}

fn acceptor(path: &Path) -> Moore<u32> {
    let text = std::fs::read_to_string(path).expect("the acceptor can be read");
    let read = att::read_dfa(&text, &Limits::default()).expect("the acceptor is AT&T text");
    read.complete(false).minimize().map_outputs(|&accepts| u32::from(accepts))
}
