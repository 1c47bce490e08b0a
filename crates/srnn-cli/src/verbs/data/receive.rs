//! Writes a file of a public data set. It takes its name only after size and digest are verified.

use super::file_state::{digest_difference, size_difference};
use super::sources::PublicFile;
use crate::failure::Failure;
use crate::files;
use sha2::{Digest as _, Sha256};
use srnn::engine::atomic::{IfExists, open_regular};
use srnn::engine::hex::hex;
use srnn::format::grouped;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

/// Reads the content of a published file from `input` and writes it to `path`.
///
/// The bytes go to `path` with `.part` appended, which is renamed at the end. After an error or an
/// interruption, this file stays and `path` is unchanged. `from` is the origin in errors.
/// `progress` is called with the number of bytes so far.
pub fn receive(
    input: &mut dyn Read,
    from: &str,
    published: &PublicFile,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Failure> {
    let part = part_path(path);
    let unwritable = |error: io::Error| {
        Failure::new(format!("{}: {error}", part.display()), "check folder and free space")
    };
    files::check_target(path, IfExists::Replace)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let mut file = open_part(&part)?;
    let mut hash = Sha256::new();
    let (mut buffer, mut total) = (vec![0; 1 << 16], 0);
    loop {
        let count = input.read(&mut buffer).map_err(|error| broken(from, total, &error))?;
        if count == 0 {
            break;
        }
        total += count as u64;
        if total > published.bytes {
            let expected = grouped(published.bytes);
            return Err(wrong(
                from,
                &format!("more than the {expected} bytes of the published file"),
            ));
        }
        hash.update(&buffer[..count]);
        file.write_all(&buffer[..count]).map_err(unwritable)?;
        progress(total);
    }
    if total != published.bytes {
        return Err(wrong(from, &size_difference(total, published)));
    }
    let digest = hex(&hash.finalize());
    if digest != published.sha256 {
        return Err(wrong(from, &digest_difference(&digest, published)));
    }
    file.sync_all().map_err(unwritable)?;
    files::check_target(path, IfExists::Replace)?;
    fs::rename(&part, path).map_err(unwritable)
}

/// The error for content that is not the published one.
pub fn wrong(from: &str, why: &str) -> Failure {
    Failure::new(format!("{from}: {why}"), "try again later, or another address with --from URL")
}

fn part_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Opens an empty file. The lock keeps a second program from writing to the same file.
fn open_part(part: &Path) -> Result<File, Failure> {
    let shown = part.display();
    let unwritable = |error: io::Error| {
        Failure::new(format!("{shown}: {error}"), "check that the folder is writable")
    };
    let mut options = File::options();
    // Truncated only after it is locked.
    let opened = open_regular(part, options.write(true).create(true).truncate(false));
    let file = opened.map_err(unwritable)?;
    let in_use = || {
        let message = format!("{shown}: another program writes this file");
        Failure::new(message, "wait until it has ended, then try again")
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use()),
        Err(TryLockError::Error(error)) => return Err(unwritable(error)),
    }
    // The other program has renamed the file between `open` and `try_lock`: this is its result.
    if !part.exists() {
        return Err(in_use());
    }
    file.set_len(0).map_err(unwritable)?;
    Ok(file)
}

fn broken(from: &str, total: u64, error: &io::Error) -> Failure {
    let message = format!("{from}: the transfer broke off after {} bytes: {error}", grouped(total));
    Failure::new(message, "check the network, then try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"seven bytes, and some more";

    fn published() -> PublicFile {
        let sha256 = hex(&Sha256::digest(CONTENT));
        PublicFile { name: "set".into(), bytes: CONTENT.len() as u64, sha256 }
    }

    fn receive_in(folder: &Path, mut content: impl Read) -> Result<(), Failure> {
        receive(&mut content, "here", &published(), &folder.join("new/set"), &mut |_| {})
    }

    #[test]
    fn a_verified_file_takes_its_name_and_leaves_no_part() {
        let folder = tempfile::tempdir().unwrap();
        receive_in(folder.path(), CONTENT).unwrap();
        assert_eq!(fs::read(folder.path().join("new/set")).unwrap(), CONTENT);
        assert!(!folder.path().join("new/set.part").exists());
    }

    #[test]
    fn other_content_never_takes_the_name() {
        let changed = CONTENT.to_ascii_uppercase();
        let long = [CONTENT, b"!"].concat();
        for (content, expected) in [
            (&changed[..], "the sha256 is"),
            (&long[..], "more than the 26 bytes"),
            (&CONTENT[1..], "25 bytes, but the published file has 26"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("new")).unwrap();
            fs::write(folder.path().join("new/set"), "as it was").unwrap();
            let failure = receive_in(folder.path(), content).unwrap_err();
            assert!(failure.message.contains(expected), "{}", failure.message);
            assert_eq!(fs::read(folder.path().join("new/set")).unwrap(), b"as it was");
        }
    }

    #[test]
    fn an_endless_source_is_left_after_the_published_size() {
        let folder = tempfile::tempdir().unwrap();
        let failure = receive_in(folder.path(), io::repeat(7)).unwrap_err();
        assert!(failure.message.contains("more than the 26 bytes"), "{}", failure.message);
        assert_eq!(fs::metadata(folder.path().join("new/set.part")).unwrap().len(), 0);
    }

    #[test]
    fn a_part_that_another_program_writes_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("new")).unwrap();
        let part = File::create(folder.path().join("new/set.part")).unwrap();
        part.lock().unwrap();
        let failure = receive_in(folder.path(), CONTENT).unwrap_err();
        assert!(failure.message.contains("another program"), "{}", failure.message);
    }
}
