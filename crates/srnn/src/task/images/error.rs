//! What can be wrong with files of images: always with the file, the byte and a remedy.

/// A file of images, labels or an order that cannot be used: which, where, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}; {}", byte.map_or(String::new(), |n| format!(", byte {n}")), cause.remedy())]
pub struct ImagesError {
    /// The file's name, with its folder.
    pub file: String,
    /// The byte, counted from 0 after unpacking, where there is one.
    pub byte: Option<u64>,
    /// What is wrong.
    pub cause: Wrong,
}

/// What is wrong with a file. [`Wrong::remedy`] says what to do about it.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("there is no such file, packed (.gz) or not")]
    Missing,
    #[error("the file cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the compressed data are damaged: {why}")]
    Damaged { why: String },
    #[error("the file begins with {}, where {} begin with {}", hex(found), content(*dimensions), hex(&magic(*dimensions)))]
    Magic { found: Vec<u8>, dimensions: u8 },
    #[error("the file ends in the middle of its header")]
    Header,
    #[error("the header promises {promised} bytes")]
    Large { promised: u128 },
    #[error("the header promises nothing: one of its sizes is 0")]
    Nothing,
    #[error("the file ends here, where its header promises {promised} bytes")]
    Short { promised: u64 },
    #[error("the file goes on after what its header promises")]
    Long,
    #[error("{labels} labels for the {images} images beside them")]
    Counts { labels: usize, images: usize },
    #[error("label {label}: the classes are 0 to {}", super::CLASSES - 1)]
    Label { label: u8 },
    #[error("images of {found} pixels, where those of the training set have {expected}")]
    Pixels { found: usize, expected: usize },
    #[error("{count} images: too few to hold some out")]
    Few { count: usize },
    #[error("there is no such file")]
    NoOrder,
    #[error("there is no number in it")]
    NoPlaces,
    #[error("{word:?} is no place of a pixel, 0 to {}", pixels - 1)]
    Place { word: String, pixels: usize },
    #[error("pixel {place} comes twice")]
    Twice { place: usize },
    #[error("an order of {found} pixels for images of {pixels}")]
    Order { found: usize, pixels: usize },
    #[error("these are not the images that were published as {name}")]
    Unlike { name: String },
}

impl Wrong {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Wrong::Missing => {
                "name the folder that holds train-images-idx3-ubyte, train-labels-idx1-ubyte and \
                 the same of t10k, as they are published"
            }
            Wrong::Unreadable { .. } => "check that it may be read",
            Wrong::Damaged { .. } | Wrong::Header | Wrong::Short { .. } | Wrong::Long => {
                "download it again"
            }
            Wrong::Magic { .. } => {
                "check that this is an IDX file of bytes, and that images and labels are not swapped"
            }
            Wrong::Large { .. } | Wrong::Nothing => "check that this is an IDX file of images",
            Wrong::Counts { .. } => "take both files from the same place",
            Wrong::Label { .. } => "check that these are the labels of ten classes",
            Wrong::Pixels { .. } => "take training and test set from the same place",
            Wrong::Few { .. } => "give at least 12",
            Wrong::NoOrder => "name a file with the order of the pixels",
            Wrong::NoPlaces | Wrong::Place { .. } | Wrong::Twice { .. } | Wrong::Order { .. } => {
                "an order names every pixel once, by numbers from 0 on between blanks"
            }
            Wrong::Unlike { .. } => "download them again, or give the folder another name",
        }
    }

    /// At a byte of a file.
    pub(super) fn at(self, byte: usize) -> Fault {
        Fault { byte: Some(byte as u64), cause: self }
    }
}

/// A cause and its byte, before the file is known.
#[derive(Debug)]
pub(super) struct Fault {
    byte: Option<u64>,
    cause: Wrong,
}

impl Fault {
    pub(super) fn in_file(self, file: &str) -> ImagesError {
        ImagesError { file: file.into(), byte: self.byte, cause: self.cause }
    }
}

impl From<Wrong> for Fault {
    /// A cause that concerns the whole file.
    fn from(cause: Wrong) -> Fault {
        Fault { byte: None, cause }
    }
}

/// The first bytes of an IDX file: two zeros, 8 for bytes, the number of dimensions.
pub(super) fn magic(dimensions: u8) -> [u8; 4] {
    [0, 0, 8, dimensions]
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
