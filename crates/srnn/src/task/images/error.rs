//! Errors about files of images. Each names file, byte, cause and remedy.

/// A file of images, labels or a pixel order that cannot be used. The message also says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}; {}", byte.map_or(String::new(), |n| format!(", byte {n}")), cause.remedy())]
pub struct ImagesError {
    /// The file name, with its folder.
    pub file: String,
    /// The byte, counted from 0 after decompression; `None` if the whole file is meant.
    pub byte: Option<u64>,
    /// What is wrong.
    pub cause: ImagesCause,
}

/// What is wrong with a file. [`ImagesCause::remedy`] says what to do about it.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImagesCause {
    #[error("there is no such file, gzipped (.gz) or not")]
    Missing,
    #[error("the file cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the compressed data are damaged: {why}")]
    Damaged { why: String },
    #[error("the file begins with {}, but {} begin with {}", hex(found), content(*dimensions), hex(&magic(*dimensions)))]
    Magic { found: Vec<u8>, dimensions: u8 },
    #[error("the file ends in the middle of its header")]
    Header,
    #[error("the header declares {declared} bytes")]
    Large { declared: u128 },
    #[error("the header declares no elements: one of its sizes is 0")]
    Nothing,
    #[error("the file ends here, but its header declares {declared} bytes")]
    Short { declared: u64 },
    #[error("the file is longer than its header declares")]
    Long,
    #[error("{labels} labels, but {images} images")]
    Counts { labels: usize, images: usize },
    #[error("label {label}: the classes are 0 to {}", super::CLASSES - 1)]
    Label { label: u8 },
    #[error("images of {}, but those of the training set have {}", rows_columns(*found), rows_columns(*expected))]
    Pixels { found: [usize; 2], expected: [usize; 2] },
    #[error("{count} images: too few to hold some out")]
    TooFew { count: usize },
    #[error("there is no such file")]
    NoOrder,
    #[error("the file has no number")]
    EmptyOrder,
    #[error("{word:?} is no pixel index from 0 to {}", pixels - 1)]
    PixelIndex { word: String, pixels: usize },
    #[error("pixel {pixel} occurs twice")]
    Duplicate { pixel: usize },
    #[error("an order of {found} pixels, but images of {pixels}")]
    Order { found: usize, pixels: usize },
    #[error("there is no such file")]
    NoImage,
    #[error("this is no valid PNG file: {why}")]
    Png { why: String },
    #[error("the file is not called NAME.png")]
    NotPng,
    #[error("an image of {rows}×{columns} pixels, more than {}", super::png::MAX_PIXELS)]
    LargeImage { rows: u64, columns: u64 },
    #[error("all images together have {declared} pixels, more than {}", super::idx::MAX_BYTES)]
    ManyPixels { declared: u128 },
    #[error("an image of {}, but {first} has {}", rows_columns(*found), rows_columns(*expected))]
    Shape { found: [usize; 2], expected: [usize; 2], first: String },
    #[error("a file beside the folders of the classes")]
    NoClass,
    #[error("the name is not UTF-8")]
    Name,
    #[error("{found} folders of classes: there must be 2 to {most}")]
    Classes { found: usize, most: usize },
    #[error("the folder of this class is empty")]
    EmptyClass,
    #[error("the training set has no such class")]
    OtherClass,
    #[error("these are not the images that were published as {name}")]
    Unlike { name: String },
}

impl ImagesCause {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            ImagesCause::Missing => {
                "name the folder that holds train-images-idx3-ubyte, train-labels-idx1-ubyte and \
                 the same of t10k, as they are published, or a folder of PNG files for each class"
            }
            ImagesCause::Unreadable { .. } => "check the permissions",
            ImagesCause::Damaged { .. }
            | ImagesCause::Header
            | ImagesCause::Short { .. }
            | ImagesCause::Long => "download it again",
            ImagesCause::Magic { .. } => {
                "check that this is an IDX file of bytes, and that images and labels are not swapped"
            }
            ImagesCause::Large { .. } | ImagesCause::Nothing => {
                "check that this is an IDX file of images"
            }
            ImagesCause::Counts { .. } => "take both files from the same source",
            ImagesCause::Label { .. } => "check that these are the labels of ten classes",
            ImagesCause::Pixels { .. } => "take training and test set from the same source",
            ImagesCause::TooFew { .. } => "give at least 12",
            ImagesCause::NoOrder => "name a file with the order of the pixels",
            ImagesCause::EmptyOrder
            | ImagesCause::PixelIndex { .. }
            | ImagesCause::Duplicate { .. }
            | ImagesCause::Order { .. } => {
                "an order lists every pixel once, as indices from 0 between blanks"
            }
            ImagesCause::NoImage => "check the path",
            ImagesCause::Png { .. } => "save it again as PNG",
            ImagesCause::NotPng | ImagesCause::NoClass => {
                "remove it; images are FOLDER/CLASS/NAME.png, or FOLDER/train/CLASS/NAME.png and \
                 FOLDER/test/CLASS/NAME.png"
            }
            ImagesCause::LargeImage { .. } | ImagesCause::ManyPixels { .. } => {
                "scale the images down; a network reads one pixel a step"
            }
            ImagesCause::Shape { .. } => "scale all images to one size",
            ImagesCause::Name => "rename it",
            ImagesCause::Classes { .. } => {
                "give each class a folder: FOLDER/CLASS/NAME.png, or FOLDER/train/CLASS/NAME.png \
                 and FOLDER/test/CLASS/NAME.png"
            }
            ImagesCause::EmptyClass => "remove the folder, or add images",
            ImagesCause::OtherClass => "rename it, or add images of this class to train/",
            ImagesCause::Unlike { .. } => "download them again, or give the folder another name",
        }
    }

    pub(super) fn at(self, byte: usize) -> CauseAtByte {
        CauseAtByte { byte: Some(byte as u64), cause: self }
    }
}

/// A cause and its byte, before the file name is known.
#[derive(Debug)]
pub(super) struct CauseAtByte {
    byte: Option<u64>,
    cause: ImagesCause,
}

impl CauseAtByte {
    pub(super) fn in_file(self, file: &str) -> ImagesError {
        ImagesError { file: file.into(), byte: self.byte, cause: self.cause }
    }
}

impl From<ImagesCause> for CauseAtByte {
    /// A cause that concerns the whole file.
    fn from(cause: ImagesCause) -> CauseAtByte {
        CauseAtByte { byte: None, cause }
    }
}

/// The first bytes of an IDX file: two zeros, 8 for bytes, the number of dimensions.
pub(super) fn magic(dimensions: u8) -> [u8; 4] {
    [0, 0, 8, dimensions]
}

fn rows_columns([rows, columns]: [usize; 2]) -> String {
    format!("{rows}×{columns} pixels")
}

fn content(dimensions: u8) -> &'static str {
    if dimensions == 1 { "labels" } else { "images" }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
