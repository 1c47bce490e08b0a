//! The folder of an experiment: `outcomes.jsonl` grows by a line with every cell, so that a break
//! loses the cells in flight and nothing else.

use super::choice::parse;
use crate::failure::Failure;
use crate::files;
use srnn::experiment::{CellId, Experiment, Outcome};
use srnn::files::unwritable;
use srnn::model::ModelFile;
use srnn::run::lock;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

const OUTCOMES: &str = "outcomes.jsonl";
const EXPERIMENT: &str = "experiment.toml";
const MODELS: &str = "models";

/// The folder of an experiment, locked for this process.
#[derive(Debug)]
pub struct OutcomeFolder {
    path: PathBuf,
    lines: File,
    /// The system lets go of it however the process ends.
    _lock: File,
}

impl OutcomeFolder {
    /// Opens the folder of an experiment, or makes it; with the outcomes that are there already.
    pub fn open(
        path: &Path,
        experiment: &Experiment,
    ) -> Result<(OutcomeFolder, Vec<Outcome>), Failure> {
        refuse_other(path, experiment)?;
        fs::create_dir_all(path).map_err(|error| unwritable(path, error))?;
        let lock = lock(path)?;
        let outcomes = read_outcomes(path)?;
        let file = path.join(OUTCOMES);
        let lines = File::options().create(true).append(true).open(&file);
        let lines = lines.map_err(|error| unwritable(&file, error))?;
        // A line that was cut off would be glued to the next one.
        let whole: usize = complete_lines(&file)?.iter().map(|line| line.len() + 1).sum();
        lines.set_len(whole as u64).map_err(|error| unwritable(&file, error))?;
        Ok((OutcomeFolder { path: path.into(), lines, _lock: lock }, outcomes))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// One more outcome, brought to the disk.
    pub fn append(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        let line = format!("{}\n", serde_json::to_string(outcome)?);
        let written = self.lines.write_all(line.as_bytes()).and_then(|()| self.lines.sync_data());
        Ok(written.map_err(|error| unwritable(&self.path.join(OUTCOMES), error))?)
    }

    /// Saves a cell's network.
    pub fn save(&self, cell: &CellId, model: &ModelFile) -> Result<(), Failure> {
        Ok(model.save(&model_in(&self.path, cell))?)
    }

    /// Writes a file of the folder whole.
    pub fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        files::write(&self.path.join(name), text)
    }

    /// Writes the experiment: what the outcomes are of.
    pub fn put_experiment(&self, experiment: &Experiment) -> Result<(), Failure> {
        let comment = "# `srnn reproduce --file` with this file repeats the experiment.\n";
        self.put(EXPERIMENT, &format!("{comment}{}", toml::to_string(experiment)?))
    }
}

/// Refuses a folder in which another experiment was run: cells of the same name would take the
/// place of each other's networks.
fn refuse_other(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    match saved_experiment(path)? {
        Some(other) if other.item != experiment.item => {
            let shown = path.display();
            let message = format!("{shown}: this is of {}, not of {}", other.item, experiment.item);
            Err(Failure::new(message, "choose another folder with --out"))
        }
        _ => Ok(()),
    }
}

/// The folder of a cell's network.
pub fn model_in(folder: &Path, cell: &CellId) -> PathBuf {
    folder.join(MODELS).join(cell.to_string())
}

/// The experiment that the outcomes of a folder are of; nothing where none was begun.
pub fn saved_experiment(folder: &Path) -> Result<Option<Experiment>, Failure> {
    let path = folder.join(EXPERIMENT);
    match path.exists() {
        true => Ok(Some(parse(&files::read_text(&path)?, &path.display().to_string())?)),
        false => Ok(None),
    }
}

/// The outcomes in a folder, in the order in which they came; none where the file is not there.
/// A last line that was cut off is passed over.
pub fn read_outcomes(folder: &Path) -> Result<Vec<Outcome>, Failure> {
    let path = folder.join(OUTCOMES);
    let parsed = |(number, line): (usize, &String)| {
        serde_json::from_str(line).map_err(|error| {
            let message = format!("{}:{}: no outcome: {error}", path.display(), number + 1);
            Failure::new(message, "remove this line: its cell is run again")
        })
    };
    complete_lines(&path)?.iter().enumerate().map(parsed).collect()
}

/// The lines that end in a line feed.
fn complete_lines(path: &Path) -> Result<Vec<String>, Failure> {
    let unreadable =
        |error: io::Error| Failure::new(format!("{}: {error}", path.display()), "check the file");
    let text = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        text => text.map_err(unreadable)?,
    };
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let text = std::str::from_utf8(&text[..whole]);
    let text = text.map_err(|error| unreadable(io::Error::new(ErrorKind::InvalidData, error)))?;
    Ok(text.split_terminator('\n').map(String::from).collect())
}
