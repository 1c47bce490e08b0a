//! The class that a line of a program's output names.

use crate::automaton::{ACCEPTING_NAMES, find_accepting_class, quoted_list};

const NO: [&str; 7] = ["reject", "rejected", "0", "false", "no", "negative", "neg"];

/// The classes of an automaton and their synonyms.
#[derive(Clone, Debug)]
pub struct ClassNames {
    names: Vec<String>,
    /// The accepting class, if there are two classes and one is named like it.
    yes: Option<u32>,
}

impl ClassNames {
    /// Classes with these names.
    pub fn new(names: Vec<String>) -> ClassNames {
        let yes = find_accepting_class(&names).filter(|_| names.len() == 2);
        ClassNames { names, yes }
    }

    /// The name of a class.
    pub fn name(&self, class: u32) -> &str {
        &self.names[class as usize]
    }

    /// The class that a line names.
    pub fn class(&self, line: &str) -> Option<u32> {
        let named = |text: &str| self.names.iter().position(|name| name == text);
        let trimmed = line.trim_ascii();
        let among = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(trimmed));
        let exact = named(line).or_else(|| named(trimmed)).map(|class| class as u32);
        exact.or_else(|| match self.yes? {
            yes if among(&ACCEPTING_NAMES) => Some(yes),
            yes if among(&NO) => Some(1 - yes),
            _ => None,
        })
    }

    /// The remedy for an answer such as `yes` or `1` that could mean either class.
    pub fn hint(&self, line: &str) -> Option<String> {
        let word = line.trim_ascii();
        let known = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
        let ambiguous = self.yes.is_none() && (known(&ACCEPTING_NAMES) || known(&NO));
        let classes = quoted_list(&self.names);
        ambiguous
            .then(|| format!("--accept CLASS sets the class that counts as accepted: {classes}"))
    }

    /// The valid answers, for messages.
    pub fn expected(&self) -> String {
        let names = quoted_list(&self.names);
        match self.yes {
            Some(yes) => format!("{names}, or 1 for {:?} and 0 for the other", self.name(yes)),
            None => names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_names(names: &[&str]) -> ClassNames {
        ClassNames::new(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn yes_and_no_have_many_names_and_classes_their_own() {
        let acceptor = class_names(&["reject", "accept"]);
        for (line, class) in [("1", 1), ("0", 0), ("True", 1), (" reject\r", 0), ("no", 0)] {
            assert_eq!(acceptor.class(line), Some(class), "{line:?}");
        }
        assert_eq!([acceptor.class(""), acceptor.class("10")], [None, None]);
        assert_eq!(class_names(&["yes", "no"]).class("0"), Some(1));
        assert_eq!(class_names(&["1", "0"]).class("0"), Some(1));
        assert_eq!(acceptor.hint("1"), None);
        let levels = class_names(&["low", "high", "very high"]);
        assert!(levels.hint(" 1").unwrap().contains("--accept CLASS"));
        assert_eq!(levels.hint("medium"), None);
        assert_eq!([levels.class("very high"), levels.class("1")], [Some(2), None]);
    }
}
