//! The baseline: logistic regression on the n-grams of a sequence, up to three tokens long.
//!
//! If all training sequences have the same length, the tokens of each position are features, too. The
//! weights minimise a convex loss, so there are no seeds.

use crate::task::{Dataset, Sequence};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the baseline looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Consecutive tokens, anywhere.
    Ngram(Vec<u32>),
    /// A token at a position, counted from 0.
    At(u32, u32),
}

/// A fitted baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NgramModel {
    /// C: number of classes.
    pub classes: usize,
    /// The features, ascending.
    pub features: Vec<Feature>,
    /// `[features, C]`.
    pub weights: Vec<f64>,
    /// `[C]`.
    pub bias: Vec<f64>,
    /// The L2 penalty, selected by the validation loss.
    pub penalty: f64,
}

/// The longest n-gram.
const LONGEST: usize = 3;
/// Rarer features are left out.
const MIN_SEQUENCES: u32 = 2;
/// The most frequent features are kept, and fewer if there are many classes: the file and the memory
/// of a fit grow with the number of weights.
const MAX_FEATURES: usize = 50_000;
const MAX_WEIGHTS: usize = 5_000_000;
/// Longer sequences have no features by position.
const MAX_POSITIONS: usize = 1_000;
/// The penalties tried, from strong to weak; each fit starts from the one before.
const PENALTIES: [f64; 6] = [1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5];
/// Iterations of a fit.
const ITERATIONS: usize = 150;

impl NgramModel {
    /// Fits the baseline to a training set and selects the penalty by the loss on a validation set.
    /// `class_weights` are the weights of the classes in both losses; empty for ones.
    pub fn fit(train: &Dataset, valid: &Dataset, class_weights: &[f32]) -> NgramModel {
        let features = select_features(train);
        let index: BTreeMap<&Feature, u32> = features.iter().zip(0..).collect();
        let positions = fixed_length(train);
        let encode = |set: &Dataset| -> Vec<EncodedRow> {
            let row = |s: &Sequence| (values(&index, positions, &s.tokens), s.label);
            set.sequences.iter().map(row).collect()
        };
        let (train_rows, valid_rows) = (encode(train), encode(valid));
        let classes = train.classes.len();
        let weight = |class: usize| class_weights.get(class).map_or(1.0, |&w| f64::from(w));
        let class_weights: Vec<f64> = (0..classes).map(weight).collect();
        let mut fit = Regression::new(&train_rows, features.len(), &class_weights);
        let mut best: Option<(f64, NgramModel)> = None;
        for penalty in PENALTIES {
            fit.minimise(penalty);
            let model = NgramModel {
                classes,
                features: features.clone(),
                weights: fit.weights.clone(),
                bias: fit.bias.clone(),
                penalty,
            };
            let loss = mean_loss(&valid_rows, &model, &class_weights);
            if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, model));
            }
        }
        best.expect("penalties were tried").1
    }

    /// The largest number of bytes that fitting takes.
    pub fn fit_bytes(train: &Dataset) -> u64 {
        // A feature while it is counted, a value of an encoded row, and copies of the weights.
        const COUNTED: u64 = 120;
        const VALUE: u64 = 16;
        const COPIES: u64 = 8 * 8;
        let tokens: usize = train.sequences.iter().map(|sequence| sequence.tokens.len()).sum();
        let (tokens, symbols) = (tokens as u64, train.alphabet.len() as u64);
        let positions = if fixed_length(train) { tokens } else { 0 };
        let distinct = |n: u32| symbols.saturating_pow(n).min(tokens);
        let counted = (1..=LONGEST as u32).map(distinct).sum::<u64>() + positions;
        let features = counted.min(max_features(train.classes.len()) as u64);
        let values = LONGEST as u64 * tokens + positions;
        counted * COUNTED + values * VALUE + features * train.classes.len() as u64 * COPIES
    }

    /// The logits of every sequence.
    pub fn logits<'s>(&self, sequences: impl Iterator<Item = &'s [u32]>) -> Vec<Vec<f64>> {
        let reader = self.reader();
        sequences.map(|tokens| reader.logits(tokens)).collect()
    }

    /// The model with an index of its features. Making it takes about a millisecond, so it is made
    /// once for many sequences.
    pub fn reader(&self) -> NgramReader<'_> {
        let index = self.features.iter().zip(0..).collect();
        NgramReader { model: self, index, positions: self.positions() }
    }

    fn positions(&self) -> bool {
        matches!(self.features.last(), Some(Feature::At(..)))
    }

    fn row_logits(&self, row: &[(u32, f64)]) -> Vec<f64> {
        let mut logits = self.bias.clone();
        for &(feature, value) in row {
            let weights = &self.weights[feature as usize * self.classes..][..self.classes];
            logits.iter_mut().zip(weights).for_each(|(logit, w)| *logit += value * w);
        }
        logits
    }
}

/// A baseline that reads sequences.
pub struct NgramReader<'a> {
    model: &'a NgramModel,
    index: BTreeMap<&'a Feature, u32>,
    positions: bool,
}

impl NgramReader<'_> {
    /// The logits of a sequence.
    pub fn logits(&self, tokens: &[u32]) -> Vec<f64> {
        self.model.row_logits(&values(&self.index, self.positions, tokens))
    }

    /// The features of a sequence that speak most for `class` against the mean of the others, with
    /// their contributions to its logit.
    pub fn reasons(&self, tokens: &[u32], class: usize, count: usize) -> Vec<(&Feature, f64)> {
        let NgramModel { features, weights, classes, .. } = self.model;
        let contribution = |&(feature, value): &(u32, f64)| {
            let weights = &weights[feature as usize * classes..][..*classes];
            let others =
                (weights.iter().sum::<f64>() - weights[class]) / (classes.max(&2) - 1) as f64;
            (&features[feature as usize], value * (weights[class] - others))
        };
        let mut all: Vec<_> =
            values(&self.index, self.positions, tokens).iter().map(contribution).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(count);
        all
    }
}

/// Whether positions mean the same in every sequence.
fn fixed_length(train: &Dataset) -> bool {
    let mut lengths = train.sequences.iter().map(|s| s.tokens.len());
    let first = lengths.next().unwrap_or(0);
    (1..=MAX_POSITIONS).contains(&first) && lengths.all(|length| length == first)
}

/// The largest number of features for a number of classes.
fn max_features(classes: usize) -> usize {
    (MAX_WEIGHTS / classes.max(1)).clamp(1, MAX_FEATURES)
}

/// The features of the training set that occur in enough sequences, ascending.
fn select_features(train: &Dataset) -> Vec<Feature> {
    let positions = fixed_length(train);
    let mut counts: BTreeMap<Feature, u32> = BTreeMap::new();
    for sequence in &train.sequences {
        for feature in features_of(positions, &sequence.tokens).into_keys() {
            *counts.entry(feature).or_default() += 1;
        }
    }
    let mut kept: Vec<(Feature, u32)> =
        counts.into_iter().filter(|&(_, n)| n >= MIN_SEQUENCES).collect();
    kept.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    kept.truncate(max_features(train.classes.len()));
    let mut features: Vec<Feature> = kept.into_iter().map(|(feature, _)| feature).collect();
    features.sort();
    features
}

/// The features of one sequence, with how often each occurs.
fn features_of(positions: bool, tokens: &[u32]) -> BTreeMap<Feature, u32> {
    let mut counts = BTreeMap::new();
    for n in 1..=LONGEST {
        for window in tokens.windows(n) {
            *counts.entry(Feature::Ngram(window.to_vec())).or_default() += 1;
        }
    }
    let at = |(position, &token): (usize, &u32)| (Feature::At(position as u32, token), 1);
    if positions {
        counts.extend(tokens.iter().take(MAX_POSITIONS).enumerate().map(at));
    }
    counts
}

/// The known features with their values: ln(1 + count), scaled to length 1. N-grams and positions
/// are scaled apart, so that neither hides the other.
fn values(index: &BTreeMap<&Feature, u32>, positions: bool, tokens: &[u32]) -> Vec<(u32, f64)> {
    let mut row: Vec<(u32, f64, bool)> = vec![];
    for (feature, count) in features_of(positions, tokens) {
        if let Some(&id) = index.get(&feature) {
            row.push((id, f64::from(count).ln_1p(), matches!(feature, Feature::At(..))));
        }
    }
    let norm = |at: bool| {
        let squares: f64 = row.iter().filter(|r| r.2 == at).map(|r| r.1 * r.1).sum();
        squares.sqrt().max(f64::MIN_POSITIVE)
    };
    let norms = [norm(false), norm(true)];
    row.iter().map(|&(id, value, at)| (id, value / norms[usize::from(at)])).collect()
}

fn mean_loss(rows: &[EncodedRow], model: &NgramModel, class_weights: &[f64]) -> f64 {
    let losses = rows.iter().map(|(row, label)| {
        let logits = model.row_logits(row);
        class_weights[*label as usize] * (log_sum(&logits) - logits[*label as usize])
    });
    losses.sum::<f64>() / total_weight(rows, class_weights)
}

/// The values of a sequence's features, and its label.
type EncodedRow = (Vec<(u32, f64)>, u32);

/// The weight of all rows together.
fn total_weight(rows: &[EncodedRow], class_weights: &[f64]) -> f64 {
    let sum: f64 = rows.iter().map(|(_, label)| class_weights[*label as usize]).sum();
    if sum > 0.0 { sum } else { 1.0 }
}

fn log_sum(logits: &[f64]) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logits.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}

/// Minimises the mean cross-entropy plus the penalty by Nesterov's accelerated gradient method. The
/// step size follows from the rows' lengths, so nothing has to be tuned.
struct Regression<'a> {
    rows: &'a [EncodedRow],
    /// `[C]`: the weight of each class in the loss.
    class_weights: &'a [f64],
    weights: Vec<f64>,
    bias: Vec<f64>,
}

impl<'a> Regression<'a> {
    fn new(rows: &'a [EncodedRow], features: usize, class_weights: &'a [f64]) -> Regression<'a> {
        let classes = class_weights.len();
        let (weights, bias) = (vec![0.0; features * classes], vec![0.0; classes]);
        Regression { rows, class_weights, weights, bias }
    }

    fn minimise(&mut self, penalty: f64) {
        // The curvature of the softmax is at most ½ ‖x‖², and ‖x‖² ≤ 1 + 1 + 1 with the bias. The
        // weights of all rows add up to 1, so class weights do not change the bound.
        let rate = 1.0 / (1.5 + penalty);
        let mut ahead = (self.weights.clone(), self.bias.clone());
        let mut t = 1.0f64;
        for _ in 0..ITERATIONS {
            let (gradient, bias_gradient) = self.gradient(&ahead.0, &ahead.1);
            let next = (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0;
            let momentum = (t - 1.0) / next;
            t = next;
            for (at, w) in self.weights.iter_mut().enumerate() {
                let stepped = ahead.0[at] - rate * (gradient[at] + penalty * ahead.0[at]);
                ahead.0[at] = stepped + momentum * (stepped - *w);
                *w = stepped;
            }
            for (at, b) in self.bias.iter_mut().enumerate() {
                let stepped = ahead.1[at] - rate * bias_gradient[at];
                ahead.1[at] = stepped + momentum * (stepped - *b);
                *b = stepped;
            }
        }
    }

    fn gradient(&self, weights: &[f64], bias: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let classes = self.class_weights.len();
        let mut gradient = vec![0.0; weights.len()];
        let mut bias_gradient = vec![0.0; classes];
        let total = total_weight(self.rows, self.class_weights);
        for (row, label) in self.rows {
            let scale = self.class_weights[*label as usize] / total;
            let mut logits = bias.to_vec();
            for &(feature, value) in row {
                let w = &weights[feature as usize * classes..][..classes];
                logits.iter_mut().zip(w).for_each(|(logit, w)| *logit += value * w);
            }
            let normaliser = log_sum(&logits);
            let mut error: Vec<f64> =
                logits.iter().map(|logit| scale * (logit - normaliser).exp()).collect();
            error[*label as usize] -= scale;
            for &(feature, value) in row {
                let g = &mut gradient[feature as usize * classes..][..classes];
                g.iter_mut().zip(&error).for_each(|(g, e)| *g += value * e);
            }
            bias_gradient.iter_mut().zip(&error).for_each(|(g, e)| *g += e);
        }
        (gradient, bias_gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::task::tests::dataset;

    fn classified(model: &NgramModel, set: &Dataset) -> usize {
        let logits = model.logits(set.sequences.iter().map(|s| &s.tokens[..]));
        let right = |(s, row): &(&Sequence, Vec<f64>)| {
            let top = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            top as u32 == s.label
        };
        set.sequences.iter().zip(logits).filter(right).count()
    }

    #[test]
    fn a_bigram_that_decides_is_learned_and_is_the_first_reason() {
        let mut draw = Key::new(1).rng();
        let words: Vec<(String, &str)> = (0..200u32)
            .map(|i| {
                let letter = |_| ['a', 'b'][draw.below(2)];
                let word: String = (0..3 + i % 9).map(letter).collect();
                let label = if word.contains("bb") { "yes" } else { "no" };
                (word, label)
            })
            .collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(w, l)| (w.as_str(), *l)).collect();
        let set = dataset(&words);
        let model = NgramModel::fit(&set, &set, &[]);
        let right = classified(&model, &set);
        assert!(right >= 195, "{right} of 200");
        let yes = set.sequences.iter().find(|s| set.classes[s.label as usize] == "yes").unwrap();
        let reader = model.reader();
        let (feature, weight) = reader.reasons(&yes.tokens, yes.label as usize, 1)[0];
        assert!(
            matches!(feature, Feature::Ngram(tokens) if tokens.windows(2).any(|w| w == [1, 1]))
        );
        assert!(weight > 0.0);
    }

    #[test]
    fn positions_are_features_only_if_all_lengths_are_equal() {
        let set = dataset(&[("ab", "x"), ("ba", "y"), ("ab", "x"), ("ba", "y")]);
        assert!(NgramModel::fit(&set, &set, &[]).positions());
        assert_eq!(classified(&NgramModel::fit(&set, &set, &[]), &set), 4);
        let ragged = dataset(&[("ab", "x"), ("b", "y"), ("ab", "x"), ("b", "y")]);
        assert!(!NgramModel::fit(&ragged, &ragged, &[]).positions());
    }

    #[test]
    fn many_classes_have_fewer_features_so_that_the_file_can_be_read_again() {
        assert_eq!((max_features(2), max_features(100)), (50_000, 50_000));
        assert_eq!(max_features(5_000) * 5_000, MAX_WEIGHTS);
        assert_eq!(max_features(usize::MAX), 1);
    }

    #[test]
    fn class_weights_make_a_rare_class_heard() {
        // The same word has both labels; "x" is four times as frequent.
        let words: Vec<(&str, &str)> =
            (0..100).map(|i| ("ab", if i % 5 == 0 { "y" } else { "x" })).collect();
        let set = dataset(&words);
        let logits =
            |weights: &[f32]| NgramModel::fit(&set, &set, weights).reader().logits(&[0, 1]);
        let even = logits(&[]);
        assert!(even[0] > even[1] + 1.0, "{even:?}");
        let balanced = logits(&[0.625, 2.5]);
        assert!((balanced[0] - balanced[1]).abs() < 0.01, "{balanced:?}");
    }

    #[test]
    fn empty_sequences_and_unseen_tokens_get_the_bias() {
        let set = dataset(&[("", "x"), ("a", "y"), ("a", "y")]);
        let model = NgramModel::fit(&set, &set, &[]);
        let logits = model.logits([&[][..], &[7]].into_iter());
        assert_eq!(logits[0], model.bias);
        assert_eq!(logits[1], model.bias);
    }
}
