//! The order in which the pixels of images are read.

use super::error::{CauseAtByte, ImagesCause, ImagesError};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The order in which the pixels of images are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PixelOrder {
    /// Row by row, as stored.
    Rows,
    /// In the order of a file, as for permuted MNIST.
    Permuted {
        /// The index of the pixel that is read at each step; a permutation.
        pixels: Vec<usize>,
        /// The file name, for messages.
        file: String,
    },
}

/// Bytes of a file after this are not read.
const MAX_BYTES: u64 = 1 << 24;

impl PixelOrder {
    /// Reads the indices of a file, separated by blanks.
    pub fn read(path: &Path) -> Result<PixelOrder, ImagesError> {
        let file = path.display().to_string();
        let pixels = read_bytes(path).and_then(|text| parse(&text));
        let pixels = pixels.map_err(|cause: CauseAtByte| cause.in_file(&file))?;
        Ok(PixelOrder::Permuted { pixels, file })
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, CauseAtByte> {
    let why = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => ImagesCause::NoOrder,
        _ => ImagesCause::Unreadable { why: error.to_string() },
    };
    let mut text = Vec::new();
    File::open(path).map_err(why)?.take(MAX_BYTES).read_to_end(&mut text).map_err(why)?;
    Ok(text)
}

fn parse(text: &[u8]) -> Result<Vec<usize>, CauseAtByte> {
    let words: Vec<(usize, &[u8])> = words(text).collect();
    let count = words.len();
    if count == 0 {
        return Err(ImagesCause::EmptyOrder.into());
    }
    let mut seen = vec![false; count];
    let mut pixels = Vec::with_capacity(count);
    for (byte, word) in words {
        let number = str::from_utf8(word).ok().and_then(|word| word.parse::<usize>().ok());
        let Some(pixel) = number.filter(|&pixel| pixel < count) else {
            let word = String::from_utf8_lossy(&word[..word.len().min(20)]).into_owned();
            return Err(ImagesCause::PixelIndex { word, pixels: count }.at(byte));
        };
        if std::mem::replace(&mut seen[pixel], true) {
            return Err(ImagesCause::Duplicate { pixel }.at(byte));
        }
        pixels.push(pixel);
    }
    Ok(pixels)
}

/// The words between blanks, with their offsets.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    text.split(u8::is_ascii_whitespace)
        .map(move |word| {
            let offset = at;
            at += word.len() + 1;
            (offset, word)
        })
        .filter(|(_, word)| !word.is_empty())
}
