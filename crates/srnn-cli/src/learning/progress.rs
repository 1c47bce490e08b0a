//! Progress of training: one bar per seed, or one line per evaluation.

use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use srnn::format::percent;
use srnn::learn::Round;
use srnn::train::{Event, Record};

/// Displays the progress of all seeds.
pub enum LearnProgress {
    /// Bars on a terminal.
    Bars(MultiProgress),
    /// Plain lines, if stderr is not a terminal.
    Lines(Output),
}

/// Displays the progress of one seed.
pub struct SeedProgress {
    /// The seed and the round.
    seed: String,
    updates: u64,
    /// Accuracies of the last evaluation.
    scores: String,
    display: SeedDisplay,
}

enum SeedDisplay {
    Bar(ProgressBar),
    Lines(Output),
}

impl LearnProgress {
    /// Bars if the output is a terminal, else lines.
    pub fn new(output: &Output) -> LearnProgress {
        match output.draws_bars() {
            true => LearnProgress::Bars(MultiProgress::new()),
            false => LearnProgress::Lines(*output),
        }
    }

    /// Adds the display of a seed.
    pub fn seed(&self, round: Round, seed: u64) -> SeedProgress {
        let seed = match round {
            Round::Short => format!("{seed} (short)"),
            Round::Given => seed.to_string(),
            Round::Corrected => format!("{seed} (corrected labels)"),
            Round::CorrectedAll => format!("{seed} (corrected labels, all data)"),
            Round::Candidate(kind) => format!("{seed} ({})", kind.title()),
        };
        let display = match self {
            LearnProgress::Bars(bars) => {
                let style = "seed {prefix:>3} {bar:12} {pos:>5}/{len} {eta:>4} {wide_msg}";
                let style = ProgressStyle::with_template(style).expect("a template that parses");
                let bar = bars.add(ProgressBar::no_length().with_style(style));
                SeedDisplay::Bar(bar.with_prefix(seed.clone()))
            }
            LearnProgress::Lines(output) => SeedDisplay::Lines(*output),
        };
        SeedProgress { seed, updates: 0, scores: String::new(), display }
    }
}

impl SeedProgress {
    /// Displays an event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { update, updates } => self.begin(*update, *updates),
            Event::Updated { update, phase, regime, step, .. } => {
                if let SeedDisplay::Bar(bar) = &self.display {
                    let (phase, lambda, loss) = (phase.name(), regime.lambda, step.loss.total);
                    let scores = &self.scores;
                    // The least important value is last, because a narrow terminal cuts the line.
                    bar.set_message(format!("{phase:6} λ {lambda:.2} {scores} loss {loss:.4}"));
                    bar.set_position(*update);
                }
            }
            Event::Evaluated(record) => self.evaluated(record),
            Event::CheckpointSkipped(error) => {
                self.print(&format!("seed {}: skipped an invalid checkpoint: {error}", self.seed));
            }
            Event::UpdateSkipped { update } => {
                let seed = &self.seed;
                self.print(&format!(
                    "seed {seed}: update {update} skipped: the gradient is not finite"
                ));
            }
            Event::Reseeded { .. } | Event::CheckpointSaved { .. } => {}
        }
    }

    fn begin(&mut self, update: u64, updates: u64) {
        self.updates = updates;
        match &self.display {
            SeedDisplay::Bar(bar) => {
                bar.set_length(updates);
                bar.set_position(update);
                // Updates before the interruption are not part of the measured time.
                bar.reset_eta();
            }
            SeedDisplay::Lines(_) if update > 0 => {
                self.print(&format!(
                    "seed {}: continues after update {update} of {updates}",
                    self.seed
                ));
            }
            SeedDisplay::Lines(_) => {}
        }
    }

    fn evaluated(&mut self, record: &Record) {
        let (train, valid) = (percent(record.train.accuracy), percent(record.valid.accuracy));
        self.scores = format!("valid {valid} train {train}");
        if let SeedDisplay::Lines(output) = &self.display {
            let Record { update, lambda, loss, .. } = record;
            let (seed, updates, phase) = (&self.seed, self.updates, record.phase.name());
            output.note(format!(
                "seed {seed}  update {update}/{updates}  {phase}  λ {lambda:.2}  loss {loss:.4}  \
                 train {train}  valid {valid}"
            ));
        }
    }

    fn print(&self, line: &str) {
        match &self.display {
            SeedDisplay::Bar(bar) => bar.println(line),
            SeedDisplay::Lines(output) => output.note(line),
        }
    }
}

impl Drop for SeedProgress {
    fn drop(&mut self) {
        if let SeedDisplay::Bar(bar) = &self.display {
            bar.abandon();
        }
    }
}
