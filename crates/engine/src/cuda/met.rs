//! The tokens of a batch in the order in which time meets them: what the first steps read is known
//! before the rest.

use crate::tokens::BatchTokens;
use crate::{Batch, Inputs};

/// The distinct tokens of a batch, as time meets them.
#[derive(Default)]
pub struct Met {
    pub tokens: BatchTokens,
    /// `[T+1]`: how many of them the steps before each time have met.
    pub before: Vec<u32>,
}

/// Rows, the longest first.
pub fn longest_first(batch: &Batch) -> Vec<u32> {
    let mut order: Vec<u32> = (0..batch.rows() as u32).collect();
    order.sort_by_key(|&b| (std::cmp::Reverse(batch.row(b as usize).len()), b));
    order
}

impl Met {
    /// Of a batch over a vocabulary of `size`, its rows the longest first; nothing for real inputs.
    pub fn of(batch: &Batch, order: &[u32], size: usize) -> Met {
        let Inputs::Tokens(ids) = &batch.input else { return Met::default() };
        let rows: Vec<_> = order.iter().map(|&b| batch.row(b as usize)).collect();
        let mut place = vec![u32::MAX; size];
        // One more: every token is written where the next new one belongs.
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
                // PERF: without a branch, which would be guessed wrong every other time.
                let new = (*at == u32::MAX) as u32;
                *at = (*at).min(count);
                count += new;
                places[row.start + t] = *at;
            }
            before.push(count);
        }
        distinct.truncate(count as usize);
        Met { tokens: BatchTokens { distinct, places }, before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Targets;

    #[test]
    fn tokens_are_numbered_as_time_meets_them() {
        let batch = Batch {
            offsets: vec![0, 2, 2, 5],
            input: Inputs::Tokens(vec![7, 3, 3, 7, 5]),
            targets: Targets::None,
            class_weights: vec![],
        };
        let order = longest_first(&batch);
        assert_eq!(order, [2, 0, 1]);
        let Met { tokens, before } = Met::of(&batch, &order, 8);
        assert_eq!(tokens.distinct, [3, 7, 5]);
        assert_eq!(tokens.places, [1, 0, 0, 1, 2]);
        assert_eq!(before, [0, 2, 2, 3]);
    }
}
