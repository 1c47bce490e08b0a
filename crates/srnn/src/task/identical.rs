//! Finding equal sequences without a second copy of them.

use super::Sequence;

/// The indices of the sequences, equal ones side by side, in the order of their source.
pub(super) fn side_by_side(sequences: &[Sequence]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    let key = |&i: &usize| (&sequences[i].tokens, i);
    order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    order
}

/// The groups of equal sequences within such an order.
pub(super) fn groups<'a>(
    order: &'a [usize],
    sequences: &'a [Sequence],
) -> impl Iterator<Item = &'a [usize]> {
    order.chunk_by(|&a, &b| sequences[a].tokens == sequences[b].tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::dataset;

    #[test]
    fn every_sequence_is_in_one_group_of_its_equals_in_order() {
        let data = dataset(&[("ab", "x"), ("", "x"), ("a", "x"), ("ab", "y"), ("", "x")]);
        let order = side_by_side(&data.sequences);
        let found: Vec<&[usize]> = groups(&order, &data.sequences).collect();
        assert_eq!(found, [&[1, 4][..], &[2], &[0, 3]]);
    }
}
