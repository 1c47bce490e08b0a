//! Words as lines of text, as `predict` reads them.

use crate::failure::Failure;
use srnn::engine::model::Tokenizer;
use srnn::task::files::TokenRule;
use srnn_automata::{Alphabet, Symbol};

/// How words are written as lines.
#[derive(Clone, Debug)]
pub struct WordFormat {
    names: Vec<String>,
    separator: String,
}

impl WordFormat {
    /// Without a rule, symbols are joined without a separator if all names are single characters,
    /// and by spaces otherwise. Fails if a line could not be split into the same symbols again.
    pub fn new(alphabet: &Alphabet, rule: Option<TokenRule>) -> Result<WordFormat, Failure> {
        let names = alphabet.names().to_vec();
        let single = names.iter().all(|name| name.chars().count() == 1);
        let separator = match rule {
            Some(TokenRule::Characters) => String::new(),
            Some(TokenRule::Whitespace) => " ".into(),
            Some(TokenRule::Separator(text)) => checked_separator(text)?,
            Some(TokenRule::Text(tokenizer)) => return Err(no_text(tokenizer)),
            Some(TokenRule::Guess) | None if single => String::new(),
            Some(TokenRule::Guess) | None => " ".into(),
        };
        let word_format = WordFormat { names, separator };
        word_format.names.iter().try_for_each(|name| word_format.check(name))?;
        Ok(word_format)
    }

    /// A word as a line, without the line end.
    pub fn line(&self, word: &[Symbol]) -> String {
        let names: Vec<&str> = word.iter().map(|s| self.names[s.index()].as_str()).collect();
        names.join(&self.separator)
    }

    /// Fails if a symbol's name cannot be recognised in a line.
    fn check(&self, name: &str) -> Result<(), Failure> {
        let separator = &self.separator;
        let refused = |why: &str, remedy: &str| {
            Err(Failure::new(format!("symbol {name:?} {why}, so it cannot be sent"), remedy))
        };
        let commas = "--tokens separator:, puts commas between symbols";
        match separator.as_str() {
            _ if name.contains(['\n', '\r']) => {
                refused("ends a line", "rename it: the program reads one word a line")
            }
            "" if name.chars().count() != 1 => refused("is not one character", commas),
            " " if name.contains(|c: char| c.is_ascii_whitespace()) => {
                refused("has a space", commas)
            }
            // The first separator after the name must start where the name ends.
            _ if !separator.is_empty()
                && format!("{name}{separator}").find(separator) != Some(name.len()) =>
            {
                refused("runs into the separator", "--tokens separator:TEXT with another TEXT")
            }
            _ => Ok(()),
        }
    }
}

fn checked_separator(text: String) -> Result<String, Failure> {
    match text.is_empty() || text.contains(['\n', '\r']) {
        true => Err(Failure::new(
            format!("--tokens: {text:?} cannot separate symbols within a line"),
            "--tokens characters, or --tokens separator:,",
        )),
        false => Ok(text),
    }
}

fn no_text(tokenizer: Tokenizer) -> Failure {
    let message = format!("--tokens {}: a text cannot be made from its tokens", tokenizer.name());
    Failure::new(message, "--tokens whitespace, or --tokens separator:,")
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn::task::files::tokenize;

    fn word_format(names: &[&str], rule: Option<TokenRule>) -> Result<WordFormat, Failure> {
        let names = names.iter().map(|name| name.to_string()).collect();
        WordFormat::new(&Alphabet::new(names).unwrap(), rule)
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
            let word_format = word_format(&names, rule).unwrap();
            for word in srnn_automata::shortlex(2, 4) {
                let tokens: Vec<&str> = word.iter().map(|s| names[s.index()]).collect();
                assert_eq!(tokenize(&word_format.line(&word), &read), tokens);
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
            let failure = word_format(&names, rule).unwrap_err();
            assert!(failure.remedy.contains(remedy), "{names:?}: {failure:?}");
        }
    }
}
