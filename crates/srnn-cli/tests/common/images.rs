//! Small files of the form of MNIST's, and PNG files.
#![allow(dead_code)] // Every test program uses a part of this.

use std::path::Path;

/// Writes `count` training and 6 test images of 2×3 pixels. Class 1 is bright on the left, class 0
/// on the right.
pub fn write_images(folder: &Path, count: u32) {
    std::fs::create_dir_all(folder).unwrap();
    for (part, count) in [("train", count), ("t10k", 6)] {
        let pixels: Vec<u8> = (0..count).flat_map(image).collect();
        let labels: Vec<u8> = (0..count).map(|i| (i % 2) as u8).collect();
        let put = |name: &str, bytes| std::fs::write(folder.join(name), bytes).unwrap();
        put(&format!("{part}-images-idx3-ubyte"), idx(&[count, 2, 3], &pixels));
        put(&format!("{part}-labels-idx1-ubyte"), idx(&[count], &labels));
    }
}

/// Writes `count` PNG files of 2×3 pixels in each of the folders `bright-left` and `bright-right`.
pub fn write_png_folders(folder: &Path, count: u32) {
    for (odd, class) in [(0, "bright-right"), (1, "bright-left")] {
        std::fs::create_dir_all(folder.join(class)).unwrap();
        for i in 0..count {
            write_png(&folder.join(class).join(format!("{i:03}.png")), [2, 3], &image(2 * i + odd));
        }
    }
}

/// Writes a grey PNG file.
pub fn write_png(path: &Path, [rows, columns]: [u32; 2], pixels: &[u8]) {
    let mut encoder = png::Encoder::new(std::fs::File::create(path).unwrap(), columns, rows);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
}

fn image(i: u32) -> [u8; 6] {
    let bright = 255 - (i % 50) as u8;
    if i % 2 == 1 { [bright, 9, 0, bright, 0, 9] } else { [0, 9, bright, 9, 0, bright] }
}

/// An IDX file of bytes.
fn idx(sizes: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    file.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    file.extend(bytes);
    file
}
