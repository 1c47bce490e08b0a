//! Matches outcomes with the trials of an experiment.

use super::{Experiment, Measure, TrainSetting, Trial, TrialOutcome, best};
use std::collections::HashMap;

/// A trial, and its outcome if it was run.
pub(super) type MatchedTrial<'a, 'b> = (Trial<'a>, Option<&'b TrialOutcome>);

/// Every trial with its last outcome. All outcomes of a data set must be of the same content: where
/// a later version generates other strings, the newer outcomes count.
pub(super) fn match_outcomes<'a, 'b>(
    experiment: &'a Experiment,
    outcomes: &'b [TrialOutcome],
) -> Vec<MatchedTrial<'a, 'b>> {
    let trials = experiment.trials();
    let digests: Vec<String> = trials.iter().map(Trial::digest).collect();
    let mut newest: HashMap<&str, &str> = HashMap::new();
    for outcome in outcomes {
        for index in (0..trials.len()).filter(|&index| digests[index] == outcome.settings) {
            newest.insert(&trials[index].data.name, &outcome.data);
        }
    }
    let matched = |(trial, digest): (Trial<'a>, &String)| {
        let data = newest.get(trial.data.name.as_str());
        let same = |o: &&TrialOutcome| o.settings == *digest && data == Some(&o.data.as_str());
        (trial, outcomes.iter().rev().find(same))
    };
    trials.iter().copied().zip(&digests).map(matched).collect()
}

/// The index of the trial that validation selects among those of one data set and one model.
pub(super) fn selected(measure: Measure, runs: &[MatchedTrial<'_, '_>]) -> Option<usize> {
    let valid = |outcome: &TrialOutcome| outcome.scores.as_ref().map(|scores| scores.valid);
    best(measure, runs.iter().map(|(_, outcome)| outcome.and_then(valid)))
}

/// The outcomes of a setting's seeds.
pub(super) fn seeds_of<'b>(
    setting: &TrainSetting,
    runs: &[MatchedTrial<'_, 'b>],
) -> Vec<&'b TrialOutcome> {
    runs.iter().filter(|run| run.0.setting == setting).filter_map(|run| run.1).collect()
}
