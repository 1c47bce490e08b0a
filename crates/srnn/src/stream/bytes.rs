//! What a byte of text means.

use srnn_automata::{Alphabet, Symbol};

/// The byte that ends a word.
pub const LINE_END: u8 = b'\n';

/// What each byte of a text means: one word a line, one byte a symbol.
#[derive(Clone, Debug)]
pub struct Bytes {
    roles: [Role; 256],
}

/// What a byte means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is this symbol.
    Symbol(Symbol),
    /// It is for the eye.
    Skip,
    /// It ends a word.
    End,
    /// It means nothing.
    Foreign,
}

impl Bytes {
    /// Every symbol is the character that names it. Blanks and carriage returns are for the eye.
    /// `None` where a name is not one character of ASCII, or is a blank: then bytes alone do not
    /// tell what is meant.
    pub fn of_characters(alphabet: &Alphabet) -> Option<Bytes> {
        let mut roles = [Role::Foreign; 256];
        for blank in *b" \t\r\x0c" {
            roles[usize::from(blank)] = Role::Skip;
        }
        roles[usize::from(LINE_END)] = Role::End;
        for symbol in alphabet.symbols() {
            let [byte] = *alphabet.name(symbol).as_bytes() else { return None };
            let role = &mut roles[usize::from(byte)];
            if *role != Role::Foreign {
                return None;
            }
            *role = Role::Symbol(symbol);
        }
        Some(Bytes { roles })
    }

    pub(super) fn role(&self, byte: u8) -> Role {
        self.roles[usize::from(byte)]
    }

    /// The first byte that means nothing.
    pub(super) fn first_foreign(&self, text: &[u8]) -> Option<usize> {
        text.iter().position(|&byte| self.role(byte) == Role::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_the_symbols_only_where_all_are_single_characters_and_none_is_blank() {
        let of = |names: &[&str]| {
            let names = names.iter().map(|name| name.to_string()).collect();
            Bytes::of_characters(&Alphabet::new(names).unwrap())
        };
        let bytes = of(&["a", "b"]).unwrap();
        assert_eq!(bytes.first_foreign(b"\t\n\x0c\r abc"), Some(7));
        assert_eq!(bytes.role(b'b'), Role::Symbol(Symbol(1)));
        for names in [&["a", "é"][..], &["open"], &["a", " "], &["\n"], &["\r"]] {
            assert!(of(names).is_none(), "{names:?}");
        }
    }
}
