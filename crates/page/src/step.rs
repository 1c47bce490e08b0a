//! A word through the automaton and the network.

use crate::{PageFiles, RunnableNetwork};
use serde_json::{Value, json};
use srnn_automata::{Partial, Symbol};
use srnn_engine::Mode;
use srnn_engine::model::{Input, Layout};
use srnn_engine::reference::{Network, NetworkState, log_softmax};

/// Classes of the network that are returned, the most probable first.
const SHOWN_CLASSES: usize = 3;

/// A longer word is refused: the page would not answer for seconds.
const MAX_WORD: usize = 2_000;

impl PageFiles {
    /// The state of the automaton and its class, and the classes of the network with their
    /// probabilities, after each prefix of a word; JSON. A part that is not loaded is null.
    ///
    /// # Errors
    /// If the word is too long, or has a symbol that does not exist.
    pub fn step(&self, word: &[u32]) -> Result<Value, String> {
        if word.len() > MAX_WORD {
            return Err(format!("the word has {} symbols; give at most {MAX_WORD}", word.len()));
        }
        let automaton = match &self.automaton {
            Some(automaton) => Some(automaton_steps(automaton, word)?),
            None => None,
        };
        let network = match &self.network {
            Some(network) => Some(network_steps(network, word)?),
            None => None,
        };
        Ok(json!({ "automaton": automaton, "network": network }))
    }
}

fn automaton_steps(automaton: &Partial<String>, word: &[u32]) -> Result<Vec<Value>, String> {
    check_symbols(word, automaton.alphabet().len())?;
    let mut state = Some(automaton.start());
    let mut steps = vec![];
    for symbol in [None].into_iter().chain(word.iter().map(|&symbol| Some(Symbol(symbol)))) {
        if let Some(symbol) = symbol {
            state = state.and_then(|state| automaton.next(state, symbol));
        }
        steps.push(match state {
            Some(state) => json!({ "state": state.0, "class": automaton.output(state) }),
            None => Value::Null,
        });
    }
    Ok(steps)
}

fn network_steps(network: &RunnableNetwork, word: &[u32]) -> Result<Vec<Value>, String> {
    let arch = &network.model.arch;
    match arch.input {
        Input::Tokens { symbols, .. } => check_symbols(word, symbols)?,
        Input::Real { .. } => return Err("the network reads images, not words".into()),
    }
    let layout = Layout::of(arch);
    let runnable = Network { arch, layout: &layout, params: &network.model.params };
    let mode = Mode::default();
    let mut state = runnable.initial();
    if let Some(start) = arch.input.start() {
        state = runnable.advance(&state, start, mode);
    }
    let answer = |state: &NetworkState| {
        let logits = match arch.input.end() {
            Some(end) => runnable.logits(&runnable.advance(state, end, mode)),
            None => runnable.logits(state),
        };
        most_probable(&network.classes, &logits)
    };
    let mut steps = vec![answer(&state)];
    for &symbol in word {
        state = runnable.advance(&state, symbol, mode);
        steps.push(answer(&state));
    }
    Ok(steps)
}

fn most_probable(classes: &[String], logits: &[f64]) -> Value {
    let mut ranked: Vec<(f64, usize)> = log_softmax(logits).into_iter().zip(0..).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let shown = ranked.iter().take(SHOWN_CLASSES);
    shown
        .map(|&(log, class)| json!({ "class": classes[class], "probability": log.exp() }))
        .collect()
}

fn check_symbols(word: &[u32], symbols: usize) -> Result<(), String> {
    match word.iter().find(|&&symbol| symbol as usize >= symbols) {
        Some(symbol) => Err(format!("there is no symbol {symbol}; there are {symbols}")),
        None => Ok(()),
    }
}
