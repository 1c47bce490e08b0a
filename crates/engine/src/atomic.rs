//! Files that are either the old one or the new one, whenever the machine stops.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is not at its place until it is whole. Dropped before, it leaves nothing.
#[derive(Debug)]
pub struct Pending {
    file: File,
    beside: PathBuf,
    path: PathBuf,
}

/// Replaces the file at `path` by `bytes`: written beside it, brought to the disk, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut pending = Pending::create(path)?;
    pending.write_all(bytes)?;
    pending.commit()
}

impl Pending {
    /// A file beside `path`, to be written to.
    pub fn create(path: &Path) -> io::Result<Pending> {
        let beside = temporary(path);
        let file = File::create_new(&beside)?;
        Ok(Pending { file, beside, path: path.to_path_buf() })
    }

    /// Where it is until then.
    pub fn beside(&self) -> &Path {
        &self.beside
    }

    /// Brings it to the disk, then to its place, where it replaces what is there.
    pub fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.beside, &self.path)?;
        sync_folder(&self.path)
    }
}

impl io::Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // At its place it is beside it no more. The first error is the one to report, whether or
        // not this works.
        let _ = fs::remove_file(&self.beside);
    }
}

/// A name of this process alone, and of this call alone.
fn temporary(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{call}.tmp", std::process::id()))
}

/// The rename itself is only safe once the folder is on the disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Elsewhere a folder cannot be opened as a file.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let folder = std::env::temp_dir().join(format!("srnn-atomic-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        write(&path, b"a first, longer text").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write(&folder.join("missing").join("file"), b"").is_err());
        let mut pending = Pending::create(&path).unwrap();
        pending.write_all(b"never whole").unwrap();
        drop(pending);
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
