//! Evidence for a merge: the bits by which one state explains labels better than two.

/// The code of the labels that end in a state, if each label is wrong with the same probability. The
/// class of the state is unknown and integrated out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LabelCode {
    /// Frequencies of the classes: the prior of a state's class.
    prior: Vec<f64>,
    /// log₂ of the probability of one wrong class.
    wrong_bits: f64,
    /// log₂ of the ratio of a right class to one wrong class.
    ratio_bits: f64,
    /// The ratio to the power of −0, −1, −2, …, as long as it counts.
    powers: Vec<f64>,
}

/// The largest noise that the code assumes: above, labels would be evidence against their class.
const LARGEST_NOISE: f64 = 0.45;

/// The noise that stands for none. A contradiction then costs more than any evidence outweighs, and
/// sums of them are still numbers.
const SMALLEST_NOISE: f64 = 1e-300;

impl LabelCode {
    /// The code for labels with these class counts, of which the share `noise` is wrong.
    pub fn new(class_counts: &[usize], noise: f64) -> LabelCode {
        let noise = noise.clamp(SMALLEST_NOISE, LARGEST_NOISE);
        let labels: usize = class_counts.iter().sum();
        let classes = class_counts.len() as f64;
        let share = |&count: &usize| (count as f64 + 0.5) / (labels as f64 + 0.5 * classes);
        let wrong = noise / (classes - 1.0).max(1.0);
        let ratio = (1.0 - noise) / wrong;
        let powers = std::iter::successors(Some(1.0), |&p| (p > 1e-18).then_some(p / ratio));
        LabelCode {
            prior: class_counts.iter().map(share).collect(),
            wrong_bits: wrong.log2(),
            ratio_bits: ratio.log2(),
            powers: powers.collect(),
        }
    }

    /// log₂ of the probability of labels with these counts `[classes]`. 0 without labels.
    pub fn log_likelihood(&self, counts: &[u32]) -> f64 {
        let (mut total, mut most) = (0, 0);
        for &count in counts {
            total += count;
            most = most.max(count);
        }
        if total == 0 {
            return 0.0;
        }
        let weight = |(&count, prior): (&u32, &f64)| {
            self.powers.get((most - count) as usize).map_or(0.0, |power| prior * power)
        };
        let sum: f64 = counts.iter().zip(&self.prior).map(weight).sum();
        f64::from(total) * self.wrong_bits + f64::from(most) * self.ratio_bits + sum.log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likelihood_is_the_sum_over_classes() {
        let code = LabelCode::new(&[30, 10], 0.1);
        let (p, q) = (30.5 / 41.0, 10.5 / 41.0);
        let by_hand = p * 0.9f64.powi(3) * 0.1 + q * 0.1f64.powi(3) * 0.9;
        assert!((code.log_likelihood(&[3, 1]) - by_hand.log2()).abs() < 1e-9);
        assert_eq!(code.log_likelihood(&[0, 0]), 0.0);
    }

    #[test]
    fn equal_labels_favour_a_merge_and_different_ones_oppose_it() {
        for noise in [0.0, 0.05, 0.2, 0.9] {
            let code = LabelCode::new(&[50, 50, 50], noise);
            let gain = |a: [u32; 3], b: [u32; 3]| {
                let sum = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
                code.log_likelihood(&sum) - code.log_likelihood(&a) - code.log_likelihood(&b)
            };
            assert!(gain([1, 0, 0], [2, 0, 0]) > 0.0, "{noise}");
            assert!(gain([1, 0, 0], [0, 1, 0]) < 0.0, "{noise}");
        }
    }
}
