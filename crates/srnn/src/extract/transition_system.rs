//! The network as a transition system: its start state, its successor function and its classifier.

use super::CentroidState;
use crate::engine::Mode;
use crate::engine::reference::{Network, NetworkState, argmax};
use crate::model::{Arch, Input, Layout, Model};
use srnn_automata::{Alphabet, Symbol};

/// Why no automaton can be extracted, and what to do instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExtractError {
    /// A layer without centroids.
    #[error(
        "layer {layer} has no centroids, so its states form no finite set: train it with \
         centroids (an SR-GRU), or only measure how far a given automaton agrees with it"
    )]
    NoCentroids {
        /// The layer, counted from 0 at the bottom.
        layer: usize,
    },
    /// A layer with a cell state.
    #[error(
        "layer {layer} is an LSTM: beside its centroid it carries a cell state, so it has no \
         finite transition function; train an SR-GRU to get an automaton"
    )]
    CellState {
        /// The layer, counted from 0 at the bottom.
        layer: usize,
    },
    /// States that training did not harden.
    #[error(
        "the network was kept as it was before its states were hardened, so they form no finite set"
    )]
    NotHardened,
    /// A network that an automaton was written into.
    #[error("an automaton was written into the network, so none has to be extracted")]
    NotTrained,
    /// A model that is not a network.
    #[error("the kept model is not a network")]
    NotANetwork,
    /// Inputs that are not tokens.
    #[error(
        "the network reads vectors of {width} numbers, not tokens, so there is no alphabet: \
         replace them by tokens (for example by binning) to get an automaton"
    )]
    RealInput {
        /// Numbers per step.
        width: usize,
    },
    /// An alphabet of the wrong size.
    #[error(
        "the alphabet names {names} symbols but the network reads {symbols}: use the vocabulary \
         the network was trained with"
    )]
    Alphabet {
        /// Symbols of the alphabet.
        names: usize,
        /// Symbols the network reads.
        symbols: usize,
    },
    /// A parameter that is not finite.
    #[error(
        "the tensor {tensor:?} holds a value that is not finite: go back to the last good \
         checkpoint"
    )]
    NotFinite {
        /// The tensor's name.
        tensor: String,
    },
    /// The class is not a function of the centroids.
    #[error(
        "the classifier reads u, which depends on the last token and not on the centroid alone: \
         read h or use an end token, or take the hard table or the cover, whose states include \
         the class"
    )]
    ReadsU,
    /// No transitions were counted.
    #[error("no word was counted, so the start state is unknown: give at least one word")]
    NoWords,
    /// More states than the cap.
    #[error(
        "more than {cap} states were reached with {pending} of them unexplored: raise the cap, or \
         train with fewer centroids or layers"
    )]
    TooManyStates {
        /// The cap.
        cap: usize,
        /// States whose successors were not computed.
        pending: usize,
    },
    /// More combinations of centroids than the cap.
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
    /// A true automaton over other symbols.
    #[error("the given truth does not fit the network: {0}")]
    Truth(#[from] srnn_automata::AlphabetMismatch),
}

/// A network that carries nothing but its centroids from one step to the next, with the names of
/// its symbols. This type is the precondition of Theorems 3.1 and 3.2.
pub struct TransitionSystem<'a> {
    model: &'a Model<f64>,
    layout: Layout,
    alphabet: &'a Alphabet,
}

impl<'a> TransitionSystem<'a> {
    /// Fails if a layer has no centroids or has a cell state, if the alphabet does not fit, or if a
    /// parameter is not finite.
    pub fn new(model: &'a Model<f64>, alphabet: &'a Alphabet) -> Result<Self, ExtractError> {
        let symbols = symbols(&model.arch)?;
        if alphabet.len() != symbols {
            return Err(ExtractError::Alphabet { names: alphabet.len(), symbols });
        }
        centroid_counts(&model.arch)?;
        if let Some(layer) = model.arch.layers.iter().position(|l| l.cell.has_memory()) {
            return Err(ExtractError::CellState { layer });
        }
        let layout = model.layout();
        if let Some(at) = model.params.iter().position(|p| !p.is_finite()) {
            return Err(ExtractError::NotFinite { tensor: layout.slot_of(at).name.clone() });
        }
        Ok(TransitionSystem { model, layout, alphabet })
    }

    /// The model.
    pub fn model(&self) -> &'a Model<f64> {
        self.model
    }

    /// The reference network, which computes the transitions.
    pub fn network(&self) -> Network<'_> {
        Network { arch: &self.model.arch, layout: &self.layout, params: &self.model.params }
    }

    /// The names of the symbols.
    pub fn alphabet(&self) -> &'a Alphabet {
        self.alphabet
    }

    /// The architecture of the model.
    pub fn arch(&self) -> &'a Arch {
        &self.model.arch
    }

    /// The state in which the first symbol is read: after the start token, or the initial state if
    /// there is no start token.
    pub fn start(&self, mode: Mode) -> NetworkState {
        let (network, initial) = (self.network(), self.network().initial());
        match self.model.arch.input.start() {
            Some(token) => network.advance(&initial, token, mode),
            None => initial,
        }
    }

    /// The state after `symbol`.
    pub fn next(&self, state: &NetworkState, symbol: Symbol, mode: Mode) -> NetworkState {
        self.network().advance(state, symbol.0, mode)
    }

    /// The class of a word that ends in `state`: the index of the largest logit, where the lowest
    /// index wins a tie. If there is an end token, its cell application comes first.
    pub fn classify(&self, state: &NetworkState) -> u32 {
        let network = self.network();
        let logits = match self.model.arch.input.end() {
            Some(end) => network.logits(&network.advance(state, end, Mode::default())),
            None => network.logits(state),
        };
        argmax(&logits) as u32
    }

    /// The network state that lies exactly at some centroids.
    pub fn state_at(&self, centroids: &CentroidState) -> NetworkState {
        let (network, mut state) = (self.network(), self.network().initial());
        if let CentroidState::Tuple(tuple) = centroids {
            for (l, &i) in tuple.iter().enumerate() {
                state.h[l] = network.centroid(l, i).to_vec();
                state.alpha[l][i as usize] = 1.0;
            }
        }
        state
    }

    /// The class of a word that ends exactly at some centroids: the classifier on the bare centroid
    /// of the top layer, or after the end token's cell application.
    pub fn classify_centroids(&self, centroids: &CentroidState) -> Result<u32, ExtractError> {
        let Arch { input, readout, .. } = &self.model.arch;
        if readout.from.u() && input.end().is_none() {
            return Err(ExtractError::ReadsU);
        }
        Ok(self.classify(&self.state_at(centroids)))
    }
}

/// The size of the alphabet.
pub(super) fn symbols(arch: &Arch) -> Result<usize, ExtractError> {
    match arch.input {
        Input::Tokens { symbols, .. } => Ok(symbols),
        Input::Real { width } => Err(ExtractError::RealInput { width }),
    }
}

/// K of each layer.
pub(super) fn centroid_counts(arch: &Arch) -> Result<Vec<usize>, ExtractError> {
    let layers = arch.layers.iter().enumerate();
    layers.map(|(layer, l)| Ok(l.centroids.ok_or(ExtractError::NoCentroids { layer })?.k)).collect()
}
