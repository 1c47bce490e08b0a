//! Progress of reading a stream.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use srnn::format::grouped;
use srnn::stream::StreamProgress;
use std::time::{Duration, Instant};

/// Time between lines of progress, if no bar is drawn.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// How progress is shown.
pub enum StreamBar {
    /// Not at all.
    Hidden,
    /// A bar.
    Bar(ProgressBar),
    /// A line every few seconds.
    Lines {
        output: Output,
        /// The time of the last line.
        last: Instant,
    },
}

impl StreamBar {
    /// Starts for a stream; `bytes` is its length, if known.
    pub fn new(bytes: Option<u64>, output: &Output) -> StreamBar {
        if !output.draws_bars() {
            return StreamBar::Lines { output: *output, last: Instant::now() };
        }
        let (bar, template) = match bytes {
            Some(bytes) => {
                let rest = "{bytes}/{total_bytes} {bytes_per_sec} {eta:>4}";
                (ProgressBar::new(bytes), format!("{} {rest}", output.bar(30)))
            }
            None => (ProgressBar::no_length(), "{spinner} {bytes} {bytes_per_sec}".into()),
        };
        let style = ProgressStyle::with_template(&template).expect("a valid template");
        StreamBar::Bar(bar.with_style(style))
    }

    /// Shows the position.
    pub fn show(&mut self, reading: StreamProgress) {
        match self {
            StreamBar::Hidden => {}
            StreamBar::Bar(bar) => bar.set_position(reading.bytes),
            StreamBar::Lines { output, last } if last.elapsed() >= PROGRESS_INTERVAL => {
                let StreamProgress { words, bytes } = reading;
                output.note(format!("{} words, {} bytes", grouped(words), grouped(bytes)));
                *last = Instant::now();
            }
            StreamBar::Lines { .. } => {}
        }
    }

    /// Removes the bar.
    pub fn end(&self) {
        if let StreamBar::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
