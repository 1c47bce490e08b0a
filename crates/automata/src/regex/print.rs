//! Printing of expressions. [`parse`](super::parse) reads the text back.

use super::Regex;
use crate::alphabet::{Alphabet, Symbol};

impl Regex {
    /// The expression as text with the names of an alphabet.
    ///
    /// # Panics
    /// If a symbol is not in the alphabet.
    pub fn to_text(&self, alphabet: &Alphabet) -> String {
        let mut text = String::new();
        write(self, alphabet, Precedence::Union, &mut text);
        text
    }
}

/// The precedence of the surrounding operator. An operator of lower precedence needs parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Precedence {
    Union,
    Concat,
    Repeat,
}

fn write(regex: &Regex, alphabet: &Alphabet, outside: Precedence, text: &mut String) {
    match regex {
        Regex::EmptySet => text.push('∅'),
        Regex::Epsilon => text.push('ε'),
        Regex::OneOf(symbols) => text.push_str(&set(symbols, alphabet)),
        Regex::Union(parts) => joined(parts, "|", Precedence::Union, alphabet, outside, text),
        Regex::Concat(parts) => joined(parts, "", Precedence::Concat, alphabet, outside, text),
        Regex::Star(body) => repeated(body, '*', alphabet, text),
        Regex::Plus(body) => repeated(body, '+', alphabet, text),
        Regex::Optional(body) => repeated(body, '?', alphabet, text),
    }
}

fn joined(
    parts: &[Regex],
    between: &str,
    inside: Precedence,
    alphabet: &Alphabet,
    outside: Precedence,
    text: &mut String,
) {
    let group = outside > inside;
    text.push_str(if group { "(" } else { "" });
    for (i, part) in parts.iter().enumerate() {
        text.push_str(if i > 0 { between } else { "" });
        write(part, alphabet, inside, text);
    }
    text.push_str(if group { ")" } else { "" });
}

fn repeated(body: &Regex, sign: char, alphabet: &Alphabet, text: &mut String) {
    write(body, alphabet, Precedence::Repeat, text);
    text.push(sign);
}

fn set(symbols: &[Symbol], alphabet: &Alphabet) -> String {
    match symbols.len() {
        1 => name(alphabet.name(symbols[0]), OUTSIDE),
        n if n == alphabet.len() => ".".to_string(),
        n if n > 2 && 2 * n > alphabet.len() => {
            let others: Vec<Symbol> = alphabet.symbols().filter(|s| !symbols.contains(s)).collect();
            format!("[^{}]", members(&others, alphabet))
        }
        _ => format!("[{}]", members(symbols, alphabet)),
    }
}

/// Characters to escape outside and inside of classes.
const OUTSIDE: &str = "|*+?{}()[]<>.\\ε∅";
const INSIDE: &str = "^-[]<>\\";

/// The members of a class. Runs of four or more consecutive characters become ranges.
fn members(symbols: &[Symbol], alphabet: &Alphabet) -> String {
    let names: Vec<&str> = symbols.iter().map(|&s| alphabet.name(s)).collect();
    let (mut text, mut at) = (String::new(), 0);
    while at < names.len() {
        let run = 1 + names[at..].windows(2).take_while(|pair| follows(pair[0], pair[1])).count();
        if run >= 4 {
            text.push_str(&name(names[at], INSIDE));
            text.push('-');
            text.push_str(&name(names[at + run - 1], INSIDE));
            at += run;
        } else {
            text.push_str(&name(names[at], INSIDE));
            at += 1;
        }
    }
    text
}

fn follows(left: &str, right: &str) -> bool {
    let code = |name: &str| {
        let mut chars = name.chars();
        chars.next().filter(|_| chars.next().is_none()).map(u32::from)
    };
    matches!((code(left), code(right)), (Some(a), Some(b)) if a + 1 == b)
}

fn name(name: &str, special: &str) -> String {
    if name.chars().count() == 1 {
        return name.chars().map(|c| escape(c, special)).collect();
    }
    let inner: String =
        name.chars().map(|c| if c == ' ' { " ".into() } else { escape(c, ">\\") }).collect();
    format!("<{inner}>")
}

fn escape(c: char, special: &str) -> String {
    match c {
        '\n' => "\\n".to_string(),
        '\t' => "\\t".to_string(),
        '\r' => "\\r".to_string(),
        c if special.contains(c) || c.is_whitespace() => format!("\\{c}"),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::regex::parse;

    #[test]
    fn every_symbol_is_parsed_back_alone_and_in_classes() {
        let mut names: Vec<String> =
            "|*+?{}()[]<>.\\ε∅^-_ \n\t\r\u{3000}aé\u{1}".chars().map(String::from).collect();
        names.extend(
            ["two words", "a>b", "back\\slash", "line\nfeed", "\\", "<", "[x]"].map(String::from),
        );
        names.sort();
        names.dedup();
        let alphabet = Alphabet::new(names).unwrap();
        let round = |symbols: Vec<Symbol>| {
            let regex = Regex::one_of(symbols);
            let text = regex.to_text(&alphabet);
            assert_eq!(parse(&text, &alphabet, &Limits::default()), Ok(regex), "{text}");
        };
        for a in alphabet.symbols() {
            round(vec![a]);
            round(alphabet.symbols().filter(|&b| b != a).collect());
            alphabet.symbols().for_each(|b| round(vec![a, b]));
        }
    }

    #[test]
    fn sets_print_as_ranges_complements_and_the_dot() {
        let alphabet = Alphabet::of_chars("abcdefgh0").unwrap();
        let check = |text: &str, printed: &str| {
            let regex = parse(text, &alphabet, &Limits::default()).unwrap();
            assert_eq!(regex.to_text(&alphabet), printed);
        };
        check("a|b", "[ab]");
        check("[abcd]", "[a-d]");
        check("[abc]", "[abc]");
        check("[a-h]", "[^0]");
        check("[a-h0]", ".");
        check("(a|bc)*d", "(a|bc)*d");
        check("(a|b)(cd)?", "[ab](cd)?");
    }
}
