//! The pushdown machine that a counting network follows: its configurations are the most probable
//! centroid and the depth, its moves the most frequent successors under each class of tokens.

use super::Observation;
use crate::engine::reference::argmax;
use serde::Serialize;
use std::collections::BTreeMap;

/// The most frequent moves of a network between configurations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pushdown {
    /// The names of the classes of tokens.
    pub classes: Vec<String>,
    /// The names of the output classes.
    pub answers: Vec<String>,
    /// The most frequent configuration of first steps.
    pub start: Configuration,
    /// One move per observed configuration and class of tokens, in order.
    pub moves: Vec<PushdownMove>,
    /// The answer to words that end in each configuration, in order.
    pub ends: Vec<EndAnswer>,
}

/// A configuration of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Configuration {
    /// The most probable centroid.
    pub centroid: u32,
    /// The quantity, rounded.
    pub depth: i64,
}

/// The most frequent successor of a configuration under a class of tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PushdownMove {
    /// The source.
    pub from: Configuration,
    /// The class of the token, as an index into [`Pushdown::classes`].
    pub class: usize,
    /// The centroid of the target.
    pub to: u32,
    /// The change of the depth.
    pub change: i64,
    /// The number of observations.
    pub count: u64,
    /// The fraction of all moves from this source under this class: 1 if they are deterministic.
    pub share: f64,
}

/// The most frequent answer to words that end in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndAnswer {
    /// The last configuration.
    pub at: Configuration,
    /// The predicted class, as an index into [`Pushdown::answers`].
    pub answer: usize,
    /// The number of observations.
    pub count: u64,
    /// The fraction of all words that end in this configuration.
    pub share: f64,
}

/// The names of token classes and output classes.
pub struct PushdownNames<'a> {
    /// The names of the classes of tokens.
    pub classes: &'a [&'a str],
    /// The class of each token id.
    pub class_of: &'a dyn Fn(u32) -> usize,
    /// The names of the output classes.
    pub answers: &'a [String],
}

/// Counts the moves of observations. The first step of a row is its start, so that rows without a
/// start token lose their first move. `None` if there is no step.
///
/// # Panics
/// If an observation lacks α, tokens or a quantity for some step.
pub fn pushdown(observations: &[Observation], names: &PushdownNames) -> Option<Pushdown> {
    let mut counts = MoveCounts::default();
    observations.iter().for_each(|observation| count(observation, names, &mut counts));
    let start = most_frequent(&counts.starts)?.0;
    let moves = counts.moves.iter().map(|(&(from, class), targets)| {
        let ((to, change), count, share) = most_frequent(targets).expect("a counted move");
        PushdownMove { from, class, to, change, count, share }
    });
    let ends = counts.ends.iter().map(|(&at, answers)| {
        let (answer, count, share) = most_frequent(answers).expect("a counted answer");
        EndAnswer { at, answer, count, share }
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
struct MoveCounts {
    starts: BTreeMap<Configuration, u64>,
    moves: BTreeMap<(Configuration, usize), BTreeMap<(u32, i64), u64>>,
    ends: BTreeMap<Configuration, BTreeMap<usize, u64>>,
}

fn count(observation: &Observation, names: &PushdownNames, counts: &mut MoveCounts) {
    let steps = observation.steps();
    let (tokens, quantities) = (observation.tokens.len(), observation.quantity.len());
    assert_eq!((tokens, quantities), (steps, steps), "a token and a quantity for each step");
    assert_eq!(observation.alpha.len(), steps * observation.centroids, "numbers of an α per step");
    let at = |n: usize| Configuration {
        centroid: argmax(observation.alpha_at(n)) as u32,
        depth: observation.quantity[n].round() as i64,
    };
    for b in 0..observation.rows() {
        let mut row = observation.row(b);
        let Some(first) = row.next() else { continue };
        let mut from = at(first);
        *counts.starts.entry(from).or_default() += 1;
        for n in row {
            let to = at(n);
            let targets =
                counts.moves.entry((from, (names.class_of)(observation.tokens[n]))).or_default();
            *targets.entry((to.centroid, to.depth - from.depth)).or_default() += 1;
            from = to;
        }
        if let Some(answer) = observation.class(b) {
            *counts.ends.entry(from).or_default().entry(answer as usize).or_default() += 1;
        }
    }
}

/// The most frequent key, its count and its fraction of all; the first of equals.
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
        let mut observation =
            Observation { offsets: vec![0], centroids: 2, ..Observation::default() };
        for row in rows {
            observation.tokens.extend(row);
            observation.offsets.push(observation.tokens.len());
        }
        observation.sum_quantity(|id| [1.0, -1.0, 0.0, 0.0][id as usize]);
        let open = |&depth: &f64| if depth > 0.0 { [0.1, 0.9] } else { [0.9, 0.1] };
        observation.alpha = observation.quantity.iter().flat_map(open).collect();
        observation.logits =
            vec![vec![0.0, 1.0], vec![0.0, 1.0], vec![1.0, 0.0], vec![f64::NAN, 0.0]];
        let answers = ["reject".to_string(), "accept".to_string()];
        let class_of = |id: u32| id as usize;
        let names =
            PushdownNames { classes: &["(", ")", "a"], class_of: &class_of, answers: &answers };
        pushdown(&[observation], &names).unwrap()
    }

    #[test]
    fn moves_are_counted_by_centroid_depth_and_class_of_token() {
        let machine = parentheses();
        let configuration = |centroid, depth| Configuration { centroid, depth };
        assert_eq!(machine.start, configuration(0, 0));
        let from = |from: Configuration| machine.moves.iter().filter(move |m| m.from == from);
        let open = PushdownMove {
            from: configuration(0, 0),
            class: 0,
            to: 1,
            change: 1,
            count: 3,
            share: 1.0,
        };
        assert_eq!(from(configuration(0, 0)).next(), Some(&open));
        let close = PushdownMove {
            from: configuration(1, 2),
            class: 1,
            to: 1,
            change: -1,
            count: 1,
            share: 1.0,
        };
        assert_eq!(from(configuration(1, 2)).collect::<Vec<_>>(), [&close]);
        let back = from(configuration(1, 1)).find(|m| m.class == 1).unwrap();
        assert_eq!((back.to, back.change, back.count), (0, -1, 2));
        let end = |at, answer, count| EndAnswer { at, answer, count, share: 1.0 };
        assert_eq!(machine.ends, [end(configuration(0, 0), 1, 2), end(configuration(1, 1), 0, 1)]);
    }

    #[test]
    fn of_several_successors_the_most_frequent_is_kept_with_its_share() {
        let counts = BTreeMap::from([('a', 1), ('b', 3), ('c', 3)]);
        assert_eq!(most_frequent(&counts), Some(('b', 3, 3.0 / 7.0)));
        assert_eq!(most_frequent::<u8>(&BTreeMap::new()), None);
    }

    #[test]
    fn without_steps_there_is_no_machine() {
        let names = PushdownNames { classes: &[], class_of: &|_| 0, answers: &[] };
        let empty = Observation { offsets: vec![0, 0], ..Observation::default() };
        assert_eq!(pushdown(&[empty], &names), None);
    }
}
