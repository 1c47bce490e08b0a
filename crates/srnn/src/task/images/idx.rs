//! The IDX format: two zero bytes, the element type (8 for bytes), the number of dimensions, each
//! size as four big-endian bytes, and the elements in row-major order.

use super::error::{CauseAtByte, ImagesCause, magic};
use crate::task::files::{Decompressed, decompress};
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read as _};
use std::path::Path;

/// An array of bytes, as an IDX file holds it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Idx {
    /// The size of every dimension.
    pub(super) sizes: Vec<usize>,
    /// The elements, in row-major order.
    pub(super) bytes: Vec<u8>,
}

/// A header that declares more bytes is not that of a set of images.
pub(super) const MAX_BYTES: u128 = 1 << 30;

/// Reads an array with this number of dimensions from a file, which may be gzipped.
pub(super) fn read(path: &Path, dimensions: u8) -> Result<Idx, CauseAtByte> {
    let why = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => ImagesCause::Missing,
        _ => ImagesCause::Unreadable { why: error.to_string() },
    };
    let file = File::open(path).map_err(why)?;
    let Decompressed { content: mut input, compressed } = decompress(file).map_err(why)?;
    let failed = |error: io::Error| match compressed {
        true => ImagesCause::Damaged { why: error.to_string() },
        false => ImagesCause::Unreadable { why: error.to_string() },
    };
    let sizes = header(&mut *input, dimensions, failed)?;
    let bytes = content(&mut *input, &sizes, failed)?;
    Ok(Idx { sizes, bytes })
}

fn header(
    input: &mut dyn BufRead,
    dimensions: u8,
    failed: impl Fn(io::Error) -> ImagesCause,
) -> Result<Vec<usize>, CauseAtByte> {
    let length = 4 + 4 * dimensions as usize;
    let mut header = Vec::with_capacity(length);
    input.take(length as u64).read_to_end(&mut header).map_err(&failed)?;
    let begin = &header[..header.len().min(4)];
    if begin != magic(dimensions) {
        return Err(ImagesCause::Magic { found: begin.to_vec(), dimensions }.at(0));
    }
    if header.len() < length {
        return Err(ImagesCause::Header.at(header.len()));
    }
    let sizes = header[4..].as_chunks().0.iter().map(|&size| u32::from_be_bytes(size) as usize);
    Ok(sizes.collect())
}

fn content(
    input: &mut dyn BufRead,
    sizes: &[usize],
    failed: impl Fn(io::Error) -> ImagesCause,
) -> Result<Vec<u8>, CauseAtByte> {
    let first = 4 + 4 * sizes.len();
    // There are at most three sizes of 32 bits: the product fits.
    let declared: u128 = sizes.iter().map(|&size| size as u128).product();
    if declared == 0 {
        return Err(ImagesCause::Nothing.at(4));
    }
    if declared > MAX_BYTES {
        return Err(ImagesCause::Large { declared }.at(4));
    }
    let declared = declared as usize;
    let mut bytes = Vec::with_capacity(declared);
    input.take(declared as u64).read_to_end(&mut bytes).map_err(&failed)?;
    if bytes.len() < declared {
        let declared = (first + declared) as u64;
        return Err(ImagesCause::Short { declared }.at(first + bytes.len()));
    }
    // Reading to the end of a gzipped file also verifies its checksum.
    match input.fill_buf().map_err(&failed)?.is_empty() {
        true => Ok(bytes),
        false => Err(ImagesCause::Long.at(first + declared)),
    }
}
