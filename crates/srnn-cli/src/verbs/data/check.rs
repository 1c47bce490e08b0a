//! `srnn data check`: statistics and problems of a data file.

use crate::automaton::quoted_list;
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::reading::{ReadFlags, token_rule_name};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use srnn::format::{percent, plural};
use srnn::task::Summary;
use srnn::task::files::{
    Contradictions, DataError, ReadOptions, Samples, TokenRule, Unlabelled, read, read_from,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Check a data file before training on it.
///
/// Prints counts, alphabet, lengths, duplicates and contradictions, and lists problems with their
/// remedies.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn data check traces.csv --label-column outcome
  srnn data check log.csv --format events --json",
    after_help = "Exit codes: 0 ready for training; 1 it has problems, which are listed; 2 it cannot be read"
)]
pub struct DataCheckArgs {
    /// The file, or `-` for stdin with --format.
    file: PathBuf,
    #[command(flatten)]
    reading: ReadFlags,
}

/// Something that prevents training.
#[derive(Serialize)]
struct DataProblem {
    kind: &'static str,
    message: String,
    remedy: String,
    /// The first affected lines of the file.
    lines: Vec<[u64; 2]>,
}

pub fn run(arguments: &DataCheckArgs, output: &Output) -> Result<Answer, Failure> {
    let requested = arguments.reading.options()?;
    // Everything is read, to find all problems at once.
    let options = ReadOptions {
        contradictions: Contradictions::Keep,
        unlabelled: Unlabelled::Skip,
        ..requested.clone()
    };
    let input = CheckInput::open(arguments)?;
    let samples = input.read(&options)?;
    let summary = samples.data.summary();
    let problems = problems(&input, &requested, &samples, &summary)?;
    let guessed = requested.tokens == TokenRule::Guess && samples.texts > 0;
    let text = text(&samples, &summary, guessed, &problems);
    output.result(text, &value(&samples, &summary, guessed, &problems))?;
    Ok(if problems.is_empty() { Answer::Yes } else { Answer::No })
}

/// Where the data come from. Stdin is buffered because it is read twice.
enum CheckInput<'a> {
    File(&'a Path),
    Stream(Vec<u8>),
}

impl CheckInput<'_> {
    fn open(arguments: &DataCheckArgs) -> Result<CheckInput<'_>, Failure> {
        match arguments.file.as_os_str() == files::STDIO_PATH {
            false => Ok(CheckInput::File(&arguments.file)),
            true if arguments.reading.format.is_none() => {
                Err(Failure::new("stdin has no extension that tells its format", "--format csv"))
            }
            true => Ok(CheckInput::Stream(files::read_stdin()?)),
        }
    }

    fn read(&self, options: &ReadOptions) -> Result<Samples, DataError> {
        match self {
            CheckInput::File(path) => read(path, options),
            CheckInput::Stream(bytes) => read_from("stdin", bytes.as_slice(), options),
        }
    }
}

fn problems(
    input: &CheckInput<'_>,
    requested: &ReadOptions,
    samples: &Samples,
    summary: &Summary,
) -> Result<Vec<DataProblem>, Failure> {
    let mut found = Vec::new();
    if samples.unlabelled > 0 && requested.unlabelled == Unlabelled::Refuse {
        // Reading again with `Refuse` finds the line of the first unlabelled row.
        let options = ReadOptions { contradictions: Contradictions::Keep, ..requested.clone() };
        found.extend(input.read(&options).err().map(|error| DataProblem {
            message: format!(
                "without a label: {}; the first: {}",
                plural(samples.unlabelled, "sequence"),
                at(&error)
            ),
            lines: error.line.map(|line| [line, line]).into_iter().collect(),
            ..problem("unlabelled", &error)
        }));
    }
    if summary.contradictions > 0 && requested.contradictions == Contradictions::Refuse {
        found.push(contradictions(samples, summary));
    }
    found.extend(
        samples
            .check_trainable(requested.one_symbol)
            .err()
            .map(|error| problem("nothing-to-learn", &error)),
    );
    Ok(found)
}

fn problem(kind: &'static str, error: &DataError) -> DataProblem {
    let (message, remedy) = (error.cause.to_string(), error.cause.remedy());
    DataProblem { kind, message, remedy, lines: vec![] }
}

fn at(error: &DataError) -> String {
    error.line.map_or(error.file.clone(), |line| format!("line {line}"))
}

fn contradictions(samples: &Samples, summary: &Summary) -> DataProblem {
    let lines: Vec<[u64; 2]> = summary
        .examples
        .iter()
        .map(|c| [samples.lines[c.first], samples.lines[c.second]])
        .collect();
    let places: Vec<String> = lines.iter().map(|[a, b]| format!("{a} and {b}")).collect();
    let more = if summary.contradictions > lines.len() { ", …" } else { "" };
    DataProblem {
        kind: "contradictions",
        message: format!(
            "{} with an earlier equal sequence: lines {}{more}",
            plural(summary.contradictions, "contradiction"),
            places.join(", ")
        ),
        remedy: "correct them, or leave --contradictions refuse out".into(),
        lines,
    }
}

fn text(samples: &Samples, summary: &Summary, guessed: bool, problems: &[DataProblem]) -> String {
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
        quoted_list(&samples.data.alphabet)
    );
    let how = if guessed { " (guessed; --tokens sets it)" } else { "" };
    let _ = match samples.texts {
        0 => writeln!(text, "  tokens      as listed in the file"),
        _ => writeln!(text, "  tokens      {:?}{how}", token_rule_name(&samples.tokens)),
    };
    if let Some(lengths) = summary.lengths {
        let (min, median, max) = (lengths.min, lengths.median, lengths.max);
        let _ = writeln!(text, "  lengths     {min} to {max}, median {median}");
    }
    let _ = writeln!(text, "  duplicates  {}", summary.duplicates);
    let _ = writeln!(text, "  contradict  {}{}", summary.contradictions, accuracy_bound(summary));
    let _ = writeln!(text, "  unlabelled  {}", samples.unlabelled);
    for problem in problems {
        let _ = writeln!(text, "problem: {}\n  try: {}", problem.message, problem.remedy);
    }
    if problems.is_empty() {
        text.push_str("ready for training");
    }
    text
}

/// What contradictions mean for the accuracy; empty without contradictions.
fn accuracy_bound(summary: &Summary) -> String {
    match summary.contradictions {
        0 => String::new(),
        _ => format!("; no model is right on more than {}", percent(summary.max_accuracy())),
    }
}

fn value(samples: &Samples, summary: &Summary, guessed: bool, problems: &[DataProblem]) -> Value {
    json!({
        "file": samples.file,
        "digest": samples.data.digest(),
        "sequences": summary.count,
        "per_class": summary.per_class.iter().cloned().map(|(class, n)| (class, n.into())).collect::<serde_json::Map<_, Value>>(),
        "alphabet": samples.data.alphabet,
        "tokens": token_rule_name(&samples.tokens),
        "tokens_guessed": guessed,
        "lengths": summary.lengths,
        "duplicates": summary.duplicates,
        "contradictions": summary.contradictions,
        "max_accuracy": summary.max_accuracy(),
        "unlabelled": samples.unlabelled,
        "problems": problems,
        "trainable": problems.is_empty(),
    })
}
