//! Automata written into networks: for every complete Moore automaton, an SR-GRU that gives every
//! word the automaton's class. Nothing is trained.
//!
//! `docs/src/compiled.md` has the construction as a theorem with its proof; the letters here are its
//! letters. There is one unit for each transition (q, x), which is 1 if the network is in state q
//! and reads x, and −1 otherwise. There is one centroid for each state. A proof for the weights as
//! they are stored comes from [`certify`](crate::certify::certify()), as for a trained network.

mod weights;

use crate::certify::{ProofSearch, Verdict, certify_checked, proof_checker};
use crate::extract::TransitionSystem;
use crate::model::{
    Arch, Cell, Centroids, Gate, Input, Layer, ModelFile, ReadFrom, Readout, Reset, Score,
    Temperature, When,
};
use srnn_automata::Moore;

/// A network that was made from an automaton.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledNetwork {
    /// The network, with the automaton's symbols and classes.
    pub file: ModelFile,
    /// The minimal form of the automaton: its states are the network's centroids.
    pub automaton: Moore<u32>,
}

/// Why an automaton cannot be written into a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// No symbols.
    #[error("the automaton has no symbols, but a network reads at least one: add a symbol")]
    NoSymbols,
    /// Fewer than two classes.
    #[error("the automaton names {found} class, but a network has at least two: name a second one")]
    Classes {
        /// Number of classes.
        found: usize,
    },
    /// Too many units.
    #[error(
        "the minimal automaton has {states} states and {symbols} symbols, which needs {units} units, \
         more than {LARGEST_UNITS}: split the automaton or use fewer symbols"
    )]
    TooLarge {
        /// States of the minimal automaton.
        states: usize,
        /// Symbols.
        symbols: usize,
        /// Units that the network would have.
        units: usize,
    },
}

/// The largest number of units of a compiled network. Its weights then take 200 MB, and proof and
/// check some gigabytes.
pub const LARGEST_UNITS: usize = 1 << 12;

/// Number of units for `states` states and `symbols` symbols: one for each transition, one for the
/// start token and a constant one.
pub fn unit_count(states: usize, symbols: usize) -> usize {
    states.saturating_mul(symbols).saturating_add(2)
}

/// The network of an automaton, whose outputs are indices into `classes`. Unreachable states are
/// left out and equivalent states are merged first.
pub fn compile(
    automaton: &Moore<u32>,
    classes: &[String],
) -> Result<CompiledNetwork, CompileError> {
    let alphabet = automaton.alphabet();
    if alphabet.is_empty() {
        return Err(CompileError::NoSymbols);
    }
    if classes.len() < 2 {
        return Err(CompileError::Classes { found: classes.len() });
    }
    let minimal = automaton.minimize();
    let (states, symbols) = (minimal.state_count(), alphabet.len());
    let units = unit_count(states, symbols);
    if units > LARGEST_UNITS {
        return Err(CompileError::TooLarge { states, symbols, units });
    }
    let arch = architecture(states, symbols, classes.len());
    let file = ModelFile {
        model: weights::model(&minimal, arch),
        alphabet: alphabet.names().to_vec(),
        unknown: None,
        classes: classes.to_vec(),
        image: None,
        tokenizer: None,
    };
    Ok(CompiledNetwork { file, automaton: minimal })
}

/// Searches for a proof that a compiled network equals its automaton. The search does not see the
/// automaton: it finds one in the network alone, which is then compared.
pub fn certify_compiled(network: &CompiledNetwork) -> Verdict {
    let model = network.file.model.to_f64();
    let alphabet = network.automaton.alphabet();
    let machine = TransitionSystem::new(&model, alphabet).expect("a finite SR-GRU over tokens");
    let states = network.automaton.state_count();
    let search = ProofSearch {
        cells: states,
        steps: SEARCH_ROUNDS * states * alphabet.len(),
        refinements: 0,
        depth: 1,
        ..ProofSearch::default()
    };
    let verdict = certify_checked(&machine, &search, &mut proof_checker(&network.file));
    if let Some(proof) = verdict.proof() {
        // A proved network that is another automaton would be a mistake of the construction.
        assert_eq!(proof.automaton, network.automaton, "the compiled network is another automaton");
    }
    verdict
}

/// Rounds in which the radii of all cells may be computed. Four suffice; see `certify::radii`.
const SEARCH_ROUNDS: usize = 100;

fn architecture(states: usize, symbols: usize, classes: usize) -> Arch {
    let layer = Layer {
        cell: Cell::Gru { reset: Reset::AfterMatrix },
        units: unit_count(states, symbols),
        gate: Gate::Sigmoid,
        bias: true,
        centroids: Some(Centroids { k: states, score: Score::Dot, tau: Temperature::ONE }),
    };
    Arch {
        input: Input::Tokens { symbols, embedding: symbols + 1, start: true, end: false },
        layers: vec![layer],
        readout: Readout::new(ReadFrom::H, When::Last),
        classes,
    }
}

#[cfg(test)]
mod tests;
