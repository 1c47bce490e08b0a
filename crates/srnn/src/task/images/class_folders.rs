//! Images as PNG files, one sub-folder a class.
//!
//! ```text
//! FOLDER/CLASS/NAME.png                                  without a test set of its own
//! FOLDER/train/CLASS/NAME.png   FOLDER/test/CLASS/NAME.png
//! ```

use super::error::{CauseAtByte, ImagesCause, ImagesError};
use super::idx::MAX_BYTES;
use super::png::{GreyImage, read_png};
use super::{HELD_OUT, Images};
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

/// Labels are bytes.
const MAX_CLASSES: usize = 256;

/// A file and the index of its class.
type LabelledPath = (PathBuf, u8);

/// The training and the test images of a folder. Classes are the names of sub-folders in
/// alphabetical order. Files are in alphabetical order, and the classes alternate in proportion to
/// their sizes. Without `train/` and `test/`, the last images, one in [`HELD_OUT`], are the test set.
pub(super) fn read_sets(folder: &Path) -> Result<[Images; 2], ImagesError> {
    let [train, test] = ["train", "test"].map(|name| folder.join(name));
    if !(train.is_dir() && test.is_dir()) {
        let classes = class_names(folder)?;
        let mut train = read_images(&labelled_paths(folder, &classes)?, &classes)?;
        let kept = train.count() - train.count() / HELD_OUT;
        let test = train.split_off(kept);
        return Ok([train, test]);
    }
    let classes = class_names(&train)?;
    let tested = sub_folders(&test)?;
    if tested.is_empty() {
        return Err(whole(&test, ImagesCause::Classes { found: 0, most: MAX_CLASSES }));
    }
    if let Some(other) = tested.iter().find(|name| !classes.contains(name)) {
        return Err(whole(&test.join(other), ImagesCause::OtherClass));
    }
    let read = |folder: &Path| read_images(&labelled_paths(folder, &classes)?, &classes);
    Ok([read(&train)?, read(&test)?])
}

/// The names of the classes of a training set.
fn class_names(folder: &Path) -> Result<Vec<String>, ImagesError> {
    let names = sub_folders(folder)?;
    match names.len() {
        2..=MAX_CLASSES => Ok(names),
        found => Err(whole(folder, ImagesCause::Classes { found, most: MAX_CLASSES })),
    }
}

/// The sorted names of the sub-folders. There must be nothing else.
fn sub_folders(folder: &Path) -> Result<Vec<String>, ImagesError> {
    let mut names = Vec::new();
    for path in entries(folder)? {
        let name = path.file_name().and_then(|name| name.to_str());
        match name {
            Some(name) if path.is_dir() => names.push(name.to_string()),
            Some(_) => return Err(whole(&path, ImagesCause::NoClass)),
            None => return Err(whole(&path, ImagesCause::Name)),
        }
    }
    Ok(names)
}

/// The files of all classes, alternating in proportion: every part has about the share of each
/// class that the whole has. A class without a folder, which a test set may have, has no files.
fn labelled_paths(folder: &Path, classes: &[String]) -> Result<Vec<LabelledPath>, ImagesError> {
    let mut ranked: Vec<(Position, LabelledPath)> = Vec::new();
    for (label, name) in classes.iter().enumerate() {
        let class = folder.join(name);
        if !class.exists() {
            continue;
        }
        let files = entries(&class)?;
        if files.is_empty() {
            return Err(whole(&class, ImagesCause::EmptyClass));
        }
        let count = files.len();
        for (rank, path) in files.into_iter().enumerate() {
            let extension = path.extension().and_then(|extension| extension.to_str());
            if !extension.is_some_and(|text| text.eq_ignore_ascii_case("png")) {
                return Err(whole(&path, ImagesCause::NotPng));
            }
            ranked.push((Position { rank, count }, (path, label as u8)));
        }
    }
    // Stable: files at the same position stay in the order of their classes.
    ranked.sort_by(|(a, _), (b, _)| a.compare(b));
    Ok(ranked.into_iter().map(|(_, labelled)| labelled).collect())
}

/// Where a file stands in its class.
struct Position {
    rank: usize,
    count: usize,
}

impl Position {
    /// Compares the fractions (rank + ½) / count.
    fn compare(&self, other: &Position) -> Ordering {
        let scaled = |a: &Position, b: &Position| (2 * a.rank as u128 + 1) * b.count as u128;
        scaled(self, other).cmp(&scaled(other, self))
    }
}

fn read_images(paths: &[LabelledPath], classes: &[String]) -> Result<Images, ImagesError> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::with_capacity(paths.len()));
    let (first, _) = &paths[0];
    let mut shape = [0, 0];
    for (path, label) in paths {
        let image: GreyImage = read_png(path)?;
        if labels.is_empty() {
            shape = image.shape;
            let declared = paths.len() as u128 * image.pixels.len() as u128;
            if declared > MAX_BYTES {
                return Err(whole(path, ImagesCause::ManyPixels { declared }));
            }
            pixels.reserve_exact(declared as usize);
        }
        if image.shape != shape {
            let (found, first) = (image.shape, first.display().to_string());
            return Err(whole(path, ImagesCause::Shape { found, expected: shape, first }));
        }
        pixels.extend(image.pixels);
        labels.push(*label);
    }
    Ok(Images::new(shape, pixels, labels).with_classes(classes.to_vec()))
}

/// The sorted content of a folder without hidden files.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, ImagesError> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let unreadable = |error: std::io::Error| ImagesCause::Unreadable { why: error.to_string() };
    let mut paths = list().map_err(|error| whole(folder, unreadable(error)))?;
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    paths.retain(|path| !is_hidden(path));
    paths.sort();
    Ok(paths)
}

/// An error about a whole file or folder.
fn whole(path: &Path, cause: ImagesCause) -> ImagesError {
    CauseAtByte::from(cause).in_file(&path.display().to_string())
}

#[cfg(test)]
#[path = "class_folders_tests.rs"]
mod tests;
