//! Timings as a table and as JSON.

use serde_json::{Value, json};
use srnn::bench::{ReferenceDeviation, StepTiming};
use srnn::engine::{DeviceName, Hardware};
use srnn::format::aligned;

/// The cell of a table without a number.
const NONE: &str = "–";

/// The table for a terminal.
pub fn text(hardware: &Hardware, lines: &[StepTiming]) -> String {
    let heading = [
        "setting",
        "cell",
        "B,T,IN,D,K[,V]",
        "ms per step",
        "quartiles",
        "µs per time step",
        "Mtokens/s",
        "of the floor",
        "× first",
        "error",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|line| row(hardware, line)));
    format!("Training steps (loss, gradients, update) on {hardware}:\n{}", aligned(&rows))
}

/// The timings as JSON.
pub fn value(hardware: &Hardware, lines: &[StepTiming]) -> Value {
    let lines: Vec<Value> = lines.iter().map(|line| object(hardware, line)).collect();
    json!({
        "device": hardware.device.to_string(),
        "threads": hardware.threads,
        "measured": lines,
    })
}

fn row(hardware: &Hardware, line: &StepTiming) -> Vec<String> {
    let StepTiming { setting, deviation, times, ratio } = line;
    vec![
        setting.name.clone(),
        setting.cell.name().into(),
        setting.shape.to_string(),
        format!("{:.3}", 1e3 * times.median),
        format!("{:.3}–{:.3}", 1e3 * times.low, 1e3 * times.high),
        format!("{:.2}", micros_per_step(line)),
        format!("{:.2}", tokens_per_second(line) / 1e6),
        of_floor(hardware, line).map_or(NONE.into(), |part| format!("{:.0} %", 100.0 * part)),
        format!("{ratio:.2}"),
        format!("{:.0e}", deviation.loss.max(deviation.gradient)),
    ]
}

fn object(hardware: &Hardware, line: &StepTiming) -> Value {
    let StepTiming { setting, deviation, times, ratio } = line;
    json!({
        "setting": setting.name,
        "cell": setting.cell.name(),
        "lambda": setting.lambda,
        "shape": setting.shape.to_string(),
        "milliseconds": 1e3 * times.median,
        "quartiles": [1e3 * times.low, 1e3 * times.high],
        "steps_timed": times.count,
        "microseconds_a_time_step": micros_per_step(line),
        "tokens_a_second": tokens_per_second(line),
        "of_floor": of_floor(hardware, line),
        "times_first": ratio,
        "checked": checked(deviation),
    })
}

/// The comparison with the reference, as JSON.
pub fn checked(deviation: &ReferenceDeviation) -> Value {
    json!({
        "rows": deviation.rows,
        "steps": deviation.steps,
        "loss_error": deviation.loss,
        "gradient_error": deviation.gradient,
        "tensor": deviation.tensor,
    })
}

fn micros_per_step(line: &StepTiming) -> f64 {
    1e6 * line.times.median / line.setting.shape.steps as f64
}

fn tokens_per_second(line: &StepTiming) -> f64 {
    tokens(line) / line.times.median
}

fn tokens(line: &StepTiming) -> f64 {
    (line.setting.shape.rows * line.setting.shape.steps) as f64
}

/// The floor as a fraction of the time; on the CPU scaled from two threads to the number used.
fn of_floor(hardware: &Hardware, line: &StepTiming) -> Option<f64> {
    let floor = line.setting.floor;
    let seconds = match hardware.device.name() {
        DeviceName::Cuda => 1e-3 * floor.h200?,
        _ => 1e-6 * floor.two_cores? * tokens(line) * 2.0 / hardware.threads as f64,
    };
    Some(seconds / line.times.median)
}
