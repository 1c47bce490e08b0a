//! Where the pixel of each step lies in its image; images are shifted by it.

use crate::model::ImageLayout;

/// The rows and columns of an image, and the order in which its pixels are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PixelGrid {
    rows: usize,
    columns: usize,
    /// The pixel that each step reads, as its index row by row `[T]`.
    pixel_of: Vec<u32>,
    /// The step that reads each pixel `[T]`.
    step_of: Vec<u32>,
}

impl PixelGrid {
    /// Read row by row.
    pub(super) fn row_by_row(rows: usize, columns: usize) -> PixelGrid {
        let steps: Vec<u32> = (0..(rows * columns) as u32).collect();
        PixelGrid { rows, columns, pixel_of: steps.clone(), step_of: steps }
    }

    /// The number of rows and of columns.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// The layout that model files have.
    pub(super) fn layout(&self) -> ImageLayout {
        let order = match self.pixel_of.is_sorted() {
            true => vec![],
            false => self.pixel_of.clone(),
        };
        ImageLayout { rows: self.rows, columns: self.columns, order }
    }

    /// Read in this order, a permutation of the pixels.
    pub(super) fn permuted(&self, order: &[usize]) -> PixelGrid {
        let mut step_of = vec![0; order.len()];
        for (step, &pixel) in order.iter().enumerate() {
            step_of[pixel] = step as u32;
        }
        let pixel_of = order.iter().map(|&pixel| pixel as u32).collect();
        PixelGrid { pixel_of, step_of, ..*self }
    }

    /// For each step, the step that reads the pixel `down` rows above and `right` columns left of
    /// its own; `None` outside the image.
    pub(super) fn shifted_steps(
        &self,
        [down, right]: [isize; 2],
    ) -> impl Iterator<Item = Option<usize>> + '_ {
        self.pixel_of.iter().map(move |&pixel| {
            let row = (pixel as usize / self.columns).checked_add_signed(-down);
            let column = (pixel as usize % self.columns).checked_add_signed(-right);
            let row = row.filter(|&row| row < self.rows)?;
            let column = column.filter(|&column| column < self.columns)?;
            Some(self.step_of[row * self.columns + column] as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(grid: &PixelGrid, by: [isize; 2]) -> Vec<Option<usize>> {
        grid.shifted_steps(by).collect()
    }

    #[test]
    fn a_shift_moves_pixels_down_and_right() {
        // 0 1 2
        // 3 4 5
        let grid = PixelGrid::row_by_row(2, 3);
        let (all, none) = ((0..6).map(Some).collect::<Vec<_>>(), None);
        assert_eq!(shifted(&grid, [0, 0]), all);
        assert_eq!(shifted(&grid, [1, 0]), [none, none, none, Some(0), Some(1), Some(2)]);
        assert_eq!(shifted(&grid, [0, -1]), [Some(1), Some(2), none, Some(4), Some(5), none]);
        assert_eq!(shifted(&grid, [-1, 1]), [none, Some(3), Some(4), none, none, none]);
        assert_eq!(shifted(&grid, [5, 0]), [none; 6]);
    }

    #[test]
    fn permuted_images_are_shifted_before_they_are_permuted() {
        let order = [4, 2, 0, 5, 1, 3];
        let plain = PixelGrid::row_by_row(2, 3);
        let image = [10, 11, 12, 13, 14, 15];
        let permuted = order.map(|pixel| image[pixel]);
        let moved: Vec<u8> =
            plain.shifted_steps([0, 1]).map(|s| s.map_or(0, |s| image[s])).collect();
        let expected = order.map(|pixel| moved[pixel]);
        let grid = plain.permuted(&order);
        let found: Vec<u8> =
            grid.shifted_steps([0, 1]).map(|s| s.map_or(0, |s| permuted[s])).collect();
        assert_eq!(found, expected);
    }
}
