//! How surprising each step of a sequence is to a model, and how well a model predicts a set.

use serde::Serialize;
use std::cmp::Ordering;

/// What a model thought of the token that came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepSurprise {
    /// The token that came; the last one of a sequence is its end.
    pub token: u32,
    /// −log₂ of its probability.
    pub bits: f64,
    /// Its place among all tokens, from 1. Of tokens with the same probability, it is the last.
    pub rank: u32,
}

/// The surprises of a sequence, its end included.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceSurprise {
    /// One per token, and one for the end.
    pub steps: Vec<StepSurprise>,
}

/// How well a model predicts a set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextScore {
    /// The mean of −log₂ p over all predictions.
    pub bits: f64,
    /// Its standard error, from the variation between sequences.
    pub error: f64,
    /// The fraction of tokens that were the most probable one.
    pub top_1: f64,
    /// The fraction of tokens among the top g, for the g of the model's thresholds.
    pub top_g: f64,
}

impl StepSurprise {
    /// The surprise of `token`, given the probabilities of all tokens. A token `unseen` in training
    /// has the last rank.
    pub fn new(token: u32, probabilities: &[f64], unseen: Option<u32>) -> StepSurprise {
        let p = probabilities[token as usize];
        // NaN does not count as smaller: it must not make a token look expected.
        let smaller = |q: &&f64| q.partial_cmp(&&p) == Some(Ordering::Less);
        let larger = probabilities.len() - probabilities.iter().filter(smaller).count();
        let rank = if Some(token) == unseen { probabilities.len() } else { larger };
        StepSurprise {
            token,
            bits: if p > 0.0 { -p.log2() } else { f64::INFINITY },
            rank: rank as u32,
        }
    }
}

impl SequenceSurprise {
    /// The sum of the bits.
    pub fn bits(&self) -> f64 {
        self.steps.iter().map(|step| step.bits).sum()
    }

    /// The mean of the bits.
    pub fn mean_bits(&self) -> f64 {
        self.bits() / self.steps.len() as f64
    }

    /// The index of the most surprising step, the first of equal ones.
    pub fn most_surprising(&self) -> usize {
        let larger = |best: usize, next: usize| {
            if self.steps[next].bits > self.steps[best].bits { next } else { best }
        };
        (0..self.steps.len()).reduce(larger).expect("a sequence has an end")
    }

    /// The bits of the most surprising step.
    pub fn max_bits(&self) -> f64 {
        self.steps[self.most_surprising()].bits
    }

    /// The largest rank of a step.
    pub fn worst_rank(&self) -> u32 {
        self.steps.iter().map(|step| step.rank).max().expect("a sequence has an end")
    }
}

impl NextScore {
    /// The score of a model with these surprises; `g` is that of its thresholds.
    ///
    /// # Panics
    /// If there are no sequences.
    pub fn new(sequences: &[SequenceSurprise], g: u32) -> NextScore {
        let steps = || sequences.iter().flat_map(|sequence| &sequence.steps);
        let count = steps().count() as f64;
        let bits = sequences.iter().map(SequenceSurprise::bits).sum::<f64>() / count;
        // The error of a ratio of sums, to first order: steps of a sequence are not independent.
        let deviation = |s: &SequenceSurprise| (s.bits() - bits * s.steps.len() as f64).powi(2);
        // Bessel's correction; one sequence says nothing about the spread.
        let n = sequences.len() as f64;
        let spread = sequences.iter().map(deviation).sum::<f64>().sqrt() / count;
        let error = if n > 1.0 { spread * (n / (n - 1.0)).sqrt() } else { f64::INFINITY };
        let within = |g: u32| steps().filter(|step| step.rank <= g).count() as f64 / count;
        NextScore { bits, error, top_1: within(1), top_g: within(g) }
    }

    /// The perplexity: 2 to the bits.
    pub fn perplexity(&self) -> f64 {
        self.bits.exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_counts_equal_probabilities_and_unseen_tokens_are_last() {
        let p = [0.5, 0.125, 0.125, 0.25];
        let ranks = [0, 1, 2, 3].map(|token| StepSurprise::new(token, &p, None).rank);
        assert_eq!(ranks, [1, 4, 4, 2]);
        assert_eq!(StepSurprise::new(3, &p, None).bits, 2.0);
        assert_eq!(StepSurprise::new(0, &p, Some(0)).rank, 4);
        let broken = StepSurprise::new(0, &[f64::NAN, 0.5], None);
        assert_eq!((broken.rank, broken.bits), (2, f64::INFINITY));
    }

    #[test]
    fn a_score_is_the_mean_with_the_error_between_sequences() {
        let sequence = |steps: &[(f64, u32)]| SequenceSurprise {
            steps: steps
                .iter()
                .map(|&(bits, rank)| StepSurprise { token: 0, bits, rank })
                .collect(),
        };
        let set = [sequence(&[(1.0, 1), (3.0, 4)]), sequence(&[(2.0, 2), (2.0, 1)])];
        let score = NextScore::new(&set, 2);
        assert_eq!((score.bits, score.error, score.top_1, score.top_g), (2.0, 0.0, 0.5, 0.75));
        assert_eq!(score.perplexity(), 4.0);
        let set = [sequence(&[(1.0, 1)]), sequence(&[(3.0, 1)])];
        let error = NextScore::new(&set, 1).error;
        assert!((error - 1.0).abs() < 1e-12, "½√2 · √(2/1): {error}");
        assert_eq!(NextScore::new(&set[..1], 1).error, f64::INFINITY);
        assert_eq!((set[1].most_surprising(), set[1].worst_rank()), (0, 1));
        assert_eq!(sequence(&[(1.0, 1), (3.0, 4), (3.0, 7)]).most_surprising(), 1);
    }
}
