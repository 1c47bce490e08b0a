//! Renames that replace nothing, and exchanges.

use std::io;
use std::path::Path;

/// Renames a file or folder to a path at which nothing exists.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if something exists there.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match system::rename_new(from, to) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => rename_new_by_link(from, to),
        result => result,
    }
}

/// Exchanges what stands at two paths, so that at every moment something stands at both.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if the system or the file system has no such operation.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    system::exchange(one, other)
}

/// For systems without an operation for it. A link to a file replaces nothing; a folder cannot be
/// linked, but its rename replaces at most an empty folder.
fn rename_new_by_link(from: &Path, to: &Path) -> io::Result<()> {
    if !from.symlink_metadata()?.is_dir() {
        std::fs::hard_link(from, to)?;
        return std::fs::remove_file(from);
    }
    if to.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "this exists already"));
    }
    std::fs::rename(from, to)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod system {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    use std::io;
    use std::path::Path;

    pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        rename(from, to, RenameFlags::NOREPLACE)
    }

    pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
        rename(one, other, RenameFlags::EXCHANGE)
    }

    fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
        renameat_with(CWD, from, CWD, to, flags).map_err(|error| match error {
            // Old systems do not have the operation; some file systems do not have the flags.
            Errno::NOSYS | Errno::INVAL | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
            error => error.into(),
        })
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod system {
    use std::io;
    use std::path::Path;

    pub fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn exchange(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_rename_to_a_new_name_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to, free] = ["from", "to", "free"].map(|name| folder.path().join(name));
        for rename in [rename_new, rename_new_by_link] {
            fs::write(&from, "new").unwrap();
            fs::write(&to, "old").unwrap();
            let error = rename(&from, &to).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&to).unwrap(), b"old");
            rename(&from, &free).unwrap();
            assert_eq!(fs::read(&free).unwrap(), b"new");
            assert!(!from.exists());
            fs::remove_file(&free).unwrap();
            fs::create_dir_all(&from).unwrap();
            assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            rename(&from, &free).unwrap();
            fs::remove_dir(&free).unwrap();
        }
    }

    #[test]
    fn an_exchange_swaps_two_folders_where_the_system_can() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        for path in [&one, &other] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("name"), path.as_os_str().as_encoded_bytes()).unwrap();
        }
        match exchange(&one, &other) {
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
            Ok(()) => {
                let name = fs::read(one.join("name")).unwrap();
                assert_eq!(name, other.as_os_str().as_encoded_bytes());
            }
        }
    }
}
