//! Run folders: where the parts of a run are.

use crate::failure::Failure;
use crate::files;
use crate::reading::token_rule;
use srnn::model::ModelFile;
use srnn::task::files::Tokens;
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

    /// The rule by which the model's data were divided into tokens: the run's, or else the one
    /// that the symbols' names suggest.
    pub fn tokens(&self) -> Result<Tokens, Failure> {
        match &self.run {
            Some(run) => Ok(stored_rule(&run.join("data.json"))?.unwrap_or(self.likely_rule())),
            None => Ok(self.likely_rule()),
        }
    }

    fn likely_rule(&self) -> Tokens {
        let unknown = self.file.unknown.map(|id| id as usize);
        let mut names = self.file.alphabet.iter().enumerate();
        match names.all(|(id, name)| Some(id) == unknown || name.chars().nth(1).is_none()) {
            true => Tokens::Characters,
            false => Tokens::Whitespace,
        }
    }
}

fn find(path: &Path) -> Result<(PathBuf, Option<PathBuf>), Failure> {
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
        path if !path.exists() => (format!("{shown}: no such run"), "check the path".to_string()),
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

/// Whether a folder was made by a run.
pub fn is_run(folder: &Path) -> bool {
    ["config.toml", "data.json", "result.json", "metrics.jsonl"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

/// The rule in `data.json`, as the reader's own value or as `--tokens` names it.
fn stored_rule(path: &Path) -> Result<Option<Tokens>, Failure> {
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
