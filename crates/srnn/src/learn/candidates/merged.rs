//! The candidate of state merging: the automaton with the minimum description length that is found for
//! the training words, written into a network.

use super::MAX_READABLE_STATES;
use crate::certify::Verdict;
use crate::compile::{CompiledNetwork, certify_compiled, compile, unit_count};
use crate::learn::LearnData;
use crate::learn::label_check::may_be_noise;
use crate::noise::{SuspectedLabel, prefix_tree, suspected_labels};
use srnn_automata::Alphabet;
use srnn_automata::merging::{MergeConfig, MergeMethod, Merged, merge};

/// An automaton of state merging and its network.
pub(super) struct MergedAutomaton {
    /// The automaton, and how the training words support it.
    pub merged: Merged,
    /// Its network with the proof that both are equal, or why there is none.
    pub network: Result<MergedNetwork, String>,
}

/// A network that an automaton was written into.
pub(super) struct MergedNetwork {
    /// The network.
    pub network: CompiledNetwork,
    /// Whether both are proved equal; `None` if the network is too large for a quick proof.
    pub verdict: Option<Verdict>,
    /// Labels that the automaton contradicts, if they are few enough to be mistakes.
    pub suspects: Vec<SuspectedLabel>,
}

/// Steps of the search: some seconds.
const STEPS: u64 = 200_000_000;

/// Larger networks are not proved here, because that takes minutes. `srnn certify` proves them.
const MAX_PROVED_UNITS: usize = 512;

/// Merges the states of the training words. The error says why nothing can be kept.
pub(super) fn merge_states(
    data: &LearnData,
    alphabet: &Alphabet,
) -> Result<MergedAutomaton, String> {
    let tree = prefix_tree(&[&data.split.train]);
    let config = MergeConfig { steps: STEPS, ..MergeConfig::default() };
    let merged = match merge(alphabet, &tree, &config) {
        Err(error) => return Err(error.to_string()),
        Ok(merged) if merged.method == MergeMethod::MostFrequentClass => {
            return Err("no automaton is shorter than the labels themselves".into());
        }
        Ok(merged) => merged,
    };
    let network = match merged.automaton.state_count() {
        1 => Err("one state: it always gives the same class".into()),
        n if n > MAX_READABLE_STATES => Err("too many states to read".into()),
        _ => written(data, &merged),
    };
    Ok(MergedAutomaton { merged, network })
}

fn written(data: &LearnData, merged: &Merged) -> Result<MergedNetwork, String> {
    let network = match compile(&merged.automaton, &data.split.train.classes) {
        Err(_) => return Err("too many symbols to be written into a network".into()),
        Ok(network) => network,
    };
    let suspects =
        match may_be_noise(merged.errors, merged.labels, merged.bits, merged.baseline_bits) {
            true => suspected_labels(&merged.automaton, &data.split),
            false => vec![],
        };
    let (states, symbols) = (merged.automaton.state_count(), data.split.train.alphabet.len());
    if unit_count(states, symbols) > MAX_PROVED_UNITS {
        return Ok(MergedNetwork { network, verdict: None, suspects });
    }
    let verdict = Some(certify_compiled(&network));
    Ok(MergedNetwork { network, verdict, suspects })
}
