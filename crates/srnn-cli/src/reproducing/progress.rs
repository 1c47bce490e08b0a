//! Progress of an experiment: bars on a terminal, otherwise a line per completed trial.

use super::format::number;
use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use srnn::experiment::{Measure, TrialId, TrialOutcome};
use srnn::train::Event;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Progress of an experiment.
pub struct ReproduceProgress {
    trials: usize,
    measure: Measure,
    finished: AtomicUsize,
    display: ProgressDisplay,
}

enum ProgressDisplay {
    Bars { bars: MultiProgress, all: ProgressBar },
    Lines(Output),
}

/// Progress of a running trial.
pub struct TrialProgress(Option<ProgressBar>);

impl ReproduceProgress {
    /// Progress of `trials` trials, whose scores are by `measure`.
    pub fn new(output: &Output, trials: usize, measure: Measure) -> ReproduceProgress {
        let display = match output.draws_bars() {
            true => {
                let bars = MultiProgress::new();
                let all = ProgressBar::new(trials as u64);
                let all = bars.add(all.with_style(style("{bar:20} {pos}/{len} trials {eta:>5}")));
                ProgressDisplay::Bars { bars, all }
            }
            false => ProgressDisplay::Lines(*output),
        };
        ReproduceProgress { trials, measure, finished: AtomicUsize::new(0), display }
    }

    /// Adds a running trial.
    pub fn start(&self, trial: &TrialId) -> TrialProgress {
        let ProgressDisplay::Bars { bars, .. } = &self.display else { return TrialProgress(None) };
        let bar = ProgressBar::no_length().with_style(style("{bar:20} {pos:>5}/{len} {wide_msg}"));
        let bar = bars.add(bar);
        bar.set_message(trial.to_string());
        TrialProgress(Some(bar))
    }

    /// Reports a completed trial.
    pub fn finish(&self, outcome: &TrialOutcome) {
        let number = self.finished.fetch_add(1, Ordering::Relaxed) + 1;
        let line = format!("[{number}/{}] {}", self.trials, describe(outcome, self.measure));
        match &self.display {
            ProgressDisplay::Bars { bars, all } => {
                all.inc(1);
                // A closed terminal is no error.
                let _ = bars.println(crate::output::escape_control(&line));
            }
            ProgressDisplay::Lines(output) => output.note(line),
        }
    }
}

impl TrialProgress {
    /// Updates the bar after an event of the run.
    pub fn show(&self, event: &Event<'_>) {
        let Some(bar) = &self.0 else { return };
        match event {
            Event::Started { updates, .. } => bar.set_length(*updates),
            Event::Updated { update, .. } => bar.set_position(*update),
            _ => {}
        }
    }
}

impl Drop for TrialProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn describe(outcome: &TrialOutcome, measure: Measure) -> String {
    let TrialOutcome { trial, seconds, stop, .. } = outcome;
    let Some(scores) = &outcome.scores else {
        return format!("{trial}  no result ({stop})  {seconds:.1} s");
    };
    let test = |row: usize| number(measure, outcome.test(row, measure));
    let tests: Vec<String> = (0..scores.tests.len()).map(test).collect();
    let (valid, tests) = (measure.of(scores.valid.error, scores.valid.loss), tests.join(" "));
    let name = measure.name();
    format!("{trial}  validation {name} {valid:.4}  tests {tests}  {seconds:.1} s")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}
