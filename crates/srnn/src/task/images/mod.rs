//! Images read pixel by pixel: MNIST, Fashion-MNIST, other sets in the same files, and PNG files.
//!
//! A folder holds PNG files in one sub-folder a class (`class_folders`), or four IDX files under the
//! names that MNIST was published with, gzipped or not:
//!
//! ```text
//! train-images-idx3-ubyte   train-labels-idx1-ubyte   training set
//! t10k-images-idx3-ubyte    t10k-labels-idx1-ubyte    test set
//! ```
//!
//! Pixels are kept as bytes, 47 MB for the 60,000 images of MNIST, and converted batch by batch.
//! Every error names the file, the byte and a remedy.

mod class_folders;
mod error;
mod grid;
mod idx;
mod order;
mod png;

pub(crate) use error::ImagesCause;
pub use error::ImagesError;
pub use order::PixelOrder;
pub use png::{GreyImage, read_png};

use super::Split;
use crate::engine::hex::hex;
use crate::model::ImageLayout;
use error::CauseAtByte;
use grid::PixelGrid;
use idx::Idx;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Labelled images of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// T: the number of pixels of an image.
    steps: usize,
    grid: Arc<PixelGrid>,
    /// `[count, T]`, in the order in which pixels are read.
    pixels: Vec<u8>,
    /// `[count]`.
    labels: Vec<u8>,
    /// The names of the classes `[C]`.
    classes: Arc<[String]>,
}

/// The files of one subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSubset {
    /// The training set.
    Train,
    /// The test set.
    Test,
}

/// C: the number of classes of IDX files.
pub const CLASSES: usize = 10;

/// One in this many training images is held out: the last 5,000 of the 60,000 of MNIST.
pub(crate) const HELD_OUT: usize = 12;

/// The digests of the published training and test sets, by folder name.
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
    /// `pixels` is `[labels, rows, columns]`.
    ///
    /// # Panics
    /// If the number of pixels is not `rows · columns` times the number of labels.
    pub fn new([rows, columns]: [usize; 2], pixels: Vec<u8>, labels: Vec<u8>) -> Images {
        let steps = rows * columns;
        assert_eq!(pixels.len(), steps * labels.len(), "{steps} pixels for each label");
        let classes = (0..CLASSES).map(|class| class.to_string()).collect();
        Images {
            steps,
            grid: Arc::new(PixelGrid::row_by_row(rows, columns)),
            pixels,
            labels,
            classes,
        }
    }

    /// The same images with these names of the classes. Without it, there are [`CLASSES`] classes
    /// whose names are numbers.
    fn with_classes(self, classes: Vec<String>) -> Images {
        Images { classes: classes.into(), ..self }
    }

    /// The number of images.
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// The number of rows and of columns of an image.
    pub fn shape(&self) -> [usize; 2] {
        self.grid.shape()
    }

    /// The size of an image and the order in which its pixels are read.
    pub fn layout(&self) -> ImageLayout {
        self.grid.layout()
    }

    /// T: the number of pixels of an image.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The pixels of an image, in the order in which they are read; 255 is white.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn pixels(&self, index: usize) -> &[u8] {
        &self.pixels[index * self.steps..][..self.steps]
    }

    /// The pixels of an image that is moved down and right, in the order in which they are read. Pixels
    /// from outside the image are 0.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn shifted(&self, index: usize, by: [isize; 2]) -> impl Iterator<Item = u8> + '_ {
        let pixels = self.pixels(index);
        self.grid.shifted_steps(by).map(|step| step.map_or(0, |step| pixels[step]))
    }

    /// The class of an image.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn label(&self, index: usize) -> u8 {
        self.labels[index]
    }

    /// The SHA-256 of a canonical encoding, in hex.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"srnn images 1\n");
        for size in [self.steps, self.count()] {
            hash.update((size as u64).to_le_bytes());
        }
        hash.update(&self.labels);
        hash.update(&self.pixels);
        // The digests of IDX files are older than names of classes.
        if self.classes.iter().enumerate().any(|(class, name)| *name != class.to_string()) {
            self.classes.iter().for_each(|name| hash.update(format!("\n{name}\0")));
        }
        hex(&hash.finalize())
    }

    /// The first `count` images, or all if there are fewer.
    pub fn first(&self, count: usize) -> Images {
        let count = count.min(self.count());
        let pixels = self.pixels[..count * self.steps].to_vec();
        let labels = self.labels[..count].to_vec();
        Images { pixels, labels, grid: self.grid.clone(), classes: self.classes.clone(), ..*self }
    }

    /// Removes and returns the images after the first `count`.
    fn split_off(&mut self, count: usize) -> Images {
        let pixels = self.pixels.split_off(count * self.steps);
        let labels = self.labels.split_off(count);
        Images { pixels, labels, grid: self.grid.clone(), classes: self.classes.clone(), ..*self }
    }

    /// Permutes the pixels of every image.
    fn permute(&mut self, order: &[usize]) {
        self.grid = Arc::new(self.grid.permuted(order));
        let mut image = vec![0; self.steps];
        for pixels in self.pixels.chunks_exact_mut(self.steps) {
            image.copy_from_slice(pixels);
            pixels.iter_mut().zip(order).for_each(|(pixel, &source)| *pixel = image[source]);
        }
    }
}

/// Reads one subset of a folder, with pixels row by row.
pub fn read(folder: &Path, subset: ImageSubset) -> Result<Images, ImagesError> {
    let path = file_path(folder, subset, "images-idx3");
    let locate = |cause: CauseAtByte| cause.in_file(&path.display().to_string());
    let Idx { sizes, bytes: pixels } = idx::read(&path, 3).map_err(locate)?;
    let path = file_path(folder, subset, "labels-idx1");
    let locate = |cause: CauseAtByte| cause.in_file(&path.display().to_string());
    let labels = idx::read(&path, 1).map_err(locate)?.bytes;
    if labels.len() != sizes[0] {
        return Err(locate(ImagesCause::Counts { labels: labels.len(), images: sizes[0] }.at(4)));
    }
    if let Some(index) = labels.iter().position(|&label| label as usize >= CLASSES) {
        return Err(locate(ImagesCause::Label { label: labels[index] }.at(8 + index)));
    }
    Ok(Images::new([sizes[1], sizes[2]], pixels, labels))
}

/// Reads the sets of a folder: PNG files by class, or IDX files. The last of the training images, one in [`HELD_OUT`], are the
/// validation set. At most `most` training images are used. A folder called `mnist` or
/// `fashion-mnist` must hold the published images.
pub(crate) fn sets(
    folder: &Path,
    order: &PixelOrder,
    most: usize,
) -> Result<Split<Images>, ImagesError> {
    let [mut train, mut test] = match has_class_folders(folder) {
        true => class_folders::read_sets(folder)?,
        false => [read(folder, ImageSubset::Train)?, read(folder, ImageSubset::Test)?],
    };
    if test.shape() != train.shape() {
        let (found, expected) = (test.shape(), train.shape());
        let cause = ImagesCause::Pixels { found, expected };
        return Err(images_error(folder, ImageSubset::Test, cause));
    }
    check_published(folder, &train, &test)?;
    drop(train.split_off(most.min(train.count())));
    if let PixelOrder::Permuted { pixels, file } = order {
        if pixels.len() != train.steps {
            let cause = ImagesCause::Order { found: pixels.len(), pixels: train.steps };
            return Err(CauseAtByte::from(cause).in_file(file));
        }
        train.permute(pixels);
        test.permute(pixels);
    }
    let (count, held_out) = (train.count(), train.count() / HELD_OUT);
    if held_out == 0 {
        return Err(images_error(folder, ImageSubset::Train, ImagesCause::TooFew { count }));
    }
    let valid = train.split_off(count - held_out);
    Ok(Split { train, valid, test: Some(test) })
}

/// Whether a folder holds sub-folders and no IDX file of training images.
fn has_class_folders(folder: &Path) -> bool {
    let has_folder = || {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| path.is_dir())
    };
    !file_path(folder, ImageSubset::Train, "images-idx3").exists() && has_folder()
}

fn check_published(folder: &Path, train: &Images, test: &Images) -> Result<(), ImagesError> {
    let published = PUBLISHED.iter().find(|(name, _)| folder.ends_with(name));
    let Some((name, digests)) = published else { return Ok(()) };
    let found = [(ImageSubset::Train, train), (ImageSubset::Test, test)];
    for ((subset, set), digest) in found.into_iter().zip(digests) {
        if set.digest() != *digest {
            let cause = ImagesCause::Unlike { name: name.to_string() };
            return Err(images_error(folder, subset, cause));
        }
    }
    Ok(())
}

/// An error about all images of a subset.
fn images_error(folder: &Path, subset: ImageSubset, cause: ImagesCause) -> ImagesError {
    let path = match has_class_folders(folder) {
        true => folder.to_path_buf(),
        false => file_path(folder, subset, "images-idx3"),
    };
    CauseAtByte::from(cause).in_file(&path.display().to_string())
}

/// The path of a file in a folder; the gzipped file if the plain one does not exist.
fn file_path(folder: &Path, subset: ImageSubset, kind: &str) -> PathBuf {
    let subset = match subset {
        ImageSubset::Train => "train",
        ImageSubset::Test => "t10k",
    };
    let name = format!("{subset}-{kind}-ubyte");
    let (plain, gzipped) = (folder.join(&name), folder.join(format!("{name}.gz")));
    if gzipped.exists() && !plain.exists() { gzipped } else { plain }
}

#[cfg(test)]
mod tests;
