//! The classes of the bytes of a text.

use srnn_automata::{Alphabet, Symbol};

/// The byte that ends a word.
pub const LINE_END: u8 = b'\n';

/// The class of each byte of a text with one word per line and one byte per symbol.
#[derive(Clone, Debug)]
pub struct ByteClasses {
    classes: [ByteClass; 256],
}

/// The class of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteClass {
    /// A symbol of the alphabet.
    Symbol(Symbol),
    /// White space, which is skipped.
    Skip,
    /// The end of a word.
    LineEnd,
    /// None of these.
    Invalid,
}

impl ByteClasses {
    /// Every symbol is the character that names it. Blanks and carriage returns are skipped. `None` if
    /// a name is not a single ASCII character, or is white space.
    pub fn of_characters(alphabet: &Alphabet) -> Option<ByteClasses> {
        let mut classes = [ByteClass::Invalid; 256];
        for blank in *b" \t\r\x0c" {
            classes[usize::from(blank)] = ByteClass::Skip;
        }
        classes[usize::from(LINE_END)] = ByteClass::LineEnd;
        for symbol in alphabet.symbols() {
            let [byte] = *alphabet.name(symbol).as_bytes() else { return None };
            let class = &mut classes[usize::from(byte)];
            if *class != ByteClass::Invalid {
                return None;
            }
            *class = ByteClass::Symbol(symbol);
        }
        Some(ByteClasses { classes })
    }

    pub(super) fn class(&self, byte: u8) -> ByteClass {
        self.classes[usize::from(byte)]
    }

    /// The offset of the first invalid byte.
    pub(super) fn first_invalid(&self, text: &[u8]) -> Option<usize> {
        text.iter().position(|&byte| self.class(byte) == ByteClass::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_alphabets_of_single_ascii_characters_without_white_space_have_byte_classes() {
        let of = |names: &[&str]| {
            let names = names.iter().map(|name| name.to_string()).collect();
            ByteClasses::of_characters(&Alphabet::new(names).unwrap())
        };
        let bytes = of(&["a", "b"]).unwrap();
        assert_eq!(bytes.first_invalid(b"\t\n\x0c\r abc"), Some(7));
        assert_eq!(bytes.class(b'b'), ByteClass::Symbol(Symbol(1)));
        for names in [&["a", "é"][..], &["open"], &["a", " "], &["\n"], &["\r"]] {
            assert!(of(names).is_none(), "{names:?}");
        }
    }
}
