//! Which outcomes are an experiment's, and which of them is selected.

use super::{Cell, Experiment, Measure, Outcome, Setting, best};
use std::collections::HashMap;

/// A cell, and its outcome where it was run.
pub(super) type Ran<'a, 'b> = (Cell<'a>, Option<&'b Outcome>);

/// Every cell with its outcome. A data set's outcomes must be of the same strings: where the
/// program came to make others, the newer ones count.
pub(super) fn found<'a, 'b>(
    experiment: &'a Experiment,
    outcomes: &'b [Outcome],
) -> Vec<Ran<'a, 'b>> {
    let cells = experiment.cells();
    let digests: Vec<String> = cells.iter().map(Cell::digest).collect();
    let mut newest: HashMap<&str, &str> = HashMap::new();
    for outcome in outcomes {
        for place in (0..cells.len()).filter(|&place| digests[place] == outcome.settings) {
            newest.insert(&cells[place].data.name, &outcome.data);
        }
    }
    let of = |(cell, digest): (Cell<'a>, &String)| {
        let data = newest.get(cell.data.name.as_str());
        let same = |o: &&Outcome| o.settings == *digest && data == Some(&o.data.as_str());
        (cell, outcomes.iter().rev().find(same))
    };
    cells.iter().copied().zip(&digests).map(of).collect()
}

/// The place of the run that validation selects among those of one data set and one model.
pub(super) fn selected(measure: Measure, runs: &[Ran<'_, '_>]) -> Option<usize> {
    let valid = |outcome: &Outcome| outcome.scores.as_ref().map(|scores| scores.valid);
    best(measure, runs.iter().map(|(_, outcome)| outcome.and_then(valid)))
}

/// The outcomes of a setting's seeds.
pub(super) fn seeds_of<'b>(setting: &Setting, runs: &[Ran<'_, 'b>]) -> Vec<&'b Outcome> {
    runs.iter().filter(|run| run.0.setting == setting).filter_map(|run| run.1).collect()
}
