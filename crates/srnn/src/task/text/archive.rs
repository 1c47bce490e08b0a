//! Reads reviews from the published archive `aclImdb_v1.tar.gz`, without unpacking it.

use super::error::{ReviewCause, ReviewError};
use super::reviews::{RawReview, ReviewSize, parse_file_name, unreadable};
use crate::task::files::{Decompressed, decompress};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use tar::{Archive, Entry};

/// The largest number of bytes of an archive, after decompression. The published one also has
/// 50,000 unlabelled reviews and tables of words.
pub(super) const MAX_ARCHIVE: u64 = 1 << 30;

/// Reads the reviews `*/{set}/neg/ID_STARS.txt` and `*/{set}/pos/ID_STARS.txt`. Other entries are
/// skipped.
pub(super) fn read_archive(
    path: &Path,
    set: &str,
    visit: &mut dyn FnMut(RawReview<'_>),
) -> Result<(), ReviewError> {
    let locate = |cause: ReviewCause| cause.at(path, None);
    let file = File::open(path).map_err(|error| locate(unreadable(error)))?;
    let content = decompress(file).map_err(|error| locate(unreadable(error)))?;
    let Decompressed { content, .. } = content;
    let mut limited = content.take(MAX_ARCHIVE);
    let read = read_entries(&mut limited, path, set, visit);
    // At the limit, the error of the reader would be about an end that is none.
    match limited.limit() {
        0 => Err(locate(ReviewCause::LargeArchive)),
        _ => read,
    }
}

fn read_entries(
    content: &mut impl Read,
    path: &Path,
    set: &str,
    visit: &mut dyn FnMut(RawReview<'_>),
) -> Result<(), ReviewError> {
    let located = |error: io::Error| damaged(error).at(path, None);
    let mut archive = Archive::new(&mut *content);
    let mut size = ReviewSize::default();
    // Raw entries: the crate would hold long names of any size in memory, and no name here is long.
    for entry in archive.entries().map_err(located)?.raw(true) {
        let mut entry = entry.map_err(located)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let Some((label, file_name)) = class_and_name(&name, set) else { continue };
        let read = read_entry(&mut entry, label, file_name, &mut size, visit);
        read.map_err(|cause| cause.at(&path.join(&name), None))?;
    }
    // Reading to the end verifies the checksum of the gzip stream.
    io::copy(content, &mut io::sink()).map(|_| ()).map_err(located)
}

/// The label and file name of a review of this set; `None` for other entries.
fn class_and_name<'a>(name: &'a str, set: &str) -> Option<(u32, &'a str)> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [_, of, "neg", file] if of == set && !file.is_empty() => Some((0, file)),
        [_, of, "pos", file] if of == set && !file.is_empty() => Some((1, file)),
        _ => None,
    }
}

fn read_entry(
    entry: &mut Entry<'_, impl Read>,
    label: u32,
    name: &str,
    size: &mut ReviewSize,
    visit: &mut dyn FnMut(RawReview<'_>),
) -> Result<(), ReviewCause> {
    let id = parse_file_name(name)?;
    // The header declares the size: it is checked before anything is read.
    size.add(entry.size())?;
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(damaged)?;
    let text = str::from_utf8(&text).map_err(|_| ReviewCause::NotUtf8)?;
    visit(RawReview { label, id, text });
    Ok(())
}

fn damaged(error: io::Error) -> ReviewCause {
    ReviewCause::Damaged { why: error.to_string() }
}
