//! `explain` for one sequence and an automaton without a network.

use super::answer::{ExplainedWord, flip_of_automaton, flip_text, flip_value, moved};
use super::output_folder::OutputFolder;
use super::{ExplainArgs, accepting_class, pictures};
use crate::automaton::{AutomatonArg, Notation, symbols_of_expression};
use crate::builtin;
use crate::failure::Failure;
use crate::output::Output;
use crate::reading::{parse_token_rule, split_tokens};
use crate::runs;
use serde_json::{Value, json};
use srnn::explain::{InputPath, classes_without, input_path};
use srnn::extract::json::NamedAutomaton;
use srnn::format::{aligned, plural};
use srnn::task::{UNKNOWN, Vocabulary};
use srnn_automata::Alphabet;
use std::fmt::Write as _;
use std::path::Path;

/// Whether the argument names an automaton and no model: an expression, a grammar, a file, or a folder
/// with an automaton only. Names that are likely to mean one count, so that the error fits.
pub fn is_automaton(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let named = text.starts_with("re:") || text.starts_with("tomita:") || text == "-";
    let meant = || Notation::of_name(path).is_some() || builtin::did_you_mean(&text).is_some();
    match path.is_dir() {
        true => runs::automaton_in(path).is_some() && runs::find(path).is_err(),
        false => named || path.is_file() || meant(),
    }
}

/// Prints the explanation of a sequence, and writes the files of --out.
pub fn explain(arguments: &ExplainArgs, text: &str, output: &Output) -> Result<(), Failure> {
    let operand = AutomatonArg::open(&arguments.run.to_string_lossy(), None)?;
    let automaton = operand.resolve(&alphabet(&operand, text)?)?;
    let partial = automaton.automaton();
    let names = partial.alphabet().names();
    let unknown = partial.alphabet().symbol(UNKNOWN).map(|symbol| symbol.0);
    let rule = match &arguments.reading.tokens {
        Some(text) => parse_token_rule(text)?,
        None => runs::likely_rule(names, unknown),
    };
    let tokens = split_tokens(text, &rule, names);
    let word = Vocabulary::new(names.to_vec(), unknown)?.encode(&tokens).map_err(|unseen| {
        let remedy = "leave it out, or split the sequence by another rule with --tokens";
        Failure::new(unseen, remedy)
    })?;
    let explained = ExplainedWord { symbols: names, classes: automaton.classes(), tokens, word };
    let path = input_path(partial, &explained.word);
    let flip = flip_of_automaton(partial, &explained.word);
    let without = classes_without(partial, &explained.word);
    let (moved, moved_value) = moved(&explained, None, None, Some(&path));
    let (decided, decided_value) = decided(&explained, &path, &without);
    let mut value = json!({
        "automaton": operand.name(),
        "tokens": explained.tokens,
        "label": path.class().map(|class| explained.class(class)),
        "steps": steps_value(&explained, &path, &without),
        "path": path.states,
        "unknown": path.unknown.map(|at| at + 1),
        "moved": moved_value,
        "decided": decided_value,
        "flip": flip_value(&explained, &flip),
    });
    let mut shown = steps_text(&explained, &path, &without);
    shown.push_str(&moved);
    shown.push_str(&decided);
    shown.push_str(&flip_text(&explained, &flip));
    if let Some(folder) = &arguments.out {
        let accepting = accepting_class(arguments, automaton.classes())?;
        let title = format!("Path of {}", shorten(&explained.text(&explained.tokens)));
        let drawn = pictures::path(&automaton, (&path, &explained.word), None, accepting, title);
        let folder = OutputFolder::new(folder, arguments.force, output);
        let files = folder.save("explanation.json", &value, vec![("path.svg", drawn)])?;
        files.iter().for_each(|file| writeln!(shown, "written: {file}").expect("a string"));
        value["files"] = json!(files);
    }
    output.result(shown, &value)
}

/// The alphabet of an expression also has the characters of the sequence.
fn alphabet(operand: &AutomatonArg, text: &str) -> Result<Alphabet, Failure> {
    match operand {
        AutomatonArg::Known { automaton, .. } => Ok(automaton.automaton().alphabet().clone()),
        AutomatonArg::Expression(expression) => {
            let mut names = symbols_of_expression(expression).names().to_vec();
            if names.iter().all(|name| name.chars().nth(1).is_none()) {
                let typed = text.chars().filter(|c| !c.is_whitespace()).map(String::from);
                names.extend(typed);
                names.sort();
                names.dedup();
            }
            Alphabet::new(names).map_err(|error| Failure::new(error.to_string(), ""))
        }
    }
}

/// The first characters of a text, for a title.
pub fn shorten(text: &str) -> String {
    const MAX_TITLE: usize = 60;
    match text.chars().count() > MAX_TITLE {
        true => text.chars().take(MAX_TITLE - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// The tokens without which the class is another one, as text and as JSON.
fn decided(
    explained: &ExplainedWord<'_>,
    path: &InputPath,
    without: &[Option<u32>],
) -> (String, Value) {
    const MAX_NAMED: usize = 4;
    let changes = without.iter().enumerate();
    let changes: Vec<(usize, u32)> = changes
        .filter_map(|(at, &class)| Some((at, class?)))
        .filter(|&(_, class)| Some(class) != path.class())
        .collect();
    let value = changes.iter().map(|&(at, class)| {
        json!({ "position": at + 1, "token": explained.tokens[at],
                "without": explained.class(class) })
    });
    let named = changes.iter().take(MAX_NAMED).map(|&(at, class)| {
        let token = &explained.tokens[at];
        format!("token {} {token:?} (without it {})", at + 1, explained.class(class))
    });
    let named: Vec<String> = named.collect();
    let text = match changes.len() {
        0 => "decided by: no single token\n".to_string(),
        count if count > MAX_NAMED => {
            format!("decided by: {} and {} more\n", named.join(", "), count - MAX_NAMED)
        }
        _ => format!("decided by: {}\n", named.join(", ")),
    };
    (text, value.collect())
}

fn steps_text(explained: &ExplainedWord<'_>, path: &InputPath, without: &[Option<u32>]) -> String {
    let label = path.class().map_or("?", |class| explained.class(class));
    let mut text = format!("{}\t{label}\n", explained.text(&explained.tokens));
    let mut rows = vec![
        ["step", "token", "state", "class so far", "class without"].map(String::from).to_vec(),
    ];
    for (step, (&state, &class)) in path.states.iter().zip(&path.classes).enumerate() {
        let token = step.checked_sub(1).map_or("start", |at| explained.tokens[at].as_str());
        let token = token.replace(['\n', '\t'], "␣");
        let class = explained.class(class).to_string();
        let without = step.checked_sub(1).and_then(|at| without.get(at));
        let without = without.map(|&class| class.map_or("?", |class| explained.class(class)));
        let without = without.unwrap_or_default().to_string();
        rows.push(vec![step.to_string(), token, state.to_string(), class, without]);
    }
    text.push_str(&aligned(&rows));
    if let Some(at) = path.unknown {
        let (token, state) = (&explained.tokens[at], path.states[at]);
        let left = plural(explained.tokens.len() - at - 1, "token");
        let _ = writeln!(
            text,
            "unknown: the automaton has no transition for token {} {token:?} in state {state}; \
             {left} not read",
            at + 1
        );
    }
    text
}

fn steps_value(explained: &ExplainedWord<'_>, path: &InputPath, without: &[Option<u32>]) -> Value {
    let step = |(step, (&state, &class)): (usize, (&u32, &u32))| {
        let place = step.checked_sub(1);
        let without = place.and_then(|at| *without.get(at)?).map(|class| explained.class(class));
        json!({ "token": place.map(|at| &explained.tokens[at]), "state": state,
                "class": explained.class(class), "without": without })
    };
    path.states.iter().zip(&path.classes).enumerate().map(step).collect()
}

/// The automaton of a run with the symbols and classes of its model; `None` if they differ.
pub fn with_names_of_model(
    automaton: &NamedAutomaton,
    symbols: &[String],
    classes: &[String],
) -> Option<NamedAutomaton> {
    let partial = automaton.automaton();
    let place = |name: &String| classes.iter().position(|class| class == name);
    let places: Vec<usize> = automaton.classes().iter().map(place).collect::<Option<_>>()?;
    (partial.alphabet().names() == symbols).then(|| {
        let outputs = partial.map_outputs(|&class| places[class as usize] as u32);
        NamedAutomaton::new(classes.to_vec(), outputs).ok()
    })?
}
