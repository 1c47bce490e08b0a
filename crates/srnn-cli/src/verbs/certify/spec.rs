//! `--spec`: the language or automaton that the network should equal.

use super::CertifyArgs;
use crate::automaton::{
    ACCEPT, AutomatonArg, ComparedAutomaton, REJECT, accepting_class, complete, is_acceptor,
    outputs_on, shortest_difference, to_comparable,
};
use crate::failure::Failure;
use crate::runs::SavedModel;
use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{WordSet, classify_words};
use srnn_automata::{Alphabet, Moore, Partial, State, Word};
use std::path::Path;

/// A specification, ready to be compared.
#[derive(Clone)]
pub struct Specification {
    side: ComparedAutomaton,
    accept: Option<String>,
}

/// The comparison of a specification with the network's automaton.
pub struct SpecComparison {
    /// The specification's name.
    pub name: String,
    /// A shortest word on which the two differ.
    pub word: Option<Word>,
    /// The specification's class for that word.
    pub spec_class: Option<String>,
    /// The class that the network itself gives it: the network's name for it, and the
    /// specification's.
    pub network_class: Option<[String; 2]>,
}

impl SpecComparison {
    /// Whether the network itself contradicts the specification on that word.
    pub fn is_replayed(&self) -> bool {
        self.word.is_some()
            && self.network_class.as_ref().map(|n| &n[1]) != self.spec_class.as_ref()
    }
}

impl Specification {
    /// Reads a file, a run, a built-in grammar, or else a regular expression.
    pub fn read(
        text: &str,
        alphabet: &Alphabet,
        arguments: &CertifyArgs,
    ) -> Result<Specification, Failure> {
        let named = text.starts_with("re:") || text.starts_with("tomita:");
        let operand = match named || looks_like_path(text) {
            true => AutomatonArg::open(text, None)?,
            false => AutomatonArg::Expression(text.into()),
        };
        let (name, automaton) = (operand.name(), operand.resolve(alphabet)?);
        let moore = complete(&automaton, &name, None)?;
        let side = ComparedAutomaton { name, automaton, moore, accept: None };
        Ok(Specification { side, accept: arguments.accept.clone() })
    }

    /// Refuses classes and symbols that cannot be compared with those of the network, before the
    /// search for a proof.
    pub fn check(&self, saved: &SavedModel, alphabet: &Alphabet) -> Result<(), Failure> {
        let next = vec![State(0); alphabet.len()];
        let one_state = Moore::new(alphabet.clone(), State(0), vec![0], next)?;
        let sides = self.clone().sides(saved, &one_state)?;
        shortest_difference(&sides, &to_comparable(&sides)?).map(drop)
    }

    /// The network's automaton and the specification.
    fn sides(
        self,
        saved: &SavedModel,
        moore: &Moore<u32>,
    ) -> Result<[ComparedAutomaton; 2], Failure> {
        let automaton = NamedAutomaton::new(saved.file.classes.clone(), Partial::from(moore))?;
        let (name, moore) = ("the network".into(), moore.clone());
        let network = ComparedAutomaton { name, automaton, moore, accept: self.accept };
        Ok([network, self.side])
    }

    /// Compares with the network's automaton. A word on which they differ is run on the network.
    pub fn compare(
        self,
        saved: &SavedModel,
        moore: &Moore<u32>,
    ) -> Result<SpecComparison, Failure> {
        let accept = self.accept.clone();
        let sides = self.sides(saved, moore)?;
        let machines = to_comparable(&sides)?;
        let word = shortest_difference(&sides, &machines)?;
        let spec_class = word.as_ref().map(|word| outputs_on(&machines, word)[1].clone());
        let one_is_acceptor = is_acceptor(&sides[0].automaton) != is_acceptor(&sides[1].automaton);
        let yes = match one_is_acceptor || accept.is_some() {
            true => {
                let accept = accept.as_deref();
                Some(accepting_class(&sides[0].automaton, &sides[0].name, accept)?)
            }
            false => None,
        };
        let network_class = word.as_ref().and_then(|word| replay(saved, word)).map(|class| {
            let named = saved.file.classes[class as usize].clone();
            let in_spec = match yes {
                Some(yes) => if yes == class { ACCEPT } else { REJECT }.to_string(),
                None => named.clone(),
            };
            [named, in_spec]
        });
        let [_, ComparedAutomaton { name, .. }] = sides;
        Ok(SpecComparison { name, word, spec_class, network_class })
    }
}

/// Whether a text is an existing path or looks like one: it has a slash or an extension, and no
/// operators of regular expressions.
fn looks_like_path(text: &str) -> bool {
    let path = Path::new(text);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let long = extension.len() > 1 && extension.contains(|c: char| c.is_ascii_alphabetic());
    let expression = text.contains(|c: char| c.is_whitespace() || "*+?{}()[]<>|\\ε∅".contains(c));
    path.exists() || (text.contains('/') || long) && !expression
}

/// The class that the f32 network gives a word. `None` if its outputs are not finite.
fn replay(saved: &SavedModel, word: &Word) -> Option<u32> {
    let mut engine = Cpu::new(&saved.file.model, 1);
    let classified =
        classify_words(&mut engine, WordSet::List(vec![word.clone()]), Mode::default());
    classified.classes[0]
}
