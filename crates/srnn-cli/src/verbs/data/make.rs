//! `srnn data make`: writes a built-in set to files.

use crate::automaton::{find_accepting_class, quoted_list};
use crate::failure::{Answer, Failure};
use crate::files;
use crate::memory::MemoryLimit;
use crate::output::Output;
use crate::reading::{format_parser, parse_count};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use srnn::engine::key::Key;
use srnn::format::plural;
use srnn::task::builtin::{self, Task, TestSet};
use srnn::task::files::{Format, TokenRule, write};
use srnn::task::{Dataset, Split};
use std::path::{Path, PathBuf};

/// Write a built-in set.
///
/// If OUT is a folder, it gets the training and the validation set, and the test set of --test. If
/// OUT is a file, it gets one of them.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data make tomita:3 --out tomita3
  srnn data make bp:large:B --test bp:d20:l1000 --out parentheses")]
pub struct DataMakeArgs {
    /// The set: `tomita:1` to `tomita:7`, `bp:small:A`, `bp:large:B`, `palindrome:A`, …, made as in
    /// the paper.
    task: String,
    /// Also write a test set: `bp:d20:l1000` has depth 20 and up to 1,000 symbols;
    /// `palindrome:l500`, `tomita:l29-40`.
    #[arg(long, value_name = "SET")]
    test: Option<String>,
    /// Number of strings of the test set.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = parse_count::<usize>)]
    strings: usize,
    /// A folder, a file whose extension names the format, or `-` for stdout.
    #[arg(long)]
    out: PathBuf,
    /// The format [default: by the file's extension; CSV for a folder].
    #[arg(long, value_parser = format_parser())]
    format: Option<Format>,
    /// Which set to write to a file.
    #[arg(long, value_enum, default_value = "train")]
    part: SetName,
    /// The seed of the random words.
    #[arg(long, default_value_t = 1, value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    memory: MemoryLimit,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum SetName {
    /// The training set.
    Train,
    /// The validation set.
    Valid,
    /// The test set of --test.
    Test,
}

impl SetName {
    fn of(self, split: &Split) -> Result<&Dataset, Failure> {
        match self {
            SetName::Train => Ok(&split.train),
            SetName::Valid => Ok(&split.valid),
            SetName::Test => split.test.as_ref().ok_or_else(|| {
                Failure::new("--part test, but no --test", "--test bp:d20:l1000, for example")
            }),
        }
    }
}

pub fn run(arguments: &DataMakeArgs, output: &Output) -> Result<Answer, Failure> {
    let task: Task = arguments.task.parse()?;
    if output.json && arguments.out.as_os_str() == files::STDIO_PATH {
        let message = "--json and --out - both write to stdout";
        return Err(Failure::new(message, "--out FILE"));
    }
    let key = Key::new(arguments.seed);
    let mut split = builtin::sets(task, &key);
    if let Some(test) = &arguments.test {
        let test = test.parse::<TestSet>()?;
        let bytes = test.bytes(arguments.strings);
        arguments.memory.check("the test set", bytes, "give fewer --strings")?;
        split.test = Some(builtin::test(task, &test, arguments.strings, &split, &key)?);
    }
    let plan = plan(arguments)?;
    let if_exists = files::if_exists(arguments.force);
    let mut files = plan.iter().filter(|(path, ..)| path.as_os_str() != files::STDIO_PATH);
    files.try_for_each(|(path, ..)| files::check_target(path, if_exists))?;
    let mut written = Vec::new();
    for (path, format, part) in plan {
        let data = part.of(&split)?;
        let data = named_for(data, format)?;
        let text = as_text(&data, format)?;
        match path.as_os_str() == files::STDIO_PATH {
            true => files::print(&text)?,
            false => files::write(&path, &text, if_exists)?,
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

/// The files to write, each with its format and set.
fn plan(arguments: &DataMakeArgs) -> Result<Vec<(PathBuf, Format, SetName)>, Failure> {
    let out = &arguments.out;
    let given = arguments.format;
    let by_name = Format::of_file_name(&out.to_string_lossy());
    let is_file = by_name.is_some() || (out.extension().is_some() && !out.is_dir());
    if out.as_os_str() == files::STDIO_PATH {
        return Ok(vec![(out.clone(), given.unwrap_or(Format::CSV), arguments.part)]);
    }
    if is_file {
        let format = given.or(by_name).ok_or_else(|| {
            let message = format!("{}: the format is not clear from the name", out.display());
            let extensions = Format::extensions();
            let remedy =
                format!("end it in {extensions}, or set --format; a folder's name has no dot");
            Failure::new(message, remedy)
        })?;
        return Ok(vec![(out.clone(), format, arguments.part)]);
    }
    let format = given.unwrap_or(Format::CSV);
    let file = |name: &str| out.join(format!("{name}.{}", format.extension()));
    let mut plan =
        vec![(file("train"), format, SetName::Train), (file("valid"), format, SetName::Valid)];
    if arguments.test.is_some() {
        plan.push((file("test"), format, SetName::Test));
    }
    Ok(plan)
}

/// The set with the class names of the format: in Abbadingo they are 1 and 0.
fn named_for(data: &Dataset, format: Format) -> Result<Dataset, Failure> {
    if format != Format::ABBADINGO {
        return Ok(data.clone());
    }
    let message = || {
        format!("Abbadingo has the labels 1 and 0, but the set has {}", quoted_list(&data.classes))
    };
    let yes = find_accepting_class(&data.classes).filter(|_| data.classes.len() == 2);
    let yes = yes.ok_or_else(|| Failure::new(message(), "--format jsonl allows any labels"))?;
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
    if path.as_os_str() == files::STDIO_PATH { "stdout".into() } else { path.display().to_string() }
}

fn per_class(data: &Dataset) -> serde_json::Map<String, Value> {
    let counts = data.class_counts().into_iter().map(Value::from);
    data.classes.iter().cloned().zip(counts).collect()
}
