//! Ctrl-C while a stream is read.

use super::answers::Stop;
use crate::failure::Failure;
use crate::output::Output;
use srnn::format::grouped;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How long reading may take to see that it is to end. A stream that gives nothing never does.
const GRACE: Duration = Duration::from_millis(500);

/// Whether Ctrl-C was pressed.
pub struct Pressed(Arc<AtomicBool>);

/// Watches for Ctrl-C; `beside` goes away with the program.
pub fn watch(beside: Option<PathBuf>, output: &Output) -> Result<Pressed, Failure> {
    let (pressed, output) = (Arc::new(AtomicBool::new(false)), *output);
    let flag = pressed.clone();
    ctrlc::set_handler(move || {
        flag.store(true, Relaxed);
        std::thread::sleep(GRACE);
        if let Some(beside) = &beside {
            let _ = std::fs::remove_file(beside);
        }
        output.failure(&failure("while waiting for more words"));
        std::process::exit(130);
    })?;
    Ok(Pressed(pressed))
}

impl Pressed {
    /// Stops where it was.
    pub fn check(&self) -> Result<(), Stop> {
        match self.0.load(Relaxed) {
            true => Err(Stop::Interrupted),
            false => Ok(()),
        }
    }
}

/// The end of a program that had answered so many words.
pub fn after(words: u64) -> Failure {
    failure(&format!("after {} words", grouped(words)))
}

fn failure(when: &str) -> Failure {
    Failure::interrupted(when, "run it again; a file of --out is written whole or not at all")
}
