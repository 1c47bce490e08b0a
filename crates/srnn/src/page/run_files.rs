//! The files of a finished run that a page shows.

use super::values::text;
use crate::UserError;
use crate::atomic::open_regular;
use crate::engine::model::{ModelFile, digest};
use crate::extract::json::{JsonLimits, NamedAutomaton, from_json};
use crate::format::shell_word;
use crate::learn::NgramFile;
use crate::run::{
    AUTOMATON, CERTIFICATE, CONFIG, DATA, EXAMPLES, METRICS, MODEL, RESULT, WRONG_LABELS,
};
use serde_json::Value;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// What a page shows of a run. Parts that a run does not have are `None` or null.
pub(super) struct RunFiles {
    pub folder: PathBuf,
    pub result: Value,
    pub data: Value,
    /// `config.toml` as text.
    pub config: String,
    /// The lines of `metrics.jsonl`.
    pub metrics: Vec<Value>,
    pub examples: Value,
    /// The first lines of `wrong_labels.jsonl`, and the number of all lines.
    pub wrong_labels: (Vec<Value>, usize),
    pub automaton: Option<NamedAutomaton>,
    /// `automaton.json` as text.
    pub automaton_json: Option<String>,
    /// The automaton of `learn --next` as text.
    pub next_automaton: Option<String>,
    pub certificate: Option<Vec<u8>>,
    /// `config.json` and `model.safetensors` of a network.
    pub network: Option<NetworkFiles>,
    pub ngrams: Option<NgramFile>,
}

/// The files of a network.
pub(super) struct NetworkFiles {
    pub config: Vec<u8>,
    /// `None` if they cannot fit in a page.
    pub weights: Option<Vec<u8>>,
    /// The size of the weights.
    pub weight_bytes: u64,
}

/// A larger file is not shown.
const MAX_BYTES: u64 = 64 << 20;
/// Larger weights do not fit in a page, however well they are compressed.
const MAX_WEIGHT_BYTES: u64 = 8 << 20;
/// Suspected labels that are listed.
const MAX_WRONG_LABELS: usize = 100;

impl RunFiles {
    /// Reads a run folder.
    ///
    /// # Errors
    /// If the run is not finished, or a file cannot be read.
    pub(super) fn read(folder: &Path) -> Result<RunFiles, UserError> {
        let Some(result) = read_json(&folder.join(RESULT))? else { return Err(unfinished(folder)) };
        let model = folder.join(MODEL);
        let ngrams = match model.join(NgramFile::NAME).is_file() {
            true => Some(read_ngrams(&model)?),
            false => None,
        };
        let automaton_path = folder.join(AUTOMATON).join("automaton.json");
        let automaton_json = read_text(&automaton_path)?;
        let automaton = match &automaton_json {
            Some(text) => Some(parse_automaton(&automaton_path, text)?),
            None => None,
        };
        let certificate = read(&folder.join(CERTIFICATE))?;
        if let Some(certificate) = &certificate {
            check_weights(folder, &model, certificate)?;
        }
        Ok(RunFiles {
            folder: folder.into(),
            result,
            data: read_json(&folder.join(DATA))?.unwrap_or_default(),
            config: read_text(&folder.join(CONFIG))?.unwrap_or_default(),
            metrics: json_lines(&read_text(&folder.join(METRICS))?.unwrap_or_default(), usize::MAX),
            examples: read_json(&folder.join(EXAMPLES))?.unwrap_or_default(),
            wrong_labels: read_wrong_labels(&folder.join(WRONG_LABELS))?,
            automaton,
            automaton_json,
            next_automaton: read_text(&folder.join(AUTOMATON).join("next.txt"))?,
            certificate,
            network: read_network(&model)?,
            ngrams,
        })
    }

    /// Whether the run predicts the next token instead of a class.
    pub(super) fn predicts_next(&self) -> bool {
        text(&self.result["task"]) == "next"
    }

    /// The name of the data: of its file, or of the task.
    pub(super) fn title(&self) -> String {
        let source = text(&self.result["source"]);
        let name = Path::new(source).file_name().map(|name| name.to_string_lossy().to_string());
        name.unwrap_or_else(|| source.to_string())
    }
}

/// The error for a run without a result.
fn unfinished(folder: &Path) -> UserError {
    let shown = folder.display();
    let command = shell_word(&folder.to_string_lossy());
    match folder.join(CONFIG).is_file() {
        true => UserError::new(
            format!("{shown}: this run is not finished: {RESULT} is missing"),
            format!("finish it with `srnn resume {command}`"),
        ),
        false => UserError::new(
            format!("{shown}: this is not a run folder: {RESULT} and {CONFIG} are missing"),
            "name a folder that `srnn learn` made",
        ),
    }
}

/// Refuses a certificate of other weights: a page must not say that they are proved.
fn check_weights(folder: &Path, model: &Path, certificate: &[u8]) -> Result<(), UserError> {
    let Ok(file) = ModelFile::load(model) else { return Ok(()) };
    let about: Value = serde_json::from_slice(certificate).unwrap_or_default();
    if text(&about["model"]["digest"]) == digest(&file.model) {
        return Ok(());
    }
    let message =
        format!("{}: {CERTIFICATE} is about other weights than {MODEL}", folder.display());
    let run = shell_word(&folder.to_string_lossy());
    Err(UserError::new(
        message,
        format!("restore the files, or search for a proof with `srnn certify {run}`"),
    ))
}

/// The bytes of a file; `None` if it is missing. Links are not followed.
fn read(path: &Path) -> Result<Option<Vec<u8>>, UserError> {
    let unreadable = |error: std::io::Error| {
        UserError::new(format!("{}: {error}", path.display()), "restore the file, or move it away")
    };
    let file = match open_regular(path, File::options().read(true)) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = vec![];
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("{}: more than {MAX_BYTES} bytes", path.display());
        return Err(UserError::new(message, "a page cannot show a run of this size"));
    }
    Ok(Some(bytes))
}

fn read_text(path: &Path) -> Result<Option<String>, UserError> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| damaged(path, &error))?;
    Ok(Some(text))
}

fn read_json(path: &Path) -> Result<Option<Value>, UserError> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> UserError {
    let remedy = "restore it from a copy, or repeat the run with `srnn learn --config`";
    UserError::new(format!("{}: {error}", path.display()), remedy)
}

/// The objects of the first lines. A line that a killed process left incomplete is skipped.
fn json_lines(text: &str, count: usize) -> Vec<Value> {
    text.lines().take(count).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn read_wrong_labels(path: &Path) -> Result<(Vec<Value>, usize), UserError> {
    let text = read_text(path)?.unwrap_or_default();
    let count = text.lines().filter(|line| !line.trim().is_empty()).count();
    Ok((json_lines(&text, MAX_WRONG_LABELS), count))
}

/// The network of a model folder, if it has one.
fn read_network(model: &Path) -> Result<Option<NetworkFiles>, UserError> {
    let path = model.join("model.safetensors");
    let Some(config) = read(&model.join("config.json"))? else { return Ok(None) };
    let Ok(about) = path.symlink_metadata() else { return Ok(None) };
    let weight_bytes = about.len();
    let weights = if weight_bytes > MAX_WEIGHT_BYTES { None } else { read(&path)? };
    Ok(Some(NetworkFiles { config, weights, weight_bytes }))
}

fn read_ngrams(folder: &Path) -> Result<NgramFile, UserError> {
    NgramFile::load(folder).map_err(|error| damaged(&folder.join(NgramFile::NAME), &error))
}

fn parse_automaton(path: &Path, text: &str) -> Result<NamedAutomaton, UserError> {
    let limits = JsonLimits { bytes: text.len(), ..JsonLimits::default() };
    from_json(text, &limits).map_err(|error| damaged(path, &error))
}
