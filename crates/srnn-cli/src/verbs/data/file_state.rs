//! Whether a file of a public data set is there and has its published content.

use super::sources::{PublicFile, PublicSet};
use crate::failure::Failure;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use srnn::engine::hex::hex;
use srnn::format::grouped;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The state of a file in the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum FileState {
    Missing,
    /// Size and digest are as published.
    Verified,
    /// Another content, described for people.
    Different {
        why: String,
    },
}

/// The states of all files of a set.
pub fn set_states(set: &PublicSet, data: &Path) -> Result<Vec<FileState>, Failure> {
    set.files.iter().map(|file| file_state(&set.path(data, file), file)).collect()
}

/// Compares a file with the published one. The size decides before the content is read.
pub fn file_state(path: &Path, published: &PublicFile) -> Result<FileState, Failure> {
    let unreadable = |error: io::Error| {
        Failure::new(format!("{}: {error}", path.display()), "check that it is readable")
    };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FileState::Missing),
        opened => opened.map_err(unreadable)?,
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Ok(FileState::Different { why: "this is a folder".into() });
    }
    let bytes = metadata.len();
    if bytes != published.bytes {
        return Ok(FileState::Different { why: size_difference(bytes, published) });
    }
    let digest = sha256(&mut file).map_err(unreadable)?;
    Ok(match digest == published.sha256 {
        true => FileState::Verified,
        false => FileState::Different { why: digest_difference(&digest, published) },
    })
}

/// The message for a wrong size.
pub fn size_difference(found: u64, published: &PublicFile) -> String {
    let (found, expected) = (grouped(found), grouped(published.bytes));
    format!("{found} bytes, but the published file has {expected}")
}

/// The message for a wrong digest.
pub fn digest_difference(found: &str, published: &PublicFile) -> String {
    format!("the sha256 is {found}, but that of the published file is {}", published.sha256)
}

fn sha256(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}
