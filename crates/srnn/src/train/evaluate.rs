//! Accuracy, loss and confusion matrix of a network on a set.

use super::carried::{CarriedStates, WindowRows};
use super::examples::Examples;
use crate::engine::Real;
use crate::engine::reference::{argmax, log_softmax};
use crate::engine::{Fields, IGNORE, Mode, Runner};
use crate::key::Key;
use serde::{Deserialize, Serialize};

/// Accuracy, loss and confusion matrix of a network on a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The fraction of targets predicted correctly.
    pub accuracy: f64,
    /// Mean cross-entropy over all targets, unweighted.
    pub loss: f64,
    /// `[truth][predicted]`: the number of targets. A sequence has one, or one per step. Empty for
    /// texts and token sequences, whose classes are the tokens.
    pub confusion: Vec<Vec<u64>>,
}

/// The largest number of rows in which a text is evaluated, and the fewest windows of a row. Each row
/// starts from the zero state, which costs the first words of a row a little.
const TEXT_ROWS: usize = 32;
const ROW_WINDOWS: usize = 64;

/// The largest number of steps in a batch of several sequences; it bounds the memory.
const MAX_STEPS: usize = 1 << 14;

/// Evaluates the network on all of `examples`. The deployed network is [`Mode::default`].
///
/// # Panics
/// If there are no sequences.
pub fn evaluate<F: Real, E: Runner<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    mode: Mode,
) -> Result<Evaluation, E::Error> {
    let all: Vec<usize> = (0..examples.count()).collect();
    evaluate_subset(engine, examples, &all, mode)
}

/// Evaluates the network on the sequences at `indices`.
///
/// # Panics
/// If `indices` is empty.
pub fn evaluate_subset<F: Real, E: Runner<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    indices: &[usize],
    mode: Mode,
) -> Result<Evaluation, E::Error> {
    assert!(!indices.is_empty(), "evaluation on no sequences");
    if examples.continues() {
        return evaluate_text(engine, examples, indices, mode);
    }
    let mut by_length = indices.to_vec();
    // A batch takes as long as its longest sequence.
    by_length.sort_by_cached_key(|&index| examples.length(index));
    if !examples.has_confusion() {
        return evaluate_loss(engine, examples, &by_length, mode);
    }
    let arch = engine.arch().clone();
    let classes = arch.classes;
    let mut confusion = vec![vec![0; classes]; classes];
    let mut loss = 0.0;
    for part in batches(examples, &by_length) {
        let batch = examples.batch(part, &arch);
        let trace = engine.trace(&batch, mode, Fields::default())?;
        let predictions = batch.target_ids().iter().zip(trace.logits.chunks_exact(classes));
        for (&truth, logits) in predictions.filter(|&(&truth, _)| truth != IGNORE) {
            let logits: Vec<f64> = logits.iter().map(|x| x.to()).collect();
            loss -= log_softmax(&logits)[truth as usize];
            confusion[truth as usize][argmax(&logits)] += 1;
        }
    }
    let correct: u64 = (0..classes).map(|class| confusion[class][class]).sum();
    let total = confusion.iter().flatten().sum::<u64>() as f64;
    Ok(Evaluation { accuracy: correct as f64 / total, loss: loss / total, confusion })
}

/// Evaluates the network without counting pairs of classes.
fn evaluate_loss<F: Real, E: Runner<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    indices: &[usize],
    mode: Mode,
) -> Result<Evaluation, E::Error> {
    let arch = engine.arch().clone();
    let (mut sum, mut correct, mut counted) = (0.0, 0, 0);
    for part in batches(examples, indices) {
        let (loss, _) = engine.loss(&examples.batch(part, &arch), mode)?;
        sum += loss.task * loss.counted as f64;
        correct += loss.correct;
        counted += loss.counted;
    }
    let mean = |sum: f64| sum / counted as f64;
    Ok(Evaluation { accuracy: mean(correct as f64), loss: mean(sum), confusion: vec![] })
}

/// A fixed sample of `count` sequences, ascending, so that the evaluations of a run are comparable. Of
/// a text it is the beginning, because states are carried.
pub(super) fn sample(examples: &impl Examples, count: usize, key: &Key) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..examples.count()).collect();
    if !examples.continues() {
        key.child("train sample", 0).rng().shuffle(&mut indices);
    }
    indices.truncate(count);
    indices.sort_unstable();
    indices
}

/// Evaluates the network on consecutive windows of a text; states are carried from one to the next.
fn evaluate_text<F: Real, E: Runner<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    windows: &[usize],
    mode: Mode,
) -> Result<Evaluation, E::Error> {
    let arch = engine.arch().clone();
    let rows = (windows.len() / ROW_WINDOWS).clamp(1, TEXT_ROWS);
    let mut states = CarriedStates::zeros(&arch, rows);
    let rows = WindowRows::new(windows.len(), rows);
    let (mut sum, mut correct, mut counted) = (0.0, 0, 0);
    for j in 0..rows.batches() {
        let part: Vec<usize> = rows.windows(j).map(|at| windows[at]).collect();
        let batch = states.continued(examples.batch(&part, &arch), &arch);
        let (loss, last) = engine.loss(&batch, mode)?;
        states.keep(&last);
        sum += loss.task * loss.counted as f64;
        correct += loss.correct;
        counted += loss.counted;
    }
    let mean = |sum: f64| sum / counted as f64;
    Ok(Evaluation { accuracy: mean(correct as f64), loss: mean(sum), confusion: vec![] })
}

/// Cuts the indices into batches of at most [`MAX_STEPS`] steps; a longer sequence is one batch.
fn batches<'a>(
    examples: &'a impl Examples,
    indices: &'a [usize],
) -> impl Iterator<Item = &'a [usize]> {
    let mut rest = indices;
    std::iter::from_fn(move || {
        let mut steps = 0;
        let fits = rest.iter().take_while(|&&index| {
            let before = steps;
            steps += examples.length(index) + 2;
            before == 0 || steps <= MAX_STEPS
        });
        let (part, after) = rest.split_at(fits.count());
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::super::testing::{copying_engine, engine, small_copying, words};
    use super::*;
    use crate::engine::Trainer as _;

    #[test]
    fn an_evaluation_counts_every_sequence_once_however_it_is_cut_into_batches() {
        let long = "01".repeat(MAX_STEPS);
        let set = words(&["", &long, "0", "1", &long, "11"]);
        let all: Vec<usize> = (0..6).collect();
        let cuts: Vec<&[usize]> = batches(&set, &all).collect();
        assert_eq!(cuts, [&[0][..], &[1], &[2, 3], &[4], &[5]]);

        let set = words(&["", "0", "1", "01", "11"]);
        let mut engine = engine(3, 2, 1);
        let whole = evaluate(&mut engine, &set, Mode::default()).unwrap();
        assert_eq!(whole.confusion.iter().flatten().sum::<u64>(), 5);
        let single: f64 = (0..5)
            .map(|i| evaluate_subset(&mut engine, &set, &[i], Mode::default()).unwrap().loss)
            .sum();
        assert!((whole.loss - single / 5.0).abs() < 1e-12);
    }

    #[test]
    fn where_every_step_has_a_target_the_mean_is_over_all_steps() {
        let set = small_copying().train;
        let mut engine = copying_engine(1);
        let found = evaluate(&mut engine, &set, Mode::default()).unwrap();
        assert_eq!(found.confusion.iter().flatten().sum::<u64>(), 20 * 23);
        assert_eq!(found.confusion[0].iter().sum::<u64>(), 20 * 13, "blanks");
        // The loss that the engine reports for the same sequences.
        let all: Vec<usize> = (0..20).collect();
        let batch = set.batch(&all, engine.arch());
        let loss = engine.gradients(&batch, &Schedule::plain(1).regime(0, 1e-3)).unwrap().loss;
        assert!((found.loss - loss.task).abs() < 1e-12, "{} {}", found.loss, loss.task);
        assert_eq!(found.accuracy, loss.correct as f64 / loss.counted as f64);
    }
}
