//! The folder of an experiment. `outcomes.jsonl` gets a line with every completed trial, so that a
//! crash loses only the running trials.

use super::args::parse;
use crate::failure::Failure;
use crate::files;
use srnn::engine::model::ModelFile;
use srnn::experiment::{Experiment, TrialId, TrialOutcome};
use srnn::files::unwritable;
use srnn::run::lock_folder;
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
    /// The operating system releases it however the process ends.
    _lock: File,
}

impl OutcomeFolder {
    /// Opens or creates the folder of an experiment, and reads its outcomes.
    pub fn open(
        path: &Path,
        experiment: &Experiment,
    ) -> Result<(OutcomeFolder, Vec<TrialOutcome>), Failure> {
        refuse_other(path, experiment)?;
        fs::create_dir_all(path).map_err(|error| unwritable(path, error))?;
        let lock = lock_folder(path)?;
        let outcomes = read_outcomes(path)?;
        let file = path.join(OUTCOMES);
        let lines = File::options().create(true).append(true).open(&file);
        let lines = lines.map_err(|error| unwritable(&file, error))?;
        // An incomplete last line would be joined with the next one.
        let complete: usize = complete_lines(&file)?.iter().map(|line| line.len() + 1).sum();
        lines.set_len(complete as u64).map_err(|error| unwritable(&file, error))?;
        Ok((OutcomeFolder { path: path.into(), lines, _lock: lock }, outcomes))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an outcome and flushes it to the disk.
    pub fn append(&mut self, outcome: &TrialOutcome) -> Result<(), Failure> {
        let line = format!("{}\n", serde_json::to_string(outcome)?);
        let written = self.lines.write_all(line.as_bytes()).and_then(|()| self.lines.sync_data());
        Ok(written.map_err(|error| unwritable(&self.path.join(OUTCOMES), error))?)
    }

    /// Saves the network of a trial.
    pub fn save(&self, trial: &TrialId, model: &ModelFile) -> Result<(), Failure> {
        Ok(model.save(&model_in(&self.path, trial))?)
    }

    /// Writes a file of the folder, replacing an older one.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        files::write(&self.path.join(name), text)
    }

    /// Writes the experiment that the outcomes belong to.
    pub fn write_experiment(&self, experiment: &Experiment) -> Result<(), Failure> {
        let comment = "# `srnn reproduce --file` with this file repeats the experiment.\n";
        self.write(EXPERIMENT, &format!("{comment}{}", toml::to_string(experiment)?))
    }
}

/// Fails if the folder is of another experiment: networks of trials with the same name would
/// overwrite each other.
fn refuse_other(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    match saved_experiment(path)? {
        Some(other) if other.item != experiment.item => {
            let shown = path.display();
            let message =
                format!("{shown}: this folder is of {}, not of {}", other.item, experiment.item);
            Err(Failure::new(message, "choose another folder with --out"))
        }
        _ => Ok(()),
    }
}

/// The folder of the network of a trial.
pub fn model_in(folder: &Path, trial: &TrialId) -> PathBuf {
    folder.join(MODELS).join(trial.to_string())
}

/// The experiment of a folder; `None` where none was started.
pub fn saved_experiment(folder: &Path) -> Result<Option<Experiment>, Failure> {
    let path = folder.join(EXPERIMENT);
    match path.exists() {
        true => Ok(Some(parse(&files::read_text(&path)?, &path.display().to_string())?)),
        false => Ok(None),
    }
}

/// The outcomes in a folder in the order of their completion; empty where there is no file. An
/// incomplete last line is ignored.
pub fn read_outcomes(folder: &Path) -> Result<Vec<TrialOutcome>, Failure> {
    let path = folder.join(OUTCOMES);
    let parsed = |(number, line): (usize, &String)| {
        serde_json::from_str(line).map_err(|error| {
            let message = format!("{}:{}: invalid outcome: {error}", path.display(), number + 1);
            Failure::new(message, "remove this line: its trial is then run again")
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
    let complete = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let text = std::str::from_utf8(&text[..complete]);
    let text = text.map_err(|error| unreadable(io::Error::new(ErrorKind::InvalidData, error)))?;
    Ok(text.split_terminator('\n').map(String::from).collect())
}
