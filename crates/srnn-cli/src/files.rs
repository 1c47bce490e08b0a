//! Files, stdin and stdout, with size limits and a remedy in every error.

use crate::failure::Failure;
use srnn::engine::atomic::{IfExists, open_regular};
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal as _, Read, Write as _};
use std::path::Path;

/// The maximum size of a text file or of stdin.
pub const MAX_BYTES: u64 = 64 << 20;

/// The path that stands for stdin or stdout.
pub const STDIO_PATH: &str = "-";

/// The maximum size of a file of settings, written by people.
pub const MAX_SETTINGS: u64 = 4 << 20;

/// Reads a text file, or stdin for `-`.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    read_text_within(path, MAX_BYTES)
}

/// Reads a text file of at most `limit` bytes, or stdin for `-`.
pub fn read_text_within(path: &Path, limit: u64) -> Result<String, Failure> {
    let name = display_path(path);
    let bytes = match path.as_os_str() == STDIO_PATH {
        true => read_at_most(io::stdin().lock(), &name, limit)?,
        false => read_at_most(open(path)?, &name, limit)?,
    };
    as_text(bytes, &name)
}

/// Reads a file of a folder of ours; `None` if it is missing. Links are not followed.
pub fn read_own_text(path: &Path) -> Result<Option<String>, Failure> {
    let name = path.display().to_string();
    match open_own(path)? {
        Some(file) => as_text(read_at_most(file, &name, MAX_BYTES)?, &name).map(Some),
        None => Ok(None),
    }
}

/// Opens a file of a folder of ours for reading; `None` if it is missing. Links are not followed.
pub fn open_own(path: &Path) -> Result<Option<File>, Failure> {
    match open_regular(path, File::options().read(true)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            Err(Failure::new(message, "restore the file, or move it away"))
        }
    }
}

fn as_text(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            format!("{name}: byte {at} is not UTF-8"),
            "check that this is a text file, and save it as UTF-8",
        )
    })
}

/// Reads all of stdin.
pub fn read_stdin() -> Result<Vec<u8>, Failure> {
    read_at_most(io::stdin().lock(), "stdin", MAX_BYTES)
}

/// Opens a file; refuses a folder.
pub fn open(path: &Path) -> Result<File, Failure> {
    let name = display_path(path);
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::new(format!("{name}: no such file"), "check the path"),
        _ => Failure::new(format!("{name}: {error}"), "check that it is readable"),
    };
    if fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(Failure::new(format!("{name}: this is a folder"), "name a file in it"));
    }
    File::open(path).map_err(unreadable)
}

/// What --force says about a file that exists. A file that the verb owns is replaced without it.
pub fn if_exists(force: bool) -> IfExists {
    if force { IfExists::Replace } else { IfExists::Refuse }
}

/// Writes a file atomically, and creates its folder if needed. Never replaces anything but a regular
/// file.
pub fn write(path: &Path, text: &str, if_exists: IfExists) -> Result<(), Failure> {
    Ok(srnn::files::write_bytes(path, text.as_bytes(), if_exists)?)
}

/// Whether [`write`] may write to this path. Called before long work, and before the first of several
/// files.
pub fn check_target(path: &Path, if_exists: IfExists) -> Result<(), Failure> {
    Ok(srnn::files::check_target(path, if_exists)?)
}

/// Writes to stdout. Control characters are escaped on a terminal. A closed pipe is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = match stdout.is_terminal() {
        true => stdout.write_all(crate::output::escape_control(text).as_bytes()),
        false => stdout.write_all(text.as_bytes()),
    };
    stdout_result(written.and_then(|()| stdout.flush()))
}

/// The result of writing to stdout. A closed pipe is not an error: the reader has read enough.
pub fn stdout_result(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("stdout: the result cannot be written: {error}");
            Err(Failure::new(message, "check the target of the output, and its free space"))
        }
        _ => Ok(()),
    }
}

/// A path as it is typed in a shell, for commands in messages.
pub fn shell_path(path: &Path) -> String {
    srnn::format::shell_word(&path.to_string_lossy())
}

/// A path for messages; `-` is stdin.
pub fn display_path(path: &Path) -> String {
    match path.as_os_str() == STDIO_PATH {
        true => "stdin".into(),
        false => path.display().to_string(),
    }
}

fn read_at_most(input: impl Read, name: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("{name}: {error}"), "check that it is readable"))?;
    if bytes.len() as u64 > limit {
        let message = format!("{name}: more than {limit} bytes");
        return Err(Failure::new(message, "check that this is the right file"));
    }
    Ok(bytes)
}
