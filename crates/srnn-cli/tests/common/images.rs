//! Small files of the form of MNIST's.

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
