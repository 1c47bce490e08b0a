//! Atomic file replacement: after a crash the file has either its old or its new content.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is written under a temporary name. [`commit`](PendingFile::commit) moves it to its
/// path; dropped before, it is removed.
#[derive(Debug)]
pub struct PendingFile {
    file: File,
    temp_path: PathBuf,
    path: PathBuf,
}

/// Replaces the file at `path` by `bytes`: writes a temporary file, syncs it to disk, renames it.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut pending = PendingFile::create(path)?;
    pending.write_all(bytes)?;
    pending.commit()
}

impl PendingFile {
    /// Creates a temporary file in the folder of `path`.
    pub fn create(path: &Path) -> io::Result<PendingFile> {
        let temp_path = temporary(path);
        let file = File::create_new(&temp_path)?;
        Ok(PendingFile { file, temp_path, path: path.to_path_buf() })
    }

    /// The path of the temporary file.
    pub fn temp_path(&self) -> &Path {
        &self.temp_path
    }

    /// Syncs the file to disk and renames it to its path, replacing any file there.
    pub fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temp_path, &self.path)?;
        sync_folder(&self.path)
    }
}

impl io::Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a commit there is nothing to remove. An error here is ignored: an earlier error is
        // the one to report.
        let _ = fs::remove_file(&self.temp_path);
    }
}

/// A path that is unique to this process and call.
fn temporary(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{call}.tmp", std::process::id()))
}

/// Syncs the folder: the rename is durable only after that.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Does nothing: elsewhere a folder cannot be opened as a file.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_no_temporary_file_remains() {
        let folder = std::env::temp_dir().join(format!("srnn-atomic-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        write(&path, b"a first, longer text").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write(&folder.join("missing").join("file"), b"").is_err());
        let mut pending = PendingFile::create(&path).unwrap();
        pending.write_all(b"not committed").unwrap();
        drop(pending);
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
