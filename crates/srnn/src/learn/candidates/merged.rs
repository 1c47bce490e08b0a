//! The candidate of state merging: the automaton with the minimum description length that is found for
//! the training words, written into a network.

use super::entries::{Entry, Scale, Trained, missing};
use super::{CandidateKind, CandidatePlan, MAX_READABLE_STATES, Preference, SearchLimits};
use crate::certify::Verdict;
use crate::compile::{CompiledNetwork, certify_compiled, compile, unit_count};
use crate::learn::label_check::{MAX_ERROR_RATE, may_be_noise};
use crate::learn::{LabelPolicy, LearnCallbacks, LearnData, Pipeline};
use crate::noise::{SuspectedLabel, prefix_tree, suspected_labels};
use srnn_automata::Alphabet;
use srnn_automata::merging::{MergeConfig, MergeMethod, Merged, merge};

/// An automaton of state merging and its network.
struct MergedAutomaton {
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

/// Larger networks are not proved here, because that takes minutes. `srnn certify` proves them.
const MAX_PROVED_UNITS: usize = 512;

/// The candidate of state merging.
pub(super) struct MergedEntry {
    pub entry: Entry,
    /// Whether it can be kept and makes no error, neither in training nor on the validation set.
    pub exact: bool,
}

impl MergedEntry {
    /// Whether it is what is preferred.
    pub fn serves(&self, plan: &CandidatePlan) -> bool {
        plan.preference != Preference::Proof || self.entry.candidate.proved
    }

    /// Drops the suspected labels if another candidate is more accurate on the validation set: then the
    /// automaton is too simple, and the labels are probably right. A difference of one standard
    /// deviation of the number of errors is not significant.
    pub fn trust_labels_that_others_fit(&mut self, others: &[Entry], sequences: usize) {
        let errors = |entry: &Entry| {
            let accuracy = entry.held_out.as_ref()?.valid.accuracy;
            Some(((1.0 - accuracy) * sequences as f64).round())
        };
        let best = others.iter().filter_map(errors).fold(f64::INFINITY, f64::min);
        if errors(&self.entry).is_some_and(|own| own > best + best.sqrt())
            && let Some(Trained::Compiled(compiled)) = &mut self.entry.trained
        {
            compiled.suspects.clear();
        }
    }

    /// Whether it can be kept, contradicts only labels that may be wrong, and scores as high as every
    /// other candidate.
    pub fn explains_best(&self, others: &[Entry]) -> bool {
        let noise = match &self.entry.trained {
            Some(Trained::Compiled(compiled)) => !compiled.suspects.is_empty(),
            _ => false,
        };
        let score = |entry: &Entry| entry.candidate.score().map_or(0.0, |score| score.value);
        noise && others.iter().all(|other| score(&self.entry) >= score(other))
    }
}

/// Merges the states of the training words within the limits of a plan.
pub(super) fn merged<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    plan: &CandidatePlan,
) -> MergedEntry {
    let kind = CandidateKind::Merged;
    let merged = match plan.left_out(kind) {
        None => merge_states(scale.data, &pipeline.alphabet, &plan.limits),
        Some(why) => Err(why),
    };
    let merged = match merged {
        Ok(merged) => merged,
        Err(why) => return MergedEntry { entry: missing(kind, &why), exact: false },
    };
    let held_out = scale.answers_of(&merged.merged.automaton);
    let valid_accuracy = held_out.valid.accuracy;
    let right = merged.merged.errors == 0 && valid_accuracy == 1.0;
    let mut entry = scale.entry(kind, held_out, None);
    entry.candidate.states = Some(merged.merged.automaton.state_count());
    match merged.network {
        Ok(mut network) => {
            let trusted = pipeline.request.label_policy == LabelPolicy::Trust;
            if trusted || valid_accuracy < 1.0 - MAX_ERROR_RATE {
                network.suspects.clear();
            }
            let proof = network.verdict.as_ref().and_then(Verdict::proof);
            entry.candidate.proved = proof.is_some();
            entry.trained = Some(Trained::Compiled(Box::new(network)));
        }
        Err(why) => entry.candidate.note = Some(why),
    }
    let exact = right && entry.candidate.is_eligible();
    MergedEntry { entry, exact }
}

/// Merges the states of the training words. The error says why nothing can be kept.
fn merge_states(
    data: &LearnData,
    alphabet: &Alphabet,
    limits: &SearchLimits,
) -> Result<MergedAutomaton, String> {
    let tree = prefix_tree(&[&data.split.train]);
    let SearchLimits { merge_steps: steps, merge_memory: memory, .. } = *limits;
    let config = MergeConfig { steps, memory, ..MergeConfig::default() };
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
