//! Which run is kept. What is tested on is not even in sight here.

use serde::{Deserialize, Serialize};

/// How a network does on the validation set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The part that is wrong.
    pub error: f64,
    /// Mean cross-entropy.
    pub loss: f64,
}

/// The place of the best: lowest error, then lowest loss, then first. Nothing where no run has a
/// result.
pub fn best(runs: impl IntoIterator<Item = Option<Validation>>) -> Option<usize> {
    let numbered = runs.into_iter().enumerate();
    let results = numbered.filter_map(|(place, run)| run.map(|run| (place, run)));
    let order = |(_, a): &(usize, Validation), (_, b): &(usize, Validation)| {
        a.error.total_cmp(&b.error).then(a.loss.total_cmp(&b.loss))
    };
    results.min_by(order).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(error: f64, loss: f64) -> Option<Validation> {
        Some(Validation { error, loss })
    }

    #[test]
    fn the_best_has_the_lowest_error_then_the_lowest_loss_then_comes_first() {
        assert_eq!(best([run(0.2, 0.1), run(0.1, 9.0), None]), Some(1));
        assert_eq!(best([run(0.1, 0.3), run(0.1, 0.2), run(0.1, 0.2)]), Some(1));
        assert_eq!(best([None, run(0.5, f64::NAN), run(0.5, 7.0)]), Some(2));
        assert_eq!(best([None, None]), None);
    }
}
