//! Times of training steps. Engines to compare take turns, so that other load on the machine affects
//! all of them.

use crate::failure::Failure;
use srnn::engine::{Batch, NextBatch, Regime, Trainer};
use std::sync::Arc;
use std::time::Instant;

/// Untimed steps at the start.
const WARM_UPS: usize = 3;
/// Timed steps of one engine before the next engine's turn. One untimed step precedes them: in
/// training the caches hold the engine's own data, not another engine's.
const BLOCK: usize = 5;

/// An engine to time.
pub struct TimedEngine {
    pub engine: Box<dyn Trainer<f32> + Send>,
    /// Used in turn, so that consecutive steps read different data.
    pub batches: Vec<Arc<Batch>>,
    pub regime: Regime,
}

/// Median and quartiles of times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// The first quartile.
    pub low: f64,
    pub median: f64,
    /// The third quartile.
    pub high: f64,
    /// Number of times.
    pub count: usize,
}

/// Times at least `repeats` training steps of every engine, block by block; every second round in
/// reverse order.
pub fn measure(engines: &mut [TimedEngine], repeats: usize) -> Result<Vec<Quartiles>, Failure> {
    for timed in engines.iter_mut() {
        for i in 0..WARM_UPS {
            step(timed, i, Prefetch::NextBatch)?;
        }
    }
    let mut seconds = vec![vec![]; engines.len()];
    for round in 0..repeats.div_ceil(BLOCK) {
        let mut order: Vec<usize> = (0..engines.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            step(&mut engines[index], round, Prefetch::NextBatch)?;
            for i in 1..=BLOCK {
                seconds[index].push(step(&mut engines[index], round + i, Prefetch::NextBatch)?);
            }
        }
    }
    Ok(seconds.into_iter().map(Quartiles::of).collect())
}

/// Which batch is announced to the engine before the next step.
#[derive(Clone, Copy)]
pub enum Prefetch {
    /// That of the next step, as in training. Part of that step is then done within this step's
    /// time, and part of this step was done in the previous one.
    NextBatch,
    /// Nothing.
    Nothing,
}

/// The seconds of one training step on batch `i`: loss, gradients, update. Batch `i + 1` is next.
pub fn step(timed: &mut TimedEngine, i: usize, prefetch: Prefetch) -> Result<f64, Failure> {
    let TimedEngine { engine, batches, regime } = timed;
    let batch = |i: usize| &batches[i % batches.len()];
    let mut next = || match prefetch {
        Prefetch::NextBatch => Some(NextBatch { batch: batch(i + 1).clone(), regime: *regime }),
        Prefetch::Nothing => None,
    };
    let begin = Instant::now();
    let report = engine.step_and_prefetch(batch(i), regime, &mut next)?;
    let seconds = begin.elapsed().as_secs_f64();
    match report.is_finite() {
        true => Ok(seconds),
        false => Err(Failure::new(
            format!(
                "a training step gave a loss of {}, so its time is meaningless",
                report.loss.total
            ),
            "this is a bug of the engine: please report the command",
        )),
    }
}

impl Quartiles {
    /// The quartiles of at least one time.
    pub fn of(mut seconds: Vec<f64>) -> Quartiles {
        seconds.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let position = part * (seconds.len() - 1) as f64;
            let (below, above) =
                (seconds[position.floor() as usize], seconds[position.ceil() as usize]);
            below + (above - below) * position.fract()
        };
        Quartiles { low: at(0.25), median: at(0.5), high: at(0.75), count: seconds.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let times = Quartiles::of(vec![4.0, 1.0, 3.0, 2.0, 10.0]);
        assert_eq!(times, Quartiles { low: 2.0, median: 3.0, high: 4.0, count: 5 });
        let even = Quartiles::of(vec![2.0, 1.0]);
        assert_eq!((even.low, even.median, even.high), (1.25, 1.5, 1.75));
    }
}
