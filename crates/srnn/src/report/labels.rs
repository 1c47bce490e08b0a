//! What was made of the labels, for people and programs.

use super::LearnReport;
use super::methods::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE};
use crate::extract::ExtractionMethod;
use crate::format::{grouped, percent, plural};
use crate::learn::{Correction, Labels, LearnData, Round, Unexplained};
use crate::noise::{CRITERION, MdlSelection, SuspectedLabel};
use crate::run::WRONG_LABELS;
use crate::task::{Dataset, Subset};
use serde_json::{Value, json};
use srnn_automata::Moore;

/// The labels believed wrong, one object each, in the order of their sets. `line` is where the
/// sequence begins in its file, `index` its place in the set, counted from 0.
pub fn wrong_labels(material: &LearnData, correction: &Correction) -> Vec<Value> {
    correction.suspects.iter().map(|suspect| wrong_label(material, suspect)).collect()
}

fn wrong_label(material: &LearnData, suspect: &SuspectedLabel) -> Value {
    let SuspectedLabel { part, index, given, predicted } = *suspect;
    let (name, set, lines) = match part {
        Subset::Train => ("train", &material.split.train, &material.lines.train),
        Subset::Valid | Subset::Test => ("valid", &material.split.valid, &material.lines.valid),
    };
    json!({
        "set": name,
        "index": index,
        "line": lines.get(index),
        "sequence": tokens(set, index),
        "given": set.classes[given as usize],
        "believed": set.classes[predicted as usize],
    })
}

fn tokens(set: &Dataset, index: usize) -> Vec<&str> {
    set.sequences[index].tokens.iter().map(|&id| set.alphabet[id as usize].as_str()).collect()
}

/// The automaton that the labels speak for where no network is right on all of them: the name of its
/// files, and the automaton.
pub fn automaton_of_labels(labels: &Labels) -> Option<(&'static str, &Moore<u32>)> {
    match labels {
        Labels::Corrected(correction) => Some((BELIEVED, &correction.belief.simplified.automaton)),
        Labels::Unexplained(Unexplained::NoneWrong(belief)) => {
            Some((ALL_RIGHT, &belief.simplified.automaton))
        }
        Labels::Unexplained(_) | Labels::Trusted => None,
    }
}

const BELIEVED: &str = "believed";
const ALL_RIGHT: &str = "right_on_all_labels";

/// What was made of the labels, as an object.
pub fn labels(report: &LearnReport<'_>) -> Value {
    match &report.learned.labels {
        Labels::Trusted => json!({ "verdict": "trusted" }),
        Labels::Unexplained(why) => json!({ "verdict": "unexplained", "why": unexplained(why) }),
        Labels::Corrected(correction) => {
            let MdlSelection {
                simplified,
                seed,
                method: way,
                candidates: tried,
                labels,
                baseline_bits: alone,
            } = &correction.belief;
            json!({
                "verdict": "corrected",
                "criterion": CRITERION,
                "states": simplified.automaton.state_count(),
                "bits": simplified.bits,
                "bits_without_automaton": alone,
                "from": { "seed": seed, "way": described(way), "tried": tried },
                "labels": labels,
                "wrong": correction.suspects.len(),
                "believed_wrong": wrong_labels(report.learned.data, correction),
                "network_has_the_automaton": correction.reached,
                "network_trained_on_validation_set": correction.round == Round::Whole,
                "valid_accuracy_as_believed": as_believed(report),
            })
        }
    }
}

/// What was made of labels that were doubted, and by which criterion; nothing where they were not.
pub fn doubted(report: &LearnReport<'_>) -> Option<String> {
    let Labels::Corrected(correction) = &report.learned.labels else { return None };
    let MdlSelection {
        simplified,
        seed,
        method: way,
        candidates: tried,
        labels,
        baseline_bits: alone,
    } = &correction.belief;
    let (wrong, states) = (correction.suspects.len(), simplified.automaton.state_count());
    let part = percent(wrong as f64 / *labels as f64);
    let reached = match correction.reached {
        true => "the automaton of the network below is the same",
        false => "no network has the same automaton (automaton/believed.json)",
    };
    let on = match correction.round {
        Round::Whole => "on training and validation set, ",
        Round::Given | Round::Believed => "",
    };
    Some(format!(
        "No network is right on all labels given. Of {} found in the networks the automaton was \
         taken with the\n{CRITERION}.\nIt has {} ({:.0} bits; {:.0} without an automaton), comes \
         from seed {seed} ({}),\nand contradicts {} of {} ({part}): {}\nNetworks were trained \
         again {on}with the labels it believes; {reached}.\nRare exceptions to a rule look like \
         wrong labels: --trust-labels takes all labels as they are.\n",
        plural(*tried, "automaton").replace("automatons", "automata"),
        plural(states, "state"),
        simplified.bits,
        alone,
        described(way),
        grouped(wrong as u64),
        plural(*labels, "label"),
        report.run.join(WRONG_LABELS).display(),
    ))
}

/// A phrase that tells how often a network is right by the labels believed, where some are not.
pub fn by_labels_believed(report: &LearnReport<'_>) -> String {
    let believed = as_believed(report).map(percent);
    believed.map_or(String::new(), |part| format!(" as given, {part} of it as believed"))
}

/// Why labels were left as they are although no network is right on all of them.
pub fn unexplained(why: &Unexplained) -> Option<String> {
    let states = |belief: &MdlSelection| plural(belief.simplified.automaton.state_count(), "state");
    match why {
        Unexplained::NoAutomaton => None,
        Unexplained::NoneWrong(belief) => Some(format!(
            "an automaton of {} is right on all labels (automaton/{ALL_RIGHT}.json), though no \
             network is: try more --updates or --seeds",
            states(belief)
        )),
        Unexplained::RightBefore { seed, update } => Some(format!(
            "the labels are taken as they are: seed {seed} was right on them after {update} \
             updates (on a sample of the training set and on the validation set), and lost it \
             again: try more --units, --updates or --seeds"
        )),
        Unexplained::TooMany(_) => Some(
            "no network is right on all labels, and no automaton found says that only a few of \
             them are wrong"
                .into(),
        ),
        Unexplained::Weak(belief) => Some(format!(
            "no network is right on all labels; they are taken as they are, since the best \
             automaton found ({}) explains them hardly better than none",
            states(belief)
        )),
        Unexplained::Worse(belief) => Some(format!(
            "no network is right on all labels; they are taken as they are, since the best \
             automaton found ({}) is right on fewer of the validation set",
            states(belief)
        )),
    }
}

fn as_believed(report: &LearnReport<'_>) -> Option<f64> {
    match report.learned.labels {
        Labels::Corrected(_) => report.valid_accuracy(report.learned.kept()),
        Labels::Trusted | Labels::Unexplained(_) => None,
    }
}

fn described(way: &ExtractionMethod) -> String {
    match way {
        ExtractionMethod::Cover { tolerance } => {
            format!("cover of soft states, tolerance {tolerance}")
        }
        ExtractionMethod::HardTable => HARD_TABLE.into(),
        ExtractionMethod::CountedSoft => COUNTED_SOFT.into(),
        ExtractionMethod::CountedHard => COUNTED_HARD.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::SimplifiedAutomaton;
    use crate::task::tomita::{Grammar, minimal_dfa};

    fn belief() -> Box<MdlSelection> {
        let automaton = Moore::from(&minimal_dfa(Grammar::T3));
        let simplified = SimplifiedAutomaton { automaton, errors: 0, bits: 100.0 };
        let (way, alone) = (ExtractionMethod::HardTable, 900.0);
        Box::new(MdlSelection {
            simplified,
            seed: 1,
            method: way,
            candidates: 1,
            labels: 10,
            baseline_bits: alone,
        })
    }

    #[test]
    fn an_automaton_that_is_right_on_all_labels_has_a_file_and_is_told_where() {
        let why = Unexplained::NoneWrong(belief());
        assert!(unexplained(&why).unwrap().contains("(automaton/right_on_all_labels.json)"));
        let labels = Labels::Unexplained(why);
        let (name, automaton) = automaton_of_labels(&labels).unwrap();
        assert_eq!((name, automaton.state_count()), ("right_on_all_labels", 5));
        assert_eq!(automaton_of_labels(&Labels::Unexplained(Unexplained::Weak(belief()))), None);
    }
}
