//! One measurement for each line of stdin, so that another program can take turns with ours.

use super::measure::{Next, Side, step};
use crate::failure::Failure;
use crate::files;
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};
use std::time::Instant;

/// Says `{"ready":…}`, then answers `step` and `gradients` (a step without its update) with the
/// seconds they took, until there are no more lines.
pub fn answer(side: &mut Side) -> Result<(), Failure> {
    say(&json!({ "ready": true }))?;
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| Failure::new(format!("stdin: {error}"), "send text"))?;
        let seconds = match line.trim() {
            "step" => step(side, i, Next::Unknown)?,
            "gradients" => gradients(side, i)?,
            other => {
                let message = format!("stdin, line {}: {other:?} is no request", i + 1);
                return Err(Failure::new(message, "send `step` or `gradients`"));
            }
        };
        say(&json!({ "seconds": seconds }))?;
    }
    Ok(())
}

fn gradients(side: &mut Side, i: usize) -> Result<f64, Failure> {
    let batch = &side.batches[i % side.batches.len()];
    let begin = Instant::now();
    let found = side.engine.gradients(batch, &side.regime)?;
    let seconds = begin.elapsed().as_secs_f64();
    assert!(found.loss.is_finite(), "a loss that is no number: {:?}", found.loss);
    Ok(seconds)
}

fn say(value: &Value) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    files::printed(writeln!(stdout, "{value}").and_then(|()| stdout.flush()))
}
