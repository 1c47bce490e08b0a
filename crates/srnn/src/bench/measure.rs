//! Times of training steps. Engines to compare take turns, so that other load on the machine affects
//! all of them.

use super::check::{self, ReferenceDeviation};
use super::setting::BenchSetting;
use super::{OPTIMISER, batches, without_remedy};
use crate::UserError;
use srnn_engine::{Batch, Hardware, NextBatch, Regime, Trainer};
use std::sync::Arc;
use std::time::Instant;

/// Untimed steps at the start.
const WARM_UPS: usize = 3;
/// Timed steps of one engine before the next engine's turn. One untimed step precedes them: in
/// training the caches hold the engine's own data, not another engine's.
const BLOCK: usize = 5;

/// An engine to time.
pub struct TimedEngine {
    engine: Box<dyn Trainer<f32> + Send>,
    /// Used in turn, so that consecutive steps read different data.
    batches: Vec<Arc<Batch>>,
    regime: Regime,
}

/// The timing of one setting.
pub struct StepTiming {
    /// The setting.
    pub setting: BenchSetting,
    /// The deviation from the reference.
    pub deviation: ReferenceDeviation,
    /// Seconds per training step.
    pub times: Quartiles,
    /// The median time relative to that of the first setting.
    pub ratio: f64,
}

/// Median and quartiles of times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// The first quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub high: f64,
    /// Number of times.
    pub count: usize,
}

/// Checks settings against the reference, then times at least `repeats` training steps of each in
/// turn. `checked` is called after every check.
///
/// # Errors
/// If an engine deviates from the reference, or a size is out of range.
///
/// # Panics
/// If there is no setting.
pub fn compare(
    settings: Vec<BenchSetting>,
    hardware: &Hardware,
    seed: u64,
    repeats: usize,
    checked: impl Fn(&BenchSetting, &ReferenceDeviation),
) -> Result<Vec<StepTiming>, UserError> {
    let (mut engines, mut deviations) = (vec![], vec![]);
    for setting in &settings {
        let (timed, deviation) = TimedEngine::prepare(setting, hardware, seed)?;
        checked(setting, &deviation);
        engines.push(timed);
        deviations.push(deviation);
    }
    let times = measure(&mut engines, repeats)?;
    let first = times[0].median;
    let timing = |((setting, deviation), times): ((_, _), Quartiles)| StepTiming {
        setting,
        deviation,
        times,
        ratio: times.median / first,
    };
    Ok(settings.into_iter().zip(deviations).zip(times).map(timing).collect())
}

/// Times every engine, block by block; every second round in reverse order.
fn measure(engines: &mut [TimedEngine], repeats: usize) -> Result<Vec<Quartiles>, UserError> {
    for timed in engines.iter_mut() {
        for i in 0..WARM_UPS {
            timed.step(i, Prefetch::NextBatch)?;
        }
    }
    let mut seconds = vec![vec![]; engines.len()];
    for round in 0..repeats.div_ceil(BLOCK) {
        let mut order: Vec<usize> = (0..engines.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            engines[index].step(round, Prefetch::NextBatch)?;
            for i in 1..=BLOCK {
                seconds[index].push(engines[index].step(round + i, Prefetch::NextBatch)?);
            }
        }
    }
    Ok(seconds.into_iter().map(Quartiles::of).collect())
}

/// Which batch is announced to the engine before the next step.
#[derive(Clone, Copy)]
enum Prefetch {
    /// That of the next step, as in training. Part of that step is then done within this step's
    /// time, and part of this step was done in the previous one.
    NextBatch,
    /// Nothing.
    Nothing,
}

impl TimedEngine {
    /// An engine with the batches to time it on, and its deviation from the reference.
    ///
    /// # Errors
    /// If the deviation is too large, or a size is out of range.
    pub fn prepare(
        setting: &BenchSetting,
        hardware: &Hardware,
        seed: u64,
    ) -> Result<(TimedEngine, ReferenceDeviation), UserError> {
        let model = setting.model(seed)?;
        let mut engine = hardware.trainer(&model, OPTIMISER).map_err(without_remedy)?;
        let expected = check::expected(setting, &model, seed)?;
        let deviation = check::check(&mut *engine, &expected, setting)?;
        let batches = batches(setting, seed);
        Ok((TimedEngine { engine, batches, regime: setting.regime() }, deviation))
    }

    /// The seconds of one training step on batch `i`: loss, gradients, update. Nothing is prefetched.
    ///
    /// # Errors
    /// If the device fails, or the loss is not finite.
    pub fn step_seconds(&mut self, i: usize) -> Result<f64, UserError> {
        self.step(i, Prefetch::Nothing)
    }

    /// The seconds of a step without its update.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If the loss is not finite.
    pub fn gradient_seconds(&mut self, i: usize) -> Result<f64, UserError> {
        let batch = &self.batches[i % self.batches.len()];
        let begin = Instant::now();
        let found = self.engine.gradients(batch, &self.regime).map_err(without_remedy)?;
        let seconds = begin.elapsed().as_secs_f64();
        assert!(found.loss.is_finite(), "the loss is not finite: {:?}", found.loss);
        Ok(seconds)
    }

    /// The seconds of a training step on batch `i`. Batch `i + 1` is next.
    fn step(&mut self, i: usize, prefetch: Prefetch) -> Result<f64, UserError> {
        let TimedEngine { engine, batches, regime } = self;
        let batch = |i: usize| &batches[i % batches.len()];
        let mut next = || match prefetch {
            Prefetch::NextBatch => Some(NextBatch { batch: batch(i + 1).clone(), regime: *regime }),
            Prefetch::Nothing => None,
        };
        let begin = Instant::now();
        let report =
            engine.step_and_prefetch(batch(i), regime, &mut next).map_err(without_remedy)?;
        let seconds = begin.elapsed().as_secs_f64();
        match report.is_finite() {
            true => Ok(seconds),
            false => Err(UserError::new(
                format!(
                    "a training step gave a loss of {}, so its time is meaningless",
                    report.loss.total
                ),
                "this is a bug of the engine: please report the command",
            )),
        }
    }
}

impl Quartiles {
    /// The quartiles of at least one time.
    pub(super) fn of(mut seconds: Vec<f64>) -> Quartiles {
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
