//! Image sources of experiments: folder, order of the pixels, number of images.

use crate::task::Split;
use crate::task::images::{self, Images, ImagesError, PixelOrder};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// `images:mnist`: images read pixel by pixel. `images:mnist:by=FILE`: in the pixel order of a file.
/// `images:mnist:1200`: only the first 1,200 training images. Folder and file are relative to the
/// data folder of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSource {
    /// The folder with the four files.
    pub folder: String,
    /// The file with the pixel order; `None` for row by row.
    pub order: Option<String>,
    /// The number of training images used, including those held out; `None` for all.
    pub most: Option<usize>,
}

/// The prefix of image sources, and the name of their test.
pub(super) const IMAGES: &str = "images";

const ORDER: &str = "by=";

impl ImageSource {
    /// Reads the images from files in the folder `data`.
    pub(super) fn read(&self, data: &Path) -> Result<Split<Images>, ImagesError> {
        let order = match &self.order {
            Some(file) => PixelOrder::read(&data.join(file))?,
            None => PixelOrder::Rows,
        };
        images::sets(&data.join(&self.folder), &order, self.most.unwrap_or(usize::MAX))
    }
}

/// Parses the text after `images:`.
impl FromStr for ImageSource {
    type Err = ();
    fn from_str(text: &str) -> Result<ImageSource, ()> {
        let mut parts = text.split(':').peekable();
        let folder = parts.next().filter(|folder| !folder.is_empty()).ok_or(())?.to_string();
        let order = parts.next_if(|part| part.starts_with(ORDER)).map(|part| &part[ORDER.len()..]);
        let most = parts.next().map(|count| count.parse().map_err(|_| ())).transpose()?;
        let wrong = order == Some("") || most.is_some_and(|count| count < images::HELD_OUT);
        if wrong || parts.next().is_some() {
            return Err(());
        }
        Ok(ImageSource { folder, order: order.map(String::from), most })
    }
}

impl fmt::Display for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImageSource { folder, order, most } = self;
        write!(f, "{IMAGES}:{folder}")?;
        if let Some(file) = order {
            write!(f, ":{ORDER}{file}")?;
        }
        most.map_or(Ok(()), |count| write!(f, ":{count}"))
    }
}
