//! Finding the model, automaton and certificate of a run folder.

use crate::failure::Failure;
use crate::files;
use crate::reading::parse_token_rule;
use srnn::engine::model::{ModelFile, digest};
use srnn::learn::{NgramFile, NgramFileError};
use srnn::next::NextFile;
pub use srnn::run::{CERTIFICATE, WRONG_LABELS};
use srnn::run::{FolderLock, lock_folder};
use srnn::task::files::TokenRule;
use std::path::{Path, PathBuf};

/// A saved model and the run it belongs to.
#[derive(Clone, Debug)]
pub struct SavedModel {
    /// The model with its alphabet and classes.
    pub file: ModelFile,
    /// The model's folder.
    pub folder: PathBuf,
    /// The run's folder, if the model is part of a run.
    pub run: Option<PathBuf>,
}

/// The automaton file of a model folder that has one.
pub const AUTOMATON: &str = "automaton.json";
const CONFIG: &str = "config.json";
const MODEL: &str = "model";

/// A saved n-gram model and the run it belongs to.
#[derive(Clone, Debug)]
pub struct SavedNgrams {
    /// The model with its alphabet and classes.
    pub file: NgramFile,
    /// The model's folder.
    pub folder: PathBuf,
    /// The run's folder, if the model is part of a run.
    pub run: Option<PathBuf>,
}

/// Loads the network of a run folder or a model folder.
pub fn load(path: &Path) -> Result<SavedModel, Failure> {
    let (folder, run) = find(path)?;
    refuse_other_models(path, &folder)?;
    Ok(SavedModel { file: ModelFile::load(&folder)?, folder, run })
}

/// Refuses models that are not networks that classify; `path` is what the user named.
pub fn refuse_other_models(path: &Path, folder: &Path) -> Result<(), Failure> {
    if has_ngrams(folder) {
        let message = format!("{}: this model is n-grams, not a network", folder.display());
        let remedy = "`srnn predict`, `srnn inspect` and `srnn explain RUN INPUT` read it; `srnn \
                      learn … --prefer automaton` keeps a network";
        return Err(Failure::new(message, remedy));
    }
    if folder.join(NextFile::NAME).is_file() {
        let message = format!(
            "{}: this model predicts the next token (learn --next); proofs are about classifiers",
            path.display()
        );
        return Err(Failure::new(message, "use `srnn predict`, or a model that classifies"));
    }
    Ok(())
}

/// Loads the n-gram model of a run folder or a model folder; `None` if it holds a network.
pub fn load_ngrams(path: &Path) -> Result<Option<SavedNgrams>, Failure> {
    let (folder, run) = find(path)?;
    if !has_ngrams(&folder) {
        return Ok(None);
    }
    let file = NgramFile::load(&folder).map_err(|error: NgramFileError| {
        let message = format!("{}: {error}", folder.join(NgramFile::NAME).display());
        Failure::new(message, "restore it from a copy, or run `srnn learn` again")
    })?;
    Ok(Some(SavedNgrams { file, folder, run }))
}

/// Whether a model folder holds an n-gram model.
fn has_ngrams(folder: &Path) -> bool {
    folder.join(NgramFile::NAME).is_file() && !folder.join(CONFIG).exists()
}

/// Loads the model of a folder with `next.json`.
pub fn load_next(folder: &Path) -> Result<NextFile, Failure> {
    NextFile::load(folder).map_err(|error| {
        let path = folder.join(NextFile::NAME);
        let remedy = "restore the folder, or repeat the run with `srnn learn --config`";
        Failure::new(format!("{}: {error}", path.display()), remedy)
    })
}

/// The automaton file of a run folder, a model folder or an automaton folder.
pub fn automaton_in(folder: &Path) -> Option<PathBuf> {
    let paths = ["automaton/automaton.json", AUTOMATON, "../automaton/automaton.json"];
    let is_model = folder.join(CONFIG).is_file();
    let paths = paths.iter().take(if is_model { 3 } else { 2 });
    paths.map(|path| folder.join(path)).find(|path| path.is_file())
}

impl SavedModel {
    /// The file of the extracted automaton, if it exists.
    pub fn automaton(&self) -> Option<PathBuf> {
        automaton_in(self.home())
    }

    /// The run's folder, or the model's folder if there is no run.
    pub fn home(&self) -> &Path {
        self.run.as_ref().unwrap_or(&self.folder)
    }

    /// The certificate file, if it exists.
    pub fn certificate(&self) -> Option<PathBuf> {
        Some(self.home().join(CERTIFICATE)).filter(|path| path.is_file())
    }

    /// Locks the run before a file is written to it; `None` if the model is not part of a run.
    ///
    /// # Errors
    /// If another process works on the run, or has replaced the model since it was loaded.
    pub fn lock_run(&self) -> Result<Option<FolderLock>, Failure> {
        let Some(run) = &self.run else { return Ok(None) };
        let lock = lock_folder(run)?;
        if digest(&ModelFile::load(&self.folder)?.model) != digest(&self.file.model) {
            let message = format!("{}: the model was replaced meanwhile", run.display());
            return Err(Failure::new(message, "run the command again"));
        }
        Ok(Some(lock))
    }

    /// Whether the network can equal an automaton: its steps must be connected by centroids only.
    pub fn has_automaton(&self) -> bool {
        let arch = &self.file.model.arch;
        arch.is_memoryless() && arch.is_state_regularized()
    }

    /// The rule that split the training data into tokens: the run's or the model's, or a guess from
    /// the names of the symbols.
    pub fn tokens(&self) -> Result<TokenRule, Failure> {
        let of_model = self.file.tokenizer.map(TokenRule::Text);
        let of_run = run_rule(self.run.as_deref())?;
        Ok(of_run.or(of_model).unwrap_or_else(|| self.likely_rule()))
    }

    /// A title for pictures: the name of the data, or of the run.
    pub fn title(&self) -> String {
        let Some(run) = &self.run else { return String::new() };
        let text = files::read_text(&run.join("data.json")).unwrap_or_default();
        let data: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let source = data["source"].as_str().map(PathBuf::from);
        let name = source.as_deref().and_then(Path::file_name).or(run.file_name());
        name.unwrap_or_default().to_string_lossy().into()
    }

    fn likely_rule(&self) -> TokenRule {
        likely_rule(&self.file.alphabet, self.file.unknown)
    }
}

impl SavedNgrams {
    /// The rule that split the training data into tokens, or a guess from the names of the symbols.
    pub fn tokens(&self) -> Result<TokenRule, Failure> {
        let NgramFile { alphabet, unknown, .. } = &self.file;
        let of_run = run_rule(self.run.as_deref())?;
        Ok(of_run.unwrap_or_else(|| likely_rule(alphabet, *unknown)))
    }
}

fn run_rule(run: Option<&Path>) -> Result<Option<TokenRule>, Failure> {
    match run {
        Some(run) => stored_rule(&run.join("data.json")),
        None => Ok(None),
    }
}

/// The token rule of a run's training data. `None` if `path` is not a run or does not record it.
pub fn rule_of_run(path: &Path) -> Result<Option<TokenRule>, Failure> {
    match find(path) {
        Ok((_, Some(run))) => stored_rule(&run.join("data.json")),
        _ => Ok(None),
    }
}

/// Guesses the token rule from the names of symbols: characters if all names have one. The symbol
/// `unknown` stands for any token and is ignored.
pub fn likely_rule(names: &[String], unknown: Option<u32>) -> TokenRule {
    let is_known = |(id, _): &(usize, &String)| Some(*id) != unknown.map(|id| id as usize);
    match names.iter().enumerate().filter(is_known).all(|(_, name)| name.chars().nth(1).is_none()) {
        true => TokenRule::Characters,
        false => TokenRule::Whitespace,
    }
}

/// The model folder of a path, and its run folder if it has one.
pub fn find(path: &Path) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    let shown = path.display();
    if path.join(CONFIG).exists() || has_ngrams(path) || path.join(NextFile::NAME).is_file() {
        let parent = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        let run = parent.filter(|run| path.ends_with(MODEL) && is_run(run));
        return Ok((path.to_path_buf(), run));
    }
    if path.join(MODEL).exists() {
        return Ok((path.join(MODEL), Some(path.to_path_buf())));
    }
    let (message, remedy) = match path {
        path if !path.exists() => (format!("{shown}: no such run"), did_you_mean(path)),
        path if path.is_file() => {
            let remedy = "name the folder that holds config.json and model.safetensors";
            (format!("{shown}: this is a file, not a run"), remedy.to_string())
        }
        path if is_run(path) => {
            let remedy = format!("finish it with `srnn resume {}`", files::shell_path(path));
            (format!("{shown}: this run has no model yet"), remedy)
        }
        _ => {
            let remedy = "name a folder that `srnn learn` made, or a model's folder".to_string();
            (format!("{shown}: neither a run nor a model: no model/ and no {CONFIG}"), remedy)
        }
    };
    Err(Failure::new(message, remedy))
}

/// The remedy for a run that does not exist: the name of the most similar run nearby.
pub fn did_you_mean(path: &Path) -> String {
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().to_string();
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folders = [parent.unwrap_or(Path::new(".")), Path::new("runs")];
    let entries =
        folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten().flatten());
    let runs = entries.map(|entry| entry.path()).filter(|path| is_run(path));
    let distance = |run: &PathBuf| {
        let name = run.file_name().unwrap_or_default().to_string_lossy().to_string();
        strsim::levenshtein(&name, &wanted)
    };
    let nearest = runs.map(|run| (distance(&run), run)).min();
    match nearest.filter(|(distance, _)| *distance <= 2 + wanted.chars().count() / 3) {
        Some((_, run)) => {
            let run = run.strip_prefix(".").unwrap_or(&run).display();
            format!("check the path; there is {run}")
        }
        None => "check the path".into(),
    }
}

/// Whether a folder holds a run.
pub fn is_run(folder: &Path) -> bool {
    ["config.toml", "data.json", "result.json", "metrics.jsonl"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

/// The token rule in `data.json`, in the reader's spelling or in that of `--tokens`.
fn stored_rule(path: &Path) -> Result<Option<TokenRule>, Failure> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = files::read_text(path)?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()), "restore it, or set --tokens RULE")
    })?;
    let Some(tokens) = value.get("tokens") else { return Ok(None) };
    match tokens.as_str().map(parse_token_rule) {
        Some(Ok(rule)) => Ok(Some(rule)),
        _ => Ok(serde_json::from_value(tokens.clone()).ok()),
    }
}
