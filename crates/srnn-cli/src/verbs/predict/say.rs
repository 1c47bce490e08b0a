//! What the network says, and what its automaton says.

use super::engine::EngineName;
use super::inputs::Asked;
use crate::automaton;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Saved;
use srnn::engine::Real;
use srnn::engine::cpu::Cpu;
use srnn::engine::reference::{Reference, argmax, log_softmax};
use srnn::engine::{Mode, Runner};
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{WordSet, word_logits};
use srnn::model::Model;
use srnn::task::{UnseenToken, Vocabulary};
use srnn_automata::Symbol;
use std::convert::Infallible;

/// What is said of one sequence.
#[derive(Clone, Debug)]
pub struct Said {
    /// What the network says; or why nothing.
    pub network: Result<Spoken, String>,
    /// Tokens that the model does not know and reads as its unknown one: place and name.
    pub unseen: Vec<(usize, String)>,
    /// The run of the automaton, where there is one.
    pub automaton: Option<Track>,
}

/// The network's answer.
#[derive(Clone, Debug)]
pub struct Spoken {
    /// The class with the largest logit, the first of equals.
    pub class: u32,
    /// The probability of each class.
    pub probabilities: Vec<f64>,
}

/// A run of the automaton.
#[derive(Clone, Debug)]
pub struct Track {
    /// The states, from the start; it ends early where a transition is not known.
    pub states: Vec<u32>,
    /// The class at its end, by name.
    pub label: Option<String>,
}

impl Said {
    /// The most probable class.
    pub fn class(&self) -> Option<u32> {
        self.network.as_ref().ok().map(|spoken| spoken.class)
    }
}

/// What is said of every sequence.
pub fn answer(
    saved: &Saved,
    vocabulary: &Vocabulary,
    asked: &[Asked],
    engine: EngineName,
    output: &Output,
) -> Vec<Said> {
    let automaton = extracted(saved, output);
    let hint = hint(vocabulary);
    let words: Vec<Result<Vec<u32>, UnseenToken>> =
        asked.iter().map(|asked| vocabulary.encode(&asked.tokens)).collect();
    let word = |ids: &Vec<u32>| ids.iter().map(|&id| Symbol(id)).collect();
    let readable = WordSet::List(words.iter().flatten().map(word).collect());
    let mut answers = answers(&saved.file.model, readable, engine).into_iter();
    let said = asked.iter().zip(&words).map(|(asked, word)| Said {
        network: match word {
            Ok(_) => answers.next().expect("an answer to every word"),
            Err(unseen) => Err(format!("{unseen}{hint}")),
        },
        unseen: unseen(vocabulary, &asked.tokens),
        automaton: word.as_ref().ok().and_then(|w| track(automaton.as_ref()?, vocabulary, w)),
    });
    said.collect()
}

/// Tokens of several words are not found between blanks.
fn hint(vocabulary: &Vocabulary) -> String {
    let several = |name: &&String| name.contains(|c: char| c.is_ascii_whitespace());
    vocabulary.symbols().iter().find(several).map_or(String::new(), |name| {
        format!("; symbols such as {name:?} hold blanks: put commas between and set --tokens separator:,")
    })
}

/// The network speaks without its automaton, too: a damaged one is worth a warning.
fn extracted(saved: &Saved, output: &Output) -> Option<NamedAutomaton> {
    let path = saved.automaton().filter(|_| saved.has_automaton())?;
    let read = automaton::read(&path, None, None);
    let warn = |failure: &Failure| output.note(format!("warning: no path: {}", failure.message));
    read.inspect_err(warn).ok()
}

fn unseen(vocabulary: &Vocabulary, tokens: &[String]) -> Vec<(usize, String)> {
    let Some(unknown) = vocabulary.unknown() else { return vec![] };
    let name = &vocabulary.symbols()[unknown as usize];
    let stands_in =
        |&(_, token): &(usize, &String)| token != name && vocabulary.id(token) == Some(unknown);
    tokens.iter().enumerate().filter(stands_in).map(|(at, token)| (at, token.clone())).collect()
}

fn track(automaton: &NamedAutomaton, vocabulary: &Vocabulary, word: &[u32]) -> Option<Track> {
    let machine = automaton.automaton();
    let symbol = |&id: &u32| machine.alphabet().symbol(&vocabulary.symbols()[id as usize]);
    let word: Vec<Symbol> = word.iter().map(symbol).collect::<Option<_>>()?;
    let (mut state, mut states) = (Some(machine.start()), vec![machine.start().0]);
    for symbol in word {
        state = state.and_then(|state| machine.next(state, symbol));
        states.extend(state.map(|state| state.0));
    }
    let label = state.map(|end| automaton.classes()[*machine.output(end) as usize].clone());
    Some(Track { states, label })
}

fn answers(model: &Model<f32>, words: WordSet, engine: EngineName) -> Vec<Result<Spoken, String>> {
    match engine {
        EngineName::Cpu => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            ask(&mut Cpu::new(model, threads), &words)
        }
        EngineName::Reference => ask(&mut Reference::new(&model.to_f64()), &words),
    }
}

fn ask<F: Real>(
    engine: &mut impl Runner<F, Error = Infallible>,
    words: &WordSet,
) -> Vec<Result<Spoken, String>> {
    let mut answers = Vec::with_capacity(words.len());
    word_logits(engine, words, Mode::default(), |logits| answers.push(spoken(logits)));
    answers
}

fn spoken<F: Real>(logits: &[F]) -> Result<Spoken, String> {
    let logits: Vec<f64> = logits.iter().map(|&x| x.to()).collect();
    match logits.iter().all(|x| x.is_finite()) {
        true => Ok(Spoken {
            class: argmax(&logits) as u32,
            probabilities: log_softmax(&logits).into_iter().map(f64::exp).collect(),
        }),
        false => Err("the network gives no number: its weights are too large".into()),
    }
}
