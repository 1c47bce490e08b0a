//! `srnn repair`: changes a given automaton as far as labelled sequences demand it.

mod report;

use crate::automaton::{
    AutomatonArg, Notation, find_accepting_class, notation_parser, quoted_list,
};
use crate::failure::{Answer, Failure};
use crate::learning::{DataSettings, data_record};
use crate::output::Output;
use crate::reading::parse_count;
use crate::verbs::merge::{fits, free_stem, labelled_data, merge_failure, prefix_tree};
use clap::Args;
use report::RepairReport;
use srnn::extract::json::NamedAutomaton;
use srnn::learn::LearnData;
use srnn::notation::save_automaton;
use srnn::task::Dataset;
use srnn_automata::merging::{LabelTrust, MergeConfig, repair};
use srnn_automata::{Moore, Partial, distinguish};
use std::path::PathBuf;
use std::time::Instant;

/// Change a given automaton as far as labelled sequences demand it, and say what was changed.
///
/// Few changes are made that explain the labels, the best ones first: a transition leads to another state, a state
/// has another class, or a state is added. Labels may be wrong, unless --trust-labels is given: a
/// change must explain more labels than it costs. What no sequence shows stays as it was. Only the
/// training set is used; the validation and test sets are measured. `srnn compile` writes the result
/// into a network, with a proof.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn repair protocol.dot traces.csv --missing reject --out repaired
  srnn repair tomita:4 tomita:5",
    after_help = "Exit codes: 0 nothing is to be changed; 1 the automaton was changed, or contradicts most \
                  labels, or trusted ones; 2 an error"
)]
pub struct RepairArgs {
    /// A file, `-` for stdin, a run folder, `re:EXPRESSION` or `tomita:1`…`7`.
    automaton: String,
    /// A file of labelled sequences, tomita:1 to tomita:7, or another task of `srnn data make`.
    source: String,
    /// The folder for the changed automaton (automaton.json, .dot, .svg).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the automaton in --out.
    #[arg(long, requires = "out")]
    force: bool,
    /// The notation of AUTOMATON [default: by its extension or its text].
    #[arg(long, value_parser = notation_parser())]
    from: Option<Notation>,
    /// The symbols of a regular expression: characters, or names separated by commas.
    #[arg(long, value_name = "SYMBOLS")]
    alphabet: Option<String>,
    /// Send unknown transitions to a sink state of this class.
    #[arg(long, value_name = "CLASS")]
    missing: Option<String>,
    /// Prefixes run, at most: the time of the search [default: 200000000].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    steps: Option<u64>,
    #[command(flatten)]
    data: DataSettings,
}

/// Runs `srnn repair`.
pub fn run(arguments: &RepairArgs, output: &Output) -> Result<Answer, Failure> {
    let stem = free_stem(arguments.out.as_deref(), arguments.force)?;
    let (named, given) = AutomatonArg::open(&arguments.automaton, arguments.from)?
        .complete(arguments.alphabet.as_deref(), arguments.missing.as_deref())?;
    let data = labelled_data(&arguments.source, &arguments.data, output)?;
    let data = in_names_of(&named, &given, data)?;
    let start = Instant::now();
    let repaired = repair(&given, &prefix_tree(&data.split.train)?, &config(arguments))
        .map_err(merge_failure)?;
    let seconds = start.elapsed().as_secs_f64();
    let written = match &stem {
        Some(stem) => {
            // The states keep the numbers that the changes are named by.
            let automaton = Partial::from(&repaired.automaton);
            save_automaton(stem, automaton, named.classes(), &data.title)?.written
        }
        None => vec![],
    };
    let difference = distinguish(&given, &repaired.automaton).expect("the symbols are the same");
    let report = RepairReport {
        given: &given,
        repaired: &repaired,
        classes: named.classes(),
        fits: fits(&repaired.automaton, &data),
        trusted: arguments.data.trust_labels == Some(true),
        record: data_record(&data, &arguments.data),
        difference,
        seconds,
        written,
    };
    report::print(&report, output)?;
    let right = repaired.changes.is_empty() && !report.is_contradicted() && !report.is_stuck();
    Ok(if right { Answer::Yes } else { Answer::No })
}

fn config(arguments: &RepairArgs) -> MergeConfig {
    let default = MergeConfig::default();
    let labels = match arguments.data.trust_labels {
        Some(true) => LabelTrust::Trusted,
        _ => LabelTrust::MayBeWrong,
    };
    MergeConfig { labels, steps: arguments.steps.unwrap_or(default.steps), ..default }
}

/// The data with the symbols and classes of the automaton.
fn in_names_of(
    named: &NamedAutomaton,
    given: &Moore<u32>,
    mut data: LearnData,
) -> Result<LearnData, Failure> {
    let train = &data.split.train;
    let symbols = symbols_of(&train.alphabet, given)?;
    let classes = classes_of(&train.classes, named.classes())?;
    let names = given.alphabet().names();
    let renamed = |set: &mut Dataset| {
        set.alphabet = names.to_vec();
        set.classes = named.classes().to_vec();
        for sequence in &mut set.sequences {
            sequence.tokens.iter_mut().for_each(|token| *token = symbols[*token as usize]);
            sequence.label = classes[sequence.label as usize];
        }
    };
    [Some(&mut data.split.train), Some(&mut data.split.valid), data.split.test.as_mut()]
        .into_iter()
        .flatten()
        .for_each(renamed);
    Ok(data)
}

/// The number in the automaton of each symbol of the data.
fn symbols_of(names: &[String], given: &Moore<u32>) -> Result<Vec<u32>, Failure> {
    let (mut found, mut missing) = (vec![], vec![]);
    for name in names {
        match given.alphabet().symbol(name) {
            Some(symbol) => found.push(symbol.0),
            None => missing.push(name.clone()),
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    let (missing, known) = (quoted_list(&missing), quoted_list(given.alphabet().names()));
    let message = format!("the data have symbols that the automaton does not read: {missing}");
    let remedy = format!("rename them, or add them to the automaton; it reads {known}");
    Err(Failure::new(message, remedy))
}

/// The number in the automaton of each class of the data: by name, or of two classes by which one is
/// known as accepting.
fn classes_of(names: &[String], known: &[String]) -> Result<Vec<u32>, Failure> {
    let number = |name: &String| known.iter().position(|other| other == name).map(|i| i as u32);
    let by_name: Option<Vec<u32>> = names.iter().map(number).collect();
    let two = names.len() == 2 && known.len() == 2;
    let by_meaning = || {
        let (own, other) = (find_accepting_class(names)?, find_accepting_class(known)?);
        two.then(|| if own == other { vec![0, 1] } else { vec![1, 0] })
    };
    by_name.or_else(by_meaning).ok_or_else(|| {
        let (names, known) = (quoted_list(names), quoted_list(known));
        let message =
            format!("the classes of the data are {names}, those of the automaton {known}");
        Failure::new(message, "give the labels in the data the names of the automaton's classes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(names: [&str; 2], known: &[&str]) -> Option<Vec<u32>> {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        classes_of(&owned(&names), &owned(known)).ok()
    }

    #[test]
    fn classes_are_found_by_name_or_by_their_meaning() {
        assert_eq!(classes(["b", "a"], &["a", "b", "c"]), Some(vec![1, 0]));
        assert_eq!(classes(["accept", "reject"], &["reject", "accept"]), Some(vec![1, 0]));
        assert_eq!(classes(["0", "1"], &["reject", "accept"]), Some(vec![0, 1]));
        assert_eq!(classes(["red", "green"], &["reject", "accept"]), None);
        assert_eq!(classes(["0", "1"], &["a", "b", "c"]), None);
    }
}
