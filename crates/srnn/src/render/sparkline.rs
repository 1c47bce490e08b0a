//! Curves of one line of text.

/// The bars from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The largest number of characters; longer curves show the mean of neighbours.
const MAX_WIDTH: usize = 72;

/// A curve as one line of bars between `low` and `high`; values beyond have the first or the last bar,
/// and those that are not finite a dot.
pub fn sparkline(values: &[f64], low: f64, high: f64) -> String {
    let group = values.len().div_ceil(MAX_WIDTH).max(1);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let bar = |value: f64| match value.is_finite() {
        false => '·',
        true => {
            let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
            let part = if part.is_nan() { 0.0 } else { part };
            BARS[((part * BARS.len() as f64) as usize).min(BARS.len() - 1)]
        }
    };
    values.chunks(group).map(|values| bar(mean(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_values_are_low_bars_and_long_curves_are_averaged() {
        assert_eq!(sparkline(&[0.0, 0.5, 1.0, f64::NAN, -3.0], 0.0, 1.0), "▁▅█·▁");
        assert_eq!(sparkline(&[], 0.0, 1.0), "");
        assert_eq!(sparkline(&[2.0], 2.0, 2.0), "▁");
        let long: Vec<f64> = (0..500).map(|i| f64::from(i / 250)).collect();
        let drawn = sparkline(&long, 0.0, 1.0);
        assert!(drawn.chars().count() <= MAX_WIDTH);
        assert!(drawn.starts_with('▁') && drawn.ends_with('█'));
    }
}
