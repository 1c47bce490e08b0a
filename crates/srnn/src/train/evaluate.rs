//! How well a network does on a set.

use super::examples::Examples;
use crate::engine::Real;
use crate::engine::reference::{argmax, log_softmax};
use crate::engine::{Fields, IGNORE, Mode, Runner};
use serde::{Deserialize, Serialize};

/// How well a network does on a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The part that is right.
    pub accuracy: f64,
    /// Mean cross-entropy, every target weighing the same.
    pub loss: f64,
    /// `[truth][predicted]`: how many targets, of which a sequence has one or one per step.
    pub confusion: Vec<Vec<u64>>,
}

/// A batch of an evaluation ends where it has this many steps, so that long sequences do not
/// fill the memory.
const STEPS: usize = 1 << 14;

/// How well the network does on all of `examples`. The deployed network is the default mode.
///
/// # Panics
/// If there are no sequences.
pub fn evaluate<F: Real, E: Runner<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    mode: Mode,
) -> Result<Evaluation, E::Error> {
    let all: Vec<usize> = (0..examples.count()).collect();
    evaluate_at(engine, examples, &all, mode)
}

/// The same for the sequences at `indices`.
///
/// # Panics
/// If there are none.
pub fn evaluate_at<F: Real, E: Runner<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    indices: &[usize],
    mode: Mode,
) -> Result<Evaluation, E::Error> {
    assert!(!indices.is_empty(), "an evaluation on no sequences");
    let arch = engine.arch().clone();
    let classes = arch.classes;
    let mut confusion = vec![vec![0; classes]; classes];
    let mut loss = 0.0;
    for part in parts(examples, indices) {
        let batch = examples.batch(part, &arch);
        let trace = engine.trace(&batch, mode, Fields::default())?;
        let said = batch.target_ids().iter().zip(trace.logits.chunks_exact(classes));
        for (&truth, logits) in said.filter(|&(&truth, _)| truth != IGNORE) {
            let logits: Vec<f64> = logits.iter().map(|x| x.to()).collect();
            loss -= log_softmax(&logits)[truth as usize];
            confusion[truth as usize][argmax(&logits)] += 1;
        }
    }
    let right: u64 = (0..classes).map(|class| confusion[class][class]).sum();
    let total = confusion.iter().flatten().sum::<u64>() as f64;
    Ok(Evaluation { accuracy: right as f64 / total, loss: loss / total, confusion })
}

/// The indices, cut where a batch gets long.
fn parts<'a>(
    examples: &'a impl Examples,
    indices: &'a [usize],
) -> impl Iterator<Item = &'a [usize]> {
    let mut rest = indices;
    std::iter::from_fn(move || {
        let mut steps = 0;
        let fits = rest.iter().take_while(|&&index| {
            let before = steps;
            steps += examples.length(index) + 2;
            before == 0 || steps <= STEPS
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
    fn an_evaluation_counts_every_sequence_once_whatever_the_parts() {
        let long = "01".repeat(STEPS);
        let set = words(&["", &long, "0", "1", &long, "11"]);
        let all: Vec<usize> = (0..6).collect();
        let cuts: Vec<&[usize]> = parts(&set, &all).collect();
        assert_eq!(cuts, [&[0][..], &[1], &[2, 3], &[4], &[5]]);

        let set = words(&["", "0", "1", "01", "11"]);
        let mut engine = engine(3, 2, 1);
        let whole = evaluate(&mut engine, &set, Mode::default()).unwrap();
        assert_eq!(whole.confusion.iter().flatten().sum::<u64>(), 5);
        let single: f64 = (0..5)
            .map(|i| evaluate_at(&mut engine, &set, &[i], Mode::default()).unwrap().loss)
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
        // The engine's own account of the same sequences.
        let all: Vec<usize> = (0..20).collect();
        let batch = set.batch(&all, engine.arch());
        let loss = engine.gradients(&batch, &Schedule::plain(1).regime(0, 1e-3)).unwrap().loss;
        assert!((found.loss - loss.task).abs() < 1e-12, "{} {}", found.loss, loss.task);
        assert_eq!(found.accuracy, loss.correct as f64 / loss.counted as f64);
    }
}
