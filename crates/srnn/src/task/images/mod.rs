//! Images read pixel by pixel: MNIST, Fashion-MNIST, and what else comes as files of their form.
//!
//! A folder holds four IDX files under the names they were published with, gzipped or not:
//!
//! ```text
//! train-images-idx3-ubyte   train-labels-idx1-ubyte   to learn from
//! t10k-images-idx3-ubyte    t10k-labels-idx1-ubyte    to judge by
//! ```
//!
//! Pixels stay bytes, 47 MB for the 60,000 images of MNIST; they become numbers where a batch is.
//! Every error names the file, the byte and a remedy.

mod error;
mod idx;
mod order;

pub use error::{ImagesError, Wrong};
pub use order::Order;

use super::Split;
use crate::hex::hex;
use error::Fault;
use idx::Idx;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Images of one size with a label each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// T: the pixels of an image.
    steps: usize,
    /// Labels are below this.
    classes: usize,
    /// `[count, T]`, each image in the order in which it is read.
    pixels: Vec<u8>,
    /// `[count]`.
    labels: Vec<u8>,
}

/// Which files of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Those to learn from.
    Train,
    /// Those to judge by.
    Test,
}

/// One image in so many of the training set is held out: of the 60,000 of MNIST the last 5,000.
pub const HELD_OUT: usize = 12;

/// The digests of the training and the test set as they were published, by the names of folders.
const PUBLISHED: [(&str, [&str; 2]); 2] = [
    (
        "mnist",
        [
            "4f450269ea1583ea69ca8c4540440a270e702248b11548ec8d4d71cd45c03a6b",
            "3ea7fdae382ba67c3544cd5a841cb08fccce272a4b28647d09482ae0c2a6e310",
        ],
    ),
    (
        "fashion-mnist",
        [
            "1db8094d0857cfeaff0a993b98d76c3dc5afc472ada401ea8689fe8c51ab8220",
            "eeb6e90b1d90fb4237ca8c9dcdf02a1a00c9108043c6be7bad65f242c7075b9d",
        ],
    ),
];

impl Images {
    /// Images of `steps` pixels, one after the other, and their labels.
    ///
    /// # Panics
    /// If there are not as many pixels as labels need.
    pub fn new(steps: usize, classes: usize, pixels: Vec<u8>, labels: Vec<u8>) -> Images {
        assert_eq!(pixels.len(), steps * labels.len(), "{steps} pixels for each label");
        Images { steps, classes, pixels, labels }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// T: the pixels of an image.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// C: how many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The pixels of an image, in the order in which they are read; 255 is the brightest.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn pixels(&self, index: usize) -> &[u8] {
        &self.pixels[index * self.steps..][..self.steps]
    }

    /// The class of an image.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn label(&self, index: usize) -> u8 {
        self.labels[index]
    }

    /// The sha-256 of a canonical encoding, in hex: equal exactly for equal sets.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"srnn images 1\n");
        for size in [self.steps, self.classes, self.count()] {
            hash.update((size as u64).to_le_bytes());
        }
        hash.update(&self.labels);
        hash.update(&self.pixels);
        hex(&hash.finalize())
    }

    /// Keeps the first so many; nothing happens where there are no more.
    pub fn truncate(&mut self, count: usize) {
        self.labels.truncate(count);
        self.pixels.truncate(count.saturating_mul(self.steps));
    }

    /// Takes off what comes after the first `count`.
    fn split_off(&mut self, count: usize) -> Images {
        let pixels = self.pixels.split_off(count * self.steps);
        Images { pixels, labels: self.labels.split_off(count), ..*self }
    }

    /// Puts the pixels of every image into another order.
    fn put(&mut self, order: &[usize]) {
        let mut image = vec![0; self.steps];
        for pixels in self.pixels.chunks_exact_mut(self.steps) {
            image.copy_from_slice(pixels);
            pixels.iter_mut().zip(order).for_each(|(pixel, &place)| *pixel = image[place]);
        }
    }
}

/// Reads a part of a folder, every image row by row.
pub fn read(folder: &Path, part: Part) -> Result<Images, ImagesError> {
    let path = file(folder, part, "images-idx3");
    let fault = |fault: Fault| fault.in_file(&path.display().to_string());
    let Idx { sizes, bytes: pixels } = idx::read(&path, 3).map_err(fault)?;
    let path = file(folder, part, "labels-idx1");
    let fault = |fault: Fault| fault.in_file(&path.display().to_string());
    let labels = idx::read(&path, 1).map_err(fault)?.bytes;
    if labels.len() != sizes[0] {
        return Err(fault(Wrong::Counts { labels: labels.len(), images: sizes[0] }.at(4)));
    }
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    Ok(Images { steps: sizes[1] * sizes[2], classes, pixels, labels })
}

/// The sets of a folder: all but the last of the training images to learn from, the last (one in
/// [`HELD_OUT`]) to select by, and those to judge by. Of the training images no more than `most` are
/// taken. A folder called `mnist` or `fashion-mnist` must hold what was published under that name.
pub fn sets(folder: &Path, order: &Order, most: usize) -> Result<Split<Images>, ImagesError> {
    let mut train = read(folder, Part::Train)?;
    let mut test = read(folder, Part::Test)?;
    alike(folder, &train, &mut test)?;
    check_published(folder, &train, &test)?;
    train.truncate(most);
    if let Order::Permuted { places, file } = order {
        if places.len() != train.steps {
            let cause = Wrong::Order { found: places.len(), pixels: train.steps };
            return Err(Fault::from(cause).in_file(file));
        }
        train.put(places);
        test.put(places);
    }
    let (count, held_out) = (train.count(), train.count() / HELD_OUT);
    if held_out == 0 {
        return Err(wrong(folder, Part::Train, "images-idx3", Wrong::Few { count }));
    }
    let valid = train.split_off(count - held_out);
    Ok(Split { train, valid, test: Some(test) })
}

/// Refuses a test set that is no test of the training set, and gives it the same classes.
fn alike(folder: &Path, train: &Images, test: &mut Images) -> Result<(), ImagesError> {
    if train.classes < 2 {
        return Err(wrong(folder, Part::Train, "labels-idx1", Wrong::OneClass));
    }
    if test.steps != train.steps {
        let cause = Wrong::Pixels { found: test.steps, expected: train.steps };
        return Err(wrong(folder, Part::Test, "images-idx3", cause));
    }
    let last = (train.classes - 1) as u8;
    if let Some(index) = test.labels.iter().position(|&label| label > last) {
        let fault = Wrong::Label { label: test.labels[index], last }.at(8 + index);
        let path = file(folder, Part::Test, "labels-idx1");
        return Err(fault.in_file(&path.display().to_string()));
    }
    test.classes = train.classes;
    Ok(())
}

fn check_published(folder: &Path, train: &Images, test: &Images) -> Result<(), ImagesError> {
    let published = PUBLISHED.iter().find(|(name, _)| folder.ends_with(name));
    let Some((name, digests)) = published else { return Ok(()) };
    let found = [(Part::Train, train), (Part::Test, test)];
    for ((part, set), digest) in found.into_iter().zip(digests) {
        if set.digest() != *digest {
            let cause = Wrong::Unlike { name: name.to_string() };
            return Err(wrong(folder, part, "images-idx3", cause));
        }
    }
    Ok(())
}

/// An error that concerns a whole file.
fn wrong(folder: &Path, part: Part, kind: &str, cause: Wrong) -> ImagesError {
    Fault::from(cause).in_file(&file(folder, part, kind).display().to_string())
}

/// The file of a folder, packed where it is not there plain.
fn file(folder: &Path, part: Part, kind: &str) -> PathBuf {
    let part = match part {
        Part::Train => "train",
        Part::Test => "t10k",
    };
    let name = format!("{part}-{kind}-ubyte");
    let (plain, packed) = (folder.join(&name), folder.join(format!("{name}.gz")));
    if packed.exists() && !plain.exists() { packed } else { plain }
}

#[cfg(test)]
mod tests;
