//! The manifest: the files of a checkpoint with their digests, and the run it belongs to.

use super::{CheckpointError, RunIdentity, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The format version that this program writes and reads.
pub const FORMAT: u32 = 1;

/// A larger file is no manifest.
const MAX_MANIFEST: u64 = 1 << 16;

/// The files of a checkpoint with their digests, and the run it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    pub update: u64,
    pub config: String,
    pub data: String,
    pub files: BTreeMap<String, FileDigest>,
}

/// Size and sha-256 of a file as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigest {
    pub bytes: u64,
    pub sha256: String,
}

/// The version alone, to distinguish an unknown format from a damaged file.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Manifest {
    /// The manifest of a checkpoint with these files.
    pub fn of(identity: &RunIdentity, update: u64, files: &[(&str, &[u8])]) -> Manifest {
        let digest = |bytes: &[u8]| FileDigest {
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
        };
        Manifest {
            format: FORMAT,
            update,
            config: identity.config.clone(),
            data: identity.data.clone(),
            files: files.iter().map(|(name, bytes)| (name.to_string(), digest(bytes))).collect(),
        }
    }

    /// Reads the manifest at `path`. Unknown versions and invalid content are errors.
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

    /// Reads a file of the checkpoint. It fails if the file differs from its digest, or is larger
    /// than `limit` bytes.
    pub fn read_verified(
        &self,
        folder: &Path,
        name: &str,
        limit: u64,
    ) -> Result<Vec<u8>, CheckpointError> {
        let path = folder.join(name);
        let Some(expected) = self.files.get(name) else {
            return Err(damaged(&path, "the manifest does not list it"));
        };
        let found = regular_file(&path)?;
        if found != expected.bytes {
            let cause = format!("{found} bytes instead of {}", expected.bytes);
            return Err(damaged(&path, cause));
        }
        let bytes = read_file(&path, limit)?;
        let digest = hex(&Sha256::digest(&bytes));
        if digest != expected.sha256 {
            let cause = format!("sha-256 {digest:.12}… instead of {:.12}…", expected.sha256);
            return Err(damaged(&path, cause));
        }
        Ok(bytes)
    }

    /// Fails if the checkpoint is of another run.
    pub fn check_run(&self, path: &Path, identity: &RunIdentity) -> Result<(), CheckpointError> {
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

/// The error for a file with invalid content.
pub fn damaged(path: &Path, cause: impl ToString) -> CheckpointError {
    CheckpointError::Damaged { path: path.to_path_buf(), cause: cause.to_string() }
}

/// The size of a regular file. A missing file is damage, and so is any other kind of file: reading
/// a pipe would block.
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
        return Err(damaged(path, format!("{size} bytes, at most {limit} are allowed")));
    }
    let file = File::open(path).map_err(|source| reading(path, source))?;
    let mut bytes = Vec::with_capacity(size as usize);
    // The file may grow between the two calls, so the read is limited too.
    file.take(limit).read_to_end(&mut bytes).map_err(|source| reading(path, source))?;
    Ok(bytes)
}

fn reading(path: &Path, source: io::Error) -> CheckpointError {
    CheckpointError::Io { path: path.to_path_buf(), doing: "read it", source }
}
