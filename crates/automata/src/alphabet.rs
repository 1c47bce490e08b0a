//! Named symbols and words over them.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

/// A symbol: its place in the automaton's [`Alphabet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

/// A word: symbols from first to last. The empty vector is ε.
pub type Word = Vec<Symbol>;

/// Distinct, non-empty names in a fixed order; the order decides which of two words of equal length
/// comes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alphabet {
    names: Vec<String>,
}

/// Why names do not make an alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidAlphabet {
    /// The symbol at this place has no name; formats could not write it.
    Empty {
        /// Place of the nameless symbol, from 0.
        index: usize,
    },
    /// Two symbols share a name.
    Repeated {
        /// The shared name.
        name: String,
        /// Place of the first, from 0.
        first: usize,
        /// Place of the second, from 0.
        second: usize,
    },
    /// More symbols than a [`Symbol`] can number.
    TooMany {
        /// How many names were given.
        symbols: usize,
    },
}

impl Symbol {
    /// The symbol's place, for indexing.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Alphabet {
    /// Takes the names in the given order.
    pub fn new(names: Vec<String>) -> Result<Alphabet, InvalidAlphabet> {
        if u32::try_from(names.len()).is_err() {
            return Err(InvalidAlphabet::TooMany { symbols: names.len() });
        }
        let mut seen = HashMap::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(InvalidAlphabet::Empty { index });
            }
            if let Some(first) = seen.insert(name.as_str(), index) {
                return Err(InvalidAlphabet::Repeated { name: name.clone(), first, second: index });
            }
        }
        Ok(Alphabet { names })
    }

    /// One symbol for every character of `characters`, in that order.
    pub fn of_chars(characters: &str) -> Result<Alphabet, InvalidAlphabet> {
        Alphabet::new(characters.chars().map(String::from).collect())
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether ε is the only word.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a symbol.
    ///
    /// # Panics
    /// If the symbol is not of this alphabet.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.index()]
    }

    /// The symbol of that name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.names.iter().position(|n| n == name).map(|i| Symbol(i as u32))
    }

    /// All symbols in order.
    pub fn symbols(&self) -> impl DoubleEndedIterator<Item = Symbol> + use<> {
        (0..self.names.len() as u32).map(Symbol)
    }

    /// The word whose symbols are named by the characters of `text`, or the first character that
    /// names none.
    pub fn word_of_chars(&self, text: &str) -> Result<Word, char> {
        text.chars().map(|c| self.symbol(c.encode_utf8(&mut [0; 4])).ok_or(c)).collect()
    }

    /// A word as people read it: names side by side where all names are one character, with spaces
    /// between them otherwise, `ε` for the empty word.
    pub fn format_word(&self, word: &[Symbol]) -> String {
        let single = self.names.iter().all(|n| n.chars().count() == 1);
        let names: Vec<&str> = word.iter().map(|&s| self.name(s)).collect();
        match names.is_empty() {
            true => "ε".to_string(),
            false => names.join(if single { "" } else { " " }),
        }
    }
}

impl fmt::Display for InvalidAlphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidAlphabet::Empty { index } => {
                write!(f, "symbol {index} has an empty name; give it one")
            }
            InvalidAlphabet::Repeated { name, first, second } => {
                write!(f, "symbols {first} and {second} share the name {name:?}; rename one")
            }
            InvalidAlphabet::TooMany { symbols } => {
                write!(f, "{symbols} symbols are more than the {} supported", u32::MAX)
            }
        }
    }
}

impl Error for InvalidAlphabet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_be_distinct_and_not_empty() {
        let repeated = Alphabet::of_chars("010").unwrap_err();
        assert_eq!(repeated.to_string(), "symbols 0 and 2 share the name \"0\"; rename one");
        let empty = Alphabet::new(vec!["a".into(), String::new()]).unwrap_err();
        assert_eq!(empty, InvalidAlphabet::Empty { index: 1 });
    }

    #[test]
    fn words_are_spelled_with_spaces_where_names_are_long() {
        let bits = Alphabet::of_chars("01").unwrap();
        assert_eq!(bits.format_word(&[Symbol(0), Symbol(1)]), "01");
        assert_eq!(bits.format_word(&[]), "ε");
        let events = Alphabet::new(vec!["open".into(), "x".into()]).unwrap();
        assert_eq!(events.format_word(&[Symbol(0), Symbol(1)]), "open x");
    }

    #[test]
    fn characters_outside_the_alphabet_are_named() {
        let bits = Alphabet::of_chars("01").unwrap();
        assert_eq!(bits.word_of_chars("10"), Ok(vec![Symbol(1), Symbol(0)]));
        assert_eq!(bits.word_of_chars("1x0"), Err('x'));
    }
}
