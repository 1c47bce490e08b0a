//! Classifies sequences with the network, and with its automaton if there is one.

use super::engine::EngineName;
use super::inputs::InputSequence;
use crate::automaton;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::SavedModel;
use srnn::engine::Real;
use srnn::engine::cpu::Cpu;
use srnn::engine::model::Model;
use srnn::engine::reference::{Reference, argmax, log_softmax};
use srnn::engine::{Mode, Runner};
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{WordSet, word_logits};
use srnn::task::{UnseenToken, Vocabulary};
use srnn_automata::Symbol;
use std::convert::Infallible;

/// The classification of one sequence.
#[derive(Clone, Debug)]
pub struct Classified {
    /// The network's result, or why there is none.
    pub network: Result<NetworkOutput, String>,
    /// Tokens that the model reads as `<unk>`: index and name.
    pub unseen: Vec<(usize, String)>,
    /// The path through the automaton, if there is one.
    pub automaton: Option<AutomatonPath>,
    /// The n-grams that speak most for the class, with their weights; empty for a network.
    pub reasons: Vec<(String, f64)>,
}

/// The network's result for one sequence.
#[derive(Clone, Debug)]
pub struct NetworkOutput {
    /// The class with the largest logit; the first one on a tie.
    pub class: u32,
    /// The probability of each class.
    pub probabilities: Vec<f64>,
}

/// The path of a sequence through the automaton.
#[derive(Clone, Debug)]
pub struct AutomatonPath {
    /// The states from the start state; ends at the first unknown transition.
    pub states: Vec<u32>,
    /// The name of the last state's class; `None` after an unknown transition.
    pub label: Option<String>,
}

impl Classified {
    /// The network's class.
    pub fn class(&self) -> Option<u32> {
        self.network.as_ref().ok().map(|network| network.class)
    }
}

/// Classifies every sequence.
pub fn classify(
    saved: &SavedModel,
    vocabulary: &Vocabulary,
    inputs: &[InputSequence],
    engine: EngineName,
    output: &Output,
) -> Vec<Classified> {
    let automaton = read_automaton(saved, output);
    let hint = separator_hint(vocabulary);
    let words: Vec<Result<Vec<u32>, UnseenToken>> =
        inputs.iter().map(|input| vocabulary.encode(&input.tokens)).collect();
    let word = |ids: &Vec<u32>| ids.iter().map(|&id| Symbol(id)).collect();
    let readable = WordSet::List(words.iter().flatten().map(word).collect());
    let mut results = run_network(&saved.file.model, readable, engine).into_iter();
    let classified = inputs.iter().zip(&words).map(|(input, word)| Classified {
        network: match word {
            Ok(_) => results.next().expect("one result per readable word"),
            Err(unseen) => Err(format!("{unseen}{hint}")),
        },
        unseen: unseen_tokens(vocabulary, &input.tokens),
        automaton: word.as_ref().ok().and_then(|w| path(automaton.as_ref()?, vocabulary, w)),
        reasons: vec![],
    });
    classified.collect()
}

/// A hint for alphabets with names that contain spaces: splitting at spaces does not find them.
pub fn separator_hint(vocabulary: &Vocabulary) -> String {
    let has_space = |name: &&String| name.contains(|c: char| c.is_ascii_whitespace());
    vocabulary.symbols().iter().find(has_space).map_or(String::new(), |name| {
        format!(
            "; symbols such as {name:?} contain spaces: separate symbols by commas and set \
             --tokens separator:,"
        )
    })
}

/// The extracted automaton. A damaged file is only a warning, because the network works without it.
fn read_automaton(saved: &SavedModel, output: &Output) -> Option<NamedAutomaton> {
    let path = saved.automaton().filter(|_| saved.has_automaton())?;
    let read = automaton::read(&path, None, None);
    let warn = |failure: &Failure| output.note(format!("warning: no path: {}", failure.message));
    read.inspect_err(warn).ok()
}

/// The tokens that are read as `<unk>`: index and name.
pub fn unseen_tokens(vocabulary: &Vocabulary, tokens: &[String]) -> Vec<(usize, String)> {
    let Some(unknown) = vocabulary.unknown() else { return vec![] };
    let name = &vocabulary.symbols()[unknown as usize];
    let is_unseen =
        |&(_, token): &(usize, &String)| token != name && vocabulary.id(token) == Some(unknown);
    tokens.iter().enumerate().filter(is_unseen).map(|(at, token)| (at, token.clone())).collect()
}

/// The path of a word; `None` if a symbol is not in the automaton's alphabet.
fn path(
    automaton: &NamedAutomaton,
    vocabulary: &Vocabulary,
    word: &[u32],
) -> Option<AutomatonPath> {
    let partial = automaton.automaton();
    let symbol = |&id: &u32| partial.alphabet().symbol(&vocabulary.symbols()[id as usize]);
    let word: Vec<Symbol> = word.iter().map(symbol).collect::<Option<_>>()?;
    let (mut state, mut states) = (Some(partial.start()), vec![partial.start().0]);
    for symbol in word {
        state = state.and_then(|state| partial.next(state, symbol));
        states.extend(state.map(|state| state.0));
    }
    let label = state.map(|end| automaton.classes()[*partial.output(end) as usize].clone());
    Some(AutomatonPath { states, label })
}

fn run_network(
    model: &Model<f32>,
    words: WordSet,
    engine: EngineName,
) -> Vec<Result<NetworkOutput, String>> {
    match engine {
        EngineName::Cpu => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            run_engine(&mut Cpu::new(model, threads), &words)
        }
        EngineName::Reference => run_engine(&mut Reference::new(&model.to_f64()), &words),
    }
}

fn run_engine<F: Real>(
    engine: &mut impl Runner<F, Error = Infallible>,
    words: &WordSet,
) -> Vec<Result<NetworkOutput, String>> {
    let mut results = Vec::with_capacity(words.len());
    word_logits(engine, words, Mode::default(), |logits| results.push(network_output(logits)));
    results
}

/// The class and the probabilities of a row of logits.
pub fn network_output<F: Real>(logits: &[F]) -> Result<NetworkOutput, String> {
    let logits: Vec<f64> = logits.iter().map(|&x| x.to()).collect();
    match logits.iter().all(|x| x.is_finite()) {
        true => Ok(NetworkOutput {
            class: argmax(&logits) as u32,
            probabilities: log_softmax(&logits).into_iter().map(f64::exp).collect(),
        }),
        false => Err("the network's output is not finite: its weights are too large".into()),
    }
}
