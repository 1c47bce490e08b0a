//! One measurement per line of stdin, so that another program can take turns with this one.

use super::measure::{Prefetch, TimedEngine, step};
use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};
use std::time::Instant;

/// Prints `{"ready":true}`. Then runs a `step` or `gradients` (a step without its update) for each
/// line and prints its seconds.
pub fn serve(timed: &mut TimedEngine) -> Result<(), Failure> {
    print(&json!({ "ready": true }))?;
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| Failure::new(format!("stdin: {error}"), "send text"))?;
        let seconds = match line.trim() {
            "step" => step(timed, i, Prefetch::Nothing)?,
            "gradients" => gradients(timed, i)?,
            other => {
                let message = format!("stdin, line {}: {other:?} is not a request", i + 1);
                return Err(Failure::new(message, "send `step` or `gradients`"));
            }
        };
        print(&json!({ "seconds": seconds }))?;
    }
    Ok(())
}

fn gradients(timed: &mut TimedEngine, i: usize) -> Result<f64, Failure> {
    let batch = &timed.batches[i % timed.batches.len()];
    let begin = Instant::now();
    let found = timed.engine.gradients(batch, &timed.regime)?;
    let seconds = begin.elapsed().as_secs_f64();
    assert!(found.loss.is_finite(), "the loss is not finite: {:?}", found.loss);
    Ok(seconds)
}

fn print(value: &Value) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    files::stdout_result(writeln!(stdout, "{value}").and_then(|()| stdout.flush()))
}
