//! The data of a run: read from files or made by a built-in task, split and checked.

use super::settings::{DataSettings, is_unset};
use crate::builtin::did_you_mean;
use crate::failure::Failure;
use crate::files;
use crate::reading::token_rule_name;
use serde_json::{Value, json};
use srnn::engine::key::Key;
use srnn::format::{grouped, percent, plural};
use srnn::learn::LearnData;
use srnn::render::transition_table::escape_control;
use srnn::task::builtin::{self, Task, UnknownTask};
use srnn::task::files::{HeldOutIssues, HoldOut, load};
use srnn::task::{Dataset, Fractions, Rate, Split, label_noise};
use std::fmt;
use std::path::PathBuf;

/// The SOURCE argument of `learn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LearnSource {
    /// A built-in task.
    BuiltIn(Task),
    /// A file by its absolute path, because a run may be resumed from another folder.
    File(PathBuf),
}

impl LearnSource {
    /// Parses the name of a built-in task or a path.
    pub fn parse(text: &str) -> Result<LearnSource, Failure> {
        let task = text.split(':').next().unwrap_or_default();
        if Task::FAMILIES.contains(&task) {
            let remedy = format!("give one of these, or ./{text} for a file of that name");
            let task = text.parse();
            let refused = |error: UnknownTask| Failure::new(error.to_string(), remedy);
            return task.map(LearnSource::BuiltIn).map_err(refused);
        }
        if text == files::STDIO_PATH {
            let message = "learn does not read stdin, because a resumed run reads its data again";
            return Err(Failure::new(message, "give a file"));
        }
        let missing = std::fs::symlink_metadata(text).is_err();
        if let (true, Some(meant)) = (missing, did_you_mean(text)) {
            let message = format!("{text}: there is no such file or task");
            return Err(Failure::new(message, format!("did you mean {meant}?")));
        }
        Ok(LearnSource::File(std::path::absolute(text)?))
    }

    /// The default name of the run folder.
    pub fn name(&self) -> String {
        match self {
            LearnSource::BuiltIn(task) => task.to_string().replace(':', "-"),
            LearnSource::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("run");
                let kept = |c: char| c.is_alphanumeric() || c == '_';
                stem.chars().map(|c| if kept(c) { c } else { '-' }).collect()
            }
        }
    }

    /// The title of pictures: without the folder of a file.
    pub fn title(&self) -> String {
        match self {
            LearnSource::BuiltIn(_) => self.to_string(),
            LearnSource::File(path) => {
                path.file_name().unwrap_or_default().to_string_lossy().into()
            }
        }
    }
}

impl fmt::Display for LearnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LearnSource::BuiltIn(task) => write!(f, "{task}"),
            LearnSource::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Reads the data, or makes those of a built-in task.
pub fn read_data(source: &LearnSource, settings: &DataSettings) -> Result<LearnData, Failure> {
    let key = Key::new(settings.seed.unwrap_or(1));
    let mut data = match source {
        LearnSource::BuiltIn(task) => built_in(*task, settings, &key)?,
        LearnSource::File(path) => from_files(path, settings, &key)?,
    };
    if let (true, Some(first)) =
        (data.split.valid.sequences.is_empty(), data.valid.unreadable.first())
    {
        let (file, line, token) = (&first.file, first.line, &first.token);
        let message = format!(
            "every validation sequence has a token that is not in the training set \
             (first: {file}:{line}, {token:?})"
        );
        return Err(Failure::new(message, "--min-count 2 turns rare tokens into <unk>"));
    }
    if let Some(rate) = settings.label_noise.and_then(Rate::new) {
        data.flipped = label_noise(&mut data.split.train, rate, &key).len();
    }
    Ok(LearnData { source: source.to_string(), title: source.title(), ..data })
}

/// The content of `data.json`.
pub fn data_record(data: &LearnData, settings: &DataSettings) -> Value {
    let Split { train, valid, test } = &data.split;
    json!({
        "source": data.source,
        "digest": data.digests(),
        "split": settings.split,
        "tokens": token_rule_name(&data.tokens),
        "alphabet": train.alphabet,
        "classes": train.classes,
        "train": train.summary(),
        "valid": valid.summary(),
        "test": test.as_ref().map(Dataset::summary),
        "unreadable": { "valid": data.valid.unreadable.len(),
                        "test": data.test.unreadable.len() },
        "in_training": { "valid": data.valid.in_training, "test": data.test.in_training },
        "unlabelled": data.unlabelled,
        "labels_flipped": data.flipped,
    })
}

/// One line per set, and one for label noise.
pub fn describe_data(data: &LearnData) -> Vec<String> {
    let Split { train, valid, test } = &data.split;
    let mut lines = vec![set_line("train", train), set_line("valid", valid)];
    lines.extend(test.as_ref().map(|test| set_line("test", test)));
    if data.flipped > 0 {
        let fraction = percent(data.flipped as f64 / train.sequences.len().max(1) as f64);
        lines.push(format!(
            "noise  {} flipped ({fraction})",
            plural(data.flipped, "training label")
        ));
    }
    lines
}

/// Warnings about the data, before training starts.
pub fn data_warnings(data: &LearnData, min_count: Option<usize>) -> Vec<String> {
    let mut lines = class_warnings(&data.split);
    match (min_count, data.unknown) {
        (Some(n), None) if n > 1 => lines.push(format!(
            "--min-count {n} has no effect: no training token is rarer, so there is no <unk>, and \
             sequences with unseen tokens get no label"
        )),
        (None, Some(_)) => lines.push(
            "tokens that occur in one training sequence only are read as <unk>, and so are unseen \
             tokens (--min-count 0 keeps every token)"
                .into(),
        ),
        _ => {}
    }
    for (name, issues) in [("validation", &data.valid), ("test", &data.test)] {
        lines.extend(held_out_warnings(name, issues));
    }
    if data.unlabelled > 0 {
        let skipped = plural(data.unlabelled, "sequence");
        lines.push(format!("skipped because they have no label: {skipped}"));
    }
    let summary = data.split.train.summary();
    if summary.contradictions > 0 && data.flipped == 0 {
        let contradictions = plural(summary.contradictions, "contradiction");
        lines.push(format!(
            "{contradictions} (equal training sequences with different labels): no model is right on \
             more than {} of the training set",
            percent(summary.max_accuracy())
        ));
    }
    lines
}

fn built_in(task: Task, data: &DataSettings, key: &Key) -> Result<LearnData, Failure> {
    if data.valid.is_some() || data.test.is_some() || !is_unset(&data.reading) {
        let message = format!("{task} is built in and reads no files");
        return Err(Failure::new(
            message,
            "leave out --valid, --test and the options for reading files",
        ));
    }
    let data = LearnData::new(&task.to_string(), builtin::sets(task, key));
    Ok(LearnData { truth: task.minimal_automaton(), ..data })
}

fn from_files(
    path: &std::path::Path,
    data: &DataSettings,
    key: &Key,
) -> Result<LearnData, Failure> {
    let fractions: Fractions = data.split.as_deref().unwrap_or_default().parse()?;
    let hold_out = HoldOut { fractions, valid: data.valid.clone(), test: data.test.clone() };
    let loaded = load(path, &hold_out, &data.reading.options()?, key)?;
    Ok(LearnData {
        unknown: loaded.vocabulary.unknown(),
        tokens: loaded.tokens,
        lines: loaded.lines,
        valid: loaded.valid,
        test: loaded.test,
        unlabelled: loaded.unlabelled,
        ..LearnData::new("", loaded.split)
    })
}

fn set_line(name: &str, set: &Dataset) -> String {
    let classes = set.classes.iter().zip(set.class_counts());
    let classes: Vec<String> = classes
        .take(8)
        .map(|(class, n)| format!("{} {}", grouped(n as u64), escape_control(class)))
        .collect();
    let more = if set.classes.len() > 8 { ", …" } else { "" };
    let lengths = set.summary().lengths;
    let lengths = lengths.map_or(String::new(), |l| format!(", lengths {}–{}", l.min, l.max));
    let count = plural(set.sequences.len(), "sequence");
    format!("{name:5}  {count} ({}{more}){lengths}", classes.join(", "))
}

/// A class with fewer training sequences is reported.
const MIN_CLASS_SIZE: usize = 10;

/// A larger ratio of the largest to the smallest class is reported.
const MAX_IMBALANCE: usize = 20;

fn class_warnings(split: &Split) -> Vec<String> {
    let (counts, held_out) = (split.train.class_counts(), split.valid.class_counts());
    let mut lines = Vec::new();
    for (class, (&n, &held)) in split.train.classes.iter().zip(counts.iter().zip(&held_out)) {
        let class = escape_control(class);
        if n < MIN_CLASS_SIZE {
            lines.push(format!("class {class} has only {}", plural(n, "training sequence")));
        }
        if held == 0 {
            lines.push(format!("class {class} does not occur in the validation set"));
        }
    }
    let (smallest, largest) = (counts.iter().min(), counts.iter().max());
    if let (Some(&smallest), Some(&largest)) = (smallest, largest)
        && largest > MAX_IMBALANCE * smallest
    {
        lines.push(format!(
            "classes are imbalanced ({smallest} to {largest}): --class-weights=balanced gives all the same weight"
        ));
    }
    lines
}

fn held_out_warnings(name: &str, issues: &HeldOutIssues) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = issues.unreadable.first() {
        lines.push(format!(
            "{} with tokens that are not in the training set, counted as errors \
             (first: {}:{}, {:?}): --min-count 2 turns rare tokens into <unk>",
            plural(issues.unreadable.len(), &format!("{name} sequence")),
            first.file,
            first.line,
            first.token
        ));
    }
    if issues.in_training > 0 {
        let count = plural(issues.in_training, &format!("{name} sequence"));
        lines.push(format!("also in the training set: {count}"));
    }
    lines
}
