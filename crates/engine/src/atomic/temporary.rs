//! Names of temporary files and folders, by which those of killed processes are recognised.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The suffix of temporary files.
pub const FILE: &str = "tmp";

/// Bytes of the name that a temporary name repeats; with its numbers it stays below the usual limit
/// of 255.
const REPEATED: usize = 180;

/// A path in the same folder that is unique to this process and call, unless a killed process had
/// the same number: `.NAME.PROCESS.CALL.SUFFIX`.
pub fn temporary_sibling(path: &Path, suffix: &str) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = repeated_name(path);
    path.with_file_name(format!(".{name}.{}.{call}.{suffix}", std::process::id()))
}

/// Whether a name is that of a temporary file of [`write`](super::write).
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let Some(inner) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")) else {
        return false;
    };
    let mut parts = inner.rsplitn(3, '.');
    let numbers = [parts.next(), parts.next()];
    numbers.into_iter().all(is_number) && parts.next().is_some_and(|name| !name.is_empty())
}

/// All temporary files or folders with this suffix that were made for `path`, in use or not.
pub fn abandoned_siblings(path: &Path, suffix: &str) -> io::Result<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let start = format!(".{}.", repeated_name(path));
    let is_ours = |name: &OsStr| {
        let name = name.to_string_lossy();
        let numbers = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(suffix));
        let numbers = numbers.and_then(|numbers| numbers.strip_suffix('.')?.split_once('.'));
        numbers.is_some_and(|(process, call)| [process, call].into_iter().map(Some).all(is_number))
    };
    let entries = match fs::read_dir(folder) {
        // A folder may be writable and not readable.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(vec![]),
        entries => entries?,
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter(|name| is_ours(name)).map(|name| path.with_file_name(name)).collect())
}

fn is_number(part: Option<&str>) -> bool {
    part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn repeated_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name[..name.floor_char_boundary(REPEATED)].to_string()
}
