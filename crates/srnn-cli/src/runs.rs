//! Run folders: where the parts of a run are.

use crate::failure::Failure;
use crate::files;
use crate::reading::token_rule;
use srnn::model::ModelFile;
pub use srnn::run::{CERTIFICATE, WRONG_LABELS};
use srnn::task::files::TokenRule;
use std::path::{Path, PathBuf};

/// A saved model, and the run it belongs to.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The model.
    pub file: ModelFile,
    /// Its folder.
    pub folder: PathBuf,
    /// The run's folder, where the model is in one.
    pub run: Option<PathBuf>,
}

const CONFIG: &str = "config.json";
const MODEL: &str = "model";

/// Loads the model of a run folder, or of a model folder itself.
pub fn load(path: &Path) -> Result<Saved, Failure> {
    let (folder, run) = find(path)?;
    Ok(Saved { file: ModelFile::load(&folder)?, folder, run })
}

/// The automaton of a run folder, or in the folder itself.
pub fn automaton_in(folder: &Path) -> Option<PathBuf> {
    let places = ["automaton/automaton.json", "automaton.json", "../automaton/automaton.json"];
    let is_model = folder.join(CONFIG).is_file();
    let places = places.iter().take(if is_model { 3 } else { 2 });
    places.map(|place| folder.join(place)).find(|path| path.is_file())
}

impl Saved {
    /// The extracted automaton's file, where there is one.
    pub fn automaton(&self) -> Option<PathBuf> {
        automaton_in(self.run.as_ref().unwrap_or(&self.folder))
    }

    /// The proof's file, where there is one.
    pub fn certificate(&self) -> Option<PathBuf> {
        let home = self.run.as_ref().unwrap_or(&self.folder);
        Some(home.join(CERTIFICATE)).filter(|path| path.is_file())
    }

    /// Whether an automaton can speak for the network: only where centroids are all that connects
    /// two steps.
    pub fn has_automaton(&self) -> bool {
        let arch = &self.file.model.arch;
        arch.is_memoryless() && arch.is_state_regularized()
    }

    /// The rule by which the model's data were divided into tokens: the run's, or else the one
    /// that the symbols' names suggest.
    pub fn tokens(&self) -> Result<TokenRule, Failure> {
        match &self.run {
            Some(run) => Ok(stored_rule(&run.join("data.json"))?.unwrap_or(self.likely_rule())),
            None => Ok(self.likely_rule()),
        }
    }

    /// A name for pictures: that of the data, or else of the run.
    pub fn title(&self) -> String {
        let Some(run) = &self.run else { return String::new() };
        let text = files::read_text(&run.join("data.json")).unwrap_or_default();
        let account: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let source = account["source"].as_str().map(PathBuf::from);
        let name = source.as_deref().and_then(Path::file_name).or(run.file_name());
        name.unwrap_or_default().to_string_lossy().into()
    }

    fn likely_rule(&self) -> TokenRule {
        likely_rule(&self.file.alphabet, self.file.unknown)
    }
}

/// The rule of the data that a run was trained with, where `path` is a run and says so.
pub fn rule_of_run(path: &Path) -> Result<Option<TokenRule>, Failure> {
    match find(path) {
        Ok((_, Some(run))) => stored_rule(&run.join("data.json")),
        _ => Ok(None),
    }
}

/// The rule that the names of symbols suggest; `unknown` stands for any token, and tells nothing.
pub fn likely_rule(names: &[String], unknown: Option<u32>) -> TokenRule {
    let tells = |(id, _): &(usize, &String)| Some(*id) != unknown.map(|id| id as usize);
    match names.iter().enumerate().filter(tells).all(|(_, name)| name.chars().nth(1).is_none()) {
        true => TokenRule::Characters,
        false => TokenRule::Whitespace,
    }
}

/// The model's folder at a path, and the run's where it is in one.
pub fn find(path: &Path) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    let shown = path.display();
    if path.join(CONFIG).exists() {
        let parent = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        let run = parent.filter(|run| path.ends_with(MODEL) && is_run(run));
        return Ok((path.to_path_buf(), run));
    }
    if path.join(MODEL).exists() {
        return Ok((path.join(MODEL), Some(path.to_path_buf())));
    }
    let (message, remedy) = match path {
        path if !path.exists() => (format!("{shown}: no such run"), meant(path)),
        path if path.is_file() => {
            let remedy = "name the folder that holds config.json and model.safetensors";
            (format!("{shown}: this is a file, not a run"), remedy.to_string())
        }
        path if is_run(path) => {
            let remedy = format!("finish it with `srnn resume {shown}`");
            (format!("{shown}: this run has no model yet"), remedy)
        }
        _ => {
            let remedy = "name a folder that `srnn learn` made, or a model's folder".to_string();
            (format!("{shown}: neither a run nor a model: no model/ and no {CONFIG}"), remedy)
        }
    };
    Err(Failure::new(message, remedy))
}

/// What to do about a run that is not there: the likeliest of those that are.
pub fn meant(path: &Path) -> String {
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().to_string();
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folders = [beside.unwrap_or(Path::new(".")), Path::new("runs")];
    let inside =
        folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    let runs = inside.map(|entry| entry.path()).filter(|path| is_run(path));
    let distance = |run: &PathBuf| {
        let name = run.file_name().unwrap_or_default().to_string_lossy().to_string();
        edits(&name, &wanted)
    };
    let nearest = runs.map(|run| (distance(&run), run)).min();
    match nearest.filter(|(edits, _)| *edits <= 2 + wanted.chars().count() / 3) {
        Some((_, run)) => {
            let run = run.strip_prefix(".").unwrap_or(&run).display();
            format!("check the path; there is {run}")
        }
        None => "check the path".into(),
    }
}

/// How many characters to add, remove or change to get from one text to the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let change = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

/// Whether a folder was made by a run.
pub fn is_run(folder: &Path) -> bool {
    ["config.toml", "data.json", "result.json", "metrics.jsonl"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

/// The rule in `data.json`, as the reader's own value or as `--tokens` names it.
fn stored_rule(path: &Path) -> Result<Option<TokenRule>, Failure> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = files::read_text(path)?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()), "restore it, or set --tokens RULE")
    })?;
    let Some(tokens) = value.get("tokens") else { return Ok(None) };
    match tokens.as_str().map(token_rule) {
        Some(Ok(rule)) => Ok(Some(rule)),
        _ => Ok(serde_json::from_value(tokens.clone()).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("tomita-3", "tomita3"), 1);
        assert_eq!(edits("door", "doors"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("same", "same"), 0);
    }
}
