//! How the time of a training step grows with each size. One size is doubled four times while the
//! others stay.

use super::report::StepTiming;
use super::setting::{BenchSetting, BenchShape};
use serde_json::{Value, json};
use srnn::engine::Hardware;
use srnn::format::aligned;

/// The timings along one size.
pub struct Growth {
    pub axis: GrowthAxis,
    /// One timing per factor, smallest first.
    pub lines: Vec<StepTiming>,
}

/// The size that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthAxis {
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

/// The base shape. Up to its largest K the low-rank form is cheaper, and a step is long enough to
/// dominate the fixed cost of an update.
pub const BASE: &str = "32,100,32,64,4,32";

const FACTORS: [usize; 5] = [1, 2, 4, 8, 16];

/// For each size of the base, its settings from ×1 to ×16.
pub fn settings(base: &BenchSetting) -> Vec<(GrowthAxis, Vec<BenchSetting>)> {
    let axes =
        [GrowthAxis::T, GrowthAxis::B, GrowthAxis::D, GrowthAxis::K, GrowthAxis::V].into_iter();
    let applies = |axis: &GrowthAxis| match axis {
        GrowthAxis::K => base.cell.has_centroids(),
        GrowthAxis::V => base.shape.symbols > 0,
        GrowthAxis::T | GrowthAxis::B | GrowthAxis::D => true,
    };
    let along = |axis| FACTORS.iter().map(|&by| grown(base, axis, by)).collect();
    axes.filter(applies).map(|axis| (axis, along(axis))).collect()
}

/// The tables for a terminal.
pub fn text(hardware: &Hardware, base: &BenchSetting, growths: &[Growth]) -> String {
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

/// The tables as JSON.
pub fn value(hardware: &Hardware, base: &BenchSetting, growths: &[Growth]) -> Value {
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

impl GrowthAxis {
    fn name(self) -> &'static str {
        match self {
            GrowthAxis::T => "T",
            GrowthAxis::B => "B",
            GrowthAxis::D => "D",
            GrowthAxis::K => "K",
            GrowthAxis::V => "V",
        }
    }
}

fn size(shape: BenchShape, axis: GrowthAxis) -> usize {
    match axis {
        GrowthAxis::T => shape.steps,
        GrowthAxis::B => shape.rows,
        GrowthAxis::D => shape.units,
        GrowthAxis::K => shape.k,
        GrowthAxis::V => shape.symbols,
    }
}

fn grown(base: &BenchSetting, axis: GrowthAxis, by: usize) -> BenchSetting {
    let mut shape = base.shape;
    let size = match axis {
        GrowthAxis::T => &mut shape.steps,
        GrowthAxis::B => &mut shape.rows,
        GrowthAxis::D => &mut shape.units,
        GrowthAxis::K => &mut shape.k,
        GrowthAxis::V => &mut shape.symbols,
    };
    *size = size.saturating_mul(by);
    BenchSetting { shape, ..base.clone() }
}

fn exponent(growth: &Growth) -> f64 {
    slope(growth.lines.iter().map(|line| {
        let size = size(line.setting.shape, growth.axis) as f64;
        (size.ln(), line.times.median.ln())
    }))
}

/// The slope of the least-squares line through points.
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
