//! Files and streams, within limits and with the remedy in every error.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal as _, Read, Write as _};
use std::path::Path;

/// More text than this is no automaton and no list of words.
pub const MOST_BYTES: u64 = 64 << 20;

/// The name that stands for stdin or stdout.
pub const STREAM: &str = "-";

/// A text file, or stdin for `-`.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let name = shown(path);
    let bytes = match path.as_os_str() == STREAM {
        true => read_at_most(io::stdin().lock(), &name)?,
        false => read_at_most(open(path)?, &name)?,
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            format!("{name}: byte {at} is no UTF-8 text"),
            "check that this is a text file, and save it as UTF-8",
        )
    })
}

/// All of stdin.
pub fn read_stdin() -> Result<Vec<u8>, Failure> {
    read_at_most(io::stdin().lock(), "stdin")
}

/// Opens a file that is not a folder.
pub fn open(path: &Path) -> Result<File, Failure> {
    let name = shown(path);
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::new(format!("{name}: no such file"), "check the path"),
        _ => Failure::new(format!("{name}: {error}"), "check that it may be read"),
    };
    if fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(Failure::new(format!("{name}: this is a folder"), "name a file in it"));
    }
    File::open(path).map_err(unreadable)
}

/// Replaces a file whole, and makes its folder.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(srnn::files::write(path, text)?)
}

/// The same for what is no text.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(srnn::files::write_bytes(path, bytes)?)
}

/// Refuses a place that is taken: what a person has there is not replaced unasked.
pub fn check_free(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata().is_ok() {
        true => {
            let message = format!("{}: there is such a file already", shown(path));
            Err(Failure::new(message, "--force replaces it, or name another"))
        }
        false => Ok(()),
    }
}

/// Writes to stdout as it is, for the next program; spelled out where a person looks at it. A
/// reader that went away is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = match stdout.is_terminal() {
        true => stdout.write_all(crate::output::escape_control(text).as_bytes()),
        false => stdout.write_all(text.as_bytes()),
    };
    printed(written.and_then(|()| stdout.flush()))
}

/// What became of something written to stdout. Whoever closes a pipe has read enough; any other
/// failure means that the result is lost.
pub fn printed(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("stdout: the result cannot be written: {error}");
            Err(Failure::new(message, "check where the output goes, and that it has space"))
        }
        _ => Ok(()),
    }
}

/// A path in a message.
pub fn shown(path: &Path) -> String {
    match path.as_os_str() == STREAM {
        true => "stdin".into(),
        false => path.display().to_string(),
    }
}

fn read_at_most(input: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format!("{name}: {error}"), "check that it may be read"))?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("{name}: more than {MOST_BYTES} bytes");
        return Err(Failure::new(message, "check that this is the right file"));
    }
    Ok(bytes)
}
