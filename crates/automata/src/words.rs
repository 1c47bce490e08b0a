//! All words in length-lexicographic order, for brute-force checks.

use crate::alphabet::{Symbol, Word};

/// Iterator of [`shortlex`].
#[derive(Clone, Debug)]
pub struct Shortlex {
    symbols: u32,
    longest: usize,
    next: Option<Word>,
}

/// All words of at most `longest` symbols over an alphabet of size `symbols`, in length-lexicographic
/// order. The first is ε.
pub fn shortlex(symbols: u32, longest: usize) -> Shortlex {
    Shortlex { symbols, longest, next: Some(Word::new()) }
}

impl Iterator for Shortlex {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let word = self.next.take()?;
        self.next = successor(&word, self.symbols, self.longest);
        Some(word)
    }
}

/// The next word. Counts like an odometer; an overflow makes the word one symbol longer.
fn successor(word: &[Symbol], symbols: u32, longest: usize) -> Option<Word> {
    let mut next = word.to_vec();
    for symbol in next.iter_mut().rev() {
        if symbol.0 + 1 < symbols {
            symbol.0 += 1;
            return Some(next);
        }
        symbol.0 = 0;
    }
    next.push(Symbol(0));
    (symbols > 0 && next.len() <= longest).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_by_length_then_alphabet_order_and_none_is_missing() {
        let words: Vec<Word> = shortlex(3, 4).collect();
        assert_eq!(words.len(), 1 + 3 + 9 + 27 + 81);
        assert!(words.windows(2).all(|w| (w[0].len(), &w[0]) < (w[1].len(), &w[1])));
    }

    #[test]
    fn without_symbols_the_empty_word_is_the_only_one() {
        assert_eq!(shortlex(0, 5).collect::<Vec<_>>(), vec![Word::new()]);
        assert_eq!(shortlex(2, 0).collect::<Vec<_>>(), vec![Word::new()]);
    }
}
