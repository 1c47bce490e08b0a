//! Label noise: the automaton with the minimum description length (MDL), and the labels that
//! contradict it.
//!
//! A network that is trained on wrong labels memorises some of them, and its automaton has states for
//! them. So automata of several networks are [simplified](simplify), and the one with the minimum
//! [description length](DescriptionLength) is selected. The true automaton is not used, and nothing is
//! proved: a language with rare exceptions looks like a simpler one with wrong labels.

mod candidates;
mod label_errors;
mod prefix_tree;
mod search;
#[cfg(test)]
mod tests;

pub(crate) use candidates::{CandidateAutomaton, candidate_automata};
pub use label_errors::SuspectedLabel;
pub(crate) use label_errors::{correct_labels, suspected_labels};
pub use prefix_tree::prefix_tree;
pub(crate) use search::SimplifiedAutomaton;
pub use search::{SearchBudget, simplify};
pub use srnn_automata::merging::{DescriptionLength, PrefixTree};

use crate::extract::ExtractionMethod;

/// The automaton with the minimum description length, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct MdlSelection {
    /// The automaton, with its label errors.
    pub simplified: SimplifiedAutomaton,
    /// The seed of its network.
    pub seed: u64,
    /// How it was extracted from that network.
    pub method: ExtractionMethod,
    /// Number of candidate automata.
    pub candidates: usize,
    /// Number of labels.
    pub labels: usize,
    /// Description length without an automaton: the most frequent class and its exceptions.
    pub baseline_bits: f64,
}

/// The selection criterion as text.
pub(crate) const CRITERION: &str = "least description length: bits for the automaton's transitions and \
                             classes, and for which labels it gets wrong";

/// Simplifies the candidates of several networks, given with their seeds, and selects the one with
/// the minimum description length. The first wins a tie. `None` if there are no candidates.
pub(crate) fn select_by_mdl(
    candidates: &[(u64, Vec<CandidateAutomaton>)],
    tree: &PrefixTree,
    budget: SearchBudget,
) -> Option<MdlSelection> {
    let length = DescriptionLength::of(tree);
    let baseline_bits = length.bits(1, tree.labels - tree.majority_labels());
    let count = candidates.iter().map(|(_, found)| found.len()).sum();
    let all = candidates.iter().flat_map(|(seed, found)| found.iter().map(move |c| (*seed, c)));
    let selections = all.map(|(seed, candidate)| MdlSelection {
        simplified: simplify(&candidate.automaton, tree, budget),
        seed,
        method: candidate.method,
        candidates: count,
        labels: tree.labels,
        baseline_bits,
    });
    selections.reduce(|best, next| match next.simplified.bits < best.simplified.bits {
        true => next,
        false => best,
    })
}
