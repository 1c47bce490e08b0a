//! Words as lines, written as `predict` reads them.

use crate::failure::Failure;
use srnn::task::files::TokenRule;
use srnn_automata::{Alphabet, Symbol};

/// How words become lines.
#[derive(Clone, Debug)]
pub struct Wire {
    names: Vec<String>,
    between: String,
}

impl Wire {
    /// A way to write words so that they can be read back. Without a rule, names of one character
    /// stand side by side, others have blanks between them.
    pub fn new(alphabet: &Alphabet, rule: Option<TokenRule>) -> Result<Wire, Failure> {
        let names = alphabet.names().to_vec();
        let single = names.iter().all(|name| name.chars().count() == 1);
        let between = match rule {
            Some(TokenRule::Characters) => String::new(),
            Some(TokenRule::Whitespace) => " ".into(),
            Some(TokenRule::Separator(text)) => separator(text)?,
            Some(TokenRule::Guess) | None if single => String::new(),
            Some(TokenRule::Guess) | None => " ".into(),
        };
        let wire = Wire { names, between };
        wire.names.iter().try_for_each(|name| wire.check(name))?;
        Ok(wire)
    }

    /// A word as a line, without its end.
    pub fn line(&self, word: &[Symbol]) -> String {
        let names: Vec<&str> = word.iter().map(|s| self.names[s.index()].as_str()).collect();
        names.join(&self.between)
    }

    /// Refuses names that would not be found again in a line.
    fn check(&self, name: &str) -> Result<(), Failure> {
        let between = &self.between;
        let refused = |why: &str, remedy: &str| {
            Err(Failure::new(format!("symbol {name:?} {why}, so it cannot be sent"), remedy))
        };
        let commas = "--tokens separator:, puts commas between symbols";
        match between.as_str() {
            _ if name.contains(['\n', '\r']) => {
                refused("ends a line", "rename it: the program reads one word a line")
            }
            "" if name.chars().count() != 1 => refused("is not one character", commas),
            " " if name.contains(|c: char| c.is_ascii_whitespace()) => {
                refused("holds a blank", commas)
            }
            // Found from the left, the separator must begin where the name ends.
            _ if !between.is_empty()
                && format!("{name}{between}").find(between) != Some(name.len()) =>
            {
                refused("runs into the separator", "--tokens separator:TEXT with another TEXT")
            }
            _ => Ok(()),
        }
    }
}

fn separator(text: String) -> Result<String, Failure> {
    match text.is_empty() || text.contains(['\n', '\r']) {
        true => Err(Failure::new(
            format!("--tokens: {text:?} cannot stand between symbols of a line"),
            "--tokens characters, or --tokens separator:,",
        )),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn::task::files::tokenize;

    fn wire(names: &[&str], rule: Option<TokenRule>) -> Result<Wire, Failure> {
        let names = names.iter().map(|name| name.to_string()).collect();
        Wire::new(&Alphabet::new(names).unwrap(), rule)
    }

    #[test]
    fn every_line_is_read_back_as_the_word_it_was() {
        let separator = |text: &str| TokenRule::Separator(text.into());
        for (names, rule, read) in [
            (["0", "1"], None, TokenRule::Characters),
            ([" ", "é"], None, TokenRule::Characters),
            (["open", "x"], None, TokenRule::Whitespace),
            (["a b", ":c"], Some(separator("::")), separator("::")),
        ] {
            let wire = wire(&names, rule).unwrap();
            for word in srnn_automata::shortlex(2, 4) {
                let tokens: Vec<&str> = word.iter().map(|s| names[s.index()]).collect();
                assert_eq!(tokenize(&wire.line(&word), &read), tokens);
            }
        }
    }

    #[test]
    fn names_that_would_be_lost_in_a_line_are_refused_with_a_way_out() {
        let separator = |text: &str| Some(TokenRule::Separator(text.into()));
        for (names, rule, remedy) in [
            (["a b", "c"], None, "separator:,"),
            (["ab", "c"], Some(TokenRule::Characters), "separator:,"),
            (["a\n", "c"], None, "rename"),
            (["a,b", "c"], separator(","), "another TEXT"),
            (["a:", "c"], separator("::"), "another TEXT"),
            (["a", "c"], separator(""), "--tokens characters"),
        ] {
            let failure = wire(&names, rule).unwrap_err();
            assert!(failure.remedy.contains(remedy), "{names:?}: {failure:?}");
        }
    }
}
