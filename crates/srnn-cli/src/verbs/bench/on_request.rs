//! One measurement per line of stdin, so that another program can take turns with this one.

use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use srnn::bench::TimedEngine;
use std::io::{BufRead as _, Write as _};

/// Prints `{"ready":true}`. Then runs a `step` or `gradients` (a step without its update) for each
/// line and prints its seconds.
pub fn serve(timed: &mut TimedEngine) -> Result<(), Failure> {
    print(&json!({ "ready": true }))?;
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| Failure::new(format!("stdin: {error}"), "send text"))?;
        let seconds = match line.trim() {
            "step" => timed.step_seconds(i)?,
            "gradients" => timed.gradient_seconds(i)?,
            other => {
                let message = format!("stdin, line {}: {other:?} is not a request", i + 1);
                return Err(Failure::new(message, "send `step` or `gradients`"));
            }
        };
        print(&json!({ "seconds": seconds }))?;
    }
    Ok(())
}

fn print(value: &Value) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    files::stdout_result(writeln!(stdout, "{value}").and_then(|()| stdout.flush()))
}
