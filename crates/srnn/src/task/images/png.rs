//! Reads PNG files as images of grey bytes.

use super::error::{CauseAtByte, ImagesCause, ImagesError};
use png::{BitDepth, ColorType, DecodingError, Limits, Transformations};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind};
use std::path::Path;

/// An image of grey bytes; 255 is white.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GreyImage {
    /// The number of rows and of columns.
    pub shape: [usize; 2],
    /// `[rows, columns]`.
    pub pixels: Vec<u8>,
}

/// The largest number of pixels of an image. A network reads one a step.
pub(super) const MAX_PIXELS: u64 = 1 << 20;

/// The largest number of bytes that the decoder allocates: 64 for each pixel.
const DECODER_BYTES: usize = 1 << 26;

/// Reads a PNG file. Colours become grey by their luminance (ITU-R 601), 16 bits become 8, and
/// transparent images are put on black.
pub fn read_png(path: &Path) -> Result<GreyImage, ImagesError> {
    decode(path).map_err(|cause| CauseAtByte::from(cause).in_file(&path.display().to_string()))
}

fn decode(path: &Path) -> Result<GreyImage, ImagesCause> {
    let file = File::open(path).map_err(unreadable)?;
    let limits = Limits { bytes: DECODER_BYTES };
    let mut decoder = png::Decoder::new_with_limits(BufReader::new(file), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(undecodable)?;
    let shape = [reader.info().height, reader.info().width].map(u64::from);
    // Checked before the pixels are allocated: a small file can declare a huge image.
    if shape[0] * shape[1] > MAX_PIXELS {
        return Err(ImagesCause::LargeImage { rows: shape[0], columns: shape[1] });
    }
    let bytes = reader.output_buffer_size().expect("the number of pixels is limited");
    let mut buffer = vec![0; bytes];
    let frame = reader.next_frame(&mut buffer).map_err(undecodable)?;
    assert_eq!(frame.bit_depth, BitDepth::Eight, "the decoder gives bytes");
    // The chunks after the pixels: a file that was cut there is damaged, too.
    reader.finish().map_err(undecodable)?;
    buffer.truncate(frame.buffer_size());
    Ok(GreyImage {
        shape: shape.map(|size| size as usize),
        pixels: grey(&buffer, frame.color_type),
    })
}

fn grey(bytes: &[u8], color: ColorType) -> Vec<u8> {
    match color {
        ColorType::Grayscale => bytes.to_vec(),
        ColorType::GrayscaleAlpha => pixels(bytes).map(|&[y, alpha]| on_black(y, alpha)).collect(),
        ColorType::Rgb => pixels(bytes).map(|&rgb| luminance(rgb)).collect(),
        ColorType::Rgba => {
            pixels(bytes).map(|&[r, g, b, alpha]| on_black(luminance([r, g, b]), alpha)).collect()
        }
        ColorType::Indexed => unreachable!("the decoder expands palettes"),
    }
}

fn pixels<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = &[u8; N]> {
    bytes.as_chunks().0.iter()
}

/// 0.299 R + 0.587 G + 0.114 B in 16 bits of fraction, rounded. The weights add to one, so that
/// grey stays as it is.
fn luminance([r, g, b]: [u8; 3]) -> u8 {
    let sum = 19_595 * u32::from(r) + 38_470 * u32::from(g) + 7_471 * u32::from(b);
    ((sum + (1 << 15)) >> 16) as u8
}

fn on_black(grey: u8, alpha: u8) -> u8 {
    ((u32::from(grey) * u32::from(alpha) + 127) / 255) as u8
}

fn unreadable(error: io::Error) -> ImagesCause {
    match error.kind() {
        ErrorKind::NotFound => ImagesCause::NoImage,
        _ => ImagesCause::Unreadable { why: error.to_string() },
    }
}

fn undecodable(error: DecodingError) -> ImagesCause {
    match error {
        // An end that comes too early is an error of the file, not of the disk.
        DecodingError::IoError(error) if error.kind() != ErrorKind::UnexpectedEof => {
            unreadable(error)
        }
        error => ImagesCause::Png { why: error.to_string() },
    }
}
