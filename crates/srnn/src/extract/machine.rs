//! The network as a transition system: where it begins, where a symbol leads, what it decides.

use super::Place;
use crate::engine::Mode;
use crate::engine::reference::{Network, State, argmax};
use crate::model::{Arch, Input, Layout, Model};
use srnn_automata::{Alphabet, Symbol};

/// Why there is no automaton to be had, and what to do instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// A vanilla layer.
    #[error(
        "layer {layer} has no centroids, so its states form no finite set: train it with \
         centroids (an SR-GRU), or only measure how far a given automaton agrees with it"
    )]
    NoCentroids {
        /// Which layer, from 0 at the bottom.
        layer: usize,
    },
    /// A layer with a cell state.
    #[error(
        "layer {layer} is an LSTM: beside its centroid it carries a cell state, so no finite \
         transition function follows it; train an SR-GRU to get an automaton"
    )]
    Memory {
        /// Which layer, from 0 at the bottom.
        layer: usize,
    },
    /// Inputs that are no tokens.
    #[error(
        "the network reads vectors of {width} numbers, not tokens, so there is no alphabet: \
         replace them by tokens (for example by binning) to get an automaton"
    )]
    RealInput {
        /// Numbers per step.
        width: usize,
    },
    /// Names that do not fit the network.
    #[error(
        "the alphabet names {names} symbols but the network reads {symbols}: use the vocabulary \
         the network was trained with"
    )]
    Alphabet {
        /// Symbols named.
        names: usize,
        /// Symbols the network reads.
        symbols: usize,
    },
    /// Parameters that are no numbers.
    #[error(
        "the tensor {tensor:?} holds a value that is not finite: go back to the last good \
         checkpoint"
    )]
    NotFinite {
        /// The tensor's name.
        tensor: String,
    },
    /// A decision that is not a function of the centroids.
    #[error(
        "the classifier reads u, which depends on the last token and not on the centroid alone: \
         read h or use an end token, or take the hard table or the cover, whose states carry the \
         decision"
    )]
    ReadsU,
    /// No run to count.
    #[error("no word was counted, so not even the start state is known: give at least one word")]
    NothingCounted,
    /// More states than allowed.
    #[error(
        "more than {cap} states were reached with {pending} of them unexplored: raise the cap, or \
         train with fewer centroids or layers"
    )]
    TooManyStates {
        /// The cap.
        cap: usize,
        /// States reached whose successors were not computed.
        pending: usize,
    },
    /// More combinations of centroids than allowed.
    #[error(
        "the layers' centroids have {tuples} combinations, more than the {cap} allowed: raise the \
         cap, or train with fewer centroids or layers"
    )]
    TooManyTuples {
        /// The combinations.
        tuples: usize,
        /// The cap.
        cap: usize,
    },
    /// A truth over other symbols.
    #[error("the given truth does not fit the network: {0}")]
    Truth(#[from] srnn_automata::AlphabetMismatch),
}

/// A network whose centroids are all that connects two steps, and the names of its symbols: the
/// precondition of Theorems 3.1 and 3.2 as a type.
pub struct Memoryless<'a> {
    model: &'a Model<f64>,
    layout: Layout,
    alphabet: &'a Alphabet,
}

impl<'a> Memoryless<'a> {
    /// The network as a transition system, or why it is none.
    pub fn new(model: &'a Model<f64>, alphabet: &'a Alphabet) -> Result<Self, Refusal> {
        let symbols = symbols(&model.arch)?;
        if alphabet.len() != symbols {
            return Err(Refusal::Alphabet { names: alphabet.len(), symbols });
        }
        centroid_counts(&model.arch)?;
        if let Some(layer) = model.arch.layers.iter().position(|l| l.cell.has_memory()) {
            return Err(Refusal::Memory { layer });
        }
        let layout = model.layout();
        if let Some(at) = model.params.iter().position(|p| !p.is_finite()) {
            return Err(Refusal::NotFinite { tensor: layout.slot_of(at).name.clone() });
        }
        Ok(Memoryless { model, layout, alphabet })
    }

    /// The model it is of.
    pub fn model(&self) -> &'a Model<f64> {
        self.model
    }

    /// The equations behind it.
    pub fn network(&self) -> Network<'_> {
        Network { arch: &self.model.arch, layout: &self.layout, params: &self.model.params }
    }

    /// The names of the symbols.
    pub fn alphabet(&self) -> &'a Alphabet {
        self.alphabet
    }

    /// The shape.
    pub fn arch(&self) -> &'a Arch {
        &self.model.arch
    }

    /// The state in which the first symbol is read: after the start token, or, without one, the
    /// initial state outside the centroids.
    pub fn start(&self, mode: Mode) -> State {
        let (network, outside) = (self.network(), self.network().initial());
        match self.model.arch.input.start() {
            Some(token) => network.advance(&outside, token, mode),
            None => outside,
        }
    }

    /// The state after `symbol`.
    pub fn next(&self, state: &State, symbol: Symbol, mode: Mode) -> State {
        self.network().advance(state, symbol.0, mode)
    }

    /// The class given to a word that ends in `state`: the classifier's largest logit (the first
    /// of equals), after the end token's cell application where there is one.
    pub fn decide(&self, state: &State) -> u32 {
        let network = self.network();
        let logits = match self.model.arch.input.end() {
            Some(end) => network.logits(&network.advance(state, end, Mode::default())),
            None => network.logits(state),
        };
        argmax(&logits) as u32
    }

    /// The state exactly at a place.
    pub fn at(&self, place: &Place) -> State {
        let (network, mut state) = (self.network(), self.network().initial());
        if let Place::At(tuple) = place {
            for (l, &i) in tuple.iter().enumerate() {
                state.h[l] = network.centroid(l, i).to_vec();
                state.alpha[l][i as usize] = 1.0;
            }
        }
        state
    }

    /// The class given to a word that ends exactly at a place: the classifier on the bare
    /// centroid of the top layer, or after the end token's cell application.
    pub fn decide_at(&self, place: &Place) -> Result<u32, Refusal> {
        let Arch { input, readout, .. } = &self.model.arch;
        if readout.from.u() && input.end().is_none() {
            return Err(Refusal::ReadsU);
        }
        Ok(self.decide(&self.at(place)))
    }
}

/// The size of the alphabet.
pub(super) fn symbols(arch: &Arch) -> Result<usize, Refusal> {
    match arch.input {
        Input::Tokens { symbols, .. } => Ok(symbols),
        Input::Real { width } => Err(Refusal::RealInput { width }),
    }
}

/// K of each layer.
pub(super) fn centroid_counts(arch: &Arch) -> Result<Vec<usize>, Refusal> {
    let layers = arch.layers.iter().enumerate();
    layers.map(|(layer, l)| Ok(l.centroids.ok_or(Refusal::NoCentroids { layer })?.k)).collect()
}
