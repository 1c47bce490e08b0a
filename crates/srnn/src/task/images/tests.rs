use super::*;
use std::io::Write as _;
use tempfile::TempDir;

/// The content of an IDX file.
fn idx(sizes: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    file.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    file.extend(bytes);
    file
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// 24 training and 5 test images of 2 rows of 3 pixels: pixel p of image i is 10 i + p,
/// its label i modulo 3.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (part, count) in [("train", 24u32), ("t10k", 5)] {
        let pixels: Vec<u8> =
            (0..count as u8).flat_map(|i| (0..6).map(move |p| 10 * i + p)).collect();
        let labels: Vec<u8> = (0..count as u8).map(|i| i % 3).collect();
        put(&folder, &format!("{part}-images-idx3-ubyte"), &idx(&[count, 2, 3], &pixels));
        put(&folder, &format!("{part}-labels-idx1-ubyte"), &idx(&[count], &labels));
    }
    folder
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) {
    std::fs::write(folder.path().join(name), bytes).unwrap();
}

fn all(folder: &TempDir) -> Result<Split<Images>, ImagesError> {
    sets(folder.path(), &PixelOrder::Rows, usize::MAX)
}

const IMAGES: &str = "train-images-idx3-ubyte";
const LABELS: &str = "train-labels-idx1-ubyte";

#[test]
fn the_last_twelfth_of_the_training_images_is_held_out_and_the_test_is_another_file() {
    let Split { train, valid, test } = all(&folder()).unwrap();
    let test = test.unwrap();
    assert_eq!([&train, &valid, &test].map(Images::count), [22, 2, 5]);
    assert_eq!([&train, &valid, &test].map(Images::steps), [6; 3]);
    assert_eq!((train.pixels(2), train.label(2)), (&[20, 21, 22, 23, 24, 25][..], 2));
    assert_eq!((valid.pixels(1), valid.label(1)), (&[230, 231, 232, 233, 234, 235][..], 2));
    assert_eq!((test.pixels(4)[0], test.label(4)), (40, 1));
    let few = sets(folder().path(), &PixelOrder::Rows, 12).unwrap();
    assert_eq!((few.train.count(), few.valid.count()), (11, 1));
    assert_eq!(few.valid.pixels(0)[0], 110);
}

#[test]
fn gzipped_files_hold_the_same_as_plain_ones() {
    let folder = folder();
    let plain = all(&folder).unwrap();
    for name in [IMAGES, LABELS] {
        let path = folder.path().join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        put(&folder, &format!("{name}.gz"), &gzipped(&bytes));
    }
    assert_eq!(all(&folder).unwrap(), plain);
}

#[test]
fn an_order_permutes_the_pixels() {
    let folder = folder();
    put(&folder, "order", b"5 0\n3 1\t4  2\n");
    let order = PixelOrder::read(&folder.path().join("order")).unwrap();
    let split = sets(folder.path(), &order, usize::MAX).unwrap();
    assert_eq!(split.train.pixels(1), [15, 10, 13, 11, 14, 12]);
    assert_eq!(split.valid.pixels(0), [225, 220, 223, 221, 224, 222]);
    assert_eq!(split.test.unwrap().pixels(4), [45, 40, 43, 41, 44, 42]);
}

#[test]
fn an_invalid_order_is_refused_at_its_byte() {
    let folder = folder();
    for (text, expected) in [
        (&b"0 1 2 3 5 5"[..], ", byte 10: pixel 5 occurs twice"),
        (b"0 1 2  6 3 4", ", byte 7: \"6\" is no pixel index from 0 to 5"),
        (b"0 -1 2", ", byte 2: \"-1\" is no pixel"),
        (b"\xff\xfe", ", byte 0: \"\u{fffd}\u{fffd}\" is no pixel"),
        (b" \n", "order: the file has no number"),
        (b"1 0 2", "order: an order of 3 pixels, but images of 6"),
    ] {
        put(&folder, "order", text);
        let order = PixelOrder::read(&folder.path().join("order"));
        let read = order.and_then(|order| sets(folder.path(), &order, usize::MAX));
        let error = read.unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("every pixel once"),
            "{expected}: {error}"
        );
    }
    let error = PixelOrder::read(&folder.path().join("nowhere")).unwrap_err().to_string();
    assert!(error.contains("nowhere: there is no such file; name a file"), "{error}");
}

#[test]
fn errors_name_the_byte_and_a_remedy() {
    let good = idx(&[24, 2, 3], &[7; 144]);
    let [cut, long] = [good[..100].to_vec(), [&good[..], &[1]].concat()];
    let mut damaged = gzipped(&good);
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    for (name, bytes, expected) in [
        (
            IMAGES,
            vec![],
            ", byte 0: the file begins with nothing, but images begin with 00 00 08 03",
        ),
        (
            IMAGES,
            idx(&[24], &[0; 24]),
            "begins with 00 00 08 01, but images begin with 00 00 08 03",
        ),
        (LABELS, good.clone(), "begins with 00 00 08 03, but labels begin with 00 00 08 01"),
        (IMAGES, good[..9].to_vec(), ", byte 9: the file ends in the middle of its header"),
        (IMAGES, cut.clone(), ", byte 100: the file ends here, but its header declares 160 bytes"),
        (IMAGES, long.clone(), ", byte 160: the file is longer than its header declares"),
        (IMAGES, gzipped(&cut), ", byte 100: the file ends here"),
        (IMAGES, gzipped(&long), ", byte 160: the file is longer"),
        (IMAGES, damaged, "the compressed data are damaged: "),
        (IMAGES, idx(&[24, 0, 3], &[]), ", byte 4: the header declares no elements"),
        (
            IMAGES,
            idx(&[u32::MAX; 3], &[1]),
            "byte 4: the header declares 79228162458924105385300197375 bytes",
        ),
        (LABELS, idx(&[23], &[0; 23]), ", byte 4: 23 labels, but 24 images"),
        (
            "t10k-labels-idx1-ubyte",
            idx(&[5], &[0, 1, 9, 10, 0]),
            ", byte 11: label 10: the classes are 0 to 9",
        ),
        (
            "t10k-images-idx3-ubyte",
            idx(&[5, 1, 3], &[0; 15]),
            "images of 1×3 pixels, but those of the training set have 2×3 pixels",
        ),
    ] {
        let folder = folder();
        put(&folder, name, &bytes);
        let error = all(&folder).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(error.file.contains(name) && text.ends_with(error.cause.remedy()), "{text}");
        assert!(!error.cause.remedy().is_empty(), "{text}");
    }
    let folder = folder();
    std::fs::remove_file(folder.path().join(LABELS)).unwrap();
    let error = all(&folder).unwrap_err().to_string();
    assert!(error.contains("train-labels-idx1-ubyte: there is no such file, gzipped"), "{error}");
    let error = sets(folder.path(), &PixelOrder::Rows, 11).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
}

#[test]
fn too_few_images_to_hold_one_out_are_refused() {
    let error = sets(folder().path(), &PixelOrder::Rows, 11).unwrap_err().to_string();
    assert!(error.contains("11 images: too few to hold some out; give at least 12"), "{error}");
}

#[test]
fn a_folder_with_a_published_name_must_hold_what_was_published() {
    let place = tempfile::tempdir().unwrap();
    let named = place.path().join("mnist");
    std::fs::rename(folder().keep(), &named).unwrap();
    let error = sets(&named, &PixelOrder::Rows, usize::MAX).unwrap_err().to_string();
    assert!(error.contains("not the images that were published as mnist"), "{error}");
}

#[test]
fn the_digest_changes_with_every_part_of_a_set() {
    let base = Images::new([1, 2], vec![1, 2, 3, 4], vec![0, 2]);
    let others = [
        Images::new([1, 2], vec![1, 2, 4, 3], vec![0, 2]),
        Images::new([1, 2], vec![1, 2, 3, 4], vec![0, 1]),
        Images::new([1, 1], vec![1, 2], vec![0, 2]),
        Images::new([1, 2], vec![1, 2], vec![0]),
    ];
    let mut seen = vec![base.digest()];
    for other in others {
        assert!(!seen.contains(&other.digest()));
        seen.push(other.digest());
    }
}
