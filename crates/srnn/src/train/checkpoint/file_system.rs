//! The file operations of a save, as a trait so that tests can make each of them fail.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// The file operations of a save.
pub trait FileSystem: Send {
    /// Creates a folder and its parents.
    fn create_dir_all(&mut self, path: &Path) -> io::Result<()>;
    /// Writes a new file and flushes it to the device.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Flushes the entries of a folder to the device.
    fn sync_dir(&mut self, path: &Path) -> io::Result<()>;
    /// Renames a folder; atomic within a file system.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a folder with all its content; not atomic.
    fn remove_dir_all(&mut self, path: &Path) -> io::Result<()>;
}

/// The file system of the operating system.
pub struct OsFileSystem;

impl FileSystem for OsFileSystem {
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

    /// Other systems cannot open a folder; the rename is as durable as the system makes it.
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
