//! The AT&T text format of OpenFst, foma and the MLRegTest acceptors.
//!
//! A line is a transition, `source target symbol`, or a final state. A fourth field may repeat the
//! symbol, as in the identity transducer of an acceptor. Other outputs and `<eps>` are refused. Weights
//! after a final state or after both symbols are ignored. The first field of the first line is the
//! start state.
//!
//! Fields are separated by white space, so symbols escape it: `\s` space, `\t` tab, `\n` line feed,
//! `\r` carriage return, `\u{hex}` any other character, `\\` backslash. `\<eps>` is a symbol named
//! `<eps>`.
//!
//! States keep their numbers if these are 0 to n−1; otherwise they are numbered in order of appearance.
//! A complete automaton is read back as it was written. The format cannot represent a state that is
//! neither final nor part of a transition; a complete automaton has one only if it has no symbols.

use super::{NameTable, TextEdge, TextError, add_edge, build, check_bytes, error};
use crate::limits::Limits;
use crate::moore::Dfa;
use crate::partial::Partial;

/// Reads an acceptor. By convention of the format a missing transition rejects: call
/// `complete(false)` on the result.
pub fn read_dfa(text: &str, limits: &Limits) -> Result<Partial<bool>, TextError> {
    check_bytes(text, limits)?;
    let mut reader = AttReader::default();
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split_ascii_whitespace().take(MOST_FIELDS + 1).collect();
        reader.line(number + 1, &fields, limits)?;
    }
    reader.finish(limits)
}

/// Writes an acceptor; the transitions of the start state come first.
pub fn write_dfa(dfa: &Dfa) -> String {
    let symbols: Vec<String> = dfa.alphabet().names().iter().map(|name| escape(name)).collect();
    let others = dfa.states().filter(|&s| s != dfa.start());
    let mut text = String::new();
    for from in [dfa.start()].into_iter().chain(others) {
        for (symbol, to) in symbols.iter().zip(dfa.successors(from)) {
            text.push_str(&format!("{}\t{}\t{symbol}\t{symbol}\n", from.0, to.0));
        }
    }
    for state in dfa.states().filter(|&s| dfa.is_accepting(s)) {
        text.push_str(&format!("{}\n", state.0));
    }
    text
}

/// Source, target, both symbols and a weight.
const MOST_FIELDS: usize = 5;
const EPSILON: &str = "<eps>";

#[derive(Default)]
struct AttReader {
    states: NameTable,
    symbols: NameTable,
    edges: Vec<TextEdge>,
    finals: Vec<u32>,
}

impl AttReader {
    fn line(&mut self, line: usize, fields: &[&str], limits: &Limits) -> Result<(), TextError> {
        let state =
            |states: &mut NameTable, name| states.number(name, line, "states", limits.states);
        match fields {
            [] => {}
            [last] | [last, _] => {
                check_weight(line, fields.get(1))?;
                let last = state(&mut self.states, last)?;
                self.finals.push(last);
            }
            [from, to, symbol, rest @ ..] if rest.len() < 3 => {
                check_output(line, symbol, rest)?;
                let from = state(&mut self.states, from)?;
                let to = state(&mut self.states, to)?;
                let name = unescape(symbol, line)?;
                let symbol = self.symbols.number(&name, line, "symbols", limits.symbols)?;
                add_edge(
                    &mut self.edges,
                    TextEdge { line: line as u32, from, symbol, to },
                    limits,
                )?;
            }
            _ => {
                let cause = format!("more than {MOST_FIELDS} fields");
                return Err(error(line, cause, "write `source target symbol`"));
            }
        }
        Ok(())
    }

    fn finish(mut self, limits: &Limits) -> Result<Partial<bool>, TextError> {
        if self.states.names.is_empty() {
            return Err(error(1, "there are no states", "write at least one transition or state"));
        }
        let numbers = plain_numbers(&self.states.names);
        let number = |state: u32| numbers.as_ref().map_or(state, |numbers| numbers[state as usize]);
        for edge in &mut self.edges {
            (edge.from, edge.to) = (number(edge.from), number(edge.to));
        }
        let mut outputs = vec![false; self.states.names.len()];
        self.finals.iter().for_each(|&state| outputs[number(state) as usize] = true);
        build(self.symbols.names, number(0), outputs, &self.edges, limits)
    }
}

/// The names of the states as numbers; `None` unless they are the decimal numbers 0 to n−1.
fn plain_numbers(names: &[String]) -> Option<Vec<u32>> {
    let number = |name: &String| {
        let number: u32 = name.parse().ok()?;
        ((number as usize) < names.len() && number.to_string() == *name).then_some(number)
    };
    names.iter().map(number).collect()
}

fn check_weight(line: usize, weight: Option<&&str>) -> Result<(), TextError> {
    match weight {
        Some(weight) if weight.parse::<f64>().is_err() => Err(error(
            line,
            format!("a final state is followed by {weight:?}, which is not a weight"),
            "write the state alone, or `source target symbol`",
        )),
        _ => Ok(()),
    }
}

fn check_output(line: usize, symbol: &str, rest: &[&str]) -> Result<(), TextError> {
    if symbol == EPSILON || rest.first() == Some(&EPSILON) {
        return Err(error(
            line,
            "an epsilon transition (<eps>): this is not a deterministic acceptor",
            "remove epsilons first, or write `\\<eps>` for a symbol of that name",
        ));
    }
    match rest.first() {
        Some(output) if *output != symbol => Err(error(
            line,
            format!("{symbol:?} is rewritten to {output:?}: this is not an acceptor"),
            "make both symbols equal; weights are allowed only after both",
        )),
        _ => Ok(()),
    }
}

fn escape(name: &str) -> String {
    if name == EPSILON {
        return format!("\\{EPSILON}");
    }
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            ' ' => text.push_str("\\s"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c if c.is_control() || c.is_whitespace() => {
                text.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

fn unescape(field: &str, line: usize) -> Result<String, TextError> {
    let mut name = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            name.push(c);
            continue;
        }
        let meaning = match chars.next() {
            Some('\\') => Some('\\'),
            Some('<') => Some('<'),
            Some('s') => Some(' '),
            Some('t') => Some('\t'),
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('u') => code_point(&mut chars),
            _ => None,
        };
        name.push(meaning.ok_or_else(|| {
            let cause = format!("{field:?} has an unknown escape");
            error(line, cause, "write `\\\\` for a backslash; see \\s \\t \\n \\r \\u{hex}")
        })?);
    }
    Ok(name)
}

fn code_point(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let rest = chars.as_str().strip_prefix('{')?;
    let (digits, rest) = rest.split_once('}')?;
    *chars = rest.chars();
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alphabet::Alphabet;
    use crate::moore::State;
    use crate::random::{random_dfa, stream};
    use crate::text::tests::{mutate, nasty_alphabet};

    fn read(text: &str) -> Result<Partial<bool>, TextError> {
        read_dfa(text, &Limits::default())
    }

    #[test]
    fn random_automata_over_nasty_symbols_are_read_back_as_written() {
        for seed in 0..300 {
            let mut bits = stream(seed);
            let states = 1 + (bits() % 12) as u32;
            let dfa = random_dfa(states, &nasty_alphabet(), 0.5, &mut bits);
            let start = State((bits() % u64::from(states)) as u32);
            let table = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect();
            let dfa =
                Dfa::new(dfa.alphabet().clone(), start, dfa.outputs().to_vec(), table).unwrap();
            let again = read(&write_dfa(&dfa)).unwrap();
            assert_eq!(again.complete(false), dfa, "{}", write_dfa(&dfa));
        }
    }

    #[test]
    fn missing_transitions_stay_unknown_and_weights_are_ignored() {
        let partial = read("s t a\n\nt s b b 0.5\r\ns 1.5\n").unwrap();
        assert_eq!(partial.alphabet(), &Alphabet::of_chars("ab").unwrap());
        assert_eq!(partial.outputs(), [true, false]);
        assert_eq!(partial.unknown().len(), 2);
        let word = partial.alphabet().word_of_chars("abab").unwrap();
        assert!(partial.complete(false).accepts(&word));
    }

    #[test]
    fn a_lone_final_state_is_an_automaton_without_symbols() {
        let dfa = read("0\n").unwrap().complete(false);
        assert!(dfa.accepts(&[]) && dfa.alphabet().is_empty());
        assert_eq!(read(&write_dfa(&dfa)).unwrap().complete(false), dfa);
    }

    #[test]
    fn text_that_is_not_a_deterministic_acceptor_is_refused_with_its_line() {
        let check = |text: &str, line: usize, cause: &str| {
            let error = read(text).unwrap_err();
            assert!(error.cause.contains(cause), "{error}");
            assert_eq!(error.line, line, "{error}");
            assert!(!error.remedy.is_empty());
        };
        check("", 1, "no states");
        check("0 1 a\n0 2 a\n", 2, "second transition with symbol \"a\"");
        check("0 1 a\n1 0 <eps>\n", 2, "<eps>");
        check("0 1 a <eps>\n", 1, "<eps>");
        check("0 1 a b\n", 1, "rewritten");
        check("0 1 a\n1 final\n", 2, "not a weight");
        check("0 1 a\n0 1 2 3 4\n", 2, "rewritten");
        check("0 1 a a 0 0\n", 1, "more than 5 fields");
        check("0 1 \\x\n", 1, "escape");
        check("0 1 \\u{d800}\n", 1, "escape");
    }

    #[test]
    fn limits_hold_and_damaged_texts_never_panic() {
        let few = Limits { states: 3, symbols: 2, bytes: 1000, ..Limits::default() };
        assert!(read_dfa("0 1 a\n2 3 a", &few).unwrap_err().cause.contains("3 states"));
        assert!(read_dfa("0 1 a\n0 1 b\n0 1 c", &few).unwrap_err().cause.contains("2 symbols"));
        assert!(read_dfa(&"0\n".repeat(501), &few).unwrap_err().cause.contains("1000 bytes"));
        let wide = Limits { entries: 3, ..Limits::default() };
        assert!(read_dfa("0 1 a\n0 1 b", &wide).unwrap_err().cause.contains("table entries"));
        let text = write_dfa(&random_dfa(4, &nasty_alphabet(), 0.5, &mut stream(5)));
        mutate(&text, 5000, |damaged| drop(read(damaged)));
    }
}
