//! Small sets for the tests of this module.

use crate::key::Key;
use crate::task::{TokenSequences, UNKNOWN};

/// Words over a and b.
pub fn sequences(words: &[&str]) -> TokenSequences {
    let alphabet = ["a", "b", UNKNOWN, TokenSequences::END].map(String::from).into();
    let sequence = |word: &&str| word.bytes().map(|b| u32::from(b - b'a')).collect();
    TokenSequences { alphabet, sequences: words.iter().map(sequence).collect() }
}

/// One to four a, then as many b.
pub fn counting(count: usize, key: u64) -> TokenSequences {
    let mut rng = Key::new(key).rng();
    let word = |_| {
        let n = 1 + rng.below(4);
        "a".repeat(n) + &"b".repeat(n)
    };
    let words: Vec<String> = (0..count).map(word).collect();
    sequences(&words.iter().map(String::as_str).collect::<Vec<_>>())
}
