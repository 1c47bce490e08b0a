//! Files that are either the old one or the new one, whenever the machine stops.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the file at `path` by `bytes`: written beside it, brought to the disk, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = temporary(path);
    let result = write_and_sync(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if result.is_err() {
        // The first error is the one to report, whether or not this works.
        let _ = fs::remove_file(&beside);
        return result;
    }
    sync_folder(path)
}

fn write_and_sync(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
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
        fs::remove_dir_all(&folder).unwrap();
    }
}
