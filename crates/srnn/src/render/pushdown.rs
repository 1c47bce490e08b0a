//! Pictures of pushdown machines: unrolled, with a state for each centroid and depth, or condensed,
//! with a state for each centroid and edges that count.

use super::dfa::{DfaPicture, EdgePicture, StatePicture};
use crate::explain::pushdown::{Configuration, EndAnswer, Pushdown, PushdownMove};
use std::collections::{BTreeMap, BTreeSet};

/// The part of a machine that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthWindow {
    /// The smallest depth. Default −1, after one surplus `)`.
    pub shallowest: i64,
    /// The largest depth. Default 4.
    pub deepest: i64,
    /// The smallest fraction of all moves from the same depth under the same class; rarer moves are
    /// left out. Default 0.02.
    pub min_fraction: f64,
    /// The class whose states are drawn with two rings. Default 1.
    pub accepting: usize,
}

impl Default for DepthWindow {
    fn default() -> Self {
        DepthWindow { shallowest: -1, deepest: 4, min_fraction: 0.02, accepting: 1 }
    }
}

/// The machine with a state for each centroid and depth that is reachable from the start.
pub fn unrolled(machine: &Pushdown, window: &DepthWindow) -> DfaPicture {
    let moves = shown_moves(machine, window);
    let configurations: Vec<Configuration> = reachable(machine.start, &moves).into_iter().collect();
    let number = |configuration: Configuration| configurations.binary_search(&configuration).ok();
    let edges = moves.iter().filter_map(|step| {
        let label = machine.classes[step.class].clone();
        let (from, to) = (number(step.from)?, number(target(step))?);
        Some(EdgePicture { from, to, label, ..EdgePicture::default() })
    });
    DfaPicture {
        states: configurations
            .iter()
            .map(|&configuration| state(machine, window, configuration))
            .collect(),
        start: number(machine.start).expect("the start is reachable"),
        edges: edges.collect(),
        ..DfaPicture::default()
    }
}

/// The machine with a state for each centroid. An edge `( / +1` reads a `(` and counts up. If the move
/// depends on the depth, edges name it: `) at 1 / −1` and `) from 2 / −1`. A state has two rings if
/// most words that end there are accepted.
pub fn condensed(machine: &Pushdown, window: &DepthWindow) -> DfaPicture {
    let moves = shown_moves(machine, window);
    let configurations = reachable(machine.start, &moves);
    let centroids: BTreeSet<u32> =
        configurations.iter().map(|configuration| configuration.centroid).collect();
    let centroids: Vec<u32> = centroids.into_iter().collect();
    let number = |centroid: u32| centroids.binary_search(&centroid).expect("a reachable centroid");
    let mut sources: BTreeMap<(u32, usize), MoveTargets> = BTreeMap::new();
    for step in moves.iter().filter(|step| configurations.contains(&step.from)) {
        let targets = sources.entry((step.from.centroid, step.class)).or_default();
        targets.entry((step.to, step.change)).or_default().push(step.from.depth);
    }
    let edges = sources.iter().flat_map(|(&(from, class), targets)| {
        targets.keys().map(move |&(to, change)| {
            let when = depth_condition(targets, (to, change));
            let label = format!("{}{when} / {}", machine.classes[class], signed(change));
            EdgePicture { from: number(from), to: number(to), label, ..EdgePicture::default() }
        })
    });
    let states = centroids.iter().map(|&centroid| StatePicture {
        label: format!("s{centroid}"),
        accepting: accepts(machine, window, centroid),
        ..StatePicture::default()
    });
    DfaPicture {
        states: states.collect(),
        start: number(machine.start.centroid),
        edges: edges.collect(),
        ..DfaPicture::default()
    }
}

/// The depths of each target of a centroid under a class of tokens. A target is a centroid and a
/// change of depth.
type MoveTargets = BTreeMap<(u32, i64), Vec<i64>>;

/// The depths of a target as text; empty if there is only one target.
fn depth_condition(targets: &MoveTargets, target: (u32, i64)) -> String {
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

fn accepts(machine: &Pushdown, window: &DepthWindow, centroid: u32) -> bool {
    let here = machine.ends.iter().filter(|end| end.at.centroid == centroid);
    // An entry counts its most frequent answer; its share gives the number of the other answers.
    let (mut accepted, mut all) = (0.0, 0.0);
    for EndAnswer { answer, count, share, .. } in here {
        let (frequent, total) = (*count as f64, *count as f64 / share);
        accepted += if *answer == window.accepting { frequent } else { total - frequent };
        all += total;
    }
    accepted > 0.5 * all
}

/// The moves within the window that are not rare.
fn shown_moves<'a>(machine: &'a Pushdown, window: &DepthWindow) -> Vec<&'a PushdownMove> {
    let mut totals: BTreeMap<(i64, usize), u64> = BTreeMap::new();
    for step in &machine.moves {
        *totals.entry((step.from.depth, step.class)).or_default() += step.count;
    }
    let depths = window.shallowest..=window.deepest;
    let shown = |step: &&PushdownMove| {
        let total = totals[&(step.from.depth, step.class)] as f64;
        depths.contains(&step.from.depth)
            && depths.contains(&target(step).depth)
            && step.count as f64 >= window.min_fraction * total
    };
    machine.moves.iter().filter(shown).collect()
}

fn target(step: &PushdownMove) -> Configuration {
    Configuration { centroid: step.to, depth: step.from.depth + step.change }
}

fn reachable(start: Configuration, moves: &[&PushdownMove]) -> BTreeSet<Configuration> {
    let mut found = BTreeSet::from([start]);
    let mut waiting = vec![start];
    while let Some(configuration) = waiting.pop() {
        for step in moves.iter().filter(|step| step.from == configuration) {
            if found.insert(target(step)) {
                waiting.push(target(step));
            }
        }
    }
    found
}

fn state(machine: &Pushdown, window: &DepthWindow, configuration: Configuration) -> StatePicture {
    let is_here = |end: &&EndAnswer| end.at == configuration;
    let answer = machine.ends.iter().find(is_here).map(|end| end.answer);
    StatePicture {
        label: format!("s{}", configuration.centroid),
        note: format!("depth {}", configuration.depth).replace('-', "−"),
        accepting: answer == Some(window.accepting),
        ..StatePicture::default()
    }
}

fn signed(change: i64) -> String {
    match change {
        0 => "0".into(),
        change if change > 0 => format!("+{change}"),
        change => format!("−{}", change.unsigned_abs()),
    }
}

/// Ascending numbers as text, with runs as `2–5`.
fn ranges(numbers: &[i64]) -> String {
    let text = |&(first, last): &(i64, i64)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    };
    runs(numbers).iter().map(text).collect::<Vec<_>>().join(" ")
}

/// The first and last number of each run.
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

    fn has_edge(picture: &DfaPicture, (from, to, label): (usize, usize, &str)) -> bool {
        picture.edges.iter().any(|edge| (edge.from, edge.to, &edge.label[..]) == (from, to, label))
    }

    #[test]
    fn a_machine_is_unrolled_to_a_state_for_each_centroid_and_depth() {
        let picture = unrolled(&parentheses(), &DepthWindow::default());
        let names: Vec<String> =
            picture.states.iter().map(|s| format!("{} {}", s.label, s.note)).collect();
        assert_eq!(names, ["s0 depth 0", "s1 depth 1", "s1 depth 2"]);
        assert!(picture.states[0].accepting && !picture.states[1].accepting);
        for edge in [(0, 1, "("), (1, 2, "("), (2, 1, ")"), (1, 0, ")"), (1, 1, "a")] {
            assert!(has_edge(&picture, edge), "{edge:?}");
        }
        crate::render::testing::check_well_formed(&dfa::svg(&picture).unwrap());
    }

    #[test]
    fn a_condensed_machine_has_edges_that_count_and_say_at_which_depth_where_it_matters() {
        let picture = condensed(&parentheses(), &DepthWindow::default());
        assert_eq!(picture.states.iter().map(|s| s.accepting).collect::<Vec<_>>(), [true, false]);
        for edge in [(0, 1, "( / +1"), (1, 1, ") at 2 / −1"), (1, 0, ") at 1 / −1")] {
            assert!(has_edge(&picture, edge), "{edge:?}");
        }
    }

    #[test]
    fn moves_that_are_rare_or_outside_the_window_are_left_out() {
        let shallow =
            unrolled(&parentheses(), &DepthWindow { deepest: 1, ..DepthWindow::default() });
        assert_eq!(shallow.states.len(), 2);
        let mut machine = parentheses();
        machine.moves.iter_mut().filter(|step| step.from.depth == 0).for_each(|step| {
            step.count *= 1000;
        });
        let odd = Configuration { centroid: 7, depth: 0 };
        let rare =
            PushdownMove { from: machine.start, class: 0, to: 7, change: 0, count: 1, share: 1.0 };
        machine.moves.push(rare);
        let picture = unrolled(&machine, &DepthWindow::default());
        assert!(picture.states.iter().all(|state| state.label != format!("s{}", odd.centroid)));
    }

    #[test]
    fn depths_are_listed_in_runs_and_the_last_run_is_open() {
        assert_eq!(ranges(&[1, 2, 3, 7]), "1–3 7");
        let targets = MoveTargets::from([((0, -1), vec![-1, 1]), ((1, -1), vec![2, 3, 4])]);
        assert_eq!(depth_condition(&targets, (0, -1)), " at −1 1");
        assert_eq!(depth_condition(&targets, (1, -1)), " from 2");
        assert_eq!(depth_condition(&MoveTargets::from([((0, 1), vec![0])]), (0, 1)), "");
    }
}
