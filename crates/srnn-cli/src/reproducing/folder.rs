//! The folder of an experiment. `outcomes.jsonl` gets a line with every completed trial, so that a
//! crash loses only the running trials.

use super::args::parse;
use crate::failure::Failure;
use crate::files;
use srnn::engine::atomic::{IfExists, open_regular};
use srnn::engine::model::ModelFile;
use srnn::experiment::{Experiment, TrialId, TrialOutcome};
use srnn::files::unwritable;
use srnn::run::{FolderLock, check_own_files, lock_folder, remove_temporary_files};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

const OUTCOMES: &str = "outcomes.jsonl";
const EXPERIMENT: &str = "experiment.toml";
const MODELS: &str = "models";

/// Enough for a hundred thousand trials. A larger file is a mistake or an attack.
const MAX_OUTCOMES: u64 = 1 << 30;

/// The maximum size of an outcome.
const MAX_OUTCOME: u64 = 16 << 20;

/// The folder of an experiment, locked for this process.
#[derive(Debug)]
pub struct OutcomeFolder {
    path: PathBuf,
    lines: File,
    _lock: FolderLock,
}

impl OutcomeFolder {
    /// Opens or creates the folder of an experiment, and reads its outcomes.
    pub fn open(
        path: &Path,
        experiment: &Experiment,
    ) -> Result<(OutcomeFolder, Vec<TrialOutcome>), Failure> {
        check_folder(path, experiment)?;
        fs::create_dir_all(path).map_err(|error| unwritable(path, error))?;
        let lock = lock_folder(path)?;
        // Another process may have worked in it until now.
        check_folder(path, experiment)?;
        remove_temporary_files(path);
        let Outcomes { outcomes, bytes } = Outcomes::read(path)?;
        let file = path.join(OUTCOMES);
        let lines = open_regular(&file, File::options().create(true).append(true));
        let lines = lines.map_err(|error| unwritable(&file, error))?;
        // An incomplete last line would be joined with the next one.
        lines.set_len(bytes).map_err(|error| unwritable(&file, error))?;
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
        files::write(&self.path.join(name), text, IfExists::Replace)
    }

    /// Writes the experiment that the outcomes belong to.
    pub fn write_experiment(&self, experiment: &Experiment) -> Result<(), Failure> {
        let comment = "# `srnn reproduce --file` with this file repeats the experiment.\n";
        self.write(EXPERIMENT, &format!("{comment}{}", toml::to_string(experiment)?))
    }
}

/// Fails if outcomes of the experiment cannot be added to the folder. Changes nothing.
///
/// # Errors
/// If the folder is of another experiment, because networks of trials with the same name would
/// overwrite each other; if it has files that no experiment has made; or if it has links in it.
pub fn check_folder(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    let shown = path.display();
    if !path.exists() {
        return Ok(());
    }
    check_own_files(path)?;
    match saved_experiment(path)? {
        Some(other) if other.item != experiment.item => {
            let message =
                format!("{shown}: this folder is of {}, not of {}", other.item, experiment.item);
            Err(Failure::new(message, "choose another folder with --out"))
        }
        Some(_) => Ok(()),
        None => match foreign_file(path) {
            Some(name) => {
                let message = format!("{shown}: {name} is there, but no experiment was run here");
                Err(Failure::new(message, "choose another folder with --out"))
            }
            None => Ok(()),
        },
    }
}

/// A file that would be replaced, in a folder without an experiment.
fn foreign_file(path: &Path) -> Option<String> {
    let is_written = |name: &str| {
        let curves =
            name.starts_with("curves") && (name.ends_with(".csv") || name.ends_with(".svg"));
        curves || ["table.md", "table.json", OUTCOMES, MODELS].contains(&name)
    };
    let has_content = |entry: &fs::DirEntry| {
        // A refused command of an earlier version left an empty one.
        entry.file_name() != OUTCOMES || entry.metadata().is_ok_and(|about| about.len() > 0)
    };
    let entries = fs::read_dir(path).ok()?.flatten().filter(has_content);
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.find(|name| is_written(name))
}

/// The folder of the network of a trial.
pub fn model_in(folder: &Path, trial: &TrialId) -> PathBuf {
    folder.join(MODELS).join(trial.to_string())
}

/// The experiment of a folder; `None` where none was started.
pub fn saved_experiment(folder: &Path) -> Result<Option<Experiment>, Failure> {
    let path = folder.join(EXPERIMENT);
    let text = files::read_own_text(&path)?;
    text.map(|text| parse(&text, &path.display().to_string())).transpose()
}

/// The outcomes in a folder in the order of their completion; empty where there is no file. An
/// incomplete last line is ignored.
pub fn read_outcomes(folder: &Path) -> Result<Vec<TrialOutcome>, Failure> {
    Ok(Outcomes::read(folder)?.outcomes)
}

/// The content of `outcomes.jsonl`.
#[derive(Default)]
struct Outcomes {
    outcomes: Vec<TrialOutcome>,
    /// The length of all complete lines.
    bytes: u64,
}

impl Outcomes {
    fn read(folder: &Path) -> Result<Outcomes, Failure> {
        let path = folder.join(OUTCOMES);
        let failure =
            |why: String, remedy: &str| Failure::new(format!("{}{why}", path.display()), remedy);
        let mut read = Outcomes::default();
        let Some(file) = files::open_own(&path)? else { return Ok(read) };
        let size = file.metadata()?.len();
        if size > MAX_OUTCOMES {
            let why = format!(": {size} bytes, more than {MAX_OUTCOMES}");
            return Err(failure(why, "check that this is the right folder"));
        }
        let (mut lines, mut line) = (BufReader::new(file), vec![]);
        loop {
            line.clear();
            let length = lines.by_ref().take(MAX_OUTCOME).read_until(b'\n', &mut line);
            let length = length.map_err(|error| failure(format!(": {error}"), "check the file"))?;
            if length as u64 == MAX_OUTCOME {
                let why = format!(":{}: too long for an outcome", read.outcomes.len() + 1);
                return Err(failure(why, "remove this line: its trial is then run again"));
            }
            if line.last() != Some(&b'\n') {
                return Ok(read);
            }
            read.outcomes.push(serde_json::from_slice(&line).map_err(|error| {
                let why = format!(":{}: invalid outcome: {error}", read.outcomes.len() + 1);
                failure(why, "remove this line: its trial is then run again")
            })?);
            read.bytes += length as u64;
        }
    }
}
