//! How candidates are compared on held-out data: accuracy, or F1 if a class is rare, with a standard
//! error.

use crate::task::Confusion;
use serde::{Deserialize, Serialize};

/// The measure that candidates are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum HeldOutMeasure {
    /// The fraction of sequences that are classified correctly.
    Accuracy,
    /// F1 of one class, the rarer of two.
    F1 {
        /// The index of the class.
        class: usize,
    },
    /// The mean F1 of all classes.
    MacroF1,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeldOutScore {
    /// The value, between 0 and 1.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// With a smaller fraction of the sequences, a class is rare, and accuracy says little about it.
const RARE: f64 = 0.1;

/// With more classes, their F1 is not averaged.
const MAX_CLASSES: usize = 32;

impl HeldOutMeasure {
    /// The measure for training labels with these numbers of sequences per class.
    pub fn of(class_counts: &[usize]) -> HeldOutMeasure {
        let total: usize = class_counts.iter().sum();
        let present: Vec<usize> =
            (0..class_counts.len()).filter(|&c| class_counts[c] > 0).collect();
        let rarest = present.iter().copied().min_by_key(|&class| class_counts[class]);
        match rarest {
            Some(class) if (class_counts[class] as f64) < RARE * total as f64 => {
                match present.len() {
                    2 => HeldOutMeasure::F1 { class },
                    n if n <= MAX_CLASSES => HeldOutMeasure::MacroF1,
                    _ => HeldOutMeasure::Accuracy,
                }
            }
            _ => HeldOutMeasure::Accuracy,
        }
    }

    /// The name for people.
    pub fn name(self, classes: &[String]) -> String {
        match self {
            HeldOutMeasure::Accuracy => "accuracy".into(),
            HeldOutMeasure::F1 { class } => format!("F1 of {}", classes[class]),
            HeldOutMeasure::MacroF1 => "mean F1 of the classes".into(),
        }
    }

    /// The measure of a confusion matrix; 0 if nothing was counted. The standard error is that of a
    /// multinomial sample, to first order; it is at least that of one error more.
    pub fn score(self, confusion: &Confusion) -> HeldOutScore {
        let counts = cells(confusion);
        let total: f64 = counts.iter().flatten().sum();
        if total == 0.0 {
            return HeldOutScore { value: 0.0, error: 1.0 };
        }
        // Without a sequence of its class, F1 says nothing.
        if let HeldOutMeasure::F1 { class } = self
            && counts[class].iter().sum::<f64>() == 0.0
        {
            return HeldOutScore { value: 0.0, error: 1.0 };
        }
        let value = self.value(&counts);
        let (mut mean, mut square) = (0.0, 0.0);
        for truth in 0..counts.len() {
            for predicted in 0..counts[truth].len() {
                let n = counts[truth][predicted];
                if n > 0.0 {
                    let slope = self.slope(&counts, truth, predicted, value);
                    mean += n * slope;
                    square += n * slope * slope;
                }
            }
        }
        let variance = (square - mean * mean / total).max(0.0);
        HeldOutScore { value, error: variance.sqrt().max(self.one_more_error(&counts, value)) }
    }

    /// `[truth][predicted]` has a further column for sequences that the model cannot read.
    fn value(self, counts: &[Vec<f64>]) -> f64 {
        let classes = counts.len();
        match self {
            HeldOutMeasure::Accuracy => {
                let correct: f64 = (0..classes).map(|class| counts[class][class]).sum();
                correct / counts.iter().flatten().sum::<f64>()
            }
            HeldOutMeasure::F1 { class } => f1(counts, class).unwrap_or(0.0),
            HeldOutMeasure::MacroF1 => {
                let of_classes: Vec<f64> = (0..classes).filter_map(|c| f1(counts, c)).collect();
                of_classes.iter().sum::<f64>() / of_classes.len().max(1) as f64
            }
        }
    }

    /// How much the value falls if one sequence more is wrong, in the worst case.
    fn one_more_error(self, counts: &[Vec<f64>], value: f64) -> f64 {
        let classes = counts.len();
        let wrong = |truth: usize, predicted: usize| {
            let mut counts = counts.to_vec();
            counts[truth][truth] -= 1.0;
            counts[truth][predicted] += 1.0;
            value - self.value(&counts)
        };
        let pairs = (0..classes).flat_map(|truth| (0..=classes).map(move |other| (truth, other)));
        let possible = pairs.filter(|&(t, p)| t != p && counts[t][t] >= 1.0);
        possible.map(|(truth, predicted)| wrong(truth, predicted)).fold(0.0, f64::max)
    }

    /// The derivative by one count, as a central difference of half a sequence.
    fn slope(self, counts: &[Vec<f64>], truth: usize, predicted: usize, value: f64) -> f64 {
        if self == HeldOutMeasure::Accuracy {
            let total: f64 = counts.iter().flatten().sum();
            return (f64::from(truth == predicted) - value) / total;
        }
        let shifted = |by: f64| {
            let mut counts = counts.to_vec();
            counts[truth][predicted] += by;
            self.value(&counts)
        };
        shifted(0.5) - shifted(-0.5)
    }
}

/// F1 of a class; `None` if no sequence has it and none was predicted to.
fn f1(counts: &[Vec<f64>], class: usize) -> Option<f64> {
    let correct = counts[class][class];
    let support: f64 = counts[class].iter().sum();
    let predicted: f64 = counts.iter().map(|row| row[class]).sum();
    (support + predicted > 0.0).then(|| 2.0 * correct / (support + predicted))
}

fn cells(confusion: &Confusion) -> Vec<Vec<f64>> {
    let rows = confusion.counts.iter().zip(&confusion.unreadable);
    rows.map(|(row, &unreadable)| row.iter().chain([&unreadable]).map(|&n| n as f64).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confusion(counts: &[&[u64]], unreadable: &[u64]) -> Confusion {
        let classes = (0..counts.len()).map(|class| class.to_string()).collect();
        Confusion {
            counts: counts.iter().map(|row| row.to_vec()).collect(),
            unreadable: unreadable.to_vec(),
            ..Confusion::new(classes)
        }
    }

    #[test]
    fn a_rare_class_selects_f1() {
        assert_eq!(HeldOutMeasure::of(&[50, 50]), HeldOutMeasure::Accuracy);
        assert_eq!(HeldOutMeasure::of(&[95, 5]), HeldOutMeasure::F1 { class: 1 });
        assert_eq!(HeldOutMeasure::of(&[5, 95]), HeldOutMeasure::F1 { class: 0 });
        assert_eq!(HeldOutMeasure::of(&[60, 35, 5]), HeldOutMeasure::MacroF1);
        assert_eq!(
            HeldOutMeasure::of(&[100, 0]),
            HeldOutMeasure::Accuracy,
            "a class without sequences"
        );
    }

    #[test]
    fn the_error_of_an_accuracy_is_binomial() {
        let score = HeldOutMeasure::Accuracy.score(&confusion(&[&[40, 10], &[6, 40]], &[2, 2]));
        assert_eq!(score.value, 0.8);
        assert!((score.error - (0.8f64 * 0.2 / 100.0).sqrt()).abs() < 1e-12, "{score:?}");
        let perfect = HeldOutMeasure::Accuracy.score(&confusion(&[&[10, 0], &[0, 10]], &[0, 0]));
        assert_eq!(perfect.value, 1.0);
        assert!((perfect.error - 0.05).abs() < 1e-12, "one of 20: {perfect:?}");
        assert_eq!(
            HeldOutMeasure::Accuracy.score(&confusion(&[&[0, 0], &[0, 0]], &[0, 0])).value,
            0.0
        );
    }

    #[test]
    fn f1_is_that_of_precision_and_recall_and_has_an_error() {
        // 8 of 10 found, 4 false alarms: precision 2/3, recall 0.8.
        let counts = confusion(&[&[86, 4], &[2, 8]], &[0, 0]);
        let score = HeldOutMeasure::F1 { class: 1 }.score(&counts);
        let (precision, recall) = (8.0 / 12.0, 0.8);
        assert!((score.value - 2.0 * precision * recall / (precision + recall)).abs() < 1e-12);
        // By the delta method: gradients 2(FP + FN)/D² and −2TP/D² with D = 2TP + FP + FN = 22.
        let (tp, wrong, d2) = (8.0, 6.0, 484.0);
        let (up, down): (f64, f64) = (2.0 * wrong / d2, -2.0 * tp / d2);
        let mean = tp * up + wrong * down;
        let variance = tp * up * up + wrong * down * down - mean * mean / 100.0;
        assert!((score.error / variance.sqrt() - 1.0).abs() < 0.01, "{score:?}");
        assert!(HeldOutMeasure::MacroF1.score(&counts).value > score.value);
        let perfect = HeldOutMeasure::F1 { class: 1 };
        let perfect = perfect.score(&confusion(&[&[995, 0], &[0, 5]], &[0, 0]));
        assert!((perfect.error - (1.0 - 8.0 / 9.0)).abs() < 1e-12, "one miss: {perfect:?}");
    }

    #[test]
    fn f1_of_a_class_that_no_sequence_has_is_unknown() {
        let score =
            HeldOutMeasure::F1 { class: 1 }.score(&confusion(&[&[12, 0], &[0, 0]], &[0, 0]));
        assert_eq!((score.value, score.error), (0.0, 1.0));
    }
}
