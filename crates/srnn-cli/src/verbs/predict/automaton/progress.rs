//! How far the reading of a stream is.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use srnn::format::grouped;
use srnn::stream::StreamProgress;
use std::time::{Duration, Instant};

/// How often to say how far it is where no bar is drawn.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// How far it is.
pub enum Progress {
    /// Not to be said.
    Silent,
    /// A bar.
    Bar(ProgressBar),
    /// A line now and then.
    Lines {
        /// Where it goes.
        output: Output,
        /// When there was one.
        said: Instant,
    },
}

impl Progress {
    /// Of a stream of so many bytes, where that is known.
    pub fn new(bytes: Option<u64>, output: &Output) -> Progress {
        if !output.draws_bars() {
            return Progress::Lines { output: *output, said: Instant::now() };
        }
        let (bar, template) = match bytes {
            Some(bytes) => {
                (ProgressBar::new(bytes), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta:>4}")
            }
            None => (ProgressBar::no_length(), "{spinner} {bytes} {bytes_per_sec}"),
        };
        let style = ProgressStyle::with_template(template).expect("a template that parses");
        Progress::Bar(bar.with_style(style))
    }

    /// It is here.
    pub fn show(&mut self, reading: StreamProgress) {
        match self {
            Progress::Silent => {}
            Progress::Bar(bar) => bar.set_position(reading.bytes),
            Progress::Lines { output, said } if said.elapsed() >= BETWEEN_LINES => {
                let StreamProgress { words, bytes } = reading;
                output.note(format!("{} words, {} bytes", grouped(words), grouped(bytes)));
                *said = Instant::now();
            }
            Progress::Lines { .. } => {}
        }
    }

    /// It is over.
    pub fn end(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
