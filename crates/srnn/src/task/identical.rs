//! Finds equal sequences without copying them.

use super::Sequence;

/// The indices of the sequences, sorted such that equal sequences are adjacent and in the order of
/// their source.
pub(super) fn sorted_indices(sequences: &[Sequence]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    let key = |&i: &usize| (&sequences[i].tokens, i);
    order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    order
}

/// The groups of equal sequences, from the result of [`sorted_indices`].
pub(super) fn equal_groups<'a>(
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
        let order = sorted_indices(&data.sequences);
        let found: Vec<&[usize]> = equal_groups(&order, &data.sequences).collect();
        assert_eq!(found, [&[1, 4][..], &[2], &[0, 3]]);
    }
}
