//! The result of the label check as text and as JSON.

use super::LearnReport;
use super::methods::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE};
use crate::extract::ExtractionMethod;
use crate::format::{grouped, percent, plural};
use crate::learn::{Correction, LabelVerdict, LearnData, NotCorrected, Round};
use crate::noise::{CRITERION, MdlSelection, SuspectedLabel};
use crate::run::WRONG_LABELS;
use crate::task::{Dataset, Subset};
use serde_json::{Value, json};
use srnn_automata::Moore;

/// The lines of `wrong_labels.jsonl`: one object per suspected label, in the order of the sets.
/// `line` is the first line of the sequence in its file, `index` its index in the set.
pub(super) fn suspected_label_records(data: &LearnData, correction: &Correction) -> Vec<Value> {
    correction.suspects.iter().map(|suspect| suspected_label_record(data, suspect)).collect()
}

fn suspected_label_record(data: &LearnData, suspect: &SuspectedLabel) -> Value {
    let SuspectedLabel { part, index, given, predicted } = *suspect;
    let (name, set, lines) = match part {
        Subset::Train => ("train", &data.split.train, &data.lines.train),
        Subset::Valid | Subset::Test => ("valid", &data.split.valid, &data.lines.valid),
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

/// The automaton selected by description length, if it is written to a file.
pub(super) struct MdlAutomaton<'a> {
    /// The file names without extension.
    pub stem: &'static str,
    /// The title for pictures.
    pub title: &'static str,
    /// The automaton.
    pub automaton: &'a Moore<u32>,
}

impl MdlAutomaton<'_> {
    /// `None` if labels are trusted, or if no automaton explains them.
    pub fn of(verdict: &LabelVerdict) -> Option<MdlAutomaton<'_>> {
        let (stem, title, selected) = match verdict {
            LabelVerdict::Corrected(correction) => {
                (CORRECTED_STEM, "selected by description length", &correction.selected)
            }
            LabelVerdict::NotCorrected(NotCorrected::NoErrors(selected)) => {
                (NO_ERRORS_STEM, "correct on all labels", &**selected)
            }
            LabelVerdict::NotCorrected(_) | LabelVerdict::Trusted => return None,
        };
        Some(MdlAutomaton { stem, title, automaton: &selected.simplified.automaton })
    }
}

const CORRECTED_STEM: &str = "believed";
const NO_ERRORS_STEM: &str = "right_on_all_labels";

/// `labels` of `result.json`.
pub(super) fn label_record(report: &LearnReport<'_>) -> Value {
    match &report.learned.label_verdict {
        LabelVerdict::Trusted => json!({ "verdict": "trusted" }),
        LabelVerdict::NotCorrected(why) => {
            json!({ "verdict": "unexplained", "why": not_corrected_note(why) })
        }
        LabelVerdict::Corrected(correction) => {
            let MdlSelection { simplified, seed, method, candidates, labels, baseline_bits } =
                &correction.selected;
            json!({
                "verdict": "corrected",
                "criterion": CRITERION,
                "states": simplified.automaton.state_count(),
                "bits": simplified.bits,
                "bits_without_automaton": baseline_bits,
                "from": { "seed": seed, "way": method_name(method), "tried": candidates },
                "labels": labels,
                "wrong": correction.suspects.len(),
                "believed_wrong": suspected_label_records(report.learned.data, correction),
                "network_has_the_automaton": correction.reproduced,
                "network_trained_on_validation_set": correction.round == Round::CorrectedAll,
                "valid_accuracy_as_believed": accuracy_on_corrected(report),
            })
        }
    }
}

/// Describes the correction of labels; `None` if none were corrected.
pub(super) fn correction_text(report: &LearnReport<'_>) -> Option<String> {
    let LabelVerdict::Corrected(correction) = &report.learned.label_verdict else { return None };
    let MdlSelection { simplified, seed, method, candidates, labels, baseline_bits } =
        &correction.selected;
    let wrong = correction.suspects.len();
    let reproduced = match correction.reproduced {
        true => "the selected network has the same automaton",
        false => "no network has the same automaton, which is in automaton/believed.json",
    };
    let sets = match correction.round {
        Round::CorrectedAll => "on training and validation set ",
        Round::Short | Round::Given | Round::Corrected | Round::Candidate(_) => "",
    };
    Some(format!(
        "No network fits all labels. From {} one was selected by\n{CRITERION}.\n\
         It has {} ({:.0} bits; {:.0} bits without an automaton) and comes from seed {seed} ({}).\n\
         It contradicts {} of {} ({}), which are suspected to be wrong: {}\n\
         Networks were retrained {sets}with corrected labels; {reproduced}.\n\
         Rare exceptions to a rule look like wrong labels: --trust-labels uses all labels as given.\n",
        plural(*candidates, "candidate automaton").replace("automatons", "automata"),
        plural(simplified.automaton.state_count(), "state"),
        simplified.bits,
        baseline_bits,
        method_name(method),
        grouped(wrong as u64),
        plural(*labels, "label"),
        percent(wrong as f64 / *labels as f64),
        report.run.join(WRONG_LABELS).display(),
    ))
}

/// Validation accuracy of the selected network on corrected labels; `None` if none were corrected.
pub(super) fn accuracy_on_corrected(report: &LearnReport<'_>) -> Option<f64> {
    match report.learned.label_verdict {
        LabelVerdict::Corrected(_) => report.valid_accuracy(report.learned.kept()),
        LabelVerdict::Trusted | LabelVerdict::NotCorrected(_) => None,
    }
}

/// Says why no label is corrected although no network fits all of them.
pub(super) fn not_corrected_note(why: &NotCorrected) -> Option<String> {
    let states =
        |selected: &MdlSelection| plural(selected.simplified.automaton.state_count(), "state");
    let note = match why {
        NotCorrected::NoAutomaton => return None,
        NotCorrected::NoErrors(selected) => format!(
            "no network fits all labels, but an automaton with {} does \
             (automaton/{NO_ERRORS_STEM}.json): try more --updates or --seeds",
            states(selected)
        ),
        NotCorrected::FittedEarlier { seed, update } => format!(
            "labels are not corrected, because a network fitted them earlier (seed {seed} after \
             {update} updates, on the validation set and a sample of the training set): try more \
             --units, --updates or --seeds"
        ),
        NotCorrected::TooManyErrors(selected)
            if selected.simplified.automaton.state_count() == 1 =>
        {
            "no network fits all labels, and they are not corrected: the automaton selected by \
             description length has a single state and explains nothing: try more --units, \
             --updates or --seeds"
                .into()
        }
        NotCorrected::TooManyErrors(selected) => {
            let MdlSelection { simplified, labels, .. } = &**selected;
            format!(
                "no network fits all labels, and they are not corrected: the automaton selected by \
                 description length ({}) contradicts {} of {}, too many for label noise: try more \
                 --units, --updates or --seeds",
                states(selected),
                grouped(simplified.errors as u64),
                plural(*labels, "label")
            )
        }
        NotCorrected::WeakCompression(selected) => format!(
            "no network fits all labels, and they are not corrected: the automaton selected by \
             description length ({}) needs {:.0} bits, hardly fewer than no automaton ({:.0} bits)",
            states(selected),
            selected.simplified.bits,
            selected.baseline_bits
        ),
        NotCorrected::LessAccurate(selected) => format!(
            "no network fits all labels, and they are not corrected: the automaton selected by \
             description length ({}) is less accurate on the validation set than the best network",
            states(selected)
        ),
    };
    Some(note)
}

fn method_name(method: &ExtractionMethod) -> String {
    match method {
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

    fn selection() -> Box<MdlSelection> {
        let automaton = Moore::from(&minimal_dfa(Grammar::T3));
        Box::new(MdlSelection {
            simplified: SimplifiedAutomaton { automaton, errors: 0, bits: 100.0 },
            seed: 1,
            method: ExtractionMethod::HardTable,
            candidates: 1,
            labels: 10,
            baseline_bits: 900.0,
        })
    }

    #[test]
    fn an_automaton_that_fits_all_labels_has_a_file_and_the_note_names_it() {
        let why = NotCorrected::NoErrors(selection());
        assert!(not_corrected_note(&why).unwrap().contains("(automaton/right_on_all_labels.json)"));
        let verdict = LabelVerdict::NotCorrected(why);
        let MdlAutomaton { stem, automaton, .. } = MdlAutomaton::of(&verdict).unwrap();
        assert_eq!((stem, automaton.state_count()), ("right_on_all_labels", 5));
        let weak = LabelVerdict::NotCorrected(NotCorrected::WeakCompression(selection()));
        assert!(MdlAutomaton::of(&weak).is_none());
    }
}
