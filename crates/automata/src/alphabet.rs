//! Named symbols and words over them.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

/// A symbol: its index in the [`Alphabet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

/// A word: symbols from first to last. The empty vector is ε.
pub type Word = Vec<Symbol>;

/// Distinct, non-empty symbol names in a fixed order. The order decides which of two words of equal
/// length comes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alphabet {
    names: Vec<String>,
}

/// Why a list of names is not an alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidAlphabet {
    /// A name is empty, so that text formats could not write it.
    Empty {
        /// Index of the symbol.
        index: usize,
    },
    /// Two symbols share a name.
    Repeated {
        /// The shared name.
        name: String,
        /// Index of the first symbol.
        first: usize,
        /// Index of the second symbol.
        second: usize,
    },
    /// More symbols than a [`Symbol`] can number.
    TooMany {
        /// The number of names.
        symbols: usize,
    },
}

impl Symbol {
    /// The symbol as an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Alphabet {
    /// The symbols with these names, in this order.
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

    /// The number of symbols.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no symbols; then ε is the only word.
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
    /// If the symbol is not in this alphabet.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.index()]
    }

    /// The symbol with this name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.names.iter().position(|n| n == name).map(|i| Symbol(i as u32))
    }

    /// All symbols in order.
    pub fn symbols(&self) -> impl DoubleEndedIterator<Item = Symbol> + use<> {
        (0..self.names.len() as u32).map(Symbol)
    }

    /// The word whose symbols are the characters of `text`, or the first character that is not a
    /// symbol.
    pub fn word_of_chars(&self, text: &str) -> Result<Word, char> {
        text.chars().map(|c| self.symbol(c.encode_utf8(&mut [0; 4])).ok_or(c)).collect()
    }

    /// The word as text: `ε` for the empty word; otherwise its names, separated by spaces unless all
    /// names of the alphabet are single characters.
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
    fn words_are_formatted_with_spaces_if_names_are_long() {
        let bits = Alphabet::of_chars("01").unwrap();
        assert_eq!(bits.format_word(&[Symbol(0), Symbol(1)]), "01");
        assert_eq!(bits.format_word(&[]), "ε");
        let events = Alphabet::new(vec!["open".into(), "x".into()]).unwrap();
        assert_eq!(events.format_word(&[Symbol(0), Symbol(1)]), "open x");
    }

    #[test]
    fn characters_outside_the_alphabet_are_returned() {
        let bits = Alphabet::of_chars("01").unwrap();
        assert_eq!(bits.word_of_chars("10"), Ok(vec![Symbol(1), Symbol(0)]));
        assert_eq!(bits.word_of_chars("1x0"), Err('x'));
    }
}
