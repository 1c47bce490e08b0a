//! How the images that a model reads become steps.

use serde::{Deserialize, Serialize};

/// The size of the images that a model reads pixel by pixel, and the order of the pixels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageLayout {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The pixel that each step reads, as its index row by row `[T]`; empty for row by row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
}

impl ImageLayout {
    /// Whether there are pixels, at most `limit`, and each is read once.
    pub(super) fn is_valid(&self, limit: usize) -> bool {
        let pixels = self.rows.checked_mul(self.columns).filter(|&n| (1..=limit).contains(&n));
        let Some(pixels) = pixels else { return false };
        let mut order = self.order.clone();
        order.sort_unstable();
        order.is_empty() || order.into_iter().eq(0..pixels as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_pixels_and_reads_each_once() {
        let is_valid = |rows, columns, order: &[u32]| {
            ImageLayout { rows, columns, order: order.to_vec() }.is_valid(100)
        };
        assert!(is_valid(2, 2, &[]) && is_valid(2, 2, &[3, 0, 2, 1]) && is_valid(10, 10, &[]));
        assert!(!is_valid(0, 2, &[]) && !is_valid(10, 11, &[]) && !is_valid(usize::MAX, 2, &[]));
        assert!(!is_valid(2, 2, &[0, 1, 2]) && !is_valid(2, 2, &[0, 1, 2, 2]));
        assert!(!is_valid(2, 2, &[0, 1, 2, 4]) && !is_valid(2, 2, &[0, 1, 2, 3, 4]));
    }
}
