//! Confusion matrices.

use serde::Serialize;

/// A confusion matrix, with the sequences that the model could not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// The name of every class.
    pub classes: Vec<String>,
    /// `[truth, predicted]`: the number of sequences.
    pub counts: Vec<Vec<u64>>,
    /// `[truth]`: the number of sequences that the model could not read. They count as errors.
    pub unreadable: Vec<u64>,
}

/// Precision and recall of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassScore {
    /// The class.
    pub class: String,
    /// The number of sequences with this label, including unreadable ones.
    pub support: u64,
    /// The fraction of these that was predicted correctly; `None` if there are none.
    pub recall: Option<f64>,
    /// The fraction of its predictions that is correct; `None` if it was never predicted.
    pub precision: Option<f64>,
}

impl Confusion {
    /// An empty matrix.
    pub fn new(classes: Vec<String>) -> Self {
        let k = classes.len();
        Confusion { classes, counts: vec![vec![0; k]; k], unreadable: vec![0; k] }
    }

    /// Counts one prediction.
    ///
    /// # Panics
    /// If a label is out of range.
    pub fn add(&mut self, truth: u32, predicted: u32) {
        self.counts[truth as usize][predicted as usize] += 1;
    }

    /// Counts one sequence that the model cannot read.
    ///
    /// # Panics
    /// If the label is out of range.
    pub fn add_unreadable(&mut self, truth: u32) {
        self.unreadable[truth as usize] += 1;
    }

    /// The number of sequences counted.
    pub fn total(&self) -> u64 {
        (0..self.classes.len()).map(|class| self.support(class)).sum()
    }

    /// The fraction of correct predictions; `None` if nothing was counted.
    pub fn accuracy(&self) -> Option<f64> {
        let correct = (0..self.classes.len()).map(|class| self.counts[class][class]).sum();
        ratio(correct, self.total())
    }

    /// Recall and precision of every class.
    pub fn scores(&self) -> Vec<ClassScore> {
        (0..self.classes.len()).map(|class| self.score(class)).collect()
    }

    fn score(&self, class: usize) -> ClassScore {
        let correct = self.counts[class][class];
        let predicted = self.counts.iter().map(|row| row[class]).sum();
        ClassScore {
            class: self.classes[class].clone(),
            support: self.support(class),
            recall: ratio(correct, self.support(class)),
            precision: ratio(correct, predicted),
        }
    }

    /// The number of sequences with the label `class`, including unreadable ones.
    pub fn support(&self, class: usize) -> u64 {
        self.counts[class].iter().sum::<u64>() + self.unreadable[class]
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_follow_from_the_counts_and_unreadable_ones_are_errors() {
        let mut confusion = Confusion::new(["a", "b", "c"].map(String::from).to_vec());
        for (truth, predicted) in [(0, 0), (0, 0), (0, 1), (1, 1)] {
            confusion.add(truth, predicted);
        }
        confusion.add_unreadable(1);
        assert_eq!(confusion.total(), 5);
        assert_eq!(confusion.accuracy(), Some(0.6));
        let scores = confusion.scores();
        assert_eq!((scores[0].recall, scores[0].precision), (Some(2.0 / 3.0), Some(1.0)));
        assert_eq!((scores[1].recall, scores[1].precision), (Some(0.5), Some(0.5)));
        assert_eq!((scores[1].support, scores[2].support), (2, 0));
        assert_eq!((scores[2].recall, scores[2].precision), (None, None));
    }

    #[test]
    fn nothing_counted_has_no_accuracy() {
        assert_eq!(Confusion::new(vec!["a".into()]).accuracy(), None);
    }
}
