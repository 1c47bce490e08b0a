//! Ctrl-C while reading a stream.

use super::class_writer::StopReason;
use crate::failure::Failure;
use crate::output::Output;
use srnn::format::grouped;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How long the reader gets to notice Ctrl-C. It never does if it waits for a stream without data.
const GRACE: Duration = Duration::from_millis(500);

/// Set by Ctrl-C.
pub struct Interrupt(Arc<AtomicBool>);

/// Installs the handler for Ctrl-C. If the reader does not end in time, the handler removes
/// `temporary_file` and exits.
pub fn install(temporary_file: Option<PathBuf>, output: &Output) -> Result<Interrupt, Failure> {
    let (interrupted, output) = (Arc::new(AtomicBool::new(false)), *output);
    let flag = interrupted.clone();
    ctrlc::set_handler(move || {
        flag.store(true, Relaxed);
        std::thread::sleep(GRACE);
        if let Some(file) = &temporary_file {
            let _ = std::fs::remove_file(file);
        }
        output.failure(&failure("while waiting for more words"));
        std::process::exit(130);
    })?;
    Ok(Interrupt(interrupted))
}

impl Interrupt {
    /// Fails with [`StopReason::Interrupted`] after Ctrl-C.
    pub fn check(&self) -> Result<(), StopReason> {
        match self.0.load(Relaxed) {
            true => Err(StopReason::Interrupted),
            false => Ok(()),
        }
    }
}

/// The error after Ctrl-C, with the number of words that were classified.
pub fn after(words: u64) -> Failure {
    failure(&format!("after {} words", grouped(words)))
}

fn failure(when: &str) -> Failure {
    Failure::interrupted(
        when,
        "run it again; the file of --out is written completely or not at all",
    )
}
