//! `srnn merge`: finds an automaton for labelled sequences by state merging, without a network.

mod report;

use crate::failure::{Answer, Failure};
use crate::files;
use crate::learning::{
    DataSettings, Settings, data_record, data_warnings, describe_data, read_data,
};
use crate::output::Output;
use crate::reading::parse_count;
use clap::Args;
use report::MergeReport;
pub(super) use report::SetFit;
use srnn::learn::LearnData;
use srnn::notation::save_automaton;
use srnn::task::Dataset;
use srnn::task::files::HeldOutIssues;
use srnn_automata::merging::{
    LabelTrust, LabelledWords, MergeConfig, MergeError, Merged, PrefixTree, merge,
};
use srnn_automata::{Alphabet, Moore, Partial, Symbol, Word};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Find an automaton for labelled sequences by state merging, without a network.
///
/// The automaton with the minimum description length is printed: it may contradict labels that are
/// probably wrong, unless --trust-labels is given. Only the training set is merged; the validation
/// and test sets are measured. Nothing is proved about sequences that are not in the data.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn merge tomita:5
  srnn merge traces.csv --label-column outcome --out automata/traces",
    after_help = "Exit codes: 0 an automaton was found; 1 none is shorter than the list of the labels, or, \
                  with --trust-labels, none fits all of them; 2 an error"
)]
pub struct MergeArgs {
    /// A file of labelled sequences, tomita:1 to tomita:7, or another task of `srnn data make`.
    source: String,
    /// The folder for the automaton (automaton.json, .dot, .svg).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the automaton in --out.
    #[arg(long, requires = "out")]
    force: bool,
    /// Prefixes merged, tried or run, at most: the time of the search [default: 200000000].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    steps: Option<u64>,
    #[command(flatten)]
    data: DataSettings,
}

/// Runs `srnn merge`.
pub fn run(arguments: &MergeArgs, output: &Output) -> Result<Answer, Failure> {
    let stem = free_stem(arguments.out.as_deref(), arguments.force)?;
    let data = labelled_data(&arguments.source, &arguments.data, output)?;
    let start = Instant::now();
    let merged = merged(&data, &config(arguments))?;
    let seconds = start.elapsed().as_secs_f64();
    let written = match &stem {
        Some(stem) => save(stem, &merged, &data, output)?,
        None => vec![],
    };
    let report = MergeReport {
        merged: &merged,
        data: &data,
        record: data_record(&data, &arguments.data),
        fits: fits(&merged.automaton, &data),
        trusted: arguments.data.trust_labels == Some(true),
        seconds,
        written,
    };
    report::print(&report, output)?;
    Ok(if report.is_found() { Answer::Yes } else { Answer::No })
}

/// The path of the automaton's files in a folder, without extension. Fails if they may not be written.
pub(super) fn free_stem(out: Option<&Path>, force: bool) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = out else { return Ok(None) };
    let stem = folder.join("automaton");
    for extension in ["json", "dot", "svg"] {
        files::check_target(&stem.with_extension(extension), files::if_exists(force))?;
    }
    Ok(Some(stem))
}

/// The data, split as `learn` splits them, and described on stderr.
pub(super) fn labelled_data(
    source: &str,
    settings: &DataSettings,
    output: &Output,
) -> Result<LearnData, Failure> {
    let min_count = settings.reading.min_count;
    let settings =
        Settings { source: Some(source.into()), data: settings.clone(), ..Settings::default() };
    settings.check()?;
    let data = read_data(&settings.source()?, &settings.data()?)?;
    for line in describe_data(&data) {
        output.note(line);
    }
    for line in data_warnings(&data, min_count) {
        output.note(format!("warning: {line}"));
    }
    Ok(data)
}

fn config(arguments: &MergeArgs) -> MergeConfig {
    let default = MergeConfig::default();
    let labels = match arguments.data.trust_labels {
        Some(true) => LabelTrust::Trusted,
        _ => LabelTrust::MayBeWrong,
    };
    MergeConfig { labels, steps: arguments.steps.unwrap_or(default.steps), ..default }
}

/// Merges the training set.
fn merged(data: &LearnData, config: &MergeConfig) -> Result<Merged, Failure> {
    let train = &data.split.train;
    let alphabet = Alphabet::new(train.alphabet.clone())
        .map_err(|error| Failure::new(error, "rename the symbols in the data"))?;
    merge(&alphabet, &prefix_tree(train)?, config).map_err(merge_failure)
}

/// The sequences of a set as a prefix tree.
pub(super) fn prefix_tree(set: &Dataset) -> Result<PrefixTree, Failure> {
    let mut words = LabelledWords::default();
    for sequence in &set.sequences {
        words.add(sequence.tokens.iter().map(|&token| Symbol(token)), sequence.label);
    }
    Ok(PrefixTree::new(set.alphabet.len(), set.classes.len(), &words)?)
}

pub(super) fn merge_failure(error: MergeError) -> Failure {
    match &error {
        MergeError::Memory { .. } => Failure::new(&error, "cut the sequences, or give fewer"),
        _ => Failure::new(&error, "check the data with srnn data check"),
    }
}

fn save(
    stem: &Path,
    merged: &Merged,
    data: &LearnData,
    output: &Output,
) -> Result<Vec<PathBuf>, Failure> {
    let automaton = Partial::from(&merged.automaton);
    let saved = save_automaton(stem, automaton, &data.split.train.classes, &data.title)?;
    for reason in &saved.left_out {
        output.note(format!("not written: {reason}"));
    }
    Ok(saved.written)
}

/// How many sequences of each set the automaton classifies as labelled.
pub(super) fn fits(automaton: &Moore<u32>, data: &LearnData) -> Vec<SetFit> {
    let split = &data.split;
    let none = HeldOutIssues::default();
    let mut fits = vec![
        fit("train", automaton, &split.train, &none),
        fit("valid", automaton, &split.valid, &data.valid),
    ];
    fits.extend(split.test.as_ref().map(|test| fit("test", automaton, test, &data.test)));
    fits.retain(|fit| fit.sequences > 0);
    fits
}

/// Sequences with unknown tokens count as errors.
fn fit(
    name: &'static str,
    automaton: &Moore<u32>,
    set: &Dataset,
    issues: &HeldOutIssues,
) -> SetFit {
    let right = set.sequences.iter().filter(|sequence| {
        let word: Word = sequence.tokens.iter().map(|&token| Symbol(token)).collect();
        *automaton.output_of(&word) == sequence.label
    });
    SetFit { name, right: right.count(), sequences: set.sequences.len() + issues.unreadable.len() }
}
