//! Times of training steps: several things to compare are run in turn, so that what the machine
//! does meanwhile hits all of them.

use crate::failure::Failure;
use srnn::engine::{Batch, NextBatch, Regime, Trainer};
use std::sync::Arc;
use std::time::Instant;

/// Steps before the first that counts.
const WARM_UPS: usize = 3;
/// Steps of one side before it is another's turn; one more goes before them, because training makes
/// one step after the other, so caches hold its own data and not the other side's.
const BLOCK: usize = 5;

/// One of the things to compare.
pub struct Side {
    /// The engine.
    pub engine: Box<dyn Trainer<f32> + Send>,
    /// Taken in turn, so that no step sees what the last one saw.
    pub batches: Vec<Arc<Batch>>,
    /// How steps are made.
    pub regime: Regime,
}

/// Median and quartiles of times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// A quarter is faster.
    pub low: f64,
    /// Half is faster.
    pub median: f64,
    /// A quarter is slower.
    pub high: f64,
    /// How many were taken.
    pub count: usize,
}

/// Times at least `repeats` training steps of every side, block by block, every second round
/// backwards.
pub fn measure(sides: &mut [Side], repeats: usize) -> Result<Vec<Times>, Failure> {
    for side in sides.iter_mut() {
        for i in 0..WARM_UPS {
            step(side, i, Next::Told)?;
        }
    }
    let mut seconds = vec![vec![]; sides.len()];
    for round in 0..repeats.div_ceil(BLOCK) {
        let mut order: Vec<usize> = (0..sides.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            step(&mut sides[at], round, Next::Told)?;
            for i in 1..=BLOCK {
                seconds[at].push(step(&mut sides[at], round + i, Next::Told)?);
            }
        }
    }
    Ok(seconds.into_iter().map(Times::of).collect())
}

/// What an engine knows of the step after one.
#[derive(Clone, Copy)]
pub enum Next {
    /// Its batch, as in training: where steps follow each other, some of it is done in this one's
    /// time, and as much of this one was in the time of the one before.
    Told,
    Unknown,
}

/// The seconds of one training step on batch `i`: loss, gradients, update. Batch `i + 1` comes next.
pub fn step(side: &mut Side, i: usize, next: Next) -> Result<f64, Failure> {
    let Side { engine, batches, regime } = side;
    let batch = |i: usize| &batches[i % batches.len()];
    let mut next = || match next {
        Next::Told => Some(NextBatch { batch: batch(i + 1).clone(), regime: *regime }),
        Next::Unknown => None,
    };
    let begin = Instant::now();
    let made = engine.step_and_prefetch(batch(i), regime, &mut next)?;
    let seconds = begin.elapsed().as_secs_f64();
    match made.is_finite() {
        true => Ok(seconds),
        false => Err(Failure::new(
            format!("a training step gave a loss of {}: its time means nothing", made.loss.total),
            "this is a bug of the engine: please report the command",
        )),
    }
}

impl Times {
    /// Of at least one time.
    pub fn of(mut seconds: Vec<f64>) -> Times {
        seconds.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (seconds.len() - 1) as f64;
            let (below, above) = (seconds[place.floor() as usize], seconds[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Times { low: at(0.25), median: at(0.5), high: at(0.75), count: seconds.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_times_they_are_of() {
        let times = Times::of(vec![4.0, 1.0, 3.0, 2.0, 10.0]);
        assert_eq!(times, Times { low: 2.0, median: 3.0, high: 4.0, count: 5 });
        let even = Times::of(vec![2.0, 1.0]);
        assert_eq!((even.low, even.median, even.high), (1.25, 1.5, 1.75));
    }
}
