//! How training looks while it happens: a bar per seed, or a plain line per evaluation.

use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use srnn::format::percent;
use srnn::learn::Round;
use srnn::train::{Event, Record};

/// Where progress is shown.
pub enum Progress {
    /// Bars on a terminal.
    Bars(MultiProgress),
    /// Lines, where nobody looks on.
    Lines(Output),
}

/// One seed's part of it.
pub struct SeedProgress {
    /// The seed, as people read it.
    seed: String,
    updates: u64,
    /// Accuracies of the last evaluation.
    scores: String,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    Lines(Output),
}

impl Progress {
    /// As the output wants it.
    pub fn new(output: &Output) -> Progress {
        match output.draws_bars() {
            true => Progress::Bars(MultiProgress::new()),
            false => Progress::Lines(*output),
        }
    }

    /// A place for one more seed.
    pub fn seed(&self, round: Round, seed: u64) -> SeedProgress {
        let seed = match round {
            Round::Given => seed.to_string(),
            Round::Believed => format!("{seed} again"),
            Round::Whole => format!("{seed} on all"),
        };
        let shown = match self {
            Progress::Bars(bars) => {
                let style = "seed {prefix:>3} {bar:12} {pos:>5}/{len} {eta:>4} {wide_msg}";
                let style = ProgressStyle::with_template(style).expect("a template that parses");
                let bar = bars.add(ProgressBar::no_length().with_style(style));
                Shown::Bar(bar.with_prefix(seed.clone()))
            }
            Progress::Lines(output) => Shown::Lines(*output),
        };
        SeedProgress { seed, updates: 0, scores: String::new(), shown }
    }
}

impl SeedProgress {
    /// Shows an event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { update, updates } => self.begin(*update, *updates),
            Event::Updated { update, phase, regime, step, .. } => {
                if let Shown::Bar(bar) = &self.shown {
                    let (phase, lambda, loss) = (phase.name(), regime.lambda, step.loss.total);
                    let scores = &self.scores;
                    // The least important last: a narrow terminal cuts it off.
                    bar.set_message(format!("{phase:6} λ {lambda:.2} {scores} loss {loss:.4}"));
                    bar.set_position(*update);
                }
            }
            Event::Evaluated(record) => self.evaluated(record),
            Event::CheckpointSkipped(error) => {
                self.say(&format!("seed {}: passed over a checkpoint: {error}", self.seed));
            }
            Event::UpdateSkipped { update } => {
                let seed = &self.seed;
                self.say(&format!("seed {seed}: update {update} left out: no finite gradient"));
            }
            Event::Reseeded { .. } | Event::CheckpointSaved { .. } => {}
        }
    }

    fn begin(&mut self, update: u64, updates: u64) {
        self.updates = updates;
        match &self.shown {
            Shown::Bar(bar) => {
                bar.set_length(updates);
                bar.set_position(update);
                // What was done before the break took no time now.
                bar.reset_eta();
            }
            Shown::Lines(_) if update > 0 => {
                self.say(&format!(
                    "seed {}: goes on after update {update} of {updates}",
                    self.seed
                ));
            }
            Shown::Lines(_) => {}
        }
    }

    fn evaluated(&mut self, record: &Record) {
        let (train, valid) = (percent(record.train.accuracy), percent(record.valid.accuracy));
        self.scores = format!("valid {valid} train {train}");
        if let Shown::Lines(output) = &self.shown {
            let Record { update, lambda, loss, .. } = record;
            let (seed, updates, phase) = (&self.seed, self.updates, record.phase.name());
            output.note(format!(
                "seed {seed}  update {update}/{updates}  {phase}  λ {lambda:.2}  loss {loss:.4}  \
                 train {train}  valid {valid}"
            ));
        }
    }

    fn say(&self, line: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.println(line),
            Shown::Lines(output) => output.note(line),
        }
    }
}

impl Drop for SeedProgress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.abandon();
        }
    }
}
