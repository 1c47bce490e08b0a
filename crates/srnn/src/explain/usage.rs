//! The use of centroids, and how decided the transitions are.

use super::Observation;
use crate::engine::reference::argmax;
use serde::Serialize;
use std::borrow::Borrow;

/// The fraction of the visits that [`Usage::carrying`] centroids have.
pub const CARRIED_FRACTION: f64 = 0.95;

/// How often and how decidedly K centroids are visited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Usage {
    /// The number of steps.
    pub steps: u64,
    /// The number of steps at which each centroid is the most probable `[K]`.
    pub visits: Vec<u64>,
    /// The smallest number of centroids that have at least [`CARRIED_FRACTION`] of the visits.
    pub carrying: usize,
    /// The mean over steps of the largest α, of the second largest, and so on `[K]`.
    pub ranked: Vec<f64>,
    /// The mean α of each centroid `[K]`.
    pub mean: Vec<f64>,
    /// The mean entropy H(α) of a step in nats: 0 if one centroid has all probability, ln K if all
    /// are equally probable.
    pub entropy: f64,
}

/// Counts over all steps of all rows.
///
/// # Panics
/// If an observation has no α, or another K than the first.
pub fn usage<O: Borrow<Observation>>(observations: impl IntoIterator<Item = O>) -> Usage {
    let mut usage =
        Usage { steps: 0, visits: vec![], carrying: 0, ranked: vec![], mean: vec![], entropy: 0.0 };
    for observation in observations {
        let observation = observation.borrow();
        if usage.visits.is_empty() {
            usage.visits = vec![0; observation.centroids];
            (usage.ranked, usage.mean) =
                (vec![0.0; observation.centroids], vec![0.0; observation.centroids]);
        }
        assert_eq!(
            observation.centroids,
            usage.visits.len(),
            "K of this and the first observation"
        );
        assert_eq!(
            observation.alpha.len(),
            observation.steps() * observation.centroids,
            "numbers of an α per step"
        );
        (0..observation.steps()).for_each(|n| add(&mut usage, observation.alpha_at(n)));
    }
    let steps = usage.steps.max(1) as f64;
    usage.ranked.iter_mut().chain(&mut usage.mean).for_each(|sum| *sum /= steps);
    usage.entropy /= steps;
    usage.carrying = carrying(&usage.visits);
    usage
}

/// The centroids that have a probability of at least `least` at some step of a string `[T][K]`, in
/// ascending order.
pub fn used_centroids(alpha: &[Vec<f64>], least: f64) -> Vec<usize> {
    let count = alpha.first().map_or(0, Vec::len);
    let is_used = |&centroid: &usize| alpha.iter().any(|step| step[centroid] >= least);
    (0..count).filter(is_used).collect()
}

fn add(usage: &mut Usage, alpha: &[f64]) {
    let mut sorted = alpha.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    usage.steps += 1;
    usage.visits[argmax(alpha)] += 1;
    usage.ranked.iter_mut().zip(&sorted).for_each(|(sum, a)| *sum += a);
    usage.mean.iter_mut().zip(alpha).for_each(|(sum, a)| *sum += a);
    usage.entropy -= alpha.iter().filter(|&&a| a > 0.0).map(|a| a * a.ln()).sum::<f64>();
}

fn carrying(visits: &[u64]) -> usize {
    let mut sorted = visits.to_vec();
    sorted.sort_by(|a, b| b.cmp(a));
    let enough = CARRIED_FRACTION * visits.iter().sum::<u64>() as f64;
    let sums = sorted.iter().scan(0, |sum, &count| {
        let before = *sum;
        *sum += count;
        Some(before)
    });
    sums.take_while(|&before| (before as f64) < enough).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(alpha: &[[f64; 3]]) -> Observation {
        Observation {
            offsets: vec![0, alpha.len()],
            centroids: 3,
            alpha: alpha.concat(),
            ..Observation::default()
        }
    }

    #[test]
    fn visits_ranks_and_entropy_of_a_trace_made_by_hand() {
        let parts = [observed(&[[0.8, 0.2, 0.0], [0.1, 0.9, 0.0]]), observed(&[[0.0, 0.0, 1.0]])];
        let usage = usage(&parts);
        assert_eq!((usage.steps, &usage.visits[..]), (3, &[1, 1, 1][..]));
        let near = |a: &[f64], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&usage.ranked, [0.9, 0.1, 0.0]), "{usage:?}");
        assert!(near(&usage.mean, [0.3, 1.1 / 3.0, 1.0 / 3.0]), "{usage:?}");
        let two = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
        assert!((usage.entropy - (two(0.8) + two(0.1)) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_fewest_centroids_with_nearly_all_visits_are_counted() {
        assert_eq!(carrying(&[2, 0, 95, 3]), 1);
        assert_eq!(carrying(&[3, 0, 94, 3]), 2);
        assert_eq!(carrying(&[5, 5]), 2);
        assert_eq!(carrying(&[0, 0]), 0);
    }

    #[test]
    fn centroids_that_are_never_probable_are_not_used() {
        let alpha = vec![vec![0.9, 0.0, 0.1], vec![0.97, 0.02, 0.01]];
        assert_eq!(used_centroids(&alpha, 0.05), [0, 2]);
        assert_eq!(used_centroids(&[], 0.05), [0usize; 0]);
    }

    #[test]
    fn without_observations_there_are_no_steps() {
        assert_eq!(usage(&[] as &[Observation]).steps, 0);
    }
}
