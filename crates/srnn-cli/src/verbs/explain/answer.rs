//! What `explain` says about one sequence, whatever the model: its path through the automaton, the
//! tokens that move the answer, and the edit that changes it.

use crate::output::escape_control;
use serde_json::{Map, Value, json};
use srnn::explain::edit::{Edit, Flip, edited, shortest_flip};
use srnn::explain::influence::{self, ClassAnswer, Influence};
use srnn::explain::search::{FlipSearchConfig, search_flip};
use srnn::explain::{InputPath, Unsupported};
use srnn::format::{grouped, plural};
use srnn::render::sparkline::sparkline;
use srnn_automata::Partial;
use std::slice;

/// A sequence, and the names that its numbers stand for.
pub struct ExplainedWord<'a> {
    /// The names of the tokens.
    pub symbols: &'a [String],
    /// The names of the classes.
    pub classes: &'a [String],
    /// The tokens as typed.
    pub tokens: Vec<String>,
    /// The tokens as the model reads them.
    pub word: Vec<u32>,
}

/// How an edit was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlipMethod {
    /// Through the automaton: no other edit is shorter.
    Automaton,
    /// By asking the model about edited sequences.
    Search,
}

/// The edit that changes the answer.
pub struct FlipAnswer {
    /// The edit; `None` if there is none, or none was found.
    pub flip: Option<Flip>,
    /// How it was found.
    pub method: FlipMethod,
    /// Whether no sequence with fewer edits has another class.
    pub shortest: bool,
    /// The number of edited sequences that the model was asked about.
    pub tried: usize,
    /// The answer of the model to the edited sequence; `None` if there is only an automaton.
    pub replayed: Option<ClassAnswer>,
    /// Why there is no edit, or why it was not found through the automaton.
    pub remark: Option<String>,
}

/// Tokens that move the probability by less are not named.
const LEAST_CHANGE: f64 = 0.05;
/// The number of tokens that are named.
const NAMED_TOKENS: usize = 3;

/// The edit of an automaton without a network.
pub fn flip_of_automaton(automaton: &Partial<u32>, word: &[u32]) -> FlipAnswer {
    let (flip, remark) = match shortest_flip(automaton, word) {
        Ok(Some(flip)) => (Some(flip), None),
        Ok(None) => (None, Some("no sequence has another class".to_string())),
        Err(error) => (None, Some(error.to_string())),
    };
    let shortest = flip.is_some();
    FlipAnswer { flip, method: FlipMethod::Automaton, shortest, tried: 0, replayed: None, remark }
}

/// The edit of a model: through its automaton if the model's answer changes, too; else by search.
pub fn flip_of_model(
    automaton: Option<&Partial<u32>>,
    logits: &mut impl FnMut(&[Vec<u32>]) -> Vec<Vec<f64>>,
    explained: &ExplainedWord<'_>,
    unknown: Option<u32>,
) -> FlipAnswer {
    let mut remark = None;
    let class = influence::answer(&logits(slice::from_ref(&explained.word))[0]).class;
    if let Some(automaton) = automaton {
        let exact = flip_of_automaton(automaton, &explained.word);
        if let Some(flip) = &exact.flip {
            let replayed = influence::answer(&logits(slice::from_ref(&flip.word))[0]);
            if replayed.class.is_some() && replayed.class != class {
                return FlipAnswer { replayed: Some(replayed), ..exact };
            }
            let edits = edits_text(explained, &flip.edits);
            remark = Some(format!("the network does not follow the automaton's edit: {edits}"));
        } else {
            remark = exact.remark;
        }
    }
    let config = FlipSearchConfig {
        never_inserted: unknown.into_iter().collect(),
        ..FlipSearchConfig::default()
    };
    let found = search_flip(logits, explained.symbols.len(), &explained.word, &config);
    let replayed = found.flip.as_ref();
    let replayed = replayed.map(|flip| influence::answer(&logits(slice::from_ref(&flip.word))[0]));
    FlipAnswer {
        flip: found.flip,
        method: FlipMethod::Search,
        shortest: found.shortest,
        tried: found.tried,
        replayed,
        remark,
    }
}

impl ExplainedWord<'_> {
    /// The name of a class.
    pub fn class(&self, class: u32) -> &str {
        &self.classes[class as usize]
    }

    /// The sequence as text: without separators if all tokens are single characters.
    pub fn text(&self, tokens: &[String]) -> String {
        let single = tokens.iter().all(|token| token.chars().count() == 1);
        match tokens.is_empty() {
            true => "ε".to_string(),
            false => tokens.join(if single { "" } else { " " }).replace('\n', "\\n"),
        }
    }

    /// The tokens of an edited sequence: as typed where they are not edited.
    pub fn edited_tokens(&self, edits: &[Edit]) -> Vec<String> {
        // Numbers beyond the symbols stand for the tokens as typed.
        let first = self.symbols.len() as u32;
        let places: Vec<u32> = (0..self.tokens.len() as u32).map(|at| first + at).collect();
        let name = |id: u32| match id.checked_sub(first) {
            Some(at) => self.tokens[at as usize].clone(),
            None => self.symbols[id as usize].clone(),
        };
        edited(&places, edits).into_iter().map(name).collect()
    }
}

/// Edits as text, such as `replace token 3 "1" by "0"`.
pub fn edits_text(explained: &ExplainedWord<'_>, edits: &[Edit]) -> String {
    let old = |at: usize| format!("token {} {:?}", at + 1, explained.tokens[at]);
    let new = |token: u32| format!("{:?}", explained.symbols[token as usize]);
    let edit = |edit: &Edit| match *edit {
        Edit::Replace { at, token } => format!("replace {} by {}", old(at), new(token)),
        Edit::Delete { at } => format!("delete {}", old(at)),
        Edit::Insert { at, token } if at == explained.tokens.len() => {
            format!("append {}", new(token))
        }
        Edit::Insert { at, token } => format!("insert {} before {}", new(token), old(at)),
    };
    edits.iter().map(edit).collect::<Vec<_>>().join(", ")
}

/// The lines about the answer that follow the table of steps.
pub fn flip_text(explained: &ExplainedWord<'_>, answer: &FlipAnswer) -> String {
    let remark = answer.remark.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    let Some(flip) = &answer.flip else {
        return match answer.method {
            FlipMethod::Automaton => {
                format!("flip: none: {}\n", answer.remark.as_deref().unwrap_or("not found"))
            }
            FlipMethod::Search => {
                let tried = grouped(answer.tried as u64);
                format!("flip: none found among {tried} edited sequences{remark}\n")
            }
        };
    };
    let class = answer.replayed.as_ref().and_then(|replayed| replayed.class).unwrap_or(flip.class);
    let probability = answer.replayed.as_ref().map_or(String::new(), |replayed| {
        format!(" {:.4}", replayed.probabilities[class as usize])
    });
    let word = explained.text(&explained.edited_tokens(&flip.edits));
    let how = match (answer.method, answer.shortest) {
        (FlipMethod::Automaton, _) => "; no shorter edit changes the automaton's answer",
        (FlipMethod::Search, true) => "; no shorter edit changes the answer",
        (FlipMethod::Search, false) => "; found by search, a shorter edit may exist",
    };
    let edits = edits_text(explained, &flip.edits);
    format!("flip: {edits}: {word} is {}{probability}{how}{remark}\n", explained.class(class))
}

/// The edit as JSON. Positions count from 1; an insertion is before its position.
pub fn flip_value(explained: &ExplainedWord<'_>, answer: &FlipAnswer) -> Value {
    let edit = |edit: &Edit| {
        let position = edit.at() + 1;
        let old = |at: usize| explained.tokens[at].clone();
        let new = |token: u32| explained.symbols[token as usize].clone();
        match *edit {
            Edit::Replace { at, token } => json!({ "kind": "replace", "position": position,
                                                   "old": old(at), "new": new(token) }),
            Edit::Delete { at } => {
                json!({ "kind": "delete", "position": position, "old": old(at), "new": null })
            }
            Edit::Insert { token, .. } => {
                json!({ "kind": "insert", "position": position, "old": null, "new": new(token) })
            }
        }
    };
    let flip = answer.flip.as_ref();
    let edits = flip.map(|flip| flip.edits.iter().map(edit).collect::<Vec<_>>());
    let class = answer.replayed.as_ref().and_then(|replayed| replayed.class);
    let class = class.or(flip.map(|flip| flip.class));
    json!({
        "edits": edits,
        "tokens": flip.map(|flip| explained.edited_tokens(&flip.edits)),
        "label": class.map(|class| explained.class(class)),
        "probabilities": answer.replayed.as_ref().map(|answer| probabilities(explained, answer)),
        "through": match answer.method {
            FlipMethod::Automaton => "automaton",
            FlipMethod::Search => "search",
        },
        "shortest": answer.shortest,
        "tried": answer.tried,
        "remark": answer.remark,
    })
}

/// The probability of each class, by its name.
pub fn probabilities(explained: &ExplainedWord<'_>, answer: &ClassAnswer) -> Value {
    let named = explained.classes.iter().cloned();
    let named = named.zip(answer.probabilities.iter().map(|&p| json!(p)));
    Value::Object(named.collect::<Map<_, _>>())
}

/// The tokens that moved the answer, as text and as JSON: by the probability of `class` if a model
/// gives one, else by the classes of the states.
pub fn moved(
    explained: &ExplainedWord<'_>,
    class: Option<u32>,
    influence: Option<&Influence>,
    path: Option<&InputPath>,
) -> (String, Value) {
    let place = |at: usize| format!("token {} {:?}", at + 1, explained.tokens[at]);
    if let (Some(class), Some(influence)) = (class, influence) {
        let changes = influence.changes(class);
        let places = influence.strongest(class, NAMED_TOKENS, LEAST_CHANGE);
        let value = places.iter().map(|&at| {
            json!({ "position": at + 1,
            "token": explained.tokens[at], "change": changes[at] })
        });
        let value: Value = value.collect();
        let named: Vec<String> =
            places.iter().map(|&at| format!("{} {:+.3}", place(at), changes[at])).collect();
        let of = |answer: &ClassAnswer| answer.probabilities[class as usize];
        let curve: Vec<f64> = influence.prefixes.iter().map(of).collect();
        let name = escape_control(explained.class(class));
        let text = match named.is_empty() {
            true => format!("moved by: no token moves p({name}) by {LEAST_CHANGE} or more\n"),
            false => format!("moved by: {} (change of p({name}))\n", named.join(", ")),
        };
        let strip = sparkline(&curve, 0.0, 1.0);
        return (format!("p({name}) by step: {strip}\n{text}"), value);
    }
    let Some(path) = path else { return (String::new(), Value::Null) };
    let turns = path.turning_points();
    let names =
        |at: usize| [at, at + 1].map(|step| explained.class(path.classes[step]).to_string());
    let value = turns.iter().map(|&at| {
        let [from, to] = names(at);
        json!({ "position": at + 1, "token": explained.tokens[at], "from": from, "to": to })
    });
    let value: Value = value.collect();
    let named: Vec<String> = turns
        .iter()
        .rev()
        .take(NAMED_TOKENS)
        .rev()
        .map(|&at| format!("{} ({})", place(at), names(at).join(" → ")))
        .collect();
    let text = match turns.len() {
        0 => "moved by: no token; every prefix has the same class\n".to_string(),
        count if count > NAMED_TOKENS => format!(
            "moved by: {}; {} before\n",
            named.join(", "),
            plural(count - NAMED_TOKENS, "change")
        ),
        _ => format!("moved by: {}\n", named.join(", ")),
    };
    (text, value)
}

/// Where the sequence leaves what the training sequences have taken, as text and as JSON.
pub fn support(
    explained: &ExplainedWord<'_>,
    path: &InputPath,
    unsupported: Option<Unsupported>,
) -> (String, Value) {
    match unsupported {
        None => {
            ("support: training sequences take every transition of this path\n".into(), Value::Null)
        }
        Some(Unsupported::Transition { at }) => {
            let (token, state) = (&explained.tokens[at], path.states[at]);
            let text = format!(
                "support: from token {} {token:?} on this is a guess: no training sequence takes \
                 it in state {state}\n",
                at + 1
            );
            let value = json!({ "kind": "transition", "position": at + 1, "token": token,
                                "state": state });
            (text, value)
        }
        Some(Unsupported::End) => {
            let state = path.states.last().expect("the start state");
            let text = format!(
                "support: no training sequence ends in state {state}, so its class is a guess\n"
            );
            (text, json!({ "kind": "end", "state": state }))
        }
    }
}
