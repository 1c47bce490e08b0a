//! Statistics of the hidden states of the selected networks.

use super::folder::model_in;
use super::runner::load_trial_data;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs;
use serde::Serialize;
use srnn::engine::cpu::Cpu;
use srnn::experiment::{
    DatasetBlock, Experiment, ResultTable, StateReport, TestRow, TrialData, TrialId, state_report,
};
use srnn::explain::drift::Slope;
use srnn::explain::usage::{CARRIED_FRACTION, Usage};
use std::path::Path;

/// The number of ranks of α in the table.
const RANKS: usize = 3;

/// A selected trial with the state statistics of its network.
#[derive(Serialize)]
pub struct TrialStates {
    /// The trial.
    #[serde(rename = "cell")]
    pub trial: TrialId,
    /// Centroid usage and drift.
    pub states: StateReport,
}

/// State statistics of every selected network of a folder on the test named `test`. Data files are
/// in `data`. Networks whose folders are missing are omitted with a warning.
pub fn selected_states(
    folder: &Path,
    experiment: &Experiment,
    table: &ResultTable,
    test: &str,
    data: &Path,
    output: &Output,
) -> Result<Vec<TrialStates>, Failure> {
    let row = row(experiment, test)?;
    let mut all = Vec::new();
    for (set, block) in experiment.data.iter().zip(&table.blocks) {
        let trials = selected(folder, block, output);
        if !trials.is_empty() {
            let trial_data = load_trial_data(set, std::slice::from_ref(row), data)?;
            for trial in trials {
                let states = states_of(&model_in(folder, &trial), &trial_data)?;
                all.push(TrialStates { trial, states });
            }
        }
    }
    Ok(all)
}

fn row<'a>(experiment: &'a Experiment, name: &str) -> Result<&'a TestRow, Failure> {
    let found = experiment.tests.iter().find(|test| test.name == name);
    found.ok_or_else(|| {
        let names: Vec<String> =
            experiment.tests.iter().map(|test| format!("{:?}", test.name)).collect();
        let message = format!("--states {name:?}: the experiment has no such test");
        Failure::new(message, format!("use one of {}", names.join(", ")))
    })
}

/// The selected trials whose networks exist.
fn selected(folder: &Path, block: &DatasetBlock, output: &Output) -> Vec<TrialId> {
    let selected = block.columns.iter().filter_map(|column| column.selected.as_ref());
    let (existing, missing): (Vec<TrialId>, Vec<TrialId>) =
        selected.map(|s| s.trial.clone()).partition(|trial| model_in(folder, trial).is_dir());
    for trial in missing {
        output.note(format!(
            "warning: the network of {trial} is missing in {}: remove its line from outcomes.jsonl, and \
             `srnn reproduce` trains it again",
            folder.display()
        ));
    }
    existing
}

fn states_of(model: &Path, trial_data: &TrialData) -> Result<StateReport, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let saved = runs::load(model)?;
    let mut engine = Cpu::new(&saved.file.model, threads);
    Ok(state_report(&mut engine, trial_data, 0))
}

/// The table of state statistics: a heading and one line per trial.
pub fn states_grid(all: &[TrialStates]) -> Vec<Vec<String>> {
    let carrying = format!("centroids with {:.0} %", 100.0 * CARRIED_FRACTION);
    let heading = ["data", "model", &carrying, "mean α by rank", "‖h‖", "slope", "‖c‖", "slope"];
    let line = |entry: &TrialStates| {
        let TrialId { data, model, .. } = &entry.trial;
        let StateReport { usage, drift, .. } = &entry.states;
        let [h, c] = [drift.h, drift.c].map(slope);
        let mut line = vec![data.clone(), model.clone()];
        line.extend(usage.as_ref().map_or(["–", "–"].map(String::from), of_usage));
        line.extend(h.into_iter().chain(c));
        line
    };
    let heading = heading.map(String::from).to_vec();
    std::iter::once(heading).chain(all.iter().map(line)).collect()
}

fn of_usage(usage: &Usage) -> [String; 2] {
    let ranked: Vec<String> =
        usage.ranked.iter().take(RANKS).map(|mean| format!("{mean:.3}")).collect();
    [format!("{} of {}", usage.carrying, usage.visits.len()), ranked.join(" ")]
}

/// The mean norm, and its mean change per step.
fn slope(slope: Option<Slope>) -> [String; 2] {
    match slope {
        Some(Slope { mean, norm, .. }) => [format!("{norm:.2}"), format!("{mean:+.4} per step")],
        None => ["–", "–"].map(String::from),
    }
}
