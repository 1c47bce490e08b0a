//! Which outcomes are an experiment's.

use super::{Cell, Experiment, Outcome};
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
