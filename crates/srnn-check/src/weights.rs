//! `model.safetensors`: the weights of the network that the config describes, and their digest.

use crate::config::{Arch, Layer};
use crate::refused::Refused;
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

/// All tensors, row-major. Every value is a single-precision number.
#[derive(Debug)]
pub struct ModelWeights {
    /// Embedding `[V, E]`.
    pub embedding: Vec<f64>,
    /// The layers, bottom first.
    pub layers: Vec<LayerWeights>,
    /// Weights of the classifier `[C, D]`.
    pub head: Vec<f64>,
    /// Biases of the classifier `[C]`.
    pub head_bias: Vec<f64>,
    /// SHA-256 over all tensors.
    pub digest: String,
}

/// The tensors of one layer; biases are 0 if the layer has none.
#[derive(Debug)]
pub struct LayerWeights {
    /// W `[3D, E]`.
    pub w: Vec<f64>,
    /// R `[3D, D]`.
    pub r: Vec<f64>,
    /// `[3D]`.
    pub b_ih: Vec<f64>,
    /// `[3D]`.
    pub b_hh: Vec<f64>,
    /// S `[K, D]`.
    pub s: Vec<f64>,
}

/// Largest weight: with larger ones a sum could overflow in single precision, which the error model
/// does not cover.
const LARGEST_WEIGHT: f32 = (1 << 20) as f32;

/// Parses the weights of `arch`. A missing or additional tensor is an error.
pub fn parse(bytes: &[u8], arch: &Arch) -> Result<ModelWeights, Refused> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| Refused::Weights(format!("not a complete safetensors file: {error}")))?;
    let mut reader = WeightReader { file: &file, hash: Sha256::new(), read: 0 };
    let embedding = reader
        .tensor("embedding.weight".into(), &[arch.input.vocabulary(), arch.input.embedding])?;
    let mut layers = vec![];
    let mut width = arch.input.embedding;
    for (l, shape) in arch.layers.iter().enumerate() {
        layers.push(reader.layer(l, shape, width)?);
        width = shape.units;
    }
    let head = reader.tensor("head.weight".into(), &[arch.classes, width])?;
    let head_bias = reader.tensor("head.bias".into(), &[arch.classes])?;
    if reader.read != file.len() {
        let found =
            format!("{} tensors, of which the config describes {}", file.len(), reader.read);
        return Err(Refused::Weights(found));
    }
    let digest = reader.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(ModelWeights { embedding, layers, head, head_bias, digest })
}

struct WeightReader<'a> {
    file: &'a SafeTensors<'a>,
    hash: Sha256,
    read: usize,
}

impl WeightReader<'_> {
    fn layer(&mut self, l: usize, shape: &Layer, e: usize) -> Result<LayerWeights, Refused> {
        let d = shape.units;
        let w = self.tensor(format!("rnn.weight_ih_l{l}"), &[3 * d, e])?;
        let r = self.tensor(format!("rnn.weight_hh_l{l}"), &[3 * d, d])?;
        let mut bias = |name: &str| match shape.bias {
            true => self.tensor(format!("rnn.{name}_l{l}"), &[3 * d]),
            false => Ok(vec![0.0; 3 * d]),
        };
        let (b_ih, b_hh) = (bias("bias_ih")?, bias("bias_hh")?);
        let s = self.tensor(format!("centroids_l{l}"), &[shape.centroids.k, d])?;
        Ok(LayerWeights { w, r, b_ih, b_hh, s })
    }

    /// Reads a tensor of this shape and adds it to the digest.
    fn tensor(&mut self, name: String, shape: &[usize]) -> Result<Vec<f64>, Refused> {
        let refuse = |cause: String| Refused::Weights(format!("{name}: {cause}"));
        let view = self.file.tensor(&name).map_err(|error| refuse(error.to_string()))?;
        if view.shape() != shape {
            return Err(refuse(format!(
                "shape {:?}, expected {shape:?} from the config",
                view.shape()
            )));
        }
        let values: Vec<f32> = match view.dtype() {
            Dtype::F32 => {
                view.data().as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
            }
            Dtype::F64 => {
                view.data().as_chunks().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect()
            }
            other => return Err(refuse(format!("stored as {other:?}, not F32 or F64"))),
        };
        let within = |x: &f32| (-LARGEST_WEIGHT..=LARGEST_WEIGHT).contains(x);
        if let Some(at) = values.iter().position(|x| !within(x)) {
            let found = format!("number {at} is {}", values[at]);
            return Err(refuse(format!("{found}, beyond ±{LARGEST_WEIGHT}")));
        }
        self.read += 1;
        self.hash.update((name.len() as u64).to_le_bytes());
        self.hash.update(&name);
        self.hash.update((shape.len() as u64).to_le_bytes());
        shape.iter().for_each(|&size| self.hash.update((size as u64).to_le_bytes()));
        values.iter().for_each(|value| self.hash.update(value.to_le_bytes()));
        Ok(values.into_iter().map(f64::from).collect())
    }
}
