use super::super::{PixelOrder, sets};
use super::*;
use crate::task::Split;
use png::{BitDepth, ColorType};
use tempfile::TempDir;

/// Writes a PNG file.
fn put(folder: &TempDir, name: &str, [rows, columns]: [u32; 2], color: ColorType, bytes: &[u8]) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut encoder = png::Encoder::new(fs::File::create(path).unwrap(), columns, rows);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(bytes).unwrap();
}

fn put_grey(folder: &TempDir, name: &str, value: u8) {
    put(folder, name, [1, 2], ColorType::Grayscale, &[value, 0]);
}

/// `cat` has 24 images whose first pixels are 0 to 23, `dog` has 12 from 100 to 111.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    (0..24).for_each(|n| put_grey(&folder, &format!("cat/{n:02}.png"), n));
    (0..12).for_each(|n| put_grey(&folder, &format!("dog/{n:02}.PNG"), 100 + n));
    folder
}

fn all(folder: &TempDir) -> Result<Split<Images>, ImagesError> {
    sets(folder.path(), &PixelOrder::Rows, usize::MAX)
}

fn first_pixels(images: &Images) -> Vec<u8> {
    (0..images.count()).map(|index| images.pixels(index)[0]).collect()
}

#[test]
fn classes_are_sub_folders_and_every_set_has_their_shares() {
    let Split { train, valid, test } = all(&folder()).unwrap();
    let test = test.unwrap();
    assert_eq!(train.classes(), ["cat", "dog"]);
    // 36 images: the last 3 are the test set, and the last 2 of the other 33 are held out.
    assert_eq!([&train, &valid, &test].map(Images::count), [31, 2, 3]);
    assert_eq!(first_pixels(&train)[..6], [0, 100, 1, 2, 101, 3]);
    assert_eq!(first_pixels(&valid), [110, 21]);
    assert_eq!(first_pixels(&test), [22, 111, 23]);
    assert_eq!((train.label(0), train.label(1), test.label(1)), (0, 1, 1));
    assert_eq!(train.shape(), [1, 2]);
}

#[test]
fn train_and_test_folders_are_the_sets() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..6 {
        put_grey(&folder, &format!("train/a/{n}.png"), n);
        put_grey(&folder, &format!("train/b/{n}.png"), 10 + n);
    }
    fs::create_dir(folder.path().join("test")).unwrap();
    let error = all(&folder).unwrap_err().to_string();
    assert!(error.contains("test: 0 folders of classes"), "{error}");
    put_grey(&folder, "test/b/0.png", 99);
    let Split { train, valid, test } = all(&folder).unwrap();
    let test = test.unwrap();
    assert_eq!([&train, &valid, &test].map(Images::count), [11, 1, 1]);
    assert_eq!((test.pixels(0), test.label(0)), (&[99, 0][..], 1));
    put_grey(&folder, "test/c/0.png", 99);
    let error = all(&folder).unwrap_err().to_string();
    assert!(error.contains("test/c: the training set has no such class"), "{error}");
}

#[test]
fn colours_become_grey_and_transparency_black() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, color, bytes: &[u8]| {
        put(&folder, name, [2, 1], color, bytes);
        read_png(&folder.path().join(name)).unwrap()
    };
    let grey = read("grey.png", ColorType::Grayscale, &[7, 255]);
    assert_eq!(grey, GreyImage { shape: [2, 1], pixels: vec![7, 255] });
    assert_eq!(read("rgb.png", ColorType::Rgb, &[255, 0, 0, 90, 90, 90]).pixels, [76, 90]);
    let rgba = [0, 255, 0, 255, 255, 255, 255, 51];
    assert_eq!(read("rgba.png", ColorType::Rgba, &rgba).pixels, [150, 51]);
    assert_eq!(read("ga.png", ColorType::GrayscaleAlpha, &[200, 0, 200, 255]).pixels, [0, 200]);
}

#[test]
fn the_first_file_of_another_size_is_named_with_both_sizes() {
    let folder = folder();
    put(&folder, "dog/05.PNG", [2, 2], ColorType::Grayscale, &[1; 4]);
    put(&folder, "dog/07.PNG", [3, 3], ColorType::Grayscale, &[1; 9]);
    let error = all(&folder).unwrap_err().to_string();
    let expected = "dog/05.PNG: an image of 2×2 pixels, but";
    assert!(error.contains(expected) && error.contains("cat/00.png has 1×2 pixels"), "{error}");
}

#[test]
fn bad_folders_and_files_are_refused_with_a_remedy() {
    type Change = fn(&Path);
    let cases: [(Change, &str); 8] = [
        (|f| fs::write(f.join("notes.txt"), "").unwrap(), "notes.txt: a file beside the folders"),
        (|f| fs::write(f.join("cat/a.txt"), "").unwrap(), "cat/a.txt: the file is not called"),
        (|f| fs::write(f.join("cat/a.png"), "GIF89a").unwrap(), "cat/a.png: this is no valid PNG"),
        (|f| fs::create_dir(f.join("empty")).unwrap(), "empty: the folder of this class is empty"),
        (|f| fs::create_dir(f.join("cat/more")).unwrap(), "cat/more: the file is not called"),
        (|f| fs::remove_dir_all(f.join("dog")).unwrap(), "1 folders of classes: there must be 2"),
        (
            |f| {
                let bytes = fs::read(f.join("cat/00.png")).unwrap();
                fs::write(f.join("cat/00.png"), &bytes[..bytes.len() - 20]).unwrap();
            },
            "cat/00.png: this is no valid PNG",
        ),
        (
            |f| (0..255).for_each(|n| fs::create_dir(f.join(format!("c{n}"))).unwrap()),
            "257 folders",
        ),
    ];
    for (change, expected) in cases {
        let folder = folder();
        change(folder.path());
        let error = all(&folder).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected) && text.ends_with(error.cause.remedy()), "{text}");
    }
    let folder = folder();
    fs::write(folder.path().join("cat/.DS_Store"), "").unwrap();
    all(&folder).unwrap();
}

#[test]
fn a_file_that_declares_a_huge_image_is_refused_before_it_is_allocated() {
    let folder = folder();
    let path = folder.path().join("cat/00.png");
    let mut bytes = fs::read(&path).unwrap();
    // The header chunk: width and height at bytes 16 and 20, its checksum at 29.
    bytes[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.sum().to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let error = all(&folder).unwrap_err().to_string();
    assert!(error.contains("65536×65536 pixels, more than 1048576; scale"), "{error}");
}

#[test]
fn names_of_classes_change_the_digest() {
    let images = Images::new([1, 2], vec![1, 2, 3, 4], vec![0, 1]);
    let named = |names: &[&str]| {
        let names = names.iter().map(|name| name.to_string()).collect();
        images.clone().with_classes(names).digest()
    };
    assert_ne!(named(&["a", "b"]), named(&["b", "a"]));
    assert_ne!(named(&["a", "b"]), images.digest());
}
