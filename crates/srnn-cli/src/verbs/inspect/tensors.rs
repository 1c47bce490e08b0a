//! Describes the header of a safetensors file: names, types and shapes.

use super::Description;
use crate::failure::Failure;
use crate::files;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// Maximum bytes of a header; a larger one is damaged or hostile.
const MAX_HEADER: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

pub fn describe(path: &Path) -> Result<Description, Failure> {
    let tensors = header(path)?;
    let mut text = format!("tensors {}\n", path.display());
    for (name, tensor) in &tensors {
        let _ = writeln!(text, "  {name:24} {} {:?}", tensor.dtype, tensor.shape);
    }
    let list = tensors.iter().map(
        |(name, tensor)| json!({ "name": name, "dtype": tensor.dtype, "shape": tensor.shape }),
    );
    let value = json!({
        "kind": "tensors",
        "path": path.display().to_string(),
        "tensors": list.collect::<Vec<Value>>(),
    });
    Ok(Description { text, value })
}

fn header(path: &Path) -> Result<BTreeMap<String, TensorHeader>, Failure> {
    let damaged = |why: String| {
        let message = format!("{}: not a safetensors file: {why}", path.display());
        Failure::new(message, "copy or download it again")
    };
    let mut file = files::open(path)?;
    let size = file.metadata()?.len();
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(|_| damaged(format!("only {size} bytes")))?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER || length > size.saturating_sub(8) {
        return Err(damaged(format!("a header of {length} bytes in a file of {size}")));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    let header: BTreeMap<String, Value> =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("header: {error}")))?;
    let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
    let tensor = |(name, value)| {
        let tensor: TensorHeader = serde_json::from_value(value)
            .map_err(|error| damaged(format!("tensor {name:?}: {error}")))?;
        let [begin, end] = tensor.data_offsets;
        if begin > end || end > size - 8 - length {
            return Err(damaged(format!("tensor {name:?} ends beyond the file")));
        }
        Ok((name, tensor))
    };
    tensors.map(tensor).collect()
}
