//! Random small models as files.

use super::Random;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The options of a random network.
#[derive(Clone, Debug)]
pub struct Spec {
    pub k: usize,
    pub d: usize,
    pub layers: usize,
    pub score: &'static str,
    pub gate: &'static str,
    pub bias: bool,
    pub reset: &'static str,
    pub start: bool,
    pub end: bool,
    pub read: &'static str,
    pub tau: f64,
    /// Weights are uniform within ± this.
    pub gain: f64,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            k: 3,
            d: 4,
            layers: 1,
            score: "dot",
            gate: "sigmoid",
            bias: true,
            reset: "after-matrix",
            start: true,
            end: false,
            read: "h",
            tau: 0.1,
            gain: 3.0,
        }
    }
}

const SYMBOLS: usize = 2;
const EMBEDDING: usize = 2;
const CLASSES: usize = 2;

/// Writes the digest of the weights into config and certificate.
pub fn update_digests(files: &mut super::Files) {
    let mut tensors = unpack(&files.weights);
    // The order of the tensors in the digest, as in the table of the model format.
    let rank = |name: &str| {
        let kinds = ["embedding", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "centroids"];
        let kind = kinds.iter().position(|kind| name.contains(kind));
        let layer = name.rsplit_once("_l").map_or(0, |(_, l)| l.parse().unwrap());
        match kind {
            Some(0) => (0, 0, 0),
            Some(kind) => (1, layer, kind),
            None if name == "head.weight" => (2, 0, 0),
            None => (3, 0, 0),
        }
    };
    tensors.sort_by_key(|(name, _, _)| rank(name));
    let digest = digest(&tensors);
    let mut config: Value = serde_json::from_slice(&files.config).unwrap();
    let mut certificate: Value = serde_json::from_slice(&files.certificate).unwrap();
    config["digest"] = json!(digest);
    certificate["model"]["digest"] = json!(digest);
    files.config = serde_json::to_vec(&config).unwrap();
    files.certificate = serde_json::to_vec(&certificate).unwrap();
}

/// Replaces the values of one tensor.
pub fn with_tensor(weights: &[u8], name: &str, change: impl Fn(usize, f32) -> f32) -> Vec<u8> {
    let mut tensors = unpack(weights);
    let (_, _, values) = tensors.iter_mut().find(|tensor| tensor.0 == name).unwrap();
    values.iter_mut().enumerate().for_each(|(at, value)| *value = change(at, *value));
    pack(&tensors)
}

/// Name and number of values of every tensor.
pub fn tensor_sizes(weights: &[u8]) -> Vec<(String, usize)> {
    let tensors = unpack(weights);
    let mut sizes: Vec<_> = tensors.into_iter().map(|(name, _, v)| (name, v.len())).collect();
    sizes.sort();
    sizes
}

fn unpack(weights: &[u8]) -> Vec<Tensor> {
    let file = safetensors::SafeTensors::deserialize(weights).unwrap();
    let values = |data: &[u8]| data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let tensors = file.tensors().into_iter();
    tensors.map(|(name, view)| (name, view.shape().to_vec(), values(view.data()))).collect()
}

type Tensor = (String, Vec<usize>, Vec<f32>);

/// `config.json` and `model.safetensors` of a random network.
pub fn random_model(spec: &Spec, seed: u64) -> (Vec<u8>, Vec<u8>) {
    let tensors = tensors(spec, &mut Random(seed));
    let layer = json!({
        "cell": { "kind": "gru", "reset": spec.reset },
        "units": spec.d,
        "gate": spec.gate,
        "bias": spec.bias,
        "centroids": { "k": spec.k, "score": spec.score, "tau": spec.tau },
    });
    let config = json!({
        "format": "srnn-model",
        "version": 1,
        "arch": {
            "input": {
                "kind": "tokens", "symbols": SYMBOLS, "embedding": EMBEDDING,
                "start": spec.start, "end": spec.end,
            },
            "layers": vec![layer; spec.layers],
            "readout": { "from": spec.read, "when": "last" },
            "classes": CLASSES,
        },
        "alphabet": ["0", "1"],
        "unknown": Value::Null,
        "classes": ["no", "yes"],
        "digest": digest(&tensors),
    });
    (serde_json::to_vec_pretty(&config).unwrap(), pack(&tensors))
}

fn tensors(spec: &Spec, random: &mut Random) -> Vec<Tensor> {
    let mut all: Vec<Tensor> = vec![];
    let mut push = |name: String, shape: Vec<usize>, gain: f64| {
        let size = shape.iter().product();
        let values = (0..size).map(|_| (gain * random.sign()) as f32).collect();
        all.push((name, shape, values));
    };
    let (d, gain) = (spec.d, spec.gain);
    let vocabulary = SYMBOLS + spec.start as usize + spec.end as usize;
    push("embedding.weight".into(), vec![vocabulary, EMBEDDING], 2.0);
    let mut width = EMBEDDING;
    for l in 0..spec.layers {
        push(format!("rnn.weight_ih_l{l}"), vec![3 * d, width], gain);
        push(format!("rnn.weight_hh_l{l}"), vec![3 * d, d], gain);
        if spec.bias {
            push(format!("rnn.bias_ih_l{l}"), vec![3 * d], 0.5);
            push(format!("rnn.bias_hh_l{l}"), vec![3 * d], 0.5);
        }
        push(format!("centroids_l{l}"), vec![spec.k, d], 1.0);
        width = d;
    }
    push("head.weight".into(), vec![CLASSES, d], 2.0);
    push("head.bias".into(), vec![CLASSES], 0.3);
    all
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn pack(tensors: &[Tensor]) -> Vec<u8> {
    let data: Vec<Vec<u8>> = tensors.iter().map(|(_, _, values)| bytes(values)).collect();
    let views = tensors.iter().zip(&data).map(|((name, shape, _), data)| {
        (name.clone(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}

fn digest(tensors: &[Tensor]) -> String {
    let mut hash = Sha256::new();
    for (name, shape, values) in tensors {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((shape.len() as u64).to_le_bytes());
        shape.iter().for_each(|&size| hash.update((size as u64).to_le_bytes()));
        hash.update(bytes(values));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
