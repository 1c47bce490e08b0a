//! A model on disk: a folder with `config.json` and `model.safetensors`. The format is described in
//! `docs/src/model-format.md`.
//!
//! Both files may be damaged or malicious. Loading checks everything, never panics, and uses at most
//! twice the size of the weights file in memory.

use super::digest::{digest, digest_without, little_endian};
use super::file_checks::{at_most, check_names, check_sizes};
use super::file_error::{FileError, Problem};
use super::{Arch, ImageLayout, Input, Layout, MAX_PARAMETERS, Model, Slot, Tokenizer};
use crate::atomic::{self, IfExists};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

/// A model with the names of its symbols and classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The network.
    pub model: Model<f32>,
    /// The symbol of each token id, start and end token not counted; empty for real inputs.
    pub alphabet: Vec<String>,
    /// The id of symbols outside the alphabet; with `None` these are rejected.
    pub unknown: Option<u32>,
    /// The name of each class.
    pub classes: Vec<String>,
    /// The images that the model reads; `None` if it reads something else.
    pub image: Option<ImageLayout>,
    /// How the texts that the model reads become tokens; `None` if it reads something else.
    pub tokenizer: Option<Tokenizer>,
}

/// The largest sizes that are read from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// Bytes of `config.json`.
    pub config_bytes: u64,
    /// Bytes of the header of `model.safetensors`.
    pub header_bytes: u64,
    /// Layers.
    pub layers: usize,
    /// Any single size: units, k, symbols, classes, widths.
    pub size: usize,
    /// Bytes of one symbol or class name.
    pub name_bytes: usize,
    /// Number of parameters.
    pub parameters: usize,
}

impl Default for ModelLimits {
    fn default() -> Self {
        ModelLimits {
            config_bytes: 64 << 20,
            header_bytes: 1 << 20,
            layers: 64,
            size: 1 << 24,
            name_bytes: 1 << 10,
            parameters: MAX_PARAMETERS,
        }
    }
}

pub(super) const CONFIG: &str = "config.json";
pub(super) const WEIGHTS: &str = "model.safetensors";
pub(super) const FORMAT: &str = "srnn-model";
pub(super) const VERSION: u64 = 1;

/// `config.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelConfig {
    format: String,
    version: u64,
    arch: Arch,
    alphabet: Vec<String>,
    unknown: Option<u32>,
    classes: Vec<String>,
    /// Optional, as files of early versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<ImageLayout>,
    /// Optional for the same reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokenizer: Option<Tokenizer>,
    /// [`digest`] of the weights; optional, for weights from other programs.
    #[serde(default)]
    digest: Option<String>,
    /// SHA-256 of everything above as compact JSON; optional, for configs written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config_digest: Option<String>,
}

/// The fields of `config.json` that every version has.
#[derive(Deserialize)]
struct FormatTag {
    format: String,
    version: u64,
}

impl ModelFile {
    /// Writes the model to the folder `dir`, which is created if needed. Each file is replaced
    /// atomically. The config is written last and has the weights' digest, so that files of different
    /// saves are detected.
    pub fn save(&self, dir: &Path) -> Result<(), FileError> {
        let path = dir.join(CONFIG);
        let config = self.config();
        check_config(&config, &ModelLimits::default()).map_err(at(&path))?;
        let layout = self.model.layout();
        assert_eq!(
            self.model.params.len(),
            layout.len,
            "the number of parameters does not fit the architecture"
        );
        for slot in &layout.slots {
            check_finite(&slot.name, &self.model.params[slot.range.clone()])
                .map_err(at(&dir.join(WEIGHTS)))?;
        }
        fs::create_dir_all(dir).map_err(|error| at(dir)(Problem::Io(error)))?;
        write(&dir.join(WEIGHTS), &self.weights_bytes())?;
        write(&path, &config_bytes(&config))
    }

    /// The content of `config.json`.
    pub fn config_bytes(&self) -> Vec<u8> {
        config_bytes(&self.config())
    }

    /// The content of `model.safetensors`.
    pub fn weights_bytes(&self) -> Vec<u8> {
        weights_bytes(&self.model)
    }

    /// Reads the model in the folder `dir`.
    pub fn load(dir: &Path) -> Result<ModelFile, FileError> {
        ModelFile::load_within(dir, &ModelLimits::default())
    }

    /// Reads the model in the folder `dir`, if it is within `limits`.
    pub fn load_within(dir: &Path, limits: &ModelLimits) -> Result<ModelFile, FileError> {
        let path = dir.join(CONFIG);
        let text = read(&path, "the file's size", limits.config_bytes)?;
        let config = parse_config(&text, limits).map_err(at(&path))?;
        let weights_path = dir.join(WEIGHTS);
        // F64 takes eight bytes a number: a larger file cannot be this model.
        let largest = 8 + limits.header_bytes + 8 * Layout::of(&config.arch).len as u64;
        let bytes = read(&weights_path, "the file's size", largest)?;
        ModelFile::of_config(config, &bytes, [&path, &weights_path], limits)
    }

    /// Reads a model from the contents of `config.json` and `model.safetensors`.
    pub fn from_bytes(config: &[u8], weights: &[u8]) -> Result<ModelFile, FileError> {
        let limits = ModelLimits::default();
        let paths = [CONFIG, WEIGHTS].map(Path::new);
        let config = parse_config(config, &limits).map_err(at(paths[0]))?;
        ModelFile::of_config(config, weights, paths, &limits)
    }

    /// The model of a config and its weights. Errors name the files.
    fn of_config(
        config: ModelConfig,
        weights: &[u8],
        [config_path, weights_path]: [&Path; 2],
        limits: &ModelLimits,
    ) -> Result<ModelFile, FileError> {
        let unchanged = check_config_digest(&config).map_err(at(config_path));
        let params = parse_weights(weights, &config.arch, limits).map_err(at(weights_path))?;
        let ModelConfig { arch, alphabet, unknown, classes, image, tokenizer, digest, .. } = config;
        let model = Model { arch, params };
        check_digest(&model, digest).map_err(at(weights_path))?;
        // Last: an error above says more about the change.
        unchanged?;
        Ok(ModelFile { model, alphabet, unknown, classes, image, tokenizer })
    }

    fn config(&self) -> ModelConfig {
        let mut config = ModelConfig {
            format: FORMAT.into(),
            version: VERSION,
            arch: self.model.arch.clone(),
            alphabet: self.alphabet.clone(),
            unknown: self.unknown,
            classes: self.classes.clone(),
            image: self.image.clone(),
            tokenizer: self.tokenizer,
            digest: Some(digest(&self.model)),
            config_digest: None,
        };
        config.config_digest = Some(digest_without(&config, "config_digest"));
        config
    }
}

fn config_bytes(config: &ModelConfig) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(config).expect("the keys are field names");
    text.push(b'\n');
    text
}

fn at(path: &Path) -> impl Fn(Problem) -> FileError {
    let path = path.to_path_buf();
    move |problem| FileError { path: path.clone(), problem }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    atomic::write(path, bytes, IfExists::Replace).map_err(|error| at(path)(Problem::Io(error)))
}

/// The whole of a plain file of at most `limit` bytes.
fn read(path: &Path, what: &'static str, limit: u64) -> Result<Vec<u8>, FileError> {
    let io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Problem::Missing,
        _ => Problem::Io(error),
    };
    // Checked before opening: opening a pipe would wait for a writer.
    let about = fs::metadata(path).map_err(io).map_err(at(path))?;
    if !about.is_file() {
        return Err(at(path)(Problem::NotAFile));
    }
    at_most(what, about.len(), limit).map_err(at(path))?;
    let mut bytes = Vec::with_capacity(about.len() as usize);
    let file = File::open(path).map_err(io).map_err(at(path))?;
    // Not beyond the limit, even if the file grows meanwhile.
    file.take(limit).read_to_end(&mut bytes).map_err(io).map_err(at(path))?;
    Ok(bytes)
}

fn parse_config(text: &[u8], limits: &ModelLimits) -> Result<ModelConfig, Problem> {
    let tag: FormatTag = serde_json::from_slice(text).map_err(Problem::Config)?;
    if tag.format != FORMAT {
        let found = tag.format.chars().take(40).collect();
        return Err(Problem::Format { found });
    }
    if tag.version != VERSION {
        return Err(Problem::Version { found: tag.version });
    }
    let config = serde_json::from_slice(text).map_err(Problem::Config)?;
    check_config(&config, limits)?;
    Ok(config)
}

fn check_config(config: &ModelConfig, limits: &ModelLimits) -> Result<(), Problem> {
    check_sizes(&config.arch, limits)?;
    config.arch.validate()?;
    let parameters = Layout::of(&config.arch).len;
    at_most("the number of parameters", parameters as u64, limits.parameters as u64)?;
    let symbols = match config.arch.input {
        Input::Tokens { symbols, .. } => symbols,
        Input::Real { .. } => 0,
    };
    check_names("the alphabet", &config.alphabet, symbols, limits)?;
    check_names("the classes", &config.classes, config.arch.classes, limits)?;
    check_image(config, limits)?;
    check_tokenizer(config)?;
    match config.unknown {
        Some(found) if found as usize >= symbols => Err(Problem::Unknown { found, symbols }),
        _ => Ok(()),
    }
}

fn check_image(config: &ModelConfig, limits: &ModelLimits) -> Result<(), Problem> {
    let Some(image) = &config.image else { return Ok(()) };
    match config.arch.input {
        Input::Real { width: 1 } if image.is_valid(limits.size) => Ok(()),
        Input::Real { width: 1 } => Err(Problem::ImageLayout),
        _ => Err(Problem::ImageInput),
    }
}

fn check_tokenizer(config: &ModelConfig) -> Result<(), Problem> {
    match (config.tokenizer, &config.arch.input) {
        (Some(_), Input::Real { .. }) => Err(Problem::TokenizerInput),
        _ => Ok(()),
    }
}

fn parse_weights(bytes: &[u8], arch: &Arch, limits: &ModelLimits) -> Result<Vec<f32>, Problem> {
    if let Some(length) = bytes.first_chunk::<8>() {
        let length = u64::from_le_bytes(*length);
        at_most("the header's length", length, limits.header_bytes)?;
    }
    let file =
        SafeTensors::deserialize(bytes).map_err(|error| Problem::Header(error.to_string()))?;
    let layout = Layout::of(arch);
    check_tensors(&file, &layout.slots)?;
    // Only now is it known that the file has this many numbers.
    let mut params = Vec::with_capacity(layout.len);
    for slot in &layout.slots {
        let tensor = find(&file, slot)?;
        append(&mut params, &tensor);
        check_finite(&slot.name, &params[slot.range.clone()])?;
    }
    Ok(params)
}

fn check_tensors(file: &SafeTensors, slots: &[Slot]) -> Result<(), Problem> {
    let expected: BTreeSet<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
    // Sorted, so that the same file gets the same message.
    let names: BTreeSet<&str> = file.names().into_iter().collect();
    for slot in slots {
        let tensor = find(file, slot)?;
        if tensor.shape() != slot.shape {
            let (found, expected) = (tensor.shape().to_vec(), slot.shape.clone());
            return Err(Problem::Shape { name: slot.name.clone(), found, expected });
        }
        if !matches!(tensor.dtype(), Dtype::F32 | Dtype::F64) {
            let found = format!("{:?}", tensor.dtype());
            return Err(Problem::Type { name: slot.name.clone(), found });
        }
    }
    match names.difference(&expected).next() {
        Some(name) => Err(Problem::ExtraTensor { name: name.chars().take(80).collect() }),
        None => Ok(()),
    }
}

fn find<'a>(file: &SafeTensors<'a>, slot: &Slot) -> Result<TensorView<'a>, Problem> {
    file.tensor(&slot.name)
        .map_err(|_| Problem::NoTensor { name: slot.name.clone(), expected: slot.shape.clone() })
}

fn append(params: &mut Vec<f32>, tensor: &TensorView) {
    match tensor.dtype() {
        Dtype::F64 => {
            let (numbers, _) = tensor.data().as_chunks();
            params.extend(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32));
        }
        _ => {
            let (numbers, _) = tensor.data().as_chunks();
            params.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        }
    }
}

fn check_finite(name: &str, values: &[f32]) -> Result<(), Problem> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(Problem::NotFinite { name: name.into(), at, value: values[at] as f64 }),
        None => Ok(()),
    }
}

fn check_digest(model: &Model<f32>, expected: Option<String>) -> Result<(), Problem> {
    let Some(expected) = expected else { return Ok(()) };
    let found = digest(model);
    if found == expected { Ok(()) } else { Err(Problem::Digest { found, expected }) }
}

fn check_config_digest(config: &ModelConfig) -> Result<(), Problem> {
    let Some(expected) = config.config_digest.clone() else { return Ok(()) };
    let found = digest_without(config, "config_digest");
    if found == expected { Ok(()) } else { Err(Problem::Changed { found, expected }) }
}

fn weights_bytes(model: &Model<f32>) -> Vec<u8> {
    let slots = model.layout().slots;
    let bytes: Vec<Vec<u8>> =
        slots.iter().map(|slot| little_endian(&model.params[slot.range.clone()])).collect();
    let tensors = slots.iter().zip(&bytes).map(|(slot, bytes)| {
        let view = TensorView::new(Dtype::F32, slot.shape.clone(), bytes);
        (&slot.name, view.expect("as many bytes as the shape says"))
    });
    // This tag tells other programs that the tensors have PyTorch's layout.
    let about = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize(tensors, Some(about)).expect("names are short and shapes are right")
}
