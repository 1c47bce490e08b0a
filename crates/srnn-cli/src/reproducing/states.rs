//! What the states of the selected networks do.

use super::folder::model_in;
use super::runner::made;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs;
use serde::Serialize;
use srnn::engine::cpu::Cpu;
use srnn::experiment::{Block, CellId, Experiment, Material, States, Table, TestRow, states};
use srnn::explain::drift::Slope;
use srnn::explain::usage::{MOST, Usage};
use std::path::Path;

/// Ranks of α that are shown.
const RANKS: usize = 3;

/// A selected network, and what its states do.
#[derive(Serialize)]
pub struct Watched {
    /// Which.
    pub cell: CellId,
    /// What they do.
    pub states: States,
}

/// Watches every selected network of a folder on the test named `test`, with files from `data`. Those
/// whose folders are gone are told of and left out.
pub fn watch(
    folder: &Path,
    experiment: &Experiment,
    table: &Table,
    test: &str,
    data: &Path,
    output: &Output,
) -> Result<Vec<Watched>, Failure> {
    let row = row(experiment, test)?;
    let mut watched = Vec::new();
    for (set, block) in experiment.data.iter().zip(&table.blocks) {
        let cells = selected(folder, block, output);
        if !cells.is_empty() {
            let material = made(set, std::slice::from_ref(row), data)?;
            for cell in cells {
                let states = states_of(&model_in(folder, &cell), &material)?;
                watched.push(Watched { cell, states });
            }
        }
    }
    Ok(watched)
}

fn row<'a>(experiment: &'a Experiment, name: &str) -> Result<&'a TestRow, Failure> {
    let found = experiment.tests.iter().find(|test| test.name == name);
    found.ok_or_else(|| {
        let names: Vec<String> =
            experiment.tests.iter().map(|test| format!("{:?}", test.name)).collect();
        let message = format!("--states {name:?}: the experiment has no such test");
        Failure::new(message, format!("one of {}", names.join(", ")))
    })
}

/// The selected cells whose networks are there.
fn selected(folder: &Path, block: &Block, output: &Output) -> Vec<CellId> {
    let selected = block.columns.iter().filter_map(|column| column.selected.as_ref());
    let (there, gone): (Vec<CellId>, Vec<CellId>) =
        selected.map(|s| s.cell.clone()).partition(|cell| model_in(folder, cell).is_dir());
    for cell in gone {
        output.note(format!(
            "warning: the network of {cell} is not in {}: take its line out of outcomes.jsonl, and \
             `srnn reproduce` trains it again",
            folder.display()
        ));
    }
    there
}

fn states_of(model: &Path, material: &Material) -> Result<States, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let saved = runs::load(model)?;
    let mut engine = Cpu::new(&saved.file.model, threads);
    Ok(states(&mut engine, material, 0))
}

/// Heading and lines.
pub fn grid(watched: &[Watched]) -> Vec<Vec<String>> {
    let carrying = format!("centroids with {:.0} %", 100.0 * MOST);
    let heading =
        ["data", "model", &carrying, "mean α by rank", "‖h‖", "its slope", "‖c‖", "its slope"];
    let line = |watched: &Watched| {
        let CellId { data, model, .. } = &watched.cell;
        let States { usage, drift, .. } = &watched.states;
        let [h, c] = [drift.h, drift.c].map(slope);
        let mut line = vec![data.clone(), model.clone()];
        line.extend(usage.as_ref().map_or(["–", "–"].map(String::from), of_usage));
        line.extend(h.into_iter().chain(c));
        line
    };
    let heading = heading.map(String::from).to_vec();
    std::iter::once(heading).chain(watched.iter().map(line)).collect()
}

fn of_usage(usage: &Usage) -> [String; 2] {
    let ranked: Vec<String> =
        usage.ranked.iter().take(RANKS).map(|mean| format!("{mean:.3}")).collect();
    [format!("{} of {}", usage.carrying, usage.visits.len()), ranked.join(" ")]
}

/// The mean norm, and how much it changes in a step.
fn slope(slope: Option<Slope>) -> [String; 2] {
    match slope {
        Some(Slope { mean, norm, .. }) => [format!("{norm:.2}"), format!("{mean:+.4} a step")],
        None => ["–", "–"].map(String::from),
    }
}
