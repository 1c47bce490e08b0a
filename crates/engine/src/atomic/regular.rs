//! Regular files, and everything else that may stand at a path: links, pipes, devices, folders.

use super::IfExists;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Whether a file may be written to `path`.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] for a regular file that must stay, [`ErrorKind::InvalidInput`] for
/// anything that is no regular file.
pub fn check_target(path: &Path, if_exists: IfExists) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(about) if !about.is_file() => Err(irregular(about.file_type())),
        Ok(_) => match if_exists {
            IfExists::Replace => Ok(()),
            IfExists::Refuse => {
                Err(io::Error::new(ErrorKind::AlreadyExists, "this file exists already"))
            }
        },
    }
}

/// Opens a regular file. A link at `path` is not followed, and no pipe is waited for.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for anything that is no regular file.
pub fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // The options below give an error, too, but not a clear one.
    if let Ok(about) = path.symlink_metadata()
        && !about.is_file()
    {
        return Err(irregular(about.file_type()));
    }
    let mut options = options.clone();
    set_no_follow(&mut options);
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(irregular(kind)) }
}

#[cfg(unix)]
fn set_no_follow(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
}

/// Other systems have no such flags; the kind is checked before.
#[cfg(not(unix))]
fn set_no_follow(_: &mut OpenOptions) {}

/// Whether the open file is the one at `path`, and was not renamed or removed since it was opened.
#[cfg(unix)]
pub fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(open), Ok(there)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

/// Other systems do not rename a file that is open.
#[cfg(not(unix))]
pub fn is_same_file(_: &File, path: &Path) -> bool {
    path.exists()
}

/// What stands at a path if it is neither a regular file nor a folder.
pub fn irregular_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() || kind.is_dir() => None,
        kind if kind.is_symlink() => Some("a symbolic link"),
        kind => Some(special_kind(kind)),
    }
}

#[cfg(unix)]
fn special_kind(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match kind {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn special_kind(_: FileType) -> &'static str {
    "no file"
}

fn irregular(kind: FileType) -> io::Error {
    let kind = irregular_kind(kind).unwrap_or("a folder");
    io::Error::new(ErrorKind::InvalidInput, format!("this is {kind}, not a regular file"))
}
