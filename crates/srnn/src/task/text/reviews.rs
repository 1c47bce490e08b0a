//! Reads reviews one by one, from a table, the published folders or the published archive.

use super::archive::read_archive;
use super::error::{ReviewCause, ReviewError};
use super::imdb::CLASSES;
use crate::task::files::{Decompressed, decompress};
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The largest number of bytes of a review, with its label. The longest of IMDB has 14 KB.
pub(super) const MAX_LINE: u64 = 1 << 20;

/// The largest number of bytes of all reviews, after decompression. IMDB has 33 MB for training.
pub(super) const MAX_BYTES: u64 = 1 << 28;

/// A review as it is read.
pub(super) struct RawReview<'a> {
    /// 0 for negative, 1 for positive.
    pub(super) label: u32,
    pub(super) id: u64,
    pub(super) text: &'a str,
}

/// The published archive.
const ARCHIVE: &str = "aclImdb_v1.tar.gz";

/// Reads the reviews of `folder/{set}.tsv.gz`, of `folder/{set}.tsv`, of `folder/{set}/neg` and
/// `folder/{set}/pos`, or of the published archive; the first that exists.
pub(super) fn read(
    folder: &Path,
    set: &str,
    visit: &mut dyn FnMut(RawReview<'_>),
) -> Result<(), ReviewError> {
    let tables = ["tsv.gz", "tsv"].map(|extension| folder.join(format!("{set}.{extension}")));
    let (folders, archive) = (folder.join(set), folder.join(ARCHIVE));
    match tables.iter().find(|table| table.exists()) {
        Some(table) => read_table(table, visit),
        None if folders.is_dir() => read_folders(&folders, visit),
        None if archive.exists() => read_archive(&archive, set, visit),
        None => Err(ReviewCause::Missing.at(&tables[0], None)),
    }
}

/// A line is `label \t id \t stars \t text`. The text may contain tabs.
fn read_table(path: &Path, visit: &mut dyn FnMut(RawReview<'_>)) -> Result<(), ReviewError> {
    let file = File::open(path).map_err(|error| unreadable(error).at(path, None))?;
    let content = decompress(file).map_err(|error| unreadable(error).at(path, None))?;
    let Decompressed { content: mut input, compressed } = content;
    let failed = |error: io::Error| match compressed {
        true => ReviewCause::Damaged { why: error.to_string() },
        false => unreadable(error),
    };
    let (mut line, mut size, mut number) = (Vec::new(), ReviewSize::default(), 0);
    loop {
        line.clear();
        number += 1;
        let read = input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line);
        let read = read.map_err(|error| failed(error).at(path, Some(number)))? as u64;
        if read == 0 {
            return Ok(());
        }
        size.add(read).map_err(|cause| cause.at(path, Some(number)))?;
        visit(parse(&line).map_err(|cause| cause.at(path, Some(number)))?);
    }
}

fn parse(line: &[u8]) -> Result<RawReview<'_>, ReviewCause> {
    let line = str::from_utf8(line).map_err(|_| ReviewCause::NotUtf8)?;
    let line = line.strip_suffix('\n').unwrap_or(line);
    let fields: Vec<&str> = line.splitn(4, '\t').collect();
    let [label, id, stars, text] = fields[..] else {
        return Err(ReviewCause::Fields { found: fields.len() });
    };
    let label = match label {
        "0" => 0,
        "1" => 1,
        _ => return Err(ReviewCause::Label { found: label.chars().take(20).collect() }),
    };
    check_stars(stars)?;
    Ok(RawReview { label, id: parse_id(id)?, text })
}

/// Every review is a file `ID_STARS.txt` in the folder of its class.
fn read_folders(folder: &Path, visit: &mut dyn FnMut(RawReview<'_>)) -> Result<(), ReviewError> {
    let mut size = ReviewSize::default();
    for (label, name) in ["neg", "pos"].into_iter().enumerate() {
        let class = folder.join(name);
        let files = list(&class).map_err(|error| unreadable(error).at(&class, None))?;
        for path in files {
            let review = read_file(&path, label as u32, &mut size, visit);
            review.map_err(|cause| cause.at(&path, None))?;
        }
    }
    Ok(())
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn read_file(
    path: &Path,
    label: u32,
    size: &mut ReviewSize,
    visit: &mut dyn FnMut(RawReview<'_>),
) -> Result<(), ReviewCause> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(ReviewCause::FileName)?;
    let id = parse_file_name(name)?;
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    let read = file.take(MAX_LINE + 1).read_to_end(&mut text).map_err(unreadable)? as u64;
    size.add(read)?;
    let text = str::from_utf8(&text).map_err(|_| ReviewCause::NotUtf8)?;
    visit(RawReview { label, id, text });
    Ok(())
}

/// The id of a review in a file `ID_STARS.txt`.
pub(super) fn parse_file_name(name: &str) -> Result<u64, ReviewCause> {
    let stem = name.strip_suffix(".txt").ok_or(ReviewCause::FileName)?;
    let (id, stars) = stem.split_once('_').ok_or(ReviewCause::FileName)?;
    check_stars(stars)?;
    parse_id(id)
}

/// The number of bytes of the reviews so far.
#[derive(Default)]
pub(super) struct ReviewSize(u64);

impl ReviewSize {
    /// Adds a review. Fails if it is too long, or if there are too many bytes.
    pub(super) fn add(&mut self, review: u64) -> Result<(), ReviewCause> {
        self.0 = self.0.saturating_add(review);
        match (review > MAX_LINE, self.0 > MAX_BYTES) {
            (true, _) => Err(ReviewCause::LongReview),
            (_, true) => Err(ReviewCause::ManyBytes),
            _ => Ok(()),
        }
    }
}

fn check_stars(stars: &str) -> Result<(), ReviewCause> {
    match stars.parse() {
        Ok(1..=10u8) => Ok(()),
        _ => Err(ReviewCause::Stars { found: stars.chars().take(20).collect() }),
    }
}

fn parse_id(id: &str) -> Result<u64, ReviewCause> {
    id.parse().map_err(|_| ReviewCause::Id { found: id.chars().take(20).collect() })
}

pub(super) fn unreadable(error: io::Error) -> ReviewCause {
    match error.kind() {
        ErrorKind::NotFound => ReviewCause::Missing,
        _ => ReviewCause::Unreadable { why: error.to_string() },
    }
}

/// Sorts by class and id, so that files in any order give the same data, and alternates the classes,
/// so that the first reviews are of both. Fails for two reviews with the same class and id.
pub(super) fn alternate<R>(
    mut reviews: Vec<R>,
    key: impl Fn(&R) -> (u32, u64),
) -> Result<Vec<R>, ReviewCause> {
    reviews.sort_by_key(&key);
    if let Some(pair) = reviews.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
        let (label, id) = key(&pair[0]);
        return Err(ReviewCause::Duplicate { class: CLASSES[label as usize], id });
    }
    let negatives = reviews.partition_point(|review| key(review).0 == 0);
    let positives = reviews.split_off(negatives);
    let mut ranked: Vec<(usize, R)> = reviews.into_iter().enumerate().collect();
    ranked.extend(positives.into_iter().enumerate());
    // The sort is stable: negative reviews stay before positive ones of the same rank.
    ranked.sort_by_key(|&(rank, _)| rank);
    Ok(ranked.into_iter().map(|(_, review)| review).collect())
}
