//! How an experiment looks while it runs: bars on a terminal, otherwise a line for every cell.

use super::show::number;
use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use srnn::experiment::{CellId, Measure, Outcome};
use srnn::train::Event;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How an experiment looks while it runs.
pub struct Progress {
    cells: usize,
    measure: Measure,
    finished: AtomicUsize,
    shown: Shown,
}

enum Shown {
    Bars { bars: MultiProgress, all: ProgressBar },
    Lines(Output),
}

/// A cell in flight.
pub struct CellProgress(Option<ProgressBar>);

impl Progress {
    /// For so many cells, compared by `measure`, as the output wants it.
    pub fn new(output: &Output, cells: usize, measure: Measure) -> Progress {
        let shown = match output.draws_bars() {
            true => {
                let bars = MultiProgress::new();
                let all = ProgressBar::new(cells as u64);
                let all = bars.add(all.with_style(style("{bar:20} {pos}/{len} cells {eta:>5}")));
                Shown::Bars { bars, all }
            }
            false => Shown::Lines(*output),
        };
        Progress { cells, measure, finished: AtomicUsize::new(0), shown }
    }

    /// A cell begins.
    pub fn begin(&self, cell: &CellId) -> CellProgress {
        let Shown::Bars { bars, .. } = &self.shown else { return CellProgress(None) };
        let bar = ProgressBar::no_length().with_style(style("{bar:20} {pos:>5}/{len} {wide_msg}"));
        let bar = bars.add(bar);
        bar.set_message(cell.to_string());
        CellProgress(Some(bar))
    }

    /// A cell is done.
    pub fn finish(&self, outcome: &Outcome) {
        let number = self.finished.fetch_add(1, Ordering::Relaxed) + 1;
        let line = format!("[{number}/{}] {}", self.cells, describe(outcome, self.measure));
        match &self.shown {
            Shown::Bars { bars, all } => {
                all.inc(1);
                // Where the terminal is gone there is nobody to tell.
                let _ = bars.println(crate::output::visible(&line));
            }
            Shown::Lines(output) => output.note(line),
        }
    }
}

impl CellProgress {
    /// Shows an event of its run.
    pub fn show(&self, event: &Event<'_>) {
        let Some(bar) = &self.0 else { return };
        match event {
            Event::Begun { updates, .. } => bar.set_length(*updates),
            Event::Updated { update, .. } => bar.set_position(*update),
            _ => {}
        }
    }
}

impl Drop for CellProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn describe(outcome: &Outcome, measure: Measure) -> String {
    let Outcome { cell, seconds, stop, .. } = outcome;
    let Some(scores) = &outcome.scores else {
        return format!("{cell}  no result: {stop}  {seconds:.1} s");
    };
    let test = |row: usize| number(measure, outcome.test(row, measure));
    let tests: Vec<String> = (0..scores.tests.len()).map(test).collect();
    let (valid, tests) = (measure.of(scores.valid.error, scores.valid.loss), tests.join(" "));
    let name = measure.name();
    format!("{cell}  validation {name} {valid:.4}  tests {tests}  {seconds:.1} s")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template that parses")
}
