//! The few operations a save is made of, so that tests can fail each of them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// A file system.
pub trait Disk: Send {
    /// A folder and its parents.
    fn create_dir_all(&mut self, path: &Path) -> io::Result<()>;
    /// A new file, flushed to the device.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// The names in a folder, flushed to the device.
    fn sync_dir(&mut self, path: &Path) -> io::Result<()>;
    /// Atomic within a file system.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// A folder with everything in it; not atomic.
    fn remove_dir_all(&mut self, path: &Path) -> io::Result<()>;
}

/// The operating system's.
pub struct Real;

impl Disk for Real {
    fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    #[cfg(unix)]
    fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Elsewhere a folder cannot be opened; the rename is as durable as the system makes it.
    #[cfg(not(unix))]
    fn sync_dir(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_dir_all(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }
}
