//! A recursive descent parser for regular expressions.

use std::collections::HashMap;

use super::{Regex, RegexError};
use crate::alphabet::{Alphabet, Symbol};
use crate::limits::Limits;

/// Parses an expression over an alphabet. The [module](super) documents the syntax.
pub fn parse(text: &str, alphabet: &Alphabet, limits: &Limits) -> Result<Regex, RegexError> {
    let mut parser = Parser {
        chars: text.chars().take(limits.expression.saturating_add(1)).collect(),
        at: 0,
        depth: 0,
        max_depth: limits.depth,
        size_left: limits.expression,
        symbols: alphabet.symbols().map(|s| (alphabet.name(s), s)).collect(),
    };
    if parser.chars.len() > limits.expression {
        let cause = format!("the expression has more than {} characters", limits.expression);
        return Err(parser.error_at(0, cause, "shorten it or raise the limit"));
    }
    let regex = parser.union()?;
    match parser.peek() {
        None => Ok(regex),
        Some(')') => Err(parser.error("this `)` has no opening `(`", "remove it, or write `\\)`")),
        Some(other) => unreachable!("the parser stopped at {other:?}"),
    }
}

struct Parser<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    max_depth: usize,
    /// The size that counted repetitions may still have when they are expanded.
    size_left: usize,
    symbols: HashMap<&'a str, Symbol>,
}

/// An item of a class. A character can begin a range, a name in angle brackets cannot.
enum Item {
    Character(char),
    Named(Symbol),
}

impl Parser<'_> {
    fn union(&mut self) -> Result<Regex, RegexError> {
        let mut parts = vec![self.concat()?];
        while self.take('|') {
            parts.push(self.concat()?);
        }
        Ok(Regex::union(parts))
    }

    fn concat(&mut self) -> Result<Regex, RegexError> {
        let mut parts = Vec::new();
        while self.peek().is_some_and(|c| c != '|' && c != ')') {
            parts.push(self.repeated()?);
        }
        Ok(Regex::concat(parts))
    }

    fn repeated(&mut self) -> Result<Regex, RegexError> {
        let mut regex = self.atom()?;
        loop {
            let sign = self.peek();
            self.at += usize::from(sign.is_some_and(|c| "*+?{".contains(c)));
            regex = match sign {
                Some('*') => regex.star(),
                Some('+') => regex.plus(),
                Some('?') => regex.optional(),
                Some('{') => self.counted(regex)?,
                _ => return Ok(regex),
            };
        }
    }

    /// Parses `{3}`, `{3,}` or `{3,5}` after the opening brace, and expands the repetition.
    fn counted(&mut self, body: Regex) -> Result<Regex, RegexError> {
        let open = self.at - 1;
        let (least, most) = self.bounds(open)?;
        let size = body.size().saturating_mul(most.unwrap_or(least.saturating_add(1)));
        self.size_left = self.size_left.checked_sub(size).ok_or_else(|| {
            let cause = "the expanded repetition is too long";
            self.error_at(open, cause, "repeat it less often or raise the limit")
        })?;
        let mut parts = vec![body.clone(); least];
        match most {
            None => parts.push(body.star()),
            Some(most) => parts.extend(vec![body.optional(); most - least]),
        }
        Ok(Regex::concat(parts))
    }

    /// The numbers between braces; the second is `None` if there is no upper bound.
    fn bounds(&mut self, open: usize) -> Result<(usize, Option<usize>), RegexError> {
        let least = self.number();
        let most = if self.take(',') { self.number() } else { least };
        match least.filter(|&least| most.is_none_or(|most| least <= most)) {
            Some(least) if self.take('}') => Ok((least, most)),
            _ => {
                let remedy = "write `{3}`, `{3,}` or `{3,5}`, or `\\{` for the symbol";
                Err(self.error_at(open, "this is not a number of repetitions", remedy))
            }
        }
    }

    fn number(&mut self) -> Option<usize> {
        let mut number: Option<usize> = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            let tens = number.unwrap_or(0).saturating_mul(10);
            number = Some(tens.saturating_add(digit as usize));
        }
        number
    }

    fn atom(&mut self) -> Result<Regex, RegexError> {
        let c = self.peek().expect("concat has peeked a character");
        let start = self.at;
        match c {
            '(' => self.group(),
            '[' => self.class(),
            '<' => Ok(Regex::one_of(vec![self.named()?])),
            '*' | '+' | '?' | '{' => {
                let cause = format!("`{c}` has nothing to repeat");
                Err(self.error(&cause, &format!("put something before it, or write `\\{c}`")))
            }
            ']' | '>' | '}' => {
                let cause = format!("this `{c}` has no opening bracket");
                Err(self.error(&cause, &format!("remove it, or write `\\{c}`")))
            }
            '.' | 'ε' | '∅' => {
                self.at += 1;
                Ok(match c {
                    '.' => Regex::one_of(self.symbols.values().copied().collect()),
                    'ε' => Regex::Epsilon,
                    _ => Regex::EmptySet,
                })
            }
            _ => {
                let c = self.character()?;
                Ok(Regex::one_of(vec![self.symbol(c.encode_utf8(&mut [0; 4]), start)?]))
            }
        }
    }

    fn group(&mut self) -> Result<Regex, RegexError> {
        let open = self.at;
        self.at += 1;
        self.depth += 1;
        if self.depth > self.max_depth {
            let cause = format!("more than {} nested groups", self.max_depth);
            return Err(self.error_at(open, cause, "simplify the expression or raise the limit"));
        }
        let regex = self.union()?;
        self.depth -= 1;
        match self.take(')') {
            true => Ok(regex),
            false => Err(self.error_at(open, "this group is not closed", "add `)`")),
        }
    }

    fn class(&mut self) -> Result<Regex, RegexError> {
        let open = self.at;
        self.at += 1;
        let negated = self.take('^');
        let mut members = Vec::new();
        while !self.take(']') {
            if self.peek().is_none() {
                return Err(self.error_at(open, "this class is not closed", "add `]`"));
            }
            self.members(&mut members)?;
        }
        if members.is_empty() && !negated {
            return Err(self.error_at(open, "this class is empty", "write `∅` for no word at all"));
        }
        if negated {
            let members: std::collections::HashSet<Symbol> = members.into_iter().collect();
            let others = self.symbols.values().copied().filter(|s| !members.contains(s));
            return Ok(Regex::one_of(others.collect()));
        }
        Ok(Regex::one_of(members))
    }

    /// Adds the next symbol or range of a class to `members`.
    fn members(&mut self, members: &mut Vec<Symbol>) -> Result<(), RegexError> {
        self.peek();
        let start = self.at;
        match self.item()? {
            Item::Named(symbol) => members.push(symbol),
            Item::Character(first) if self.take('-') => {
                members.extend(self.range(first, start)?);
            }
            Item::Character(c) => members.push(self.symbol(c.encode_utf8(&mut [0; 4]), start)?),
        }
        Ok(())
    }

    /// The symbols from `first` to the next character of the text.
    fn range(&mut self, first: char, start: usize) -> Result<Vec<Symbol>, RegexError> {
        let last = match self.peek() {
            None | Some(']') => None,
            Some(_) => Some(self.item()?),
        };
        let Some(Item::Character(last)) = last else {
            let remedy = "end the range with a character, or write `\\-`";
            return Err(self.error_at(start, "this range has no end", remedy));
        };
        let within = |name: &str| single(name).is_some_and(|c| (first..=last).contains(&c));
        let named = self.symbols.iter().filter(|(name, _)| within(name));
        let symbols: Vec<Symbol> = named.map(|(_, &symbol)| symbol).collect();
        if symbols.is_empty() {
            let cause = format!("there is no symbol between {first:?} and {last:?}");
            return Err(self.error_at(start, cause, self.known_symbols()));
        }
        Ok(symbols)
    }

    fn item(&mut self) -> Result<Item, RegexError> {
        match self.peek() {
            Some('<') => Ok(Item::Named(self.named()?)),
            _ => Ok(Item::Character(self.character()?)),
        }
    }

    fn named(&mut self) -> Result<Symbol, RegexError> {
        let open = self.at;
        self.at += 1;
        let mut name = String::new();
        loop {
            match self.chars.get(self.at) {
                None => return Err(self.error_at(open, "this name is not closed", "add `>`")),
                Some('>') => break self.at += 1,
                Some(_) => name.push(self.character()?),
            }
        }
        self.symbol(&name, open)
    }

    /// The current character, with its escape resolved.
    fn character(&mut self) -> Result<char, RegexError> {
        let start = self.at;
        let c = self.chars[start];
        self.at += 1;
        if c != '\\' {
            return Ok(c);
        }
        let Some(&escaped) = self.chars.get(self.at) else {
            return Err(self.error_at(start, "nothing follows the `\\`", "write `\\\\`"));
        };
        self.at += 1;
        match escaped {
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            c if c.is_ascii_alphanumeric() => {
                let cause = format!("`\\{c}` is not an escape");
                Err(self.error_at(start, cause, "letters and digits stand for themselves"))
            }
            c => Ok(c),
        }
    }

    fn symbol(&self, name: &str, start: usize) -> Result<Symbol, RegexError> {
        self.symbols.get(name).copied().ok_or_else(|| {
            self.error_at(start, format!("{name:?} is not in the alphabet"), self.known_symbols())
        })
    }

    /// The remedy for an unknown symbol: a list of the known ones.
    fn known_symbols(&self) -> String {
        const SHOWN: usize = 20;
        let mut symbols: Vec<_> = self.symbols.iter().collect();
        symbols.sort_by_key(|&(_, symbol)| symbol);
        let names: Vec<String> =
            symbols.iter().take(SHOWN).map(|&(&name, _)| as_typed(name)).collect();
        let more = if symbols.len() > SHOWN { " …" } else { "" };
        format!("use one of: {}{more}", names.join(" "))
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn error(&self, cause: &str, remedy: &str) -> RegexError {
        self.error_at(self.at, cause, remedy)
    }

    fn error_at(
        &self,
        at: usize,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> RegexError {
        RegexError { column: at + 1, cause: cause.into(), remedy: remedy.into() }
    }
}

fn single(name: &str) -> Option<char> {
    let mut chars = name.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// A symbol in the syntax of expressions: names of several characters are in angle brackets.
fn as_typed(name: &str) -> String {
    match name.chars().nth(1) {
        None => name.into(),
        Some(_) => format!("<{}>", name.replace('\\', "\\\\").replace('>', "\\>")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use crate::regex::compile;

    fn events() -> Alphabet {
        let names = ["a", "b", "z", "0", "open", "close>", "*", " ", "-"];
        Alphabet::new(names.map(String::from).to_vec()).unwrap()
    }

    fn read(text: &str) -> Result<Regex, RegexError> {
        parse(text, &events(), &Limits::default())
    }

    #[test]
    fn symbols_can_be_characters_names_and_escapes() {
        let one = |text: &str| match read(text).unwrap() {
            Regex::OneOf(symbols) => symbols.iter().map(|s| s.0).collect::<Vec<_>>(),
            other => panic!("{text} is {other:?}"),
        };
        assert_eq!(one("a"), [0]);
        assert_eq!(one(" b "), [1]);
        assert_eq!(one("<open>"), [4]);
        assert_eq!(one(r"<close\>>"), [5]);
        assert_eq!(one(r"\*"), [6]);
        assert_eq!(one(r"\ "), [7]);
        assert_eq!(one("< >"), [7]);
        assert_eq!(one("[a-c0<open>]"), [0, 1, 3, 4]);
        assert_eq!(one("[a-z]"), [0, 1, 2]);
        assert_eq!(one(r"[a\-z]"), [0, 2, 8]);
        assert_eq!(one("[^a-z<open>]"), [3, 5, 6, 7, 8]);
        assert_eq!(one("."), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn the_empty_word_has_three_spellings() {
        for text in ["", "ε", "()", " ( ) ", "(|)"] {
            assert_eq!(read(text), Ok(Regex::Epsilon), "{text:?}");
        }
        assert_eq!(read("a|"), read("a?"));
        assert_eq!(read("∅"), Ok(Regex::EmptySet));
    }

    #[test]
    fn errors_give_the_column_and_the_remedy() {
        let check = |text: &str, column: usize, cause: &str| {
            let error = read(text).unwrap_err();
            assert_eq!((error.column, error.cause.as_str()), (column, cause), "{text:?}");
            assert!(!error.remedy.is_empty());
        };
        check("ab)", 3, "this `)` has no opening `(`");
        check("a(b|", 2, "this group is not closed");
        check("a|*b", 3, "`*` has nothing to repeat");
        check("ab[az", 3, "this class is not closed");
        check("a[]", 2, "this class is empty");
        check("a<op", 2, "this name is not closed");
        check("aεx", 3, "\"x\" is not in the alphabet");
        check("a<x y>", 2, "\"x y\" is not in the alphabet");
        check("a\\", 2, "nothing follows the `\\`");
        check("a\\d", 2, "`\\d` is not an escape");
        check("[ 1-9]", 3, "there is no symbol between '1' and '9'");
        check("[a-]", 2, "this range has no end");
        check("a]", 2, "this `]` has no opening bracket");
        check("a}", 2, "this `}` has no opening bracket");
        check("a|{2}", 3, "`{` has nothing to repeat");
        for text in ["ab{", "ab{}", "ab{,2}", "ab{2", "ab{3,2}", "ab{b}", "ab{2,b}"] {
            check(text, 3, "this is not a number of repetitions");
        }
        assert!(
            read("x")
                .unwrap_err()
                .to_string()
                .ends_with("use one of: a b z 0 <open> <close\\>> *   -")
        );
    }

    #[test]
    fn a_counted_repetition_equals_its_expansion() {
        let dfa = |text: &str| compile(text, &events(), &Limits::default()).unwrap();
        for (short, long) in [
            ("a{3}", "aaa"),
            ("(ab){2}z", "ababz"),
            ("<open>{ 2 }", "<open><open>"),
            ("[ab]{1,3}", "[ab]|[ab][ab]|[ab][ab][ab]"),
            ("a{2,}", "aaa*"),
            ("a{0,}", "a*"),
            ("(a|b){0}", "ε"),
            ("∅{0}", "ε"),
            ("∅{1,2}", "∅"),
            ("(a?b*){2}{2}", "a?b*a?b*a?b*a?b*"),
            ("a{2}*", "(aa)*"),
        ] {
            assert_eq!(dfa(short), dfa(long), "{short}");
        }
        assert_ne!(dfa("a{3}"), dfa("aa"));
    }

    #[test]
    fn nesting_and_length_have_limits() {
        let deep = |n: usize| format!("{}a{}", "(".repeat(n), ")*".repeat(n));
        assert!(read(&deep(250)).is_ok());
        assert!(read(&"(a)".repeat(251)).is_ok(), "adjacent groups do not nest");
        assert_eq!(read(&deep(251)).unwrap_err().column, 251);
        let long = "a".repeat(100_001);
        assert!(read(&long).unwrap_err().cause.contains("100000"));
        let many = format!("a{{{}}}", u128::MAX);
        for long in [&many, "a{99999}b{2}", "((a{100}){100}){100}", &"(.{5000}|)".repeat(9)] {
            assert!(read(long).unwrap_err().cause.contains("too long"), "{long}");
        }
        let limits = Limits { states: 100, ..Limits::default() };
        let bits = Alphabet::of_chars("01").unwrap();
        let exponential = format!(".*1{}", ".".repeat(12));
        let error = compile(&exponential, &bits, &limits).unwrap_err();
        assert_eq!(error.cause, "the result needs more than 100 states");
    }

    #[test]
    fn no_text_makes_the_parser_panic() {
        let pieces = [
            "a", "b", "(", ")", "[", "]", "^", "-", "*", "+", "?", "|", "\\", "<", ">", ".", "ε",
            "∅", " ", "é", "<open>", "[a-z]", "{", "}", "{2}", "{1,3}",
        ];
        let mut bits = stream(11);
        let mut good = 0;
        for _ in 0..50_000 {
            let length = bits() % 12;
            let mut piece = || pieces[(bits() % pieces.len() as u64) as usize];
            let text: String = (0..length).map(|_| piece()).collect();
            match read(&text) {
                Ok(_) => good += 1,
                Err(e) => assert!(e.column <= text.chars().count() + 1, "{text:?}: {e}"),
            }
        }
        assert!(good > 1000, "only {good} texts were expressions");
    }
}
