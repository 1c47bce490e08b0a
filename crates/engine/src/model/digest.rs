//! Digests that identify models and their configs.

use super::Model;
use crate::hex::hex;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// SHA-256 over every tensor's name, shape and little-endian F32 bytes, in the layout's order.
pub fn digest(model: &Model<f32>) -> String {
    let mut hash = Sha256::new();
    for slot in model.layout().slots {
        hash.update((slot.name.len() as u64).to_le_bytes());
        hash.update(slot.name.as_bytes());
        hash.update((slot.shape.len() as u64).to_le_bytes());
        slot.shape.iter().for_each(|&size| hash.update((size as u64).to_le_bytes()));
        hash.update(little_endian(&model.params[slot.range]));
    }
    hexadecimal(hash)
}

/// SHA-256 over all fields but `except`, as compact JSON with sorted keys.
pub(super) fn digest_without(fields: &impl Serialize, except: &str) -> String {
    let mut fields = serde_json::to_value(fields).expect("the keys are field names");
    fields.as_object_mut().expect("a struct").remove(except);
    let mut hash = Sha256::new();
    hash.update(fields.to_string());
    hexadecimal(hash)
}

/// The numbers as little-endian bytes, as in files.
pub(super) fn little_endian(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn hexadecimal(hash: Sha256) -> String {
    hex(&hash.finalize())
}
