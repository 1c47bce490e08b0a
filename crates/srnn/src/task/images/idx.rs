//! The IDX format: two zero bytes, the type of the numbers (8 for bytes), how many dimensions, each
//! size as four bytes, the largest first, and the numbers, the last dimension changing fastest.

use super::error::{Fault, Wrong, magic};
use crate::task::files::{Unpacked, unpack};
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read as _};
use std::path::Path;

/// An array of bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Idx {
    /// The size of every dimension.
    pub(super) sizes: Vec<usize>,
    /// As many as the product of the sizes.
    pub(super) bytes: Vec<u8>,
}

/// More than this is no set of images: the header is wrong, or the file is another's.
const MOST_BYTES: u128 = 1 << 30;

/// Reads a file, which may be gzipped, of an array with so many dimensions.
pub(super) fn read(path: &Path, dimensions: u8) -> Result<Idx, Fault> {
    let why = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Wrong::Missing,
        _ => Wrong::Unreadable { why: error.to_string() },
    };
    let file = File::open(path).map_err(why)?;
    let Unpacked { mut text, compressed } = unpack(file).map_err(why)?;
    let failed = |error: io::Error| match compressed {
        true => Wrong::Damaged { why: error.to_string() },
        false => Wrong::Unreadable { why: error.to_string() },
    };
    let sizes = header(&mut *text, dimensions, failed)?;
    let bytes = content(&mut *text, &sizes, failed)?;
    Ok(Idx { sizes, bytes })
}

fn header(
    text: &mut dyn BufRead,
    dimensions: u8,
    failed: impl Fn(io::Error) -> Wrong,
) -> Result<Vec<usize>, Fault> {
    let length = 4 + 4 * dimensions as usize;
    let mut header = Vec::with_capacity(length);
    text.take(length as u64).read_to_end(&mut header).map_err(&failed)?;
    let begin = &header[..header.len().min(4)];
    if begin != magic(dimensions) {
        return Err(Wrong::Magic { found: begin.to_vec(), dimensions }.at(0));
    }
    if header.len() < length {
        return Err(Wrong::Header.at(header.len()));
    }
    let sizes = header[4..].as_chunks().0.iter().map(|&size| u32::from_be_bytes(size) as usize);
    Ok(sizes.collect())
}

fn content(
    text: &mut dyn BufRead,
    sizes: &[usize],
    failed: impl Fn(io::Error) -> Wrong,
) -> Result<Vec<u8>, Fault> {
    let first = 4 + 4 * sizes.len();
    // Three sizes of 32 bits at most: the product fits.
    let promised: u128 = sizes.iter().map(|&size| size as u128).product();
    if promised == 0 {
        return Err(Wrong::Nothing.at(4));
    }
    if promised > MOST_BYTES {
        return Err(Wrong::Large { promised }.at(4));
    }
    let promised = promised as usize;
    let mut bytes = Vec::with_capacity(promised);
    text.take(promised as u64).read_to_end(&mut bytes).map_err(&failed)?;
    if bytes.len() < promised {
        let promised = (first + promised) as u64;
        return Err(Wrong::Short { promised }.at(first + bytes.len()));
    }
    // The end of a packed file is where it is known to be undamaged.
    match text.fill_buf().map_err(&failed)?.is_empty() {
        true => Ok(bytes),
        false => Err(Wrong::Long.at(first + promised)),
    }
}
