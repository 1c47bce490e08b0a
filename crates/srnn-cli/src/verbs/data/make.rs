//! `srnn data make`: a built-in set as files.

use crate::automaton::{listed, positive};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::reading::{format_parser, whole};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use srnn::format::plural;
use srnn::key::Key;
use srnn::task::builtin::{self, Task, TestSet};
use srnn::task::files::{Format, TokenRule, write};
use srnn::task::{Dataset, Split};
use std::path::{Path, PathBuf};

/// Write a built-in set.
///
/// A folder gets the training and the validation set, and a test set if --test asks for one; a file
/// gets one of them.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data make tomita:3 --out tomita3
  srnn data make bp:large:B --test bp:d20:l1000 --out parentheses")]
pub struct Make {
    /// `tomita:1` to `tomita:7`, `bp:small:A`, `bp:large:B`, `palindrome:A`, …: sets made as the
    /// paper's.
    task: String,
    /// A test set, too: `bp:d20:l1000` is depth 20 and up to 1,000 symbols; `palindrome:l500`,
    /// `tomita:l29-40`.
    #[arg(long, value_name = "SET")]
    test: Option<String>,
    /// Strings of the test set.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = whole::<usize>)]
    strings: usize,
    /// A folder, a file (.csv, .tsv, .jsonl, .txt or .dat), or `-` for stdout.
    #[arg(long)]
    out: PathBuf,
    /// The format; by default the file's extension tells, and a folder gets CSV.
    #[arg(long, value_parser = format_parser())]
    format: Option<Format>,
    /// Which set a file gets.
    #[arg(long, value_enum, default_value = "train")]
    part: Part,
    /// What the words are drawn by.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Replace files that are there already.
    #[arg(long)]
    force: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// What is learned from.
    Train,
    /// What is held out.
    Valid,
    /// What --test describes.
    Test,
}

impl Part {
    fn of(self, split: &Split) -> Result<&Dataset, Failure> {
        match self {
            Part::Train => Ok(&split.train),
            Part::Valid => Ok(&split.valid),
            Part::Test => split.test.as_ref().ok_or_else(|| {
                Failure::new("--part test, but no --test", "--test bp:d20:l1000, for example")
            }),
        }
    }
}

/// Does it.
pub fn run(arguments: &Make, output: &Output) -> Result<Answer, Failure> {
    let task: Task = arguments.task.parse()?;
    if output.json && arguments.out.as_os_str() == files::STREAM {
        let message = "--json and --out - both want stdout";
        return Err(Failure::new(message, "--out FILE"));
    }
    let key = Key::new(arguments.seed);
    let mut split = builtin::sets(task, &key);
    if let Some(test) = &arguments.test {
        let test = test.parse::<TestSet>()?;
        split.test = Some(builtin::test(task, &test, arguments.strings, &split, &key)?);
    }
    let plan = plan(arguments)?;
    if !arguments.force {
        let mut files = plan.iter().filter(|(path, ..)| path.as_os_str() != files::STREAM);
        files.try_for_each(|(path, ..)| files::check_free(path))?;
    }
    let mut written = Vec::new();
    for (path, format, part) in plan {
        let data = part.of(&split)?;
        let data = named_for(data, format)?;
        let text = as_text(&data, format)?;
        match path.as_os_str() == files::STREAM {
            true => files::print(&text)?,
            false => files::write(&path, &text)?,
        }
        output.note(format!("{}: {}", shown(&path), plural(data.sequences.len(), "sequence")));
        written.push(about(&path, &data));
    }
    if output.json {
        let value = json!({ "task": arguments.task, "seed": arguments.seed, "files": written });
        output.result("", &value)?;
    }
    Ok(Answer::Yes)
}

/// Which files to write, each with its format and set.
fn plan(arguments: &Make) -> Result<Vec<(PathBuf, Format, Part)>, Failure> {
    let out = &arguments.out;
    let told = arguments.format;
    let by_name = Format::of_file_name(&out.to_string_lossy());
    let is_file = by_name.is_some() || (out.extension().is_some() && !out.is_dir());
    if out.as_os_str() == files::STREAM {
        return Ok(vec![(out.clone(), told.unwrap_or(Format::CSV), arguments.part)]);
    }
    if is_file {
        let format = told.or(by_name).ok_or_else(|| {
            let message = format!("{}: its name does not tell the format", out.display());
            let remedy = "end it in .csv, .tsv, .jsonl, .txt or .dat, or set --format; \
                          a folder's name has no dot";
            Failure::new(message, remedy)
        })?;
        return Ok(vec![(out.clone(), format, arguments.part)]);
    }
    let format = told.unwrap_or(Format::CSV);
    let file = |name: &str| out.join(format!("{name}.{}", format.extension()));
    let mut plan = vec![(file("train"), format, Part::Train), (file("valid"), format, Part::Valid)];
    if arguments.test.is_some() {
        plan.push((file("test"), format, Part::Test));
    }
    Ok(plan)
}

/// The set with the class names that a format's other readers know: Abbadingo's are 1 and 0.
fn named_for(data: &Dataset, format: Format) -> Result<Dataset, Failure> {
    if format != Format::ABBADINGO {
        return Ok(data.clone());
    }
    let message =
        || format!("Abbadingo has the labels 1 and 0, and the set {}", listed(&data.classes));
    let yes = positive(&data.classes).filter(|_| data.classes.len() == 2);
    let yes = yes.ok_or_else(|| Failure::new(message(), "--format jsonl holds any"))?;
    let name = |class: u32| if class == yes { "1" } else { "0" }.to_string();
    Ok(Dataset { classes: (0..2).map(name).collect(), ..data.clone() })
}

fn as_text(data: &Dataset, format: Format) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    write(data, format, &TokenRule::Guess, &mut bytes)?;
    Ok(String::from_utf8(bytes).expect("names are text"))
}

fn about(path: &Path, data: &Dataset) -> Value {
    json!({
        "file": path.display().to_string(),
        "sequences": data.sequences.len(),
        "per_class": per_class(data),
        "digest": data.digest(),
    })
}

fn shown(path: &Path) -> String {
    if path.as_os_str() == files::STREAM { "stdout".into() } else { path.display().to_string() }
}

fn per_class(data: &Dataset) -> serde_json::Map<String, Value> {
    let counts = data.class_counts().into_iter().map(Value::from);
    data.classes.iter().cloned().zip(counts).collect()
}
