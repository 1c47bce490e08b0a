//! The specification that a network should meet.

use super::Certify;
use crate::automaton::{
    ACCEPT, Operand, REJECT, Side, comparable, complete, difference, is_acceptor, says, yes_class,
};
use crate::failure::Failure;
use crate::runs::Saved;
use srnn::engine::Mode;
use srnn::engine::cpu::Cpu;
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{WordSet, classify_words};
use srnn_automata::{Alphabet, Moore, Partial, Word};
use std::path::Path;

/// A specification, ready to be compared.
pub struct Specification {
    side: Side,
    accept: Option<String>,
}

/// How it compares with the network's automaton.
pub struct Compared {
    /// As it was named.
    pub name: String,
    /// A shortest word on which the two differ.
    pub word: Option<Word>,
    /// What the specification says of that word.
    pub spec_says: Option<String>,
    /// What the network itself says of it: its class, and the same in the words of the
    /// specification.
    pub network_says: Option<[String; 2]>,
}

impl Compared {
    /// Whether the network itself contradicts the specification on the word.
    pub fn is_replayed(&self) -> bool {
        self.word.is_some() && self.network_says.as_ref().map(|n| &n[1]) != self.spec_says.as_ref()
    }
}

impl Specification {
    /// A file, a run, a grammar; or else an expression.
    pub fn read(
        text: &str,
        alphabet: &Alphabet,
        arguments: &Certify,
    ) -> Result<Specification, Failure> {
        let named = text.starts_with("re:") || text.starts_with("tomita:");
        let operand = match named || is_like_a_file(text) {
            true => Operand::open(text, None)?,
            false => Operand::Expression(text.into()),
        };
        let (name, automaton) = (operand.name(), operand.resolve(alphabet)?);
        let moore = complete(&automaton, &name, None)?;
        let side = Side { name, automaton, moore, yes: None };
        Ok(Specification { side, accept: arguments.accept.clone() })
    }

    /// Against the network's automaton; a word on which they differ is given to the network.
    pub fn compare(self, saved: &Saved, moore: &Moore<u32>) -> Result<Compared, Failure> {
        let classes = saved.file.classes.clone();
        let automaton = NamedAutomaton::new(classes, Partial::from(moore))?;
        let (name, moore) = ("the network".into(), moore.clone());
        let network = Side { name, automaton, moore, yes: self.accept.clone() };
        let sides = [network, self.side];
        let machines = comparable(&sides)?;
        let word = difference(&sides, &machines)?;
        let spec_says = word.as_ref().map(|word| says(&machines, word)[1].clone());
        let by_word = is_acceptor(&sides[0].automaton) != is_acceptor(&sides[1].automaton);
        let accept = self.accept.as_deref();
        let yes = match by_word || accept.is_some() {
            true => Some(yes_class(&sides[0].automaton, &sides[0].name, accept)?),
            false => None,
        };
        let network_says = word.as_ref().and_then(|word| replay(saved, word)).map(|class| {
            let named = saved.file.classes[class as usize].clone();
            let said = match yes {
                Some(yes) => if yes == class { ACCEPT } else { REJECT }.to_string(),
                None => named.clone(),
            };
            [named, said]
        });
        let [_, Side { name, .. }] = sides;
        Ok(Compared { name, word, spec_says, network_says })
    }
}

/// Whether a text names something that is there, or looks like it: it has a slash or an extension,
/// and nothing that only an expression has.
fn is_like_a_file(text: &str) -> bool {
    let path = Path::new(text);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let long = extension.len() > 1 && extension.contains(|c: char| c.is_ascii_alphabetic());
    let expression = text.contains(|c: char| c.is_whitespace() || "*+?{}()[]<>|\\ε∅".contains(c));
    path.exists() || (text.contains('/') || long) && !expression
}

/// What the deployed network says of a word.
fn replay(saved: &Saved, word: &Word) -> Option<u32> {
    let mut engine = Cpu::new(&saved.file.model, 1);
    let answers = classify_words(&mut engine, WordSet::List(vec![word.clone()]), Mode::default());
    answers.classes[0]
}
