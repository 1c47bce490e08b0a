//! Targets of transitions that no word shows, and classes of states in which no word ends.

use super::PrefixTree;

/// Fills the unseen entries of a table `[states, symbols]`.
///
/// The target is that of the symbols that act most alike: for each other symbol of the state, its
/// target is weighted by how often the two symbols agree in other states. Without such a symbol, the
/// symbol's most frequent target is taken, and the state itself if the symbol never occurs.
pub(super) fn complete(symbols: usize, table: &[Option<u32>]) -> Vec<u32> {
    let similarity = SymbolSimilarity::of(symbols, table);
    let fill = |(index, &target): (usize, &Option<u32>)| {
        target.unwrap_or_else(|| {
            let (state, symbol) = (index / symbols, index % symbols);
            similarity.likely_target(table, state, symbol).unwrap_or(state as u32)
        })
    };
    table.iter().enumerate().map(fill).collect()
}

/// How alike symbols act.
struct SymbolSimilarity {
    symbols: usize,
    /// Symbols that are compared: all of them, or none of a large alphabet.
    compared: usize,
    /// States in which both symbols are seen, and in which their targets are equal: `[compared, compared]`.
    counts: Vec<(u32, u32)>,
}

/// Above this number of symbols, pairs of symbols are not compared.
const LARGEST_ALPHABET: usize = 1_000;

impl SymbolSimilarity {
    fn of(symbols: usize, table: &[Option<u32>]) -> SymbolSimilarity {
        let compared = if symbols <= LARGEST_ALPHABET { symbols } else { 0 };
        let mut counts = vec![(0, 0); compared * compared];
        for row in table.chunks(symbols.max(1)) {
            for a in 0..compared {
                for b in 0..compared {
                    if let (Some(x), Some(y)) = (row[a], row[b]) {
                        let pair = &mut counts[a * compared + b];
                        *pair = (pair.0 + 1, pair.1 + u32::from(x == y));
                    }
                }
            }
        }
        SymbolSimilarity { symbols, compared, counts }
    }

    fn likely_target(&self, table: &[Option<u32>], state: usize, symbol: usize) -> Option<u32> {
        let symbols = self.symbols;
        let states = table.len() / symbols;
        let mut weights = vec![0.0; states];
        for from in 0..states {
            if let Some(to) = table[from * symbols + symbol] {
                weights[to as usize] += 1.0 / states as f64 / 100.0;
            }
        }
        for other in 0..self.compared {
            if let Some(to) = table[state * symbols + other] {
                let (both, equal) = self.counts[symbol * self.compared + other];
                weights[to as usize] += f64::from(equal) / (f64::from(both) + 1.0);
            }
        }
        let best = (0..states).reduce(|a, b| if weights[b] > weights[a] { b } else { a })?;
        (weights[best] > 0.0).then_some(best as u32)
    }
}

/// The most frequent class of the tree: that of states in which no word ends.
pub(super) fn usual_class(tree: &PrefixTree) -> u32 {
    let counts = tree.class_counts();
    let best = (0..counts.len()).reduce(|a, b| if counts[b] > counts[a] { b } else { a });
    best.unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unseen_transition_follows_the_symbol_that_acts_alike() {
        // Symbols 0 and 2 agree in two states, 1 and 2 in none.
        let seen = [(1, 2, 1), (0, 2, 0), (2, 0, 9)];
        let table: Vec<Option<u32>> =
            seen.iter().flat_map(|&(a, b, c)| [a, b, c]).map(|to| (to < 9).then_some(to)).collect();
        assert_eq!(complete(3, &table), [1, 2, 1, 0, 2, 0, 2, 0, 2]);
    }

    #[test]
    fn a_large_alphabet_is_completed_without_comparing_symbols() {
        let symbols = LARGEST_ALPHABET + 1;
        let mut table = vec![None; 3 * symbols];
        (table[7], table[symbols + 7], table[5]) = (Some(2), Some(2), Some(1));
        let full = complete(symbols, &table);
        assert_eq!((full[2 * symbols + 7], full[symbols + 5]), (2, 1), "where the symbol goes");
        assert_eq!((full[3], full[2 * symbols]), (0, 2), "symbols that never occur stay");
    }

    #[test]
    fn without_a_clue_a_transition_goes_where_the_symbol_goes_or_stays() {
        let table = [Some(1), None, None, None];
        assert_eq!(complete(2, &table), [1, 0, 1, 1]);
        assert_eq!(complete(1, &[None]), [0]);
        assert_eq!(complete(0, &[]), []);
    }
}
