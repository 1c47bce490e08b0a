//! Files, stdin and stdout, with size limits and a remedy in every error.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal as _, Read, Write as _};
use std::path::Path;

/// The maximum size of a text file or of stdin.
pub const MAX_BYTES: u64 = 64 << 20;

/// The path that stands for stdin or stdout.
pub const STDIO_PATH: &str = "-";

/// Reads a text file, or stdin for `-`.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let name = display_path(path);
    let bytes = match path.as_os_str() == STDIO_PATH {
        true => read_at_most(io::stdin().lock(), &name)?,
        false => read_at_most(open(path)?, &name)?,
    };
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
    read_at_most(io::stdin().lock(), "stdin")
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

/// Writes or replaces a file atomically, and creates its folder if needed.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(srnn::files::write(path, text)?)
}

/// [`write`] for bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(srnn::files::write_bytes(path, bytes)?)
}

/// Refuses to overwrite a file.
pub fn check_free(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata().is_ok() {
        true => {
            let message = format!("{}: this file exists already", display_path(path));
            Err(Failure::new(message, "--force replaces it, or give another name"))
        }
        false => Ok(()),
    }
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

/// A path for messages; `-` is stdin.
pub fn display_path(path: &Path) -> String {
    match path.as_os_str() == STDIO_PATH {
        true => "stdin".into(),
        false => path.display().to_string(),
    }
}

fn read_at_most(input: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("{name}: {error}"), "check that it is readable"))?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("{name}: more than {MAX_BYTES} bytes");
        return Err(Failure::new(message, "check that this is the right file"));
    }
    Ok(bytes)
}
