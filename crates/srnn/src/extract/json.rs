//! Automata as JSON, lossless: names of symbols and classes, unknown transitions, state numbers.
//!
//! ```json
//! {
//!   "format": "srnn-automaton",
//!   "version": 1,
//!   "alphabet": ["0","1"],
//!   "classes": ["reject","accept"],
//!   "start": 0,
//!   "states": [
//!     {"output":"accept","next":[0,1]},
//!     {"output":"reject","next":[1,null]}
//!   ]
//! }
//! ```
//!
//! `next` has one entry per symbol, in the alphabet's order; `null` is an unknown transition. Files
//! are not trusted: the reader returns an error with its position and never panics.

use serde::{Deserialize, Serialize};
use srnn_automata::{Alphabet, Moore, Partial, State};
use std::collections::HashMap;

const FORMAT: &str = "srnn-automaton";
const VERSION: u32 = 1;

/// An automaton whose classes have names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAutomaton {
    classes: Vec<String>,
    automaton: Partial<u32>,
}

/// The largest file that [`from_json`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonLimits {
    /// Bytes of text. Default 8 MiB: reading takes about eight times that in memory at most.
    pub bytes: usize,
    /// States. Default 1,000,000.
    pub states: usize,
    /// Symbols and classes, each. Default 100,000.
    pub names: usize,
    /// Bytes of one name. Default 4,096.
    pub name_bytes: usize,
}

impl Default for JsonLimits {
    fn default() -> Self {
        JsonLimits { bytes: 8 << 20, states: 1_000_000, names: 100_000, name_bytes: 4096 }
    }
}

/// Why a text is not an automaton.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JsonError {
    /// More text than the limit.
    #[error(
        "{bytes} bytes are more than the limit of {limit}: raise the limit if you trust the file"
    )]
    TooLarge {
        /// Bytes given.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Not JSON, or not of this structure.
    #[error("line {line}, column {column}: {message}")]
    Shape {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// An invalid value.
    #[error("{path}: {problem}")]
    Value {
        /// The path of the value inside the JSON.
        path: String,
        /// What is wrong with it, and what is expected.
        problem: String,
    },
}

#[derive(Deserialize)]
struct JsonHeader {
    format: Option<String>,
    version: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AutomatonFile {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    alphabet: Vec<String>,
    classes: Vec<String>,
    start: u32,
    states: Vec<StateRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateRow {
    output: String,
    next: Vec<Option<u32>>,
}

impl NamedAutomaton {
    /// Class `c` gets the name `classes[c]`. Names must be distinct and not empty.
    pub fn new(classes: Vec<String>, automaton: Partial<u32>) -> Result<Self, JsonError> {
        class_numbers(&classes)?;
        let unnamed = |&class: &u32| class as usize >= classes.len();
        if let Some(at) = automaton.outputs().iter().position(unnamed) {
            let (class, named) = (automaton.outputs()[at], classes.len());
            let problem = format!("class {class} has no name; {named} classes are named");
            return Err(value(&format!("states[{at}].output"), problem));
        }
        Ok(NamedAutomaton { classes, automaton })
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The automaton; its outputs are indices into [`NamedAutomaton::classes`].
    pub fn automaton(&self) -> &Partial<u32> {
        &self.automaton
    }

    /// An automaton over the same classes, with their names as outputs.
    ///
    /// # Panics
    /// If an output is not a class.
    pub fn with_class_names(&self, moore: &Moore<u32>) -> Moore<String> {
        moore.map_outputs(|&class| self.classes[class as usize].clone())
    }
}

/// The automaton as JSON, one state per line.
pub fn to_json(named: &NamedAutomaton) -> String {
    let NamedAutomaton { classes, automaton } = named;
    let rows = automaton.states().map(|state| {
        let output = classes[*automaton.output(state) as usize].clone();
        let next = automaton.successors(state).iter().map(|to| to.map(|to| to.0)).collect();
        format!("    {}", json_text(&StateRow { output, next }))
    });
    format!(
        "{{\n  \"format\": {},\n  \"version\": {VERSION},\n  \"alphabet\": {},\n  \
         \"classes\": {},\n  \"start\": {},\n  \"states\": [\n{}\n  ]\n}}\n",
        json_text(&FORMAT),
        json_text(&automaton.alphabet().names()),
        json_text(classes),
        automaton.start().0,
        rows.collect::<Vec<_>>().join(",\n"),
    )
}

/// Reads an automaton that [`to_json`] wrote. Fails on text that is invalid or above the limits.
pub fn from_json(json: &str, limits: &JsonLimits) -> Result<NamedAutomaton, JsonError> {
    if json.len() > limits.bytes {
        return Err(JsonError::TooLarge { bytes: json.len(), limit: limits.bytes });
    }
    check_header(&serde_json::from_str(json).map_err(shape)?)?;
    let file: AutomatonFile = serde_json::from_str(json).map_err(shape)?;
    check_names("alphabet", &file.alphabet, limits)?;
    check_names("classes", &file.classes, limits)?;
    check_states(&file, limits)?;
    let alphabet = Alphabet::new(file.alphabet).map_err(|e| value("alphabet", e))?;
    let outputs = outputs(&file.states, &file.classes)?;
    let targets = file.states.into_iter().flat_map(|row| row.next);
    let table = targets.map(|to| to.map(State)).collect();
    let automaton = Partial::new(alphabet, State(file.start), outputs, table)
        .map_err(|e| value("states", e))?;
    NamedAutomaton::new(file.classes, automaton)
}

fn check_header(header: &JsonHeader) -> Result<(), JsonError> {
    if header.format.as_deref() != Some(FORMAT) {
        let found = header.format.as_deref().map_or("nothing".into(), |f| format!("{f:?}"));
        return Err(value("format", format!("expected {FORMAT:?}, found {found}")));
    }
    match header.version {
        Some(VERSION) => Ok(()),
        Some(newer) => {
            let problem =
                format!("version {newer} is not known, only {VERSION}; update the program");
            Err(value("version", problem))
        }
        None => Err(value("version", format!("missing; expected {VERSION}"))),
    }
}

fn check_names(path: &str, names: &[String], limits: &JsonLimits) -> Result<(), JsonError> {
    if names.len() > limits.names {
        let problem = format!("{} names are more than the limit of {}", names.len(), limits.names);
        return Err(value(path, problem));
    }
    match names.iter().position(|name| name.len() > limits.name_bytes) {
        Some(at) => {
            let (bytes, limit) = (names[at].len(), limits.name_bytes);
            let problem = format!("a name of {bytes} bytes is longer than the limit of {limit}");
            Err(value(&format!("{path}[{at}]"), problem))
        }
        None => Ok(()),
    }
}

fn check_states(file: &AutomatonFile, limits: &JsonLimits) -> Result<(), JsonError> {
    let (states, symbols) = (file.states.len(), file.alphabet.len());
    if states == 0 || states > limits.states {
        let problem = format!("{states} states; between 1 and {} are allowed", limits.states);
        return Err(value("states", problem));
    }
    if file.start as usize >= states {
        return Err(value("start", no_state(file.start, states)));
    }
    for (i, row) in file.states.iter().enumerate() {
        if row.next.len() != symbols {
            let problem = format!("{} entries for {symbols} symbols", row.next.len());
            return Err(value(&format!("states[{i}].next"), problem));
        }
        let out_of_range = |&to: &Option<u32>| to.is_some_and(|to| to as usize >= states);
        if let Some(x) = row.next.iter().position(out_of_range) {
            let problem = no_state(row.next[x].unwrap_or_default(), states);
            return Err(value(&format!("states[{i}].next[{x}]"), problem));
        }
    }
    Ok(())
}

fn outputs(states: &[StateRow], classes: &[String]) -> Result<Vec<u32>, JsonError> {
    let numbers = class_numbers(classes)?;
    let class = |(i, row): (usize, &StateRow)| {
        let unnamed = || {
            let problem = format!("{:?} is not one of the {} classes", row.output, classes.len());
            value(&format!("states[{i}].output"), problem)
        };
        numbers.get(row.output.as_str()).copied().ok_or_else(unnamed)
    };
    states.iter().enumerate().map(class).collect()
}

/// The number of each class name. Fails on names that are empty or repeated.
fn class_numbers(classes: &[String]) -> Result<HashMap<&str, u32>, JsonError> {
    let mut numbers = HashMap::with_capacity(classes.len());
    for (name, c) in classes.iter().zip(0..) {
        let path = format!("classes[{c}]");
        if name.is_empty() {
            return Err(value(&path, "an empty name; give it one"));
        }
        if let Some(first) = numbers.insert(name.as_str(), c) {
            return Err(value(&path, format!("repeats {name:?} of classes[{first}]; rename one")));
        }
    }
    Ok(numbers)
}

fn no_state(number: u32, states: usize) -> String {
    format!("{number} is not a state; the {states} states are numbered from 0")
}

fn value(path: &str, problem: impl ToString) -> JsonError {
    JsonError::Value { path: path.to_string(), problem: problem.to_string() }
}

fn shape(error: serde_json::Error) -> JsonError {
    let full = error.to_string();
    // The library appends the position, which has its own fields here.
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
    JsonError::Shape { line: error.line(), column: error.column(), message: message.to_string() }
}

fn json_text(part: &impl Serialize) -> String {
    serde_json::to_string(part).expect("strings and numbers are serialisable")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{
  "format": "srnn-automaton",
  "version": 1,
  "alphabet": ["a","\"\n→"],
  "classes": ["no","yes","?"],
  "start": 1,
  "states": [
    {"output":"yes","next":[0,null]},
    {"output":"no","next":[1,0]}
  ]
}
"#;

    fn read(json: &str) -> Result<NamedAutomaton, String> {
        from_json(json, &JsonLimits::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn an_automaton_comes_back_as_it_was_written() {
        let named = read(SMALL).unwrap();
        assert_eq!(to_json(&named), SMALL);
        assert_eq!(named.automaton().outputs(), [1, 0]);
        assert_eq!(named.automaton().next(State(0), srnn_automata::Symbol(1)), None);
        assert_eq!(named.automaton().alphabet().names()[1], "\"\n→");
    }

    #[test]
    fn errors_name_the_position_and_the_problem() {
        let refused = |from: &str, to: &str, expected: &str| {
            assert!(SMALL.contains(from), "{from}");
            let error = read(&SMALL.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
        };
        refused(
            "srnn-",
            "other-",
            "format: expected \"srnn-automaton\", found \"other-automaton\"",
        );
        refused("\"version\": 1", "\"version\": 2", "version 2 is not known");
        refused("[0,null]", "[0,7]", "states[0].next[1]: 7 is not a state; the 2 states");
        refused("[0,null]", "[0]", "states[0].next: 1 entries for 2 symbols");
        refused("[0,null]", "[0,-1]", "line 8, column");
        refused("\"start\": 1", "\"start\": 2", "start: 2 is not a state");
        refused(
            "\"yes\",\"next",
            "\"maybe\",\"next",
            "states[0].output: \"maybe\" is not one of the 3",
        );
        refused("\"no\",\"yes\"", "\"no\",\"no\"", "classes[1]: repeats \"no\" of classes[0]");
        refused("\"a\"", "\"\"", "alphabet: symbol 0 has an empty name");
        refused("\"start\": 1,", "\"start\": 1, \"start\": 0,", "line 6, column");
        refused("\"start\": 1,", "\"more\": 1, \"start\": 0,", "unknown field `more`");
        refused("\"start\": 1,", "", "missing field `start`");
    }

    #[test]
    fn limits_are_enforced() {
        let text = SMALL.to_string();
        let refused = |limits: JsonLimits| from_json(&text, &limits).unwrap_err().to_string();
        let defaults = JsonLimits::default();
        assert!(
            refused(JsonLimits { bytes: 20, ..defaults }).contains("more than the limit of 20")
        );
        assert!(refused(JsonLimits { states: 1, ..defaults }).starts_with("states: 2 states"));
        assert!(refused(JsonLimits { names: 2, ..defaults }).starts_with("classes: 3 names"));
        assert!(
            refused(JsonLimits { name_bytes: 4, ..defaults }).starts_with("alphabet[1]: a name")
        );
    }

    #[test]
    fn no_prefix_and_no_changed_byte_panics() {
        for end in 0..SMALL.len() {
            if SMALL.is_char_boundary(end) && end + 1 < SMALL.len() {
                assert!(read(&SMALL[..end]).is_err(), "{end}");
            }
        }
        for at in 0..SMALL.len() {
            for byte in *b"09[]{}\",:nx-\\\x00" {
                let mut bytes = SMALL.as_bytes().to_vec();
                bytes[at] = byte;
                if let Ok(text) = String::from_utf8(bytes) {
                    let _ = read(&text);
                }
            }
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_class_without_a_name_is_refused() {
        let named = read(SMALL).unwrap();
        let error = NamedAutomaton::new(vec!["no".into()], named.automaton).unwrap_err();
        assert!(error.to_string().contains("class 1 has no name"), "{error}");
    }
}
