//! Timings of whole epochs as a table and as JSON.

use super::report::checked;
use serde_json::{Value, json};
use srnn::bench::{EpochTiming, LoadedImages};
use srnn::engine::Hardware;
use srnn::format::{aligned, grouped};

/// The table for a terminal.
pub fn text(hardware: &Hardware, read: &LoadedImages, lines: &[EpochTiming]) -> String {
    let heading = [
        "setting",
        "cell",
        "B,T,IN,D,K",
        "s per epoch with reading",
        "reading",
        "training",
        "quartiles",
        "ms per batch",
        "first epoch",
        "error",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|line| row(read, line)));
    let (count, epochs) = (grouped(read.images.count() as u64), read.times.count);
    let first = read.first;
    format!(
        "Epochs of {count} images on {hardware}, median of {epochs}; files read in {first:.3} s the \
         first time:\n{}",
        aligned(&rows)
    )
}

fn row(read: &LoadedImages, line: &EpochTiming) -> Vec<String> {
    let EpochTiming { setting, deviation, times, first, .. } = line;
    vec![
        setting.name.clone(),
        setting.cell.name().into(),
        setting.shape.to_string(),
        format!("{:.3}", read.times.median + times.median),
        format!("{:.3}", read.times.median),
        format!("{:.3}", times.median),
        format!("{:.3}–{:.3}", times.low, times.high),
        format!("{:.3}", milliseconds_per_batch(line)),
        format!("{first:.3}"),
        format!("{:.0e}", deviation.loss.max(deviation.gradient)),
    ]
}

/// The timings as JSON.
pub fn value(hardware: &Hardware, read: &LoadedImages, lines: &[EpochTiming]) -> Value {
    let epochs: Vec<Value> = lines.iter().map(|line| object(read, line)).collect();
    json!({
        "device": hardware.device.to_string(),
        "threads": hardware.threads,
        "images": read.images.count(),
        "reading": {
            "seconds": read.times.median,
            "quartiles": [read.times.low, read.times.high],
            "first_seconds": read.first,
        },
        "epochs": epochs,
    })
}

fn object(read: &LoadedImages, line: &EpochTiming) -> Value {
    let EpochTiming { setting, deviation, times, first, batches } = line;
    json!({
        "setting": setting.name,
        "cell": setting.cell.name(),
        "shape": setting.shape.to_string(),
        "seconds_with_reading": read.times.median + times.median,
        "seconds": times.median,
        "quartiles": [times.low, times.high],
        "epochs_timed": times.count,
        "first_seconds": first,
        "batches": batches,
        "milliseconds_a_batch": milliseconds_per_batch(line),
        "checked": checked(deviation),
    })
}

fn milliseconds_per_batch(line: &EpochTiming) -> f64 {
    1e3 * line.times.median / line.batches as f64
}
