//! In which order the pixels of images are read.

use super::error::{Fault, ImagesError, Wrong};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// In which order the pixels of images are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are: row by row.
    Rows,
    /// As a file says; so MNIST becomes permuted MNIST.
    Permuted {
        /// The place of the pixel that is read first, second, and so on: every one once.
        places: Vec<usize>,
        /// The file, for messages.
        file: String,
    },
}

/// A longer file is no order of pixels.
const MOST_BYTES: u64 = 1 << 24;

impl Order {
    /// Reads an order: numbers from 0 on between blanks.
    pub fn read(path: &Path) -> Result<Order, ImagesError> {
        let file = path.display().to_string();
        let places = read(path).and_then(|text| places(&text));
        let places = places.map_err(|fault: Fault| fault.in_file(&file))?;
        Ok(Order::Permuted { places, file })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let why = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Wrong::NoOrder,
        _ => Wrong::Unreadable { why: error.to_string() },
    };
    let mut text = Vec::new();
    File::open(path).map_err(why)?.take(MOST_BYTES).read_to_end(&mut text).map_err(why)?;
    Ok(text)
}

fn places(text: &[u8]) -> Result<Vec<usize>, Fault> {
    let words: Vec<(usize, &[u8])> = words(text).collect();
    let pixels = words.len();
    if pixels == 0 {
        return Err(Wrong::NoPlaces.into());
    }
    let mut seen = vec![false; pixels];
    let mut places = Vec::with_capacity(pixels);
    for (byte, word) in words {
        let number = str::from_utf8(word).ok().and_then(|word| word.parse::<usize>().ok());
        let Some(place) = number.filter(|&place| place < pixels) else {
            let word = String::from_utf8_lossy(&word[..word.len().min(20)]).into_owned();
            return Err(Wrong::Place { word, pixels }.at(byte));
        };
        if std::mem::replace(&mut seen[place], true) {
            return Err(Wrong::Twice { place }.at(byte));
        }
        places.push(place);
    }
    Ok(places)
}

/// Words between blanks, and where they begin.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    text.split(u8::is_ascii_whitespace)
        .map(move |word| {
            let begin = at;
            at += word.len() + 1;
            (begin, word)
        })
        .filter(|(_, word)| !word.is_empty())
}
