//! A counting machine as a picture: unrolled, a state for each centroid and depth; or condensed, a
//! state for each centroid and edges that count.

use super::dfa::{DfaPicture, StatePicture};
use crate::explain::pushdown::{Configuration, End, Move, Pushdown};
use std::collections::{BTreeMap, BTreeSet};

/// Which part of a machine is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The smallest depth; −1 by default: one parenthesis too many.
    pub shallowest: i64,
    /// The largest depth; 4 by default.
    pub deepest: i64,
    /// Moves that make up a smaller part of all those from their depth under their class are left
    /// out; 0.02 by default.
    pub least: f64,
    /// The answer that gives a state two rings.
    pub accepting: usize,
}

impl Default for Window {
    fn default() -> Self {
        Window { shallowest: -1, deepest: 4, least: 0.02, accepting: 1 }
    }
}

/// The machine with a state for each centroid and depth, as far as it is reached from the start.
pub fn unrolled(machine: &Pushdown, window: &Window) -> DfaPicture {
    let moves = drawn(machine, window);
    let places: Vec<Configuration> = reached(machine.start, &moves).into_iter().collect();
    let number = |place: Configuration| places.binary_search(&place).ok();
    let edges = moves.iter().filter_map(|step| {
        let label = machine.classes[step.class].clone();
        Some((number(step.from)?, number(target(step))?, label))
    });
    DfaPicture {
        title: String::new(),
        states: places.iter().map(|&place| state(machine, window, place)).collect(),
        start: number(machine.start).expect("the start is reached"),
        edges: edges.collect(),
    }
}

/// The machine with a state for each centroid. An edge `( / +1` reads a `(` and counts up; where the
/// move depends on the depth, `) at 1 / −1` and `) from 2 / −1` say at which. States at which most
/// words that end there are accepted have two rings.
pub fn condensed(machine: &Pushdown, window: &Window) -> DfaPicture {
    let moves = drawn(machine, window);
    let places = reached(machine.start, &moves);
    let centroids: BTreeSet<u32> = places.iter().map(|place| place.centroid).collect();
    let centroids: Vec<u32> = centroids.into_iter().collect();
    let number = |centroid: u32| centroids.binary_search(&centroid).expect("a centroid reached");
    let mut sources: BTreeMap<(u32, usize), Targets> = BTreeMap::new();
    for step in moves.iter().filter(|step| places.contains(&step.from)) {
        let targets = sources.entry((step.from.centroid, step.class)).or_default();
        targets.entry((step.to, step.change)).or_default().push(step.from.depth);
    }
    let edges = sources.iter().flat_map(|(&(from, class), targets)| {
        targets.keys().map(move |&(to, change)| {
            let when = when(targets, (to, change));
            let label = format!("{}{when} / {}", machine.classes[class], signed(change));
            (number(from), number(to), label)
        })
    });
    let states = centroids.iter().map(|&centroid| StatePicture {
        label: format!("s{centroid}"),
        note: String::new(),
        accepting: accepts(machine, window, centroid),
    });
    DfaPicture {
        title: String::new(),
        states: states.collect(),
        start: number(machine.start.centroid),
        edges: edges.collect(),
    }
}

/// Where a class of tokens leads from a centroid, centroid and change of depth, and at which depths.
type Targets = BTreeMap<(u32, i64), Vec<i64>>;

/// At which depths a target is the one, where there are others.
fn when(targets: &Targets, target: (u32, i64)) -> String {
    let deepest = targets.values().flatten().max();
    match (targets.len(), &targets[&target][..]) {
        (1, _) => String::new(),
        (_, depths) => match runs(depths)[..] {
            [(first, last)] if first < last && Some(&last) == deepest => format!(" from {first}"),
            _ => format!(" at {}", ranges(depths)),
        },
    }
    .replace('-', "−")
}

fn accepts(machine: &Pushdown, window: &Window, centroid: u32) -> bool {
    let here = machine.ends.iter().filter(|end| end.at.centroid == centroid);
    // An end has the count of its most frequent answer: the others are the rest of its share.
    let (mut accepted, mut all) = (0.0, 0.0);
    for End { answer, count, share, .. } in here {
        let (told, total) = (*count as f64, *count as f64 / share);
        accepted += if *answer == window.accepting { told } else { total - told };
        all += total;
    }
    accepted > 0.5 * all
}

/// The moves within the window that are not rare.
fn drawn<'a>(machine: &'a Pushdown, window: &Window) -> Vec<&'a Move> {
    let mut totals: BTreeMap<(i64, usize), u64> = BTreeMap::new();
    for step in &machine.moves {
        *totals.entry((step.from.depth, step.class)).or_default() += step.count;
    }
    let depths = window.shallowest..=window.deepest;
    let shown = |step: &&Move| {
        let total = totals[&(step.from.depth, step.class)] as f64;
        depths.contains(&step.from.depth)
            && depths.contains(&target(step).depth)
            && step.count as f64 >= window.least * total
    };
    machine.moves.iter().filter(shown).collect()
}

fn target(step: &Move) -> Configuration {
    Configuration { centroid: step.to, depth: step.from.depth + step.change }
}

fn reached(start: Configuration, moves: &[&Move]) -> BTreeSet<Configuration> {
    let mut reached = BTreeSet::from([start]);
    let mut waiting = vec![start];
    while let Some(place) = waiting.pop() {
        for step in moves.iter().filter(|step| step.from == place) {
            if reached.insert(target(step)) {
                waiting.push(target(step));
            }
        }
    }
    reached
}

fn state(machine: &Pushdown, window: &Window, place: Configuration) -> StatePicture {
    let said = |end: &&End| end.at == place;
    let answer = machine.ends.iter().find(said).map(|end| end.answer);
    StatePicture {
        label: format!("s{}", place.centroid),
        note: format!("depth {}", place.depth).replace('-', "−"),
        accepting: answer == Some(window.accepting),
    }
}

fn signed(change: i64) -> String {
    match change {
        0 => "0".into(),
        change if change > 0 => format!("+{change}"),
        change => format!("−{}", change.unsigned_abs()),
    }
}

/// Numbers in order, with runs as `2–5`.
fn ranges(numbers: &[i64]) -> String {
    let text = |&(first, last): &(i64, i64)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    };
    runs(numbers).iter().map(text).collect::<Vec<_>>().join(" ")
}

/// The first and last of each run.
fn runs(numbers: &[i64]) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::pushdown::tests::parentheses;
    use crate::render::dfa;

    #[test]
    fn a_machine_is_unrolled_to_a_state_for_each_centroid_and_depth() {
        let picture = unrolled(&parentheses(), &Window::default());
        let names: Vec<String> =
            picture.states.iter().map(|s| format!("{} {}", s.label, s.note)).collect();
        assert_eq!(names, ["s0 depth 0", "s1 depth 1", "s1 depth 2"]);
        assert!(picture.states[0].accepting && !picture.states[1].accepting);
        for edge in [(0, 1, "("), (1, 2, "("), (2, 1, ")"), (1, 0, ")"), (1, 1, "a")] {
            assert!(picture.edges.contains(&(edge.0, edge.1, edge.2.into())), "{edge:?}");
        }
        crate::render::testing::check_well_formed(&dfa::svg(&picture).unwrap());
    }

    #[test]
    fn a_condensed_machine_has_edges_that_count_and_say_at_which_depth_where_it_matters() {
        let picture = condensed(&parentheses(), &Window::default());
        assert_eq!(picture.states.iter().map(|s| s.accepting).collect::<Vec<_>>(), [true, false]);
        for edge in [(0, 1, "( / +1"), (1, 1, ") at 2 / −1"), (1, 0, ") at 1 / −1")] {
            assert!(picture.edges.contains(&(edge.0, edge.1, edge.2.into())), "{edge:?}");
        }
    }

    #[test]
    fn what_is_beyond_the_window_or_rare_is_left_out() {
        let shallow = unrolled(&parentheses(), &Window { deepest: 1, ..Window::default() });
        assert_eq!(shallow.states.len(), 2);
        let mut machine = parentheses();
        machine.moves.iter_mut().filter(|step| step.from.depth == 0).for_each(|step| {
            step.count *= 1000;
        });
        let odd = Configuration { centroid: 7, depth: 0 };
        let rare = Move { from: machine.start, class: 0, to: 7, change: 0, count: 1, share: 1.0 };
        machine.moves.push(rare);
        let picture = unrolled(&machine, &Window::default());
        assert!(picture.states.iter().all(|state| state.label != format!("s{}", odd.centroid)));
    }

    #[test]
    fn depths_are_named_in_runs_and_the_last_run_has_no_end() {
        assert_eq!(ranges(&[1, 2, 3, 7]), "1–3 7");
        let targets = Targets::from([((0, -1), vec![-1, 1]), ((1, -1), vec![2, 3, 4])]);
        assert_eq!(when(&targets, (0, -1)), " at −1 1");
        assert_eq!(when(&targets, (1, -1)), " from 2");
        assert_eq!(when(&Targets::from([((0, 1), vec![0])]), (0, 1)), "");
    }
}
