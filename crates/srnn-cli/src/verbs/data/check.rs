//! `srnn data check`: what there is to know about a file before training on it.

use crate::automaton::listed;
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::reading::{Reading, rule_name};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use srnn::format::plural;
use srnn::task::Summary;
use srnn::task::files::{
    Contradictions, DataError, ReadOptions, Samples, TokenRule, Unlabelled, read, read_from,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Look at a data file before training on it.
///
/// Counts, alphabet, lengths, duplicates and contradictions.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn data check traces.csv --label-column outcome
  srnn data check log.csv --format events --json",
    after_help = "Exit codes: 0 it can be trained on; 1 it has problems, which are listed; 2 it cannot be read"
)]
pub struct Check {
    /// The file, or `-` for stdin with --format.
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

/// Something that is in the way of training.
#[derive(Serialize)]
struct Trouble {
    kind: &'static str,
    message: String,
    remedy: String,
    /// Lines of the file, the first few.
    lines: Vec<[u64; 2]>,
}

/// Does it.
pub fn run(arguments: &Check, output: &Output) -> Result<Answer, Failure> {
    let asked = arguments.reading.options()?;
    // Everything is read, so that all problems are found at once.
    let options = ReadOptions {
        contradictions: Contradictions::Keep,
        unlabelled: Unlabelled::Skip,
        ..asked.clone()
    };
    let input = Input::open(arguments)?;
    let samples = input.read(&options)?;
    let summary = samples.data.summary();
    let troubles = troubles(&input, &asked, &samples, &summary)?;
    let guessed = asked.tokens == TokenRule::Guess && samples.texts > 0;
    let text = text(&samples, &summary, guessed, &troubles);
    output.result(text, &value(&samples, &summary, guessed, &troubles))?;
    Ok(if troubles.is_empty() { Answer::Yes } else { Answer::No })
}

/// What is looked at; stdin can be read only once, and is kept.
enum Input<'a> {
    File(&'a Path),
    Stream(Vec<u8>),
}

impl Input<'_> {
    fn open(arguments: &Check) -> Result<Input<'_>, Failure> {
        match arguments.file.as_os_str() == files::STREAM {
            false => Ok(Input::File(&arguments.file)),
            true if arguments.reading.format.is_none() => {
                Err(Failure::new("stdin has no name to tell its format", "--format csv"))
            }
            true => Ok(Input::Stream(files::read_stdin()?)),
        }
    }

    fn read(&self, options: &ReadOptions) -> Result<Samples, DataError> {
        match self {
            Input::File(path) => read(path, options),
            Input::Stream(bytes) => read_from("stdin", bytes.as_slice(), options),
        }
    }
}

fn troubles(
    input: &Input<'_>,
    asked: &ReadOptions,
    samples: &Samples,
    summary: &Summary,
) -> Result<Vec<Trouble>, Failure> {
    let mut found = Vec::new();
    if samples.unlabelled > 0 && asked.unlabelled == Unlabelled::Refuse {
        // Where the first is, only the reader that gives up there knows.
        let options = ReadOptions { contradictions: Contradictions::Keep, ..asked.clone() };
        found.extend(input.read(&options).err().map(|error| Trouble {
            message: format!(
                "without a label: {}; the first: {}",
                plural(samples.unlabelled, "sequence"),
                at(&error)
            ),
            lines: error.line.map(|line| [line, line]).into_iter().collect(),
            ..trouble("unlabelled", &error)
        }));
    }
    if summary.contradictions > 0 && asked.contradictions == Contradictions::Refuse {
        found.push(contradictions(samples, summary));
    }
    found.extend(
        samples
            .check_trainable(asked.one_symbol)
            .err()
            .map(|error| trouble("nothing-to-learn", &error)),
    );
    Ok(found)
}

fn trouble(kind: &'static str, error: &DataError) -> Trouble {
    let (message, remedy) = (error.cause.to_string(), error.cause.remedy());
    Trouble { kind, message, remedy, lines: vec![] }
}

fn at(error: &DataError) -> String {
    error.line.map_or(error.file.clone(), |line| format!("line {line}"))
}

fn contradictions(samples: &Samples, summary: &Summary) -> Trouble {
    let lines: Vec<[u64; 2]> = summary
        .examples
        .iter()
        .map(|c| [samples.lines[c.first], samples.lines[c.second]])
        .collect();
    let places: Vec<String> = lines.iter().map(|[a, b]| format!("{a} and {b}")).collect();
    let more = if summary.contradictions > lines.len() { ", …" } else { "" };
    Trouble {
        kind: "contradictions",
        message: format!(
            "{} to an earlier equal sequence: lines {}{more}",
            plural(summary.contradictions, "contradiction"),
            places.join(", ")
        ),
        remedy: "correct them, or keep them with --contradictions keep if labels are noisy".into(),
        lines,
    }
}

fn text(samples: &Samples, summary: &Summary, guessed: bool, troubles: &[Trouble]) -> String {
    let mut text = String::new();
    let classes: Vec<String> =
        summary.per_class.iter().map(|(class, count)| format!("{class:?} {count}")).collect();
    let _ = writeln!(text, "{}", samples.file);
    let _ = writeln!(text, "  sequences   {}", summary.count);
    let _ = writeln!(text, "  classes     {}", classes.join(", "));
    let _ = writeln!(
        text,
        "  alphabet    {}: {}",
        plural(summary.symbols, "symbol"),
        listed(&samples.data.alphabet)
    );
    let how = if guessed { " (guessed; set --tokens to be sure)" } else { "" };
    let _ = match samples.texts {
        0 => writeln!(text, "  tokens      as the file lists them"),
        _ => writeln!(text, "  tokens      {:?}{how}", rule_name(&samples.tokens)),
    };
    if let Some(lengths) = summary.lengths {
        let (min, median, max) = (lengths.min, lengths.median, lengths.max);
        let _ = writeln!(text, "  lengths     {min} to {max}, median {median}");
    }
    let _ = writeln!(text, "  duplicates  {}", summary.duplicates);
    let _ = writeln!(text, "  contradict  {}", summary.contradictions);
    let _ = writeln!(text, "  unlabelled  {}", samples.unlabelled);
    for trouble in troubles {
        let _ = writeln!(text, "problem: {}\n  try: {}", trouble.message, trouble.remedy);
    }
    if troubles.is_empty() {
        text.push_str("ready to train on");
    }
    text
}

fn value(samples: &Samples, summary: &Summary, guessed: bool, troubles: &[Trouble]) -> Value {
    json!({
        "file": samples.file,
        "digest": samples.data.digest(),
        "sequences": summary.count,
        "per_class": summary.per_class.iter().cloned().map(|(class, n)| (class, n.into())).collect::<serde_json::Map<_, Value>>(),
        "alphabet": samples.data.alphabet,
        "tokens": rule_name(&samples.tokens),
        "tokens_guessed": guessed,
        "lengths": summary.lengths,
        "duplicates": summary.duplicates,
        "contradictions": summary.contradictions,
        "unlabelled": samples.unlabelled,
        "problems": troubles,
        "trainable": troubles.is_empty(),
    })
}
