//! Regular expressions: parsing, printing, and conversion from and to automata.
//!
//! | written | means |
//! |---|---|
//! | `a` | the symbol named `a` |
//! | `<open>` | the symbol named `open`; `\>` and `\\` stand for themselves within |
//! | `\*` | the symbol named `*`; `\n`, `\t`, `\r` are line feed, tab, carriage return |
//! | `[01a-f<open>]` | one of these; a range means the symbols of the alphabet within it |
//! | `[^01]` | any symbol but these |
//! | `.` | any symbol |
//! | `r*`, `r+`, `r?` | any number, at least one, at most one |
//! | `r{3}`, `r{3,}`, `r{3,5}` | three, at least three, three to five |
//! | `rs`, `r\|s`, `(r)` | one after the other, either, group |
//! | `ε` or nothing, `∅` | the empty word, no word at all |
//!
//! White space is skipped unless it is escaped. An expression describes whole words. There are no
//! anchors, captures or look-around.

mod eliminate;
mod parse;
mod print;
mod subset;

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use crate::alphabet::{Alphabet, Symbol};
use crate::limits::Limits;
use crate::moore::Dfa;

pub use eliminate::of_dfa;
pub use parse::parse;

/// A regular expression over the symbols of some alphabet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Regex {
    /// ∅: no word.
    EmptySet,
    /// ε: the empty word.
    Epsilon,
    /// One symbol of a sorted set.
    OneOf(Vec<Symbol>),
    /// Concatenation.
    Concat(Vec<Regex>),
    /// Union.
    Union(Vec<Regex>),
    /// `r*`: any number of times.
    Star(Box<Regex>),
    /// `r+`: at least once.
    Plus(Box<Regex>),
    /// `r?`: at most once.
    Optional(Box<Regex>),
}

/// Why a text is not a regular expression over an alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError {
    /// Character of the text, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

/// A result is larger than a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexTooLarge {
    /// What is limited.
    pub what: &'static str,
    /// The limit.
    pub limit: usize,
}

/// Parses an expression and returns its minimal automaton.
pub fn compile(text: &str, alphabet: &Alphabet, limits: &Limits) -> Result<Dfa, RegexError> {
    parse(text, alphabet, limits)?.to_dfa(alphabet, limits).map_err(|e| RegexError {
        column: 1,
        cause: e.to_string(),
        remedy: "simplify the expression or raise the limit".to_string(),
    })
}

impl Regex {
    /// One symbol of a set; ∅ if the set is empty.
    pub fn one_of(mut symbols: Vec<Symbol>) -> Regex {
        symbols.sort_unstable();
        symbols.dedup();
        if symbols.is_empty() { Regex::EmptySet } else { Regex::OneOf(symbols) }
    }

    /// Concatenation with simple rewrites such as `rr*` to `r+`.
    pub fn concat(parts: Vec<Regex>) -> Regex {
        if parts.contains(&Regex::EmptySet) {
            return Regex::EmptySet;
        }
        let mut fused: Vec<Regex> = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|part| *part != Regex::Epsilon) {
            match fused.last().and_then(|last| fuse(last, &part)) {
                Some(both) => *fused.last_mut().expect("a last part exists") = both,
                None => fused.push(part),
            }
        }
        let mut flat = Vec::with_capacity(fused.len());
        for part in fused {
            match part {
                Regex::Concat(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        none_one_or_many(flat, Regex::Epsilon, Regex::Concat)
    }

    /// Union with simple rewrites: symbol sets are merged, `ε|r` becomes `r?`, and `r|r*` becomes
    /// `r*`.
    pub fn union(parts: Vec<Regex>) -> Regex {
        let mut alternatives = Alternatives::default();
        parts.into_iter().for_each(|part| alternatives.add(part));
        let mut parts: Vec<Regex> =
            alternatives.parts.into_iter().map(Repetition::into_regex).collect();
        if !alternatives.symbols.is_empty() {
            parts.insert(0, Regex::one_of(alternatives.symbols));
        }
        let union = none_one_or_many(parts, Regex::EmptySet, Regex::Union);
        if alternatives.empty { union.optional() } else { union }
    }

    /// `r*`, simplified.
    pub fn star(self) -> Regex {
        match self {
            Regex::EmptySet | Regex::Epsilon => Regex::Epsilon,
            Regex::Star(body) | Regex::Plus(body) | Regex::Optional(body) => Regex::Star(body),
            body => Regex::Star(Box::new(body)),
        }
    }

    /// `r+`, simplified.
    pub fn plus(self) -> Regex {
        match self {
            Regex::EmptySet | Regex::Epsilon | Regex::Plus(_) => self,
            body if body.accepts_empty() => body.star(),
            body => Regex::Plus(Box::new(body)),
        }
    }

    /// `r?`, simplified.
    pub fn optional(self) -> Regex {
        match self {
            Regex::EmptySet => Regex::Epsilon,
            Regex::Plus(body) => Regex::Star(body),
            body if body.accepts_empty() => body,
            body => Regex::Optional(Box::new(body)),
        }
    }

    /// The number of symbols and repetition operators.
    fn size(&self) -> usize {
        match self {
            Regex::EmptySet | Regex::Epsilon => 1,
            Regex::OneOf(symbols) => symbols.len(),
            Regex::Concat(parts) | Regex::Union(parts) => parts.iter().map(Regex::size).sum(),
            Regex::Star(body) | Regex::Plus(body) | Regex::Optional(body) => 1 + body.size(),
        }
    }

    /// Whether the language contains ε.
    pub fn accepts_empty(&self) -> bool {
        match self {
            Regex::EmptySet | Regex::OneOf(_) => false,
            Regex::Epsilon | Regex::Star(_) | Regex::Optional(_) => true,
            Regex::Plus(body) => body.accepts_empty(),
            Regex::Concat(parts) => parts.iter().all(Regex::accepts_empty),
            Regex::Union(parts) => parts.iter().any(Regex::accepts_empty),
        }
    }
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; {}", self.column, self.cause, self.remedy)
    }
}

impl Error for RegexError {}

impl fmt::Display for RegexTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the result needs more than {} {}", self.limit, self.what)
    }
}

impl Error for RegexTooLarge {}

/// A repeated body: at least `least` times (0 or 1), and at most once unless `many`.
struct Repetition {
    body: Regex,
    least: u8,
    many: bool,
}

impl Repetition {
    fn of(regex: Regex) -> Repetition {
        match regex {
            Regex::Star(body) => Repetition { body: *body, least: 0, many: true },
            Regex::Plus(body) => Repetition { body: *body, least: 1, many: true },
            Regex::Optional(body) => Repetition { body: *body, least: 0, many: false },
            body => Repetition { body, least: 1, many: false },
        }
    }

    fn into_regex(self) -> Regex {
        match (self.least, self.many) {
            (0, true) => self.body.star(),
            (0, false) => self.body.optional(),
            (_, true) => self.body.plus(),
            (_, false) => self.body,
        }
    }
}

/// The parts of a union. Repetitions of the same body are merged: `r?|r+` is `r*`.
#[derive(Default)]
struct Alternatives {
    empty: bool,
    symbols: Vec<Symbol>,
    parts: Vec<Repetition>,
    indices: HashMap<Regex, usize>,
}

impl Alternatives {
    fn add(&mut self, part: Regex) {
        match part {
            Regex::EmptySet => {}
            Regex::Epsilon => self.empty = true,
            Regex::OneOf(symbols) => self.symbols.extend(symbols),
            Regex::Union(parts) => parts.into_iter().for_each(|part| self.add(part)),
            Regex::Optional(body) => {
                self.empty = true;
                self.add(*body);
            }
            repeated => self.merge(Repetition::of(repeated)),
        }
    }

    fn merge(&mut self, part: Repetition) {
        match self.indices.get(&part.body) {
            Some(&index) => {
                let known = &mut self.parts[index];
                known.least = known.least.min(part.least);
                known.many |= part.many;
            }
            None => {
                self.indices.insert(part.body.clone(), self.parts.len());
                self.parts.push(part);
            }
        }
    }
}

/// Rewrites a concatenation such as `r*r` or `r?r*` to one repetition of `r`.
fn fuse(left: &Regex, right: &Regex) -> Option<Regex> {
    let ((body, least, many), (other, more, again)) = (repetition(left), repetition(right));
    let joined = body == other && (many || again) && least + more <= 1;
    joined.then(|| Repetition { body: body.clone(), least: least + more, many: true }.into_regex())
}

fn repetition(regex: &Regex) -> (&Regex, u8, bool) {
    match regex {
        Regex::Star(body) => (body, 0, true),
        Regex::Plus(body) => (body, 1, true),
        Regex::Optional(body) => (body, 0, false),
        body => (body, 1, false),
    }
}

fn none_one_or_many(mut parts: Vec<Regex>, none: Regex, many: fn(Vec<Regex>) -> Regex) -> Regex {
    match parts.len() {
        0 => none,
        1 => parts.swap_remove(0),
        _ => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{random_dfa, stream};
    use crate::words::shortlex;

    /// Whether a word matches an expression, by the definition.
    fn matches(regex: &Regex, word: &[Symbol]) -> bool {
        let splits = |from: usize| (from..=word.len()).map(|i| word.split_at(i));
        match regex {
            Regex::EmptySet => false,
            Regex::Epsilon => word.is_empty(),
            Regex::OneOf(symbols) => word.len() == 1 && symbols.contains(&word[0]),
            Regex::Union(parts) => parts.iter().any(|part| matches(part, word)),
            Regex::Optional(body) => word.is_empty() || matches(body, word),
            Regex::Concat(parts) => match parts.split_first() {
                None => word.is_empty(),
                Some((first, rest)) => splits(0).any(|(head, tail)| {
                    matches(first, head) && matches(&Regex::Concat(rest.to_vec()), tail)
                }),
            },
            Regex::Star(body) => {
                word.is_empty()
                    || splits(1).any(|(head, tail)| matches(body, head) && matches(regex, tail))
            }
            Regex::Plus(body) => splits(0).any(|(head, tail)| {
                matches(body, head) && matches(&Regex::Star(body.clone()), tail)
            }),
        }
    }

    /// A random expression without simplification.
    fn random_regex(bits: &mut impl FnMut() -> u64, depth: u32) -> Regex {
        let kind = bits() % if depth == 0 { 4 } else { 10 };
        match kind {
            0 => Regex::Epsilon,
            1 if bits().is_multiple_of(4) => Regex::EmptySet,
            1..=3 => Regex::one_of(vec![Symbol((bits() % 2) as u32)]),
            4 | 5 => Regex::Concat((0..2).map(|_| random_regex(bits, depth - 1)).collect()),
            6 | 7 => Regex::Union((0..2).map(|_| random_regex(bits, depth - 1)).collect()),
            8 => Regex::Star(Box::new(random_regex(bits, depth - 1))),
            _ if bits().is_multiple_of(2) => Regex::Plus(Box::new(random_regex(bits, depth - 1))),
            _ => Regex::Optional(Box::new(random_regex(bits, depth - 1))),
        }
    }

    /// The same expression, built with the simplifying constructors.
    fn simplified(regex: &Regex) -> Regex {
        match regex {
            Regex::Concat(parts) => Regex::concat(parts.iter().map(simplified).collect()),
            Regex::Union(parts) => Regex::union(parts.iter().map(simplified).collect()),
            Regex::Star(body) => simplified(body).star(),
            Regex::Plus(body) => simplified(body).plus(),
            Regex::Optional(body) => simplified(body).optional(),
            other => other.clone(),
        }
    }

    #[test]
    fn automata_and_simplified_forms_of_random_expressions_match_the_definition() {
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let limits = Limits::default();
        for seed in 0..3000 {
            let regex = random_regex(&mut stream(seed), 4);
            let simple = simplified(&regex);
            let dfa = regex.to_dfa(&alphabet, &limits).unwrap();
            assert_eq!(simple.to_dfa(&alphabet, &limits).unwrap(), dfa, "{regex:?} {simple:?}");
            let text = simple.to_text(&alphabet);
            assert_eq!(compile(&text, &alphabet, &limits).unwrap(), dfa, "{text}");
            for word in shortlex(2, 4) {
                assert_eq!(dfa.accepts(&word), matches(&regex, &word), "{regex:?} {word:?}");
            }
        }
    }

    #[test]
    fn expressions_of_random_automata_compile_to_the_same_automata() {
        let limits = Limits::default();
        for seed in 0..300 {
            let mut bits = stream(seed);
            let alphabet = Alphabet::of_chars(&"0a*<"[..1 + seed as usize % 4]).unwrap();
            let states = 1 + (bits() % 6) as u32;
            let dfa = random_dfa(states, &alphabet, 0.4, &mut bits).minimize();
            let regex = of_dfa(&dfa, &limits).unwrap();
            assert_eq!(regex.to_dfa(&alphabet, &limits).unwrap(), dfa);
            let text = regex.to_text(&alphabet);
            assert_eq!(compile(&text, &alphabet, &limits).unwrap(), dfa, "{text}");
        }
    }

    #[test]
    fn repetitions_of_the_same_body_are_merged() {
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let check = |text, simple: &str| {
            let regex = parse(text, &alphabet, &Limits::default()).unwrap();
            assert_eq!(regex.to_text(&alphabet), simple, "from {text}");
        };
        check("(ab)(ab)*", "(ab)+");
        check("a*a", "a+");
        check("a?a*", "a*");
        check("aa", "aa");
        check("a|b", ".");
        check("(a+)?", "a*");
        check("ab|(ab)*|ε", "(ab)*");
        check("(ab)*|ab", "(ab)*");
        check("(ab)+|(ab)?", "(ab)*");
        check("ab|(ab)+|ab", "(ab)+");
        check("a**?+?*", "a*");
        check("(a?b?)+", "(a?b?)*");
        check("∅a|b", "b");
        check("∅*", "ε");
        check("(a|ε)b", "a?b");
    }
}
