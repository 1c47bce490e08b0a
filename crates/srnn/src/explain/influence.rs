//! Which tokens of a word move the answer of a classifier: its answer after each prefix, and to the
//! word without each token.

use crate::engine::reference::{argmax, log_softmax};
use serde::Serialize;

/// An answer of a classifier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassAnswer {
    /// The most probable class; `None` if a logit is not finite.
    pub class: Option<u32>,
    /// The probability of each class `[C]`.
    pub probabilities: Vec<f64>,
}

/// How the answer depends on each token of a word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Influence {
    /// The answer after each prefix `[T+1]`; the first is that to the empty word, the last that to the
    /// word.
    pub prefixes: Vec<ClassAnswer>,
    /// The answer to the word without each token `[T]`.
    pub without: Vec<ClassAnswer>,
}

/// The largest number of tokens that are read for one influence: prefixes grow with the square of the
/// length.
pub const MAX_TOKENS_READ: usize = 600_000;

/// The influence of each token; `None` if the word is too long for [`MAX_TOKENS_READ`].
pub fn influence(
    logits: &mut impl FnMut(&[Vec<u32>]) -> Vec<Vec<f64>>,
    word: &[u32],
) -> Option<Influence> {
    let length = word.len();
    if length.saturating_mul(length) * 3 / 2 > MAX_TOKENS_READ {
        return None;
    }
    let prefixes: Vec<Vec<u32>> = (0..=length).map(|end| word[..end].to_vec()).collect();
    let without = |at: usize| [&word[..at], &word[at + 1..]].concat();
    let without: Vec<Vec<u32>> = (0..length).map(without).collect();
    let mut answers = |words: &[Vec<u32>]| logits(words).iter().map(|row| answer(row)).collect();
    Some(Influence { prefixes: answers(&prefixes), without: answers(&without) })
}

/// The answer of a row of logits.
pub fn answer(logits: &[f64]) -> ClassAnswer {
    let finite = logits.iter().all(|logit| logit.is_finite());
    ClassAnswer {
        class: finite.then(|| argmax(logits) as u32),
        probabilities: log_softmax(logits).into_iter().map(f64::exp).collect(),
    }
}

impl Influence {
    /// The change of the probability of `class` by each token `[T]`.
    pub fn changes(&self, class: u32) -> Vec<f64> {
        let of = |answer: &ClassAnswer| answer.probabilities[class as usize];
        self.prefixes.windows(2).map(|pair| of(&pair[1]) - of(&pair[0])).collect()
    }

    /// The places of the `count` tokens that change the probability of `class` most, in either
    /// direction, the strongest first; of at least `least` each.
    pub fn strongest(&self, class: u32, count: usize, least: f64) -> Vec<usize> {
        let changes = self.changes(class);
        let mut places: Vec<usize> =
            (0..changes.len()).filter(|&at| changes[at].abs() >= least).collect();
        places.sort_by(|&a, &b| changes[b].abs().total_cmp(&changes[a].abs()).then(a.cmp(&b)));
        places.truncate(count);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Class 1 as soon as token 1 was read.
    fn seen_one(words: &[Vec<u32>]) -> Vec<Vec<f64>> {
        words.iter().map(|word| vec![0.0, if word.contains(&1) { 2.0 } else { -2.0 }]).collect()
    }

    #[test]
    fn the_token_that_decides_is_the_strongest_and_the_word_without_it_is_of_the_other_class() {
        let found = influence(&mut seen_one, &[0, 1, 0]).unwrap();
        let classes = |answers: &[ClassAnswer]| -> Vec<_> {
            answers.iter().map(|answer| answer.class.unwrap()).collect()
        };
        assert_eq!(classes(&found.prefixes), [0, 0, 1, 1]);
        assert_eq!(classes(&found.without), [1, 0, 1]);
        assert_eq!(found.strongest(1, 2, 0.01), [1]);
        let change = found.changes(1)[1];
        assert!((change - (1.0 / (1.0 + (-2f64).exp()) - 1.0 / (1.0 + 2f64.exp()))).abs() < 1e-12);
    }

    #[test]
    fn long_words_are_left_out_and_logits_that_are_not_finite_have_no_class() {
        assert_eq!(influence(&mut seen_one, &vec![0; 2000]), None);
        assert_eq!(answer(&[f64::NAN, 0.0]).class, None);
    }
}
