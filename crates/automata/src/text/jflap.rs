//! The files of JFLAP (`.jff`), as far as they describe finite automata.
//!
//! ```text
//! <structure><type>fa</type><automaton>
//! <state id="0" name="q0"><x>0</x><y>0</y><initial/><final/></state>
//! <transition><from>0</from><to>0</to><read>a</read></transition>
//! </automaton></structure>
//! ```
//!
//! The reader refuses moves without a symbol and several moves with the same symbol. States are numbered
//! in order of appearance, and their names are not kept. A missing transition is unknown in the result;
//! in JFLAP it rejects.

use super::{NameTable, TextEdge, TextError, add_edge, build, check_bytes, error, too_many};
use crate::limits::Limits;
use crate::moore::{Dfa, State};
use crate::partial::Partial;

/// Writes a DFA; `position` gives the place of a state on JFLAP's canvas.
pub fn write_dfa(dfa: &Dfa, position: impl Fn(State) -> (f64, f64)) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n<structure>\n<type>fa</type>\n\
         <automaton>\n",
    );
    for state in dfa.states() {
        let (x, y) = position(state);
        let start = if state == dfa.start() { "<initial/>" } else { "" };
        let accepts = if dfa.is_accepting(state) { "<final/>" } else { "" };
        text.push_str(&format!(
            "<state id=\"{0}\" name=\"q{0}\"><x>{x:.1}</x><y>{y:.1}</y>{start}{accepts}</state>\n",
            state.0
        ));
    }
    for from in dfa.states() {
        for (symbol, to) in dfa.alphabet().names().iter().zip(dfa.successors(from)) {
            text.push_str(&format!(
                "<transition><from>{}</from><to>{}</to><read>{}</read></transition>\n",
                from.0,
                to.0,
                escape(symbol)
            ));
        }
    }
    text.push_str("</automaton>\n</structure>\n");
    text
}

/// Reads a DFA. Transitions that are missing in the text are unknown in the result.
pub fn read_dfa(text: &str, limits: &Limits) -> Result<Partial<bool>, TextError> {
    check_bytes(text, limits)?;
    let mut reader = JflapReader::default();
    let mut tags = Tags { rest: text, line: 1 };
    while let Some(tag) = tags.next()? {
        reader.take(&tag, limits)?;
    }
    reader.finish(limits, text.lines().count().max(1))
}

/// A tag, and the text after it up to the next tag.
struct Tag<'t> {
    line: usize,
    name: &'t str,
    attributes: &'t str,
    closes: bool,
    text: &'t str,
}

/// The tags of a text, in order. Comments and declarations are skipped.
struct Tags<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Tags<'t> {
    fn next(&mut self) -> Result<Option<Tag<'t>>, TextError> {
        let Some(open) = self.rest.find('<') else { return Ok(None) };
        self.skip(open);
        let line = self.line;
        let unclosed = || error(line, "a tag is not closed", "end it with `>`");
        if self.rest.starts_with("<!--") {
            let end = self.rest.find("-->").ok_or_else(unclosed)?;
            self.skip(end + 3);
            return self.next();
        }
        let end = self.rest.find('>').ok_or_else(unclosed)?;
        let inside = &self.rest[1..end];
        self.skip(end + 1);
        if inside.starts_with(['?', '!']) {
            return self.next();
        }
        let closes = inside.starts_with('/');
        let inside = inside.trim_start_matches('/').trim_end_matches('/').trim();
        let name_end = inside.find(char::is_whitespace).unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        let text = &self.rest[..self.rest.find('<').unwrap_or(self.rest.len())];
        Ok(Some(Tag { line, name, attributes, closes, text }))
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }
}

/// The parts of the transition that is read.
#[derive(Default)]
struct JflapTransition {
    from: Option<u32>,
    to: Option<u32>,
    symbol: Option<u32>,
}

#[derive(Default)]
struct JflapReader {
    states: NameTable,
    symbols: NameTable,
    accepting: Vec<bool>,
    start: Option<u32>,
    /// The state whose tags are read.
    state: Option<u32>,
    transition: Option<JflapTransition>,
    edges: Vec<TextEdge>,
}

impl JflapReader {
    fn take(&mut self, tag: &Tag<'_>, limits: &Limits) -> Result<(), TextError> {
        let line = tag.line;
        match (tag.name, tag.closes) {
            ("type", false) if tag.text.trim() != "fa" => {
                let cause = format!("this is a {:?}, not a finite automaton", tag.text.trim());
                return Err(error(line, cause, "save a finite automaton in JFLAP"));
            }
            ("state", false) => {
                let id = attribute(tag, "id")?;
                self.state = Some(self.number(id, line, limits)?);
            }
            ("state", true) => self.state = None,
            ("initial", false) => {
                let state = self.state_of(line)?;
                if self.start.is_some_and(|start| start != state) {
                    return Err(error(line, "a second start is marked", "keep one"));
                }
                self.start = Some(state);
            }
            ("final", false) => {
                let state = self.state_of(line)?;
                self.accepting[state as usize] = true;
            }
            ("transition", false) => self.transition = Some(JflapTransition::default()),
            ("transition", true) => self.end_transition(line, limits)?,
            ("from" | "to" | "read", false) => self.take_part(tag, limits)?,
            _ => {}
        }
        Ok(())
    }

    fn number(&mut self, id: &str, line: usize, limits: &Limits) -> Result<u32, TextError> {
        let number = self.states.number(id, line, "states", limits.states)?;
        self.accepting.resize(self.states.names.len(), false);
        Ok(number)
    }

    fn state_of(&self, line: usize) -> Result<u32, TextError> {
        self.state.ok_or_else(|| error(line, "this tag is not within a state", "move it there"))
    }

    fn take_part(&mut self, tag: &Tag<'_>, limits: &Limits) -> Result<(), TextError> {
        let text = unescape(tag.text);
        let number = match tag.name {
            "read" if text.is_empty() => {
                let remedy = "remove moves without a symbol: JFLAP converts an NFA to a DFA";
                return Err(error(tag.line, "a move without a symbol", remedy));
            }
            "read" => self.symbols.number(&text, tag.line, "symbols", limits.symbols)?,
            _ => self.number(text.trim(), tag.line, limits)?,
        };
        if let Some(transition) = &mut self.transition {
            match tag.name {
                "from" => transition.from = Some(number),
                "to" => transition.to = Some(number),
                _ => transition.symbol = Some(number),
            }
        }
        Ok(())
    }

    fn end_transition(&mut self, line: usize, limits: &Limits) -> Result<(), TextError> {
        match self.transition.take() {
            Some(JflapTransition { from: Some(from), to: Some(to), symbol: Some(symbol) }) => {
                let edge = TextEdge { line: line as u32, from, symbol, to };
                add_edge(&mut self.edges, edge, limits)
            }
            _ => Err(error(line, "a transition lacks <from>, <to> or <read>", "add it")),
        }
    }

    fn finish(self, limits: &Limits, lines: usize) -> Result<Partial<bool>, TextError> {
        if self.accepting.len() > limits.states {
            return Err(too_many(lines, "states", limits.states));
        }
        let start = self.start.ok_or_else(|| {
            error(lines, "no state has <initial/>", "mark the start state in JFLAP")
        })?;
        build(self.symbols.names, start, self.accepting, &self.edges, limits)
    }
}

fn attribute<'t>(tag: &Tag<'t>, name: &str) -> Result<&'t str, TextError> {
    let value = tag.attributes.split_once(&format!("{name}=\"")).map(|(_, rest)| rest);
    let value = value.and_then(|rest| rest.split_once('"')).map(|(value, _)| value);
    value.ok_or_else(|| error(tag.line, format!("<{}> has no {name}", tag.name), "add it"))
}

/// XML character data. White space at the ends and control characters are written as their codes.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() || (c.is_whitespace() && (at == 0 || at == last)) => {
                escaped.push_str(&format!("&#{};", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// The text of XML character data without white space around it.
fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text.trim();
    while let Some(at) = rest.find('&') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let character = end.and_then(|end| match &rest[1..end] {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            code => char::from_u32(code.strip_prefix('#')?.parse().ok()?),
        });
        match (character, end) {
            (Some(character), Some(end)) => {
                result.push(character);
                rest = &rest[end + 1..];
            }
            _ => {
                result.push('&');
                rest = &rest[1..];
            }
        }
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{random_dfa, stream};
    use crate::text::tests::nasty_alphabet;

    #[test]
    fn a_written_automaton_is_read_back_unchanged() {
        let mut bits = stream(4);
        for states in 1..12 {
            let dfa = random_dfa(states, &nasty_alphabet(), 0.5, &mut bits);
            let text = write_dfa(&dfa, |state| (f64::from(state.0), 0.0));
            let read = read_dfa(&text, &Limits::default()).unwrap();
            assert_eq!(read, Partial::from(&dfa), "{text}");
        }
    }

    #[test]
    fn a_file_of_jflap_is_read() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><!--Created with \
                    JFLAP 7.1.--><structure>&#13;\n\t<type>fa</type>&#13;\n\t<automaton>&#13;\n\t\t\
                    <!--The list of states.-->&#13;\n\t\t<state id=\"3\" name=\"q3\">&#13;\n\t\t\t\
                    <x>81.0</x>&#13;\n\t\t\t<initial/>&#13;\n\t\t</state>&#13;\n\t\t<state id=\"1\" \
                    name=\"q1\">&#13;\n<final/>&#13;\n\t\t</state>&#13;\n<transition>&#13;\n\
                    <from>3</from>&#13;\n<to>1</to>&#13;\n<read>a</read>&#13;\n</transition>&#13;\n\
                    </automaton>&#13;\n</structure>";
        let read = read_dfa(text, &Limits::default()).unwrap();
        assert_eq!((read.state_count(), read.outputs()), (2, &[false, true][..]));
        assert_eq!(read.next(State(0), crate::alphabet::Symbol(0)), Some(State(1)));
        assert_eq!(read.next(State(1), crate::alphabet::Symbol(0)), None);
    }

    #[test]
    fn what_is_no_dfa_is_refused_with_its_line() {
        let state = "<state id=\"0\"><initial/></state>";
        let read = |from: u32, symbol: &str, to: u32| {
            format!(
                "<transition><from>{from}</from><to>{to}</to><read>{symbol}</read></transition>"
            )
        };
        for (text, line, said) in [
            ("<type>pda</type>".to_string(), 1, "not a finite automaton"),
            (
                format!("{state}\n<transition><from>0</from><to>0</to><read/></transition>"),
                2,
                "without",
            ),
            (format!("{state}\n{}\n{}", read(0, "a", 0), read(0, "a", 1)), 3, "second transition"),
            (format!("{state}\n<transition></transition>"), 2, "lacks"),
            ("<state name=\"q\">".to_string(), 1, "no id"),
            ("<state id=\"0\"></state>".to_string(), 1, "no state has"),
            ("\n<state id=\"0\"".to_string(), 2, "not closed"),
            ("<initial/>".to_string(), 1, "not within"),
            (format!("{state}\n<state id=\"1\"><initial/></state>"), 2, "second start"),
        ] {
            let error = read_dfa(&text, &Limits::default()).unwrap_err();
            assert!(error.line == line && error.cause.contains(said), "{text}: {error}");
        }
    }
}
