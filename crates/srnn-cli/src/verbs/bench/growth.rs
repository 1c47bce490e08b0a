//! How the time of a training step grows with each size: doubled four times, the others as they are.

use super::report::Line;
use super::setting::{Setting, Shape};
use serde_json::{Value, json};
use srnn::engine::Hardware;
use srnn::format::aligned;

/// Times along one size.
pub struct Growth {
    /// Its letter.
    pub axis: Axis,
    /// From the smallest.
    pub lines: Vec<Line>,
}

/// A size that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Steps.
    T,
    /// Rows.
    B,
    /// Units.
    D,
    /// Centroids.
    K,
    /// Symbols.
    V,
}

/// Where growth begins: the low-rank form is the cheaper one up to the largest K, and a step does
/// enough for its length to be seen beside what every update costs.
pub const BASE: &str = "32,100,32,64,4,32";

const FACTORS: [usize; 5] = [1, 2, 4, 8, 16];

/// The settings along each size that the base has, smallest first.
pub fn settings(base: &Setting) -> Vec<(Axis, Vec<Setting>)> {
    let axes = [Axis::T, Axis::B, Axis::D, Axis::K, Axis::V].into_iter();
    let there = |axis: &Axis| match axis {
        Axis::K => base.cell.has_centroids(),
        Axis::V => base.shape.symbols > 0,
        Axis::T | Axis::B | Axis::D => true,
    };
    let along = |axis| FACTORS.iter().map(|&by| grown(base, axis, by)).collect();
    axes.filter(there).map(|axis| (axis, along(axis))).collect()
}

/// The tables for a terminal.
pub fn text(hardware: &Hardware, base: &Setting, growths: &[Growth]) -> String {
    let head = ["", "from"].map(String::from).into_iter();
    let factors = FACTORS.iter().map(|by| format!("×{by}, ms"));
    let mut rows: Vec<Vec<String>> =
        vec![head.chain(factors).chain(["exponent".to_string()]).collect()];
    for growth in growths {
        let front = [growth.axis.name().to_string(), size(base.shape, growth.axis).to_string()];
        let times = growth.lines.iter().map(|line| format!("{:.3}", 1e3 * line.times.median));
        let end = [format!("{:.2}", exponent(growth))];
        rows.push(front.into_iter().chain(times).chain(end).collect());
    }
    format!(
        "How training steps grow from B,T,IN,D,K[,V] = {} ({}), on {}:\n{}",
        base.shape,
        base.cell.name(),
        hardware,
        aligned(&rows)
    )
}

/// The same as an object.
pub fn value(hardware: &Hardware, base: &Setting, growths: &[Growth]) -> Value {
    let of = |growth: &Growth| {
        let sizes = growth.lines.iter().map(|line| size(line.setting.shape, growth.axis));
        let times = growth.lines.iter().map(|line| 1e3 * line.times.median);
        json!({
            "axis": growth.axis.name(),
            "sizes": sizes.collect::<Vec<_>>(),
            "milliseconds": times.collect::<Vec<_>>(),
            "exponent": exponent(growth),
        })
    };
    json!({
        "device": hardware.device.to_string(),
        "threads": hardware.threads,
        "cell": base.cell.name(),
        "base": base.shape.to_string(),
        "growth": growths.iter().map(of).collect::<Vec<_>>(),
    })
}

impl Axis {
    fn name(self) -> &'static str {
        match self {
            Axis::T => "T",
            Axis::B => "B",
            Axis::D => "D",
            Axis::K => "K",
            Axis::V => "V",
        }
    }
}

fn size(shape: Shape, axis: Axis) -> usize {
    match axis {
        Axis::T => shape.steps,
        Axis::B => shape.rows,
        Axis::D => shape.units,
        Axis::K => shape.k,
        Axis::V => shape.symbols,
    }
}

fn grown(base: &Setting, axis: Axis, by: usize) -> Setting {
    let mut shape = base.shape;
    let size = match axis {
        Axis::T => &mut shape.steps,
        Axis::B => &mut shape.rows,
        Axis::D => &mut shape.units,
        Axis::K => &mut shape.k,
        Axis::V => &mut shape.symbols,
    };
    *size = size.saturating_mul(by);
    Setting { shape, ..base.clone() }
}

fn exponent(growth: &Growth) -> f64 {
    slope(growth.lines.iter().map(|line| {
        let size = size(line.setting.shape, growth.axis) as f64;
        (size.ln(), line.times.median.ln())
    }))
}

/// The slope of the line through points that is nearest in the least squares.
fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let count = points.clone().count() as f64;
    let (x, y) = points.clone().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (x, y) = (x / count, y / count);
    let over: f64 = points.clone().map(|(px, py)| (px - x) * (py - y)).sum();
    over / points.map(|(px, _)| (px - x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_power_is_found_whatever_its_factor() {
        let points = [1.0f64, 2.0, 4.0, 8.0].map(|n| (n.ln(), (7.0 * n.powf(1.5)).ln()));
        assert!((slope(points.into_iter()) - 1.5).abs() < 1e-12);
    }
}
