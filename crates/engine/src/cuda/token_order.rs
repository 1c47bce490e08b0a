//! The tokens of a batch, numbered by first use in time: the tokens of the first steps come first.

use crate::tokens::BatchTokens;
use crate::{Batch, Inputs};

/// The distinct tokens of a batch, by the first time step that uses them.
#[derive(Default)]
pub struct TokensByFirstUse {
    pub tokens: BatchTokens,
    /// `[T+1]`: number of distinct tokens used before each time step.
    pub before: Vec<u32>,
}

/// The rows of a batch, longest first.
pub fn longest_first(batch: &Batch) -> Vec<u32> {
    let mut order: Vec<u32> = (0..batch.rows() as u32).collect();
    order.sort_by_key(|&b| (std::cmp::Reverse(batch.row(b as usize).len()), b));
    order
}

impl TokensByFirstUse {
    /// Numbers the tokens of `batch`, whose rows are given longest first. `size` is the vocabulary
    /// size. Empty for real inputs.
    pub fn of(batch: &Batch, order: &[u32], size: usize) -> TokensByFirstUse {
        let Inputs::Tokens(ids) = &batch.input else { return TokensByFirstUse::default() };
        let rows: Vec<_> = order.iter().map(|&b| batch.row(b as usize)).collect();
        let mut place = vec![u32::MAX; size];
        // One spare element: every token is written to the next free place, new or not.
        let mut distinct = vec![0; size.min(ids.len()) + 1];
        let (mut places, mut before, mut count) = (vec![0; ids.len()], vec![0], 0u32);
        let mut live = rows.len();
        for t in 0..rows.first().map_or(0, |row| row.len()) {
            while rows[live - 1].len() <= t {
                live -= 1;
            }
            for row in &rows[..live] {
                let id = ids[row.start + t];
                let at = &mut place[id as usize];
                distinct[count as usize] = id;
                // PERF: without a branch, which would be mispredicted every other time.
                let new = (*at == u32::MAX) as u32;
                *at = (*at).min(count);
                count += new;
                places[row.start + t] = *at;
            }
            before.push(count);
        }
        distinct.truncate(count as usize);
        TokensByFirstUse { tokens: BatchTokens { distinct, places }, before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Targets;

    #[test]
    fn tokens_are_numbered_by_first_use() {
        let batch = Batch {
            offsets: vec![0, 2, 2, 5],
            input: Inputs::Tokens(vec![7, 3, 3, 7, 5]),
            targets: Targets::None,
            class_weights: vec![],
            initial: vec![],
        };
        let order = longest_first(&batch);
        assert_eq!(order, [2, 0, 1]);
        let TokensByFirstUse { tokens, before } = TokensByFirstUse::of(&batch, &order, 8);
        assert_eq!(tokens.distinct, [3, 7, 5]);
        assert_eq!(tokens.places, [1, 0, 0, 1, 2]);
        assert_eq!(before, [0, 2, 2, 3]);
    }
}
