//! The n-gram model: counts of what followed the last tokens, interpolated over all context lengths.
//!
//! With c(x, w) tokens w after context x, c(x) tokens after x and t(x) distinct ones, the probability
//! is p(w | x) = (c(x, w) + κ t(x) p(w | x')) / (c(x) + κ t(x)), where x' is x without its first token:
//! Witten-Bell smoothing with a weight κ. Below the empty context, all tokens are equally probable.
//! The longest context and κ are those with the least loss on held-out sequences.

use crate::task::{TokenSequences, inputs_of, targets_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A fitted n-gram model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenNgrams {
    /// V: the number of tokens, the end included.
    pub tokens: usize,
    /// n: one more than the length of the longest context.
    pub order: usize,
    /// κ: the weight of shorter contexts.
    pub kappa: f64,
    /// The contexts. The first is empty; every other one follows the context that it extends.
    pub contexts: Vec<TokenContext>,
}

/// A context, and the tokens that followed it in the training set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenContext {
    /// Contexts with one more token at the beginning: that token and the context's index, ascending.
    pub longer: Vec<(u32, u32)>,
    /// The tokens that followed, with their counts, ascending.
    pub followers: Vec<(u32, u64)>,
}

/// The longest context that is tried. Loops of logs are seldom longer.
const LONGEST_CONTEXT: usize = 11;
/// A context that occurred fewer times is not extended: a longer one would have the same followers.
const MIN_COUNT: u64 = 2;
/// Contexts of a further length are left out if there are more than this before.
const MAX_CONTEXTS: usize = 2_000_000;
/// The values of κ that are tried.
const KAPPAS: [f64; 5] = [0.02, 0.1, 0.3, 1.0, 3.0];

impl TokenNgrams {
    /// Counts the training set, and selects the order and κ by the loss on the validation set.
    pub fn fit(train: &TokenSequences, valid: &TokenSequences) -> TokenNgrams {
        let mut model = TokenNgrams {
            tokens: train.alphabet.len(),
            order: LONGEST_CONTEXT + 1,
            kappa: 1.0,
            contexts: count(train, LONGEST_CONTEXT),
        };
        let mut least = f64::INFINITY;
        let (mut order, mut best) = (1, 1.0);
        for kappa in KAPPAS {
            model.kappa = kappa;
            for (length, loss) in model.losses(valid).into_iter().enumerate() {
                if loss < least {
                    (least, order, best) = (loss, length + 1, kappa);
                }
            }
        }
        TokenNgrams { kappa: best, ..model.with_order(order) }
    }

    /// The frequencies of the tokens: an n-gram model without contexts.
    pub fn frequencies(train: &TokenSequences) -> TokenNgrams {
        let contexts = count(train, 0);
        TokenNgrams { tokens: train.alphabet.len(), order: 1, kappa: 1.0, contexts }
    }

    /// The probability of every token after `inputs`, which begin with the end `[V]`.
    pub fn distribution(&self, inputs: &[u32]) -> Vec<f64> {
        let path = self.path(inputs);
        let mut weight = 1.0;
        let mut shares: Vec<(&TokenContext, f64)> = Vec::with_capacity(path.len());
        for context in path.into_iter().rev() {
            let (count, shorter) = context.weights(self.kappa);
            shares.push((context, weight / (count + shorter)));
            weight *= shorter / (count + shorter);
        }
        let mut distribution = vec![weight / self.tokens as f64; self.tokens];
        for (context, share) in shares {
            for &(token, count) in &context.followers {
                distribution[token as usize] += share * count as f64;
            }
        }
        distribution
    }

    /// The known contexts of the last inputs, the empty one first.
    fn path(&self, inputs: &[u32]) -> Vec<&TokenContext> {
        let mut path = vec![&self.contexts[0]];
        for token in inputs.iter().rev().take(self.order - 1) {
            let longer = &path[path.len() - 1].longer;
            let Ok(at) = longer.binary_search_by_key(token, |&(token, _)| token) else { break };
            path.push(&self.contexts[longer[at].1 as usize]);
        }
        path
    }

    /// The loss in nats on a set, for each length of the longest context.
    fn losses(&self, set: &TokenSequences) -> Vec<f64> {
        let mut losses = vec![0.0; self.order];
        for sequence in &set.sequences {
            let inputs: Vec<u32> = inputs_of(sequence, set.end()).collect();
            for (at, target) in targets_of(sequence, set.end()).enumerate() {
                let mut p = 1.0 / self.tokens as f64;
                let path = self.path(&inputs[..=at]);
                for (length, loss) in losses.iter_mut().enumerate() {
                    if let Some(context) = path.get(length) {
                        let (count, shorter) = context.weights(self.kappa);
                        p = (context.count_of(target) as f64 + shorter * p) / (count + shorter);
                    }
                    *loss -= p.ln();
                }
            }
        }
        losses
    }

    /// The model without the contexts that a lower order does not read.
    fn with_order(self, order: usize) -> TokenNgrams {
        let mut lengths = vec![0; self.contexts.len()];
        for (index, context) in self.contexts.iter().enumerate() {
            context.longer.iter().for_each(|&(_, id)| lengths[id as usize] = lengths[index] + 1);
        }
        // Contexts are sorted by length, so that indices stay.
        let kept = lengths.iter().take_while(|&&length| length < order).count();
        let mut contexts = self.contexts;
        contexts.truncate(kept);
        for context in &mut contexts {
            context.longer.retain(|&(_, id)| (id as usize) < kept);
        }
        TokenNgrams { order, contexts, ..self }
    }

    /// What is wrong with a model from a file, if anything.
    pub(super) fn inconsistency(&self) -> Option<&'static str> {
        let TokenNgrams { tokens, order, kappa, contexts } = self;
        let token = |id: &u32| (*id as usize) < *tokens;
        let good = |(index, context): (usize, &TokenContext)| {
            let ascending = |ids: Vec<u32>| ids.is_sorted() && ids.iter().all(token);
            // Longer contexts come later, so that there are no cycles.
            let later =
                |&(_, id): &(u32, u32)| (index + 1..contexts.len()).contains(&(id as usize));
            context.longer.iter().all(later)
                && ascending(context.longer.iter().map(|pair| pair.0).collect())
                && ascending(context.followers.iter().map(|pair| pair.0).collect())
                && !context.followers.is_empty()
        };
        match () {
            () if !(kappa.is_finite() && *kappa > 0.0) => Some("the weight κ is not positive"),
            () if *order == 0 || contexts.is_empty() => Some("there is no context"),
            () if !contexts.iter().enumerate().all(good) => Some("a context is not valid"),
            () => None,
        }
    }
}

impl TokenContext {
    /// c(x), and κ t(x).
    fn weights(&self, kappa: f64) -> (f64, f64) {
        let count: f64 = self.followers.iter().map(|&(_, count)| count as f64).sum();
        (count, kappa * self.followers.len() as f64)
    }

    fn count_of(&self, token: u32) -> u64 {
        let at = self.followers.binary_search_by_key(&token, |&(token, _)| token);
        at.map_or(0, |at| self.followers[at].1)
    }
}

/// A context while it is counted.
#[derive(Default)]
struct CountedContext {
    longer: BTreeMap<u32, u32>,
    followers: BTreeMap<u32, u64>,
}

/// Counts the followers of all contexts of at most `longest` tokens, the shorter contexts first.
fn count(train: &TokenSequences, longest: usize) -> Vec<TokenContext> {
    let mut contexts = vec![CountedContext::default()];
    // The context of each prediction at the present length; `None` if it was not extended.
    let mut reached: Vec<Option<u32>> = vec![Some(0); train.predictions()];
    add_followers(train, &reached, &mut contexts);
    for length in 1..=longest {
        if contexts.len() > MAX_CONTEXTS || reached.iter().all(Option::is_none) {
            break;
        }
        extend(train, length, &mut reached, &mut contexts);
        add_followers(train, &reached, &mut contexts);
    }
    let finished = |counted: CountedContext| TokenContext {
        longer: counted.longer.into_iter().collect(),
        followers: counted.followers.into_iter().collect(),
    };
    contexts.into_iter().map(finished).collect()
}

/// Replaces the context of each prediction by the one with a further token at the beginning.
fn extend(
    train: &TokenSequences,
    length: usize,
    reached: &mut [Option<u32>],
    contexts: &mut Vec<CountedContext>,
) {
    let frequent: Vec<bool> =
        contexts.iter().map(|c| c.followers.values().sum::<u64>() >= MIN_COUNT).collect();
    let mut slots = reached.iter_mut();
    for sequence in &train.sequences {
        let inputs: Vec<u32> = inputs_of(sequence, train.end()).collect();
        for (read, slot) in (1..=inputs.len()).zip(&mut slots) {
            let token = read.checked_sub(length).map(|at| inputs[at]);
            *slot = match (*slot, token) {
                (Some(at), Some(token)) if frequent[at as usize] => {
                    let new = contexts.len() as u32;
                    let id = *contexts[at as usize].longer.entry(token).or_insert(new);
                    if id == new {
                        contexts.push(CountedContext::default());
                    }
                    Some(id)
                }
                _ => None,
            };
        }
    }
}

fn add_followers(train: &TokenSequences, reached: &[Option<u32>], contexts: &mut [CountedContext]) {
    let targets = train.sequences.iter().flat_map(|s| targets_of(s, train.end()));
    for (target, context) in targets.zip(reached) {
        if let Some(at) = context {
            *contexts[*at as usize].followers.entry(target).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{counting, sequences};
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_formula() {
        // Tokens a, b, <unk>, <eos>; inputs start with <eos>, id 3.
        let train = sequences(&["ab", "ab", "aa"]);
        let model = TokenNgrams { kappa: 0.5, ..TokenNgrams::fit(&train, &train) };
        let unigram = |count: f64| (count + 0.5 * 3.0 * 0.25) / (9.0 + 0.5 * 3.0);
        // Followers of a: b twice, a once, the end once.
        let after_a = |count: f64, p: f64| (count + 0.5 * 3.0 * p) / (4.0 + 0.5 * 3.0);
        let two = model.clone().with_order(2).distribution(&[3, 0]);
        for (id, (counts, after)) in
            [(4.0, 1.0), (2.0, 2.0), (0.0, 0.0), (3.0, 1.0)].into_iter().enumerate()
        {
            let expected = after_a(after, unigram(counts));
            assert!((two[id] - expected).abs() < 1e-12, "{id}: {} {expected}", two[id]);
        }
        for inputs in [&[3][..], &[3, 0], &[3, 0, 1], &[3, 2, 2]] {
            let sum: f64 = model.distribution(inputs).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
        // An unseen context is that of its end.
        assert_eq!(model.distribution(&[3, 2, 2]), model.clone().with_order(1).distribution(&[3]));
    }

    #[test]
    fn held_out_sequences_select_the_order() {
        // The end comes after as many b as there were a, up to four: contexts of eight tokens.
        let train = counting(400, 1);
        let long = TokenNgrams::fit(&train, &counting(100, 2));
        assert!(long.order >= 8, "{}", long.order);
        // Independent tokens: contexts cost more than they explain.
        let noise = |key: u64| {
            let mut rng = crate::key::Key::new(key).rng();
            let word = |_| (0..20).map(|_| if rng.below(2) == 0 { 'a' } else { 'b' }).collect();
            let words: Vec<String> = (0..100).map(word).collect();
            sequences(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let short = TokenNgrams::fit(&noise(1), &noise(2));
        assert!(short.order <= 3, "{}", short.order);
        assert!(short.contexts.len() < 20, "{}", short.contexts.len());
    }

    #[test]
    fn a_model_from_a_broken_file_is_refused() {
        let good = TokenNgrams::fit(&sequences(&["ab", "ab"]), &sequences(&["ab"]));
        assert_eq!(good.inconsistency(), None);
        let mut cycle = good.clone();
        cycle.contexts[1].longer = vec![(0, 1)];
        let mut token = good.clone();
        token.contexts[0].followers[0].0 = 99;
        let kappa = TokenNgrams { kappa: f64::NAN, ..good.clone() };
        let empty = TokenNgrams { contexts: vec![], ..good };
        for bad in [cycle, token, kappa, empty] {
            assert!(bad.inconsistency().is_some(), "{bad:?}");
        }
    }
}
