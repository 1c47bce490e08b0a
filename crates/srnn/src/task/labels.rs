//! Label noise, and class weights for unbalanced classes.

use crate::key::Key;

use super::Dataset;

/// A fraction between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// `None` unless `0 ≤ value ≤ 1`.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Rate(value))
    }

    /// The value.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Replaces the labels of exactly `round(n · fraction)` sequences by other labels, uniformly drawn.
/// Returns the indices of these sequences in ascending order.
///
/// # Panics
/// If there are fewer than two classes.
pub fn label_noise(dataset: &mut Dataset, fraction: Rate, key: &Key) -> Vec<usize> {
    let classes = dataset.classes.len();
    assert!(classes >= 2, "label noise needs two classes, but there are {classes}");
    let mut rng = key.child("label noise", 0).rng();
    let mut chosen: Vec<usize> = (0..dataset.sequences.len()).collect();
    rng.shuffle(&mut chosen);
    chosen.truncate((dataset.sequences.len() as f64 * fraction.0).round() as usize);
    chosen.sort_unstable();
    for &index in &chosen {
        let label = &mut dataset.sequences[index].label;
        let shift = 1 + rng.below(classes - 1);
        *label = ((*label as usize + shift) % classes) as u32;
    }
    chosen
}

/// A weight for each class, inversely proportional to its frequency. The mean weight over all
/// sequences is 1, so that the loss keeps its scale. A class without sequences has weight 0.
pub fn class_weights(dataset: &Dataset) -> Vec<f64> {
    let counts = dataset.class_counts();
    let present = counts.iter().filter(|&&count| count > 0).count() as f64;
    let total = dataset.sequences.len() as f64;
    let weight = |count: usize| if count == 0 { 0.0 } else { total / (present * count as f64) };
    counts.into_iter().map(weight).collect()
}

/// The square roots of these weights, scaled in the same way: they raise F1 of a rare class, where full
/// weights mostly lower it (`records/imbalance`).
pub fn softened_class_weights(dataset: &Dataset) -> Vec<f64> {
    let counts = dataset.class_counts();
    let roots: Vec<f64> = class_weights(dataset).into_iter().map(f64::sqrt).collect();
    let sum: f64 = counts.iter().zip(&roots).map(|(&count, root)| count as f64 * root).sum();
    let scale = dataset.sequences.len() as f64 / sum.max(f64::MIN_POSITIVE);
    roots.into_iter().map(|root| root * scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::dataset;

    fn words(n: usize) -> Dataset {
        let labels = ["x", "y", "z"];
        let words: Vec<(&str, &str)> = (0..n).map(|i| ("ab", labels[i % 3])).collect();
        dataset(&words)
    }

    #[test]
    fn label_noise_changes_exactly_the_sequences_it_names() {
        let clean = words(101);
        let mut noisy = clean.clone();
        let flipped = label_noise(&mut noisy, Rate::new(0.1).unwrap(), &Key::new(3));
        let differ: Vec<usize> =
            (0..101).filter(|&i| clean.sequences[i] != noisy.sequences[i]).collect();
        assert_eq!(flipped.len(), 10);
        assert_eq!(flipped, differ);
        assert!(noisy.sequences.iter().all(|s| s.label < 3));
    }

    #[test]
    fn label_noise_is_a_function_of_its_key() {
        let flips = |seed| label_noise(&mut words(60), Rate::new(0.5).unwrap(), &Key::new(seed));
        assert_eq!(flips(1), flips(1));
        assert_ne!(flips(1), flips(2));
    }

    #[test]
    fn full_noise_reaches_every_other_class() {
        let mut noisy = dataset(&[("a", "x"); 60]);
        noisy.classes.extend(["y".into(), "z".into()]);
        assert_eq!(label_noise(&mut noisy, Rate::new(1.0).unwrap(), &Key::new(0)).len(), 60);
        let counts = noisy.class_counts();
        assert!(counts[0] == 0 && counts[1] > 15 && counts[2] > 15, "{counts:?}");
    }

    #[test]
    fn a_rate_is_between_zero_and_one() {
        assert!(Rate::new(0.0).is_some() && Rate::new(1.0).is_some());
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::new(bad), None);
        }
    }

    #[test]
    fn class_weights_balance_the_classes_and_have_mean_one() {
        let mut data = dataset(&[("a", "x"), ("b", "x"), ("ab", "x"), ("ba", "y")]);
        data.classes.push("never".into());
        let weights = class_weights(&data);
        assert_eq!(weights, [2.0 / 3.0, 2.0, 0.0]);
        let mean: f64 = data.sequences.iter().map(|s| weights[s.label as usize]).sum::<f64>() / 4.0;
        assert!((mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn softened_weights_have_the_root_of_the_ratio_and_mean_one() {
        let words: Vec<(&str, &str)> =
            (0..100).map(|i| ("ab", if i < 4 { "rare" } else { "common" })).collect();
        let weights = softened_class_weights(&dataset(&words));
        assert!((weights[1] / weights[0] - (96.0f64 / 4.0).sqrt()).abs() < 1e-9, "{weights:?}");
        assert!((0.96 * weights[0] + 0.04 * weights[1] - 1.0).abs() < 1e-9, "{weights:?}");
    }
}
