//! Progress of a run: bars on a terminal, a few lines in a file.

use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use srnn::format::percent;
use srnn::learn::{CandidateKind, Round};
use srnn::train::{Event, Record};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Displays the progress of all stages and seeds.
pub enum LearnProgress {
    /// Bars on a terminal.
    Bars(ProgressBars),
    /// Plain lines, if stderr is not a terminal.
    Lines(Arc<ProgressLines>),
}

/// A line about a stage.
pub enum StageLine {
    /// The stage takes a share of the time.
    Stage(String),
    /// It is a part of the stage before.
    Detail(String),
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
    Lines(Arc<ProgressLines>),
}

/// Bars on a terminal.
pub struct ProgressBars {
    output: Output,
    all: MultiProgress,
    /// The bar of the selection in progress.
    selection: Mutex<Option<ProgressBar>>,
}

/// Lines about the progress in a file. A stage has one line, and evaluations of all seeds together have
/// one after a minute, and then each time that the run has become twice as long.
pub struct ProgressLines {
    output: Output,
    state: Mutex<LineState>,
}

struct LineState {
    started: Instant,
    /// Since the start; the next evaluation after it is shown.
    next: Duration,
    stages: BTreeSet<String>,
}

/// Earlier evaluations have no line.
const FIRST_LINE: Duration = Duration::from_secs(60);

impl ProgressLines {
    /// No lines yet.
    pub fn new(output: Output) -> ProgressLines {
        let state =
            LineState { started: Instant::now(), next: FIRST_LINE, stages: BTreeSet::new() };
        ProgressLines { output, state: Mutex::new(state) }
    }

    /// Shows a stage, unless it was shown before.
    fn stage(&self, line: &str) {
        if self.state().stages.insert(line.into()) {
            self.output.note(line);
        }
    }

    /// Whether an evaluation is shown now.
    fn is_due(&self) -> bool {
        let mut state = self.state();
        let passed = state.started.elapsed();
        let due = passed >= state.next;
        if due {
            state.next = 2 * passed;
        }
        due
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LearnProgress {
    /// Bars if the output is a terminal, else lines.
    pub fn new(output: &Output) -> LearnProgress {
        match output.draws_bars() {
            true => {
                let (all, selection) = (MultiProgress::new(), Mutex::new(None));
                LearnProgress::Bars(ProgressBars { output: *output, all, selection })
            }
            false => LearnProgress::Lines(Arc::new(ProgressLines::new(*output))),
        }
    }

    /// Shows the start of a stage. A detail is shown on a terminal only.
    pub fn stage(&self, line: &StageLine) {
        match (self, line) {
            (LearnProgress::Bars(bars), StageLine::Stage(line) | StageLine::Detail(line)) => {
                bars.output.note(line);
            }
            (LearnProgress::Lines(lines), StageLine::Stage(line)) => lines.stage(line),
            (LearnProgress::Lines(_), StageLine::Detail(_)) => {}
        }
    }

    /// Shows how many networks of a selection are done.
    pub fn selecting(&self, done: usize, all: usize) {
        let LearnProgress::Bars(bars) = self else { return };
        let mut shown = bars.selection.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = shown.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("selecting {bar:12} {pos}/{len} networks");
            let bar = ProgressBar::new(all as u64);
            bars.all.add(bar.with_style(style.expect("a template that parses")))
        });
        bar.set_position(done as u64);
        if done >= all {
            bar.finish_and_clear();
            *shown = None;
        }
    }

    /// Adds the display of a seed.
    pub fn seed(&self, round: Round, seed: u64) -> SeedProgress {
        self.add(match round {
            Round::Short => format!("{seed} (short)"),
            Round::Given => seed.to_string(),
            Round::Corrected => format!("{seed} (corrected labels)"),
            Round::CorrectedAll => format!("{seed} (corrected labels, all data)"),
            Round::Candidate(kind) => format!("{seed} ({})", kind.title()),
        })
    }

    /// Adds the display of a fold.
    pub fn fold(&self, kind: CandidateKind) -> SeedProgress {
        self.add(format!("1 ({}, fold)", kind.title()))
    }

    fn add(&self, seed: String) -> SeedProgress {
        let display = match self {
            LearnProgress::Bars(ProgressBars { all: bars, .. }) => {
                let style = "seed {prefix:>3} {bar:12} {pos:>5}/{len} {eta:>4} {wide_msg}";
                let style = ProgressStyle::with_template(style).expect("a template that parses");
                let bar = bars.add(ProgressBar::no_length().with_style(style));
                SeedDisplay::Bar(bar.with_prefix(seed.clone()))
            }
            LearnProgress::Lines(lines) => SeedDisplay::Lines(lines.clone()),
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
                match &self.display {
                    SeedDisplay::Bar(bar) => bar.println(format!(
                        "seed {seed}: update {update} skipped: the gradient is not finite"
                    )),
                    // One line: result.json counts the updates of every seed.
                    SeedDisplay::Lines(lines) => {
                        lines.stage("note: updates are skipped whose gradient is not finite");
                    }
                }
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
        if let SeedDisplay::Lines(lines) = &self.display
            && lines.is_due()
        {
            let Record { update, lambda, loss, .. } = record;
            let (seed, updates, phase) = (&self.seed, self.updates, record.phase.name());
            lines.output.note(format!(
                "seed {seed}  update {update}/{updates}  {phase}  λ {lambda:.2}  loss {loss:.4}  \
                 train {train}  valid {valid}"
            ));
        }
    }

    fn print(&self, line: &str) {
        match &self.display {
            SeedDisplay::Bar(bar) => bar.println(line),
            SeedDisplay::Lines(lines) => lines.output.note(line),
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
