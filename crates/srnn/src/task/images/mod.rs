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
use crate::engine::hex::hex;
use error::Fault;
use idx::Idx;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// Images of one size with a label each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// T: the pixels of an image.
    steps: usize,
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

/// C: the classes of every such set.
pub const CLASSES: usize = 10;

/// One image in so many of the training set is held out: of the 60,000 of MNIST the last 5,000.
pub const HELD_OUT: usize = 12;

/// The digests of the training and the test set as they were published, by the names of folders.
const PUBLISHED: [(&str, [&str; 2]); 2] = [
    (
        "mnist",
        [
            "7b78040c5fcaf93666b494733819cfe7a8cbb60b9f1177b0109715b230e7a99d",
            "0d1e359dcdf329928d350019cc37ae8dc64279b3b07b989949fc27f78c1d4551",
        ],
    ),
    (
        "fashion-mnist",
        [
            "a25f06a659085831d995bc2d5c09516b84eae822758b83f5cfc79b2b17f79ca9",
            "c685007c108ff77a67bf30d1e31bb2f76b2edb32c7386abf4a83d4d5d4e6f139",
        ],
    ),
];

impl Images {
    /// Images of `steps` pixels, one after the other, and their labels.
    ///
    /// # Panics
    /// If there are not as many pixels as labels need.
    pub fn new(steps: usize, pixels: Vec<u8>, labels: Vec<u8>) -> Images {
        assert_eq!(pixels.len(), steps * labels.len(), "{steps} pixels for each label");
        Images { steps, pixels, labels }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// T: the pixels of an image.
    pub fn steps(&self) -> usize {
        self.steps
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
        for size in [self.steps, self.count()] {
            hash.update((size as u64).to_le_bytes());
        }
        hash.update(&self.labels);
        hash.update(&self.pixels);
        hex(&hash.finalize())
    }

    /// The first so many, or all where there are no more.
    pub fn first(&self, count: usize) -> Images {
        let count = count.min(self.count());
        let pixels = self.pixels[..count * self.steps].to_vec();
        Images { pixels, labels: self.labels[..count].to_vec(), ..*self }
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
    if let Some(index) = labels.iter().position(|&label| label as usize >= CLASSES) {
        return Err(fault(Wrong::Label { label: labels[index] }.at(8 + index)));
    }
    Ok(Images { steps: sizes[1] * sizes[2], pixels, labels })
}

/// The sets of a folder: all but the last of the training images to learn from, the last (one in
/// [`HELD_OUT`]) to select by, and those to judge by. Of the training images no more than `most` are
/// taken. A folder called `mnist` or `fashion-mnist` must hold what was published under that name.
pub fn sets(folder: &Path, order: &Order, most: usize) -> Result<Split<Images>, ImagesError> {
    let mut train = read(folder, Part::Train)?;
    let mut test = read(folder, Part::Test)?;
    if test.steps != train.steps {
        let cause = Wrong::Pixels { found: test.steps, expected: train.steps };
        return Err(wrong(folder, Part::Test, cause));
    }
    check_published(folder, &train, &test)?;
    drop(train.split_off(most.min(train.count())));
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
        return Err(wrong(folder, Part::Train, Wrong::Few { count }));
    }
    let valid = train.split_off(count - held_out);
    Ok(Split { train, valid, test: Some(test) })
}

fn check_published(folder: &Path, train: &Images, test: &Images) -> Result<(), ImagesError> {
    let published = PUBLISHED.iter().find(|(name, _)| folder.ends_with(name));
    let Some((name, digests)) = published else { return Ok(()) };
    let found = [(Part::Train, train), (Part::Test, test)];
    for ((part, set), digest) in found.into_iter().zip(digests) {
        if set.digest() != *digest {
            let cause = Wrong::Unlike { name: name.to_string() };
            return Err(wrong(folder, part, cause));
        }
    }
    Ok(())
}

/// An error that concerns all images of a part.
fn wrong(folder: &Path, part: Part, cause: Wrong) -> ImagesError {
    Fault::from(cause).in_file(&file(folder, part, "images-idx3").display().to_string())
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
