//! How the time of a training step grows with each size. One size is doubled four times while the
//! others stay.

use super::measure::StepTiming;
use super::setting::{BenchSetting, BenchShape};

/// The timings along one size.
pub struct Growth {
    /// The size that grows.
    pub axis: GrowthAxis,
    /// One timing per factor, smallest first.
    pub timings: Vec<StepTiming>,
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
pub const GROWTH_BASE: BenchShape = BenchShape::tokens(32, 100, 32, 64, 4, 32);

/// The factors of a size.
pub const GROWTH_FACTORS: [usize; 5] = [1, 2, 4, 8, 16];

/// For each size of the base, its settings from ×1 to ×16.
pub fn growth_settings(base: &BenchSetting) -> Vec<(GrowthAxis, Vec<BenchSetting>)> {
    let axes =
        [GrowthAxis::T, GrowthAxis::B, GrowthAxis::D, GrowthAxis::K, GrowthAxis::V].into_iter();
    let applies = |axis: &GrowthAxis| match axis {
        GrowthAxis::K => base.cell.has_centroids(),
        GrowthAxis::V => base.shape.symbols > 0,
        GrowthAxis::T | GrowthAxis::B | GrowthAxis::D => true,
    };
    let along = |axis| GROWTH_FACTORS.iter().map(|&by| grown(base, axis, by)).collect();
    axes.filter(applies).map(|axis| (axis, along(axis))).collect()
}

impl GrowthAxis {
    /// The paper's letter.
    pub fn name(self) -> &'static str {
        match self {
            GrowthAxis::T => "T",
            GrowthAxis::B => "B",
            GrowthAxis::D => "D",
            GrowthAxis::K => "K",
            GrowthAxis::V => "V",
        }
    }

    /// The size of a shape along this axis.
    pub fn size(self, shape: BenchShape) -> usize {
        match self {
            GrowthAxis::T => shape.steps,
            GrowthAxis::B => shape.rows,
            GrowthAxis::D => shape.units,
            GrowthAxis::K => shape.k,
            GrowthAxis::V => shape.symbols,
        }
    }
}

impl Growth {
    /// The fitted exponent: time grows as this power of the size.
    pub fn exponent(&self) -> f64 {
        slope(self.timings.iter().map(|timing| {
            let size = self.axis.size(timing.setting.shape) as f64;
            (size.ln(), timing.times.median.ln())
        }))
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
