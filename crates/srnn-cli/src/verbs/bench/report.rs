//! Measurements for people and for programs.

use super::check::Nearness;
use super::measure::Times;
use super::setting::Setting;
use serde_json::{Value, json};
use srnn::engine::{DeviceName, Hardware};
use srnn::format::aligned;

/// What stands where there is no number.
const NONE: &str = "–";

/// One line.
pub struct Line {
    /// What was measured.
    pub setting: Setting,
    /// How near it came to the reference.
    pub near: Nearness,
    /// How long it took.
    pub times: Times,
    /// Its time relative to that of the first of those it was compared with.
    pub ratio: f64,
}

/// The table for a terminal.
pub fn text(hardware: &Hardware, lines: &[Line]) -> String {
    let heading = [
        "setting",
        "cell",
        "B,T,IN,D,K[,V]",
        "ms a step",
        "quartiles",
        "µs a time step",
        "Mtokens/s",
        "of the floor",
        "× first",
        "off by",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|line| row(hardware, line)));
    format!("Training steps (loss, gradients, update) on {hardware}:\n{}", aligned(&rows))
}

/// The same as an object.
pub fn value(hardware: &Hardware, lines: &[Line]) -> Value {
    let lines: Vec<Value> = lines.iter().map(|line| object(hardware, line)).collect();
    json!({
        "device": hardware.device.to_string(),
        "threads": hardware.threads,
        "measured": lines,
    })
}

fn row(hardware: &Hardware, line: &Line) -> Vec<String> {
    let Line { setting, near, times, ratio } = line;
    vec![
        setting.name.clone(),
        setting.cell.name(),
        setting.shape.to_string(),
        format!("{:.3}", 1e3 * times.median),
        format!("{:.3}–{:.3}", 1e3 * times.low, 1e3 * times.high),
        format!("{:.2}", micros_a_step(line)),
        format!("{:.2}", tokens_a_second(line) / 1e6),
        of_floor(hardware, line).map_or(NONE.into(), |part| format!("{:.0} %", 100.0 * part)),
        format!("{ratio:.2}"),
        format!("{:.0e}", near.loss.max(near.gradient)),
    ]
}

fn object(hardware: &Hardware, line: &Line) -> Value {
    let Line { setting, near, times, ratio } = line;
    json!({
        "setting": setting.name,
        "cell": setting.cell.name(),
        "lambda": setting.lambda,
        "shape": setting.shape.to_string(),
        "milliseconds": 1e3 * times.median,
        "quartiles": [1e3 * times.low, 1e3 * times.high],
        "steps_timed": times.count,
        "microseconds_a_time_step": micros_a_step(line),
        "tokens_a_second": tokens_a_second(line),
        "of_floor": of_floor(hardware, line),
        "times_first": ratio,
        "checked": checked(near),
    })
}

/// What was compared with the reference, as an object.
pub fn checked(near: &Nearness) -> Value {
    json!({
        "rows": near.rows,
        "steps": near.steps,
        "loss_error": near.loss,
        "gradient_error": near.gradient,
        "tensor": near.tensor,
    })
}

fn micros_a_step(line: &Line) -> f64 {
    1e6 * line.times.median / line.setting.shape.steps as f64
}

fn tokens_a_second(line: &Line) -> f64 {
    tokens(line) / line.times.median
}

fn tokens(line: &Line) -> f64 {
    (line.setting.shape.rows * line.setting.shape.steps) as f64
}

/// The floor as a part of the time taken; on the processor scaled from two threads to those used.
fn of_floor(hardware: &Hardware, line: &Line) -> Option<f64> {
    let floor = line.setting.floor;
    let seconds = match hardware.device.name() {
        DeviceName::Cuda => 1e-3 * floor.h200?,
        _ => 1e-6 * floor.two_cores? * tokens(line) * 2.0 / hardware.threads as f64,
    };
    Some(seconds / line.times.median)
}
