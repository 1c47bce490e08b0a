//! Selection of a trial by its validation score. Test scores are not visible here.

use serde::{Deserialize, Serialize};

/// The measure by which networks are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The fraction of wrong predictions.
    #[default]
    Error,
    /// The mean cross-entropy of a target, in nats.
    CrossEntropy,
    /// The exponential of the mean cross-entropy: for language models.
    Perplexity,
}

/// Error and loss on the validation set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The fraction of wrong predictions.
    pub error: f64,
    /// Mean cross-entropy.
    pub loss: f64,
}

impl Measure {
    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Error => "error",
            Measure::CrossEntropy => "cross-entropy",
            Measure::Perplexity => "perplexity",
        }
    }

    /// The one of the two values that this measure denotes.
    pub fn of(self, error: f64, loss: f64) -> f64 {
        match self {
            Measure::Error => error,
            Measure::CrossEntropy => loss,
            Measure::Perplexity => loss.exp(),
        }
    }

    /// The other measure.
    fn other(self) -> Measure {
        match self {
            Measure::Error => Measure::CrossEntropy,
            Measure::CrossEntropy | Measure::Perplexity => Measure::Error,
        }
    }
}

/// The index of the best run: lowest by the measure, then by the other measure, then first. `None`
/// where no run has a result.
pub fn best(measure: Measure, runs: impl IntoIterator<Item = Option<Validation>>) -> Option<usize> {
    let numbered = runs.into_iter().enumerate();
    let results = numbered.filter_map(|(index, run)| run.map(|run| (index, run)));
    let by = |measure: Measure, run: &Validation| measure.of(run.error, run.loss);
    let order = |(_, a): &(usize, Validation), (_, b): &(usize, Validation)| {
        let other = measure.other();
        by(measure, a).total_cmp(&by(measure, b)).then(by(other, a).total_cmp(&by(other, b)))
    };
    results.min_by(order).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(error: f64, loss: f64) -> Option<Validation> {
        Some(Validation { error, loss })
    }

    #[test]
    fn the_best_has_the_lowest_error_then_the_lowest_loss_then_comes_first() {
        let best = |runs: &[Option<Validation>]| best(Measure::Error, runs.iter().copied());
        assert_eq!(best(&[run(0.2, 0.1), run(0.1, 9.0), None]), Some(1));
        assert_eq!(best(&[run(0.1, 0.3), run(0.1, 0.2), run(0.1, 0.2)]), Some(1));
        assert_eq!(best(&[None, run(0.5, f64::NAN), run(0.5, 7.0)]), Some(2));
        assert_eq!(best(&[None, None]), None);
    }

    #[test]
    fn a_perplexity_is_the_exponential_of_the_cross_entropy() {
        assert_eq!(Measure::Perplexity.of(0.7, 100f64.ln()).round(), 100.0);
    }

    #[test]
    fn the_measure_of_comparison_selects() {
        let best = |runs: &[Option<Validation>]| best(Measure::CrossEntropy, runs.iter().copied());
        assert_eq!(best(&[run(0.1, 0.3), run(0.2, 0.2), None]), Some(1));
        assert_eq!(best(&[run(0.2, 0.2), run(0.1, 0.2)]), Some(1));
    }
}
