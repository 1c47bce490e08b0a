//! The machine a counting network follows: its most probable centroid and the depth, and where each
//! class of tokens leads from there.

use super::Observation;
use crate::engine::reference::argmax;
use serde::Serialize;
use std::collections::BTreeMap;

/// The most frequent moves of a network between (centroid, depth).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pushdown {
    /// The names of the classes of tokens.
    pub classes: Vec<String>,
    /// What the classifier's answers are called.
    pub answers: Vec<String>,
    /// Where rows begin: the first step's most frequent configuration.
    pub start: Configuration,
    /// One per configuration and class of tokens seen, in order.
    pub moves: Vec<Move>,
    /// What is said of words that end in a configuration, in order.
    pub ends: Vec<End>,
}

/// Where the machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Configuration {
    /// The most probable centroid.
    pub centroid: u32,
    /// The quantity, rounded.
    pub depth: i64,
}

/// The most frequent successor of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Move {
    /// Where it starts.
    pub from: Configuration,
    /// Which of the classes is read.
    pub class: usize,
    /// The centroid it leads to.
    pub to: u32,
    /// By how much the depth changes.
    pub change: i64,
    /// How often it was seen.
    pub count: u64,
    /// The part of all moves of this class from there: 1 where the machine is deterministic.
    pub share: f64,
}

/// The most frequent answer to words that end in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// Where they end.
    pub at: Configuration,
    /// Which of the answers is given.
    pub answer: usize,
    /// How often.
    pub count: u64,
    /// The part of all words that end there.
    pub share: f64,
}

/// What tokens and answers are called.
pub struct Names<'a> {
    /// The classes of tokens.
    pub classes: &'a [&'a str],
    /// The class of each token id.
    pub class_of: &'a dyn Fn(u32) -> usize,
    /// The classifier's answers.
    pub answers: &'a [String],
}

/// Counts the moves of observations that have α, tokens and a quantity per step. A row's first step
/// is where it begins, so rows without a start token lose their first move. `None` where there is no
/// step.
///
/// # Panics
/// If an observation lacks α, tokens or a quantity for some step.
pub fn pushdown(seen: &[Observation], names: &Names) -> Option<Pushdown> {
    let mut counts = Counts::default();
    seen.iter().for_each(|seen| count(seen, names, &mut counts));
    let start = most_frequent(&counts.starts)?.0;
    let moves = counts.moves.iter().map(|(&(from, class), targets)| {
        let ((to, change), count, share) = most_frequent(targets).expect("a move that was seen");
        Move { from, class, to, change, count, share }
    });
    let ends = counts.ends.iter().map(|(&at, answers)| {
        let (answer, count, share) = most_frequent(answers).expect("an answer that was given");
        End { at, answer, count, share }
    });
    Some(Pushdown {
        classes: names.classes.iter().map(|name| name.to_string()).collect(),
        answers: names.answers.to_vec(),
        start,
        moves: moves.collect(),
        ends: ends.collect(),
    })
}

#[derive(Default)]
struct Counts {
    starts: BTreeMap<Configuration, u64>,
    moves: BTreeMap<(Configuration, usize), BTreeMap<(u32, i64), u64>>,
    ends: BTreeMap<Configuration, BTreeMap<usize, u64>>,
}

fn count(seen: &Observation, names: &Names, counts: &mut Counts) {
    let steps = seen.steps();
    let (tokens, quantities) = (seen.tokens.len(), seen.quantity.len());
    assert_eq!((tokens, quantities), (steps, steps), "a token and a quantity for each step");
    assert_eq!(seen.alpha.len(), steps * seen.centroids, "numbers of an α per step");
    let at = |n: usize| Configuration {
        centroid: argmax(seen.alpha_at(n)) as u32,
        depth: seen.quantity[n].round() as i64,
    };
    for b in 0..seen.rows() {
        let mut row = seen.row(b);
        let Some(first) = row.next() else { continue };
        let mut from = at(first);
        *counts.starts.entry(from).or_default() += 1;
        for n in row {
            let to = at(n);
            let targets = counts.moves.entry((from, (names.class_of)(seen.tokens[n]))).or_default();
            *targets.entry((to.centroid, to.depth - from.depth)).or_default() += 1;
            from = to;
        }
        if let Some(answer) = seen.class(b) {
            *counts.ends.entry(from).or_default().entry(answer as usize).or_default() += 1;
        }
    }
}

/// The most frequent of several, the first of equals; its count and its part of all.
fn most_frequent<T: Copy>(counts: &BTreeMap<T, u64>) -> Option<(T, u64, f64)> {
    let largest = *counts.values().max()?;
    let (&what, _) = counts.iter().find(|&(_, &count)| count == largest)?;
    let all: u64 = counts.values().sum();
    Some((what, largest, largest as f64 / all as f64))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Centroid 1 exactly where the depth is above 0; ids: `(`, `)`, `a`, start.
    pub(crate) fn parentheses() -> Pushdown {
        let rows: [&[u32]; 4] = [&[3, 0, 2, 0, 1, 1], &[3, 0, 1, 2], &[3, 0], &[3]];
        let mut seen = Observation { offsets: vec![0], centroids: 2, ..Observation::default() };
        for row in rows {
            seen.tokens.extend(row);
            seen.offsets.push(seen.tokens.len());
        }
        seen.measure(|id| [1.0, -1.0, 0.0, 0.0][id as usize]);
        let open = |&depth: &f64| if depth > 0.0 { [0.1, 0.9] } else { [0.9, 0.1] };
        seen.alpha = seen.quantity.iter().flat_map(open).collect();
        seen.logits = vec![vec![0.0, 1.0], vec![0.0, 1.0], vec![1.0, 0.0], vec![f64::NAN, 0.0]];
        let answers = ["reject".to_string(), "accept".to_string()];
        let class_of = |id: u32| id as usize;
        let names = Names { classes: &["(", ")", "a"], class_of: &class_of, answers: &answers };
        pushdown(&[seen], &names).unwrap()
    }

    #[test]
    fn moves_are_counted_by_centroid_depth_and_class_of_token() {
        let machine = parentheses();
        let place = |centroid, depth| Configuration { centroid, depth };
        assert_eq!(machine.start, place(0, 0));
        let from = |from: Configuration| machine.moves.iter().filter(move |m| m.from == from);
        let open = Move { from: place(0, 0), class: 0, to: 1, change: 1, count: 3, share: 1.0 };
        assert_eq!(from(place(0, 0)).next(), Some(&open));
        let close = Move { from: place(1, 2), class: 1, to: 1, change: -1, count: 1, share: 1.0 };
        assert_eq!(from(place(1, 2)).collect::<Vec<_>>(), [&close]);
        let back = from(place(1, 1)).find(|m| m.class == 1).unwrap();
        assert_eq!((back.to, back.change, back.count), (0, -1, 2));
        let end = |at, answer, count| End { at, answer, count, share: 1.0 };
        assert_eq!(machine.ends, [end(place(0, 0), 1, 2), end(place(1, 1), 0, 1)]);
    }

    #[test]
    fn of_several_successors_the_most_frequent_is_kept_with_its_share() {
        let counts = BTreeMap::from([('a', 1), ('b', 3), ('c', 3)]);
        assert_eq!(most_frequent(&counts), Some(('b', 3, 3.0 / 7.0)));
        assert_eq!(most_frequent::<u8>(&BTreeMap::new()), None);
    }

    #[test]
    fn no_steps_are_no_machine() {
        let names = Names { classes: &[], class_of: &|_| 0, answers: &[] };
        let empty = Observation { offsets: vec![0, 0], ..Observation::default() };
        assert_eq!(pushdown(&[empty], &names), None);
    }
}
