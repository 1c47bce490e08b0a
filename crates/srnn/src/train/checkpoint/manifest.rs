//! The manifest: what a checkpoint holds and to which run it belongs.

use super::{CheckpointError, Identity, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The version this program writes and reads.
pub const FORMAT: u32 = 1;

/// A manifest is small; a larger file is not one.
const MAX_MANIFEST: u64 = 1 << 16;

/// What a checkpoint holds and to which run it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    pub update: u64,
    pub config: String,
    pub data: String,
    pub files: BTreeMap<String, FileSeal>,
}

/// A file as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSeal {
    pub bytes: u64,
    pub sha256: String,
}

/// Only the version, to tell a future format from a damaged one.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Manifest {
    /// The manifest of a checkpoint with these files.
    pub fn of(identity: &Identity, update: u64, files: &[(&str, &[u8])]) -> Manifest {
        let seal = |bytes: &[u8]| FileSeal {
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
        };
        Manifest {
            format: FORMAT,
            update,
            config: identity.config.clone(),
            data: identity.data.clone(),
            files: files.iter().map(|(name, bytes)| (name.to_string(), seal(bytes))).collect(),
        }
    }

    /// Reads a manifest.
    pub fn read(path: &Path) -> Result<Manifest, CheckpointError> {
        let bytes = read_file(path, MAX_MANIFEST)?;
        let version: Version =
            serde_json::from_slice(&bytes).map_err(|error| damaged(path, error))?;
        if version.format != FORMAT {
            let (found, known) = (version.format, FORMAT);
            return Err(CheckpointError::Version { path: path.to_path_buf(), found, known });
        }
        serde_json::from_slice(&bytes).map_err(|error| damaged(path, error))
    }

    /// Reads a file beside the manifest, if it is as it was written and no larger than `limit`.
    pub fn read_sealed(
        &self,
        folder: &Path,
        name: &str,
        limit: u64,
    ) -> Result<Vec<u8>, CheckpointError> {
        let path = folder.join(name);
        let Some(seal) = self.files.get(name) else {
            return Err(damaged(&path, "the manifest does not list it"));
        };
        let found = regular_file(&path)?;
        if found != seal.bytes {
            let cause = format!("{found} bytes instead of {}", seal.bytes);
            return Err(damaged(&path, cause));
        }
        let bytes = read_file(&path, limit)?;
        let digest = hex(&Sha256::digest(&bytes));
        if digest != seal.sha256 {
            let cause = format!("sha-256 {digest:.12}… instead of {:.12}…", seal.sha256);
            return Err(damaged(&path, cause));
        }
        Ok(bytes)
    }

    /// Refuses another run's checkpoint.
    pub fn check_run(&self, path: &Path, identity: &Identity) -> Result<(), CheckpointError> {
        for (what, found, expected) in [
            ("a configuration or seed", &self.config, &identity.config),
            ("data", &self.data, &identity.data),
        ] {
            if found != expected {
                let (path, expected) = (path.to_path_buf(), expected.clone());
                return Err(CheckpointError::OtherRun {
                    path,
                    what,
                    expected,
                    found: found.clone(),
                });
            }
        }
        Ok(())
    }
}

/// An error about a file's content.
pub fn damaged(path: &Path, cause: impl ToString) -> CheckpointError {
    CheckpointError::Damaged { path: path.to_path_buf(), cause: cause.to_string() }
}

/// The size of a regular file; anything else (a pipe would block) is damage, as is its absence.
fn regular_file(path: &Path) -> Result<u64, CheckpointError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len()),
        Ok(_) => Err(damaged(path, "not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(damaged(path, "missing")),
        Err(source) => Err(reading(path, source)),
    }
}

fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, CheckpointError> {
    let size = regular_file(path)?;
    if size > limit {
        return Err(damaged(path, format!("{size} bytes, where at most {limit} can be")));
    }
    let file = File::open(path).map_err(|source| reading(path, source))?;
    let mut bytes = Vec::with_capacity(size as usize);
    // The limit again: the file may grow between the two calls.
    file.take(limit).read_to_end(&mut bytes).map_err(|source| reading(path, source))?;
    Ok(bytes)
}

fn reading(path: &Path, source: io::Error) -> CheckpointError {
    CheckpointError::Io { path: path.to_path_buf(), doing: "read it", source }
}
