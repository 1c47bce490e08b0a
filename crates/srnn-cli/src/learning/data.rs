//! What a run learns from: a built-in task or files, read, divided and looked at.

use super::settings::{Data, says_nothing};
use crate::failure::Failure;
use crate::files;
use crate::reading::token_rule_name;
use serde_json::{Value, json};
use srnn::format::{grouped, percent, plural};
use srnn::key::Key;
use srnn::learn::LearnData;
use srnn::render::transition_table::escape_control;
use srnn::task::builtin::{self, Task, UnknownTask};
use srnn::task::files::{HeldOutIssues, HoldOut, load};
use srnn::task::{Dataset, Fractions, Rate, Split, label_noise};
use std::fmt;
use std::path::PathBuf;

/// Where sequences come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A built-in task.
    BuiltIn(Task),
    /// A file, by its absolute path: a run is resumed from wherever one stands.
    File(PathBuf),
}

impl Source {
    /// A built-in task, or a path.
    pub fn parse(text: &str) -> Result<Source, Failure> {
        let task = text.split(':').next().unwrap_or_default();
        if Task::FAMILIES.contains(&task) {
            let remedy = format!("one of these, or ./{text} for a file of that name");
            let task = text.parse();
            let refused = |error: UnknownTask| Failure::new(error.to_string(), remedy);
            return task.map(Source::BuiltIn).map_err(refused);
        }
        if text == files::STREAM {
            let message = "learn does not read stdin: a run that is resumed reads its data again";
            return Err(Failure::new(message, "give a file"));
        }
        Ok(Source::File(std::path::absolute(text)?))
    }

    /// A name for the run's folder.
    pub fn name(&self) -> String {
        match self {
            Source::BuiltIn(task) => task.to_string().replace(':', "-"),
            Source::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("run");
                let kept = |c: char| c.is_alphanumeric() || c == '_';
                stem.chars().map(|c| if kept(c) { c } else { '-' }).collect()
            }
        }
    }

    /// A name for pictures: where a file is concerns nobody who looks at one.
    pub fn title(&self) -> String {
        match self {
            Source::BuiltIn(_) => self.to_string(),
            Source::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn(task) => write!(f, "{task}"),
            Source::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Makes or reads the data.
pub fn read_data(source: &Source, settings: &Data) -> Result<LearnData, Failure> {
    let key = Key::new(settings.seed.unwrap_or(1));
    let mut data = match source {
        Source::BuiltIn(task) => built_in(*task, settings, &key)?,
        Source::File(path) => from_files(path, settings, &key)?,
    };
    if let (true, Some(first)) =
        (data.split.valid.sequences.is_empty(), data.valid.unreadable.first())
    {
        let (file, line, token) = (&first.file, first.line, &first.token);
        let message = format!(
            "every validation sequence has a token that training has not seen \
             (first: {file}:{line}, {token:?})"
        );
        return Err(Failure::new(message, "--min-count 2 makes rare tokens <unk>"));
    }
    if let Some(rate) = settings.label_noise.and_then(Rate::new) {
        data.flipped = label_noise(&mut data.split.train, rate, &key).len();
    }
    Ok(LearnData { source: source.to_string(), title: source.title(), ..data })
}

/// What there is to know about the data.
pub fn account(data: &LearnData, settings: &Data) -> Value {
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

/// The data in a few lines.
pub fn describe(data: &LearnData) -> Vec<String> {
    let Split { train, valid, test } = &data.split;
    let mut lines = vec![set_line("train", train), set_line("valid", valid)];
    lines.extend(test.as_ref().map(|test| set_line("test", test)));
    if data.flipped > 0 {
        let part = percent(data.flipped as f64 / train.sequences.len().max(1) as f64);
        lines.push(format!("noise  {} flipped ({part})", plural(data.flipped, "training label")));
    }
    lines
}

/// What a person should know before training on this.
pub fn warnings(data: &LearnData, min_count: Option<usize>) -> Vec<String> {
    let mut lines = class_warnings(&data.split);
    if let (Some(n), None) = (min_count, data.unknown) {
        lines.push(format!(
            "--min-count {n} teaches no <unk>: no training token is rarer, and sequences with \
             unseen tokens will get no label"
        ));
    }
    for (name, aside) in [("validation", &data.valid), ("test", &data.test)] {
        lines.extend(aside_warnings(name, aside));
    }
    if data.unlabelled > 0 {
        let left_out = plural(data.unlabelled, "sequence");
        lines.push(format!("without a label, and left out: {left_out}"));
    }
    let contradictions = data.split.train.summary().contradictions;
    if contradictions > 0 && data.flipped == 0 {
        let contradictions = plural(contradictions, "contradiction");
        lines.push(format!(
            "{contradictions} among equal training sequences: no automaton fits them all"
        ));
    }
    lines
}

fn built_in(task: Task, data: &Data, key: &Key) -> Result<LearnData, Failure> {
    if data.valid.is_some() || data.test.is_some() || !says_nothing(&data.reading) {
        let message = format!("{task} is built in, and reads no files");
        return Err(Failure::new(message, "leave --valid, --test and the flags about files out"));
    }
    let data = LearnData::new(&task.to_string(), builtin::sets(task, key));
    Ok(LearnData { truth: task.minimal_automaton(), ..data })
}

fn from_files(path: &std::path::Path, data: &Data, key: &Key) -> Result<LearnData, Failure> {
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

/// Fewer training sequences of a class than this are little to learn from.
const FEW: usize = 10;

/// More than so many times the smallest class, and a network may learn to ignore that.
const UNEVEN: usize = 20;

fn class_warnings(split: &Split) -> Vec<String> {
    let (counts, held_out) = (split.train.class_counts(), split.valid.class_counts());
    let mut lines = Vec::new();
    for (class, (&n, &held)) in split.train.classes.iter().zip(counts.iter().zip(&held_out)) {
        let class = escape_control(class);
        if n < FEW {
            lines.push(format!("class {class} has only {}", plural(n, "training sequence")));
        }
        if held == 0 {
            lines.push(format!("class {class} does not occur in the validation set"));
        }
    }
    let (smallest, largest) = (counts.iter().min(), counts.iter().max());
    if let (Some(&smallest), Some(&largest)) = (smallest, largest)
        && largest > UNEVEN * smallest
    {
        lines.push(format!(
            "classes are uneven ({smallest} against {largest}): --class-weights gives all the same weight"
        ));
    }
    lines
}

fn aside_warnings(name: &str, aside: &HeldOutIssues) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = aside.unreadable.first() {
        lines.push(format!(
            "{}: tokens that training has not seen, counted as errors \
             (first: {}:{}, {:?}): --min-count 2 makes rare tokens <unk>",
            plural(aside.unreadable.len(), &format!("{name} sequence")),
            first.file,
            first.line,
            first.token
        ));
    }
    if aside.in_training > 0 {
        let count = plural(aside.in_training, &format!("{name} sequence"));
        lines.push(format!("in the training set, too: {count}"));
    }
    lines
}
