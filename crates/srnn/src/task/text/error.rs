//! Errors about files of reviews. Each names file, line, cause and remedy.

use super::archive::MAX_ARCHIVE;
use super::reviews::{MAX_BYTES, MAX_LINE};

/// A file or folder of reviews that cannot be used. The message also says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}; {}", line.map_or(String::new(), |n| format!(":{n}")), cause.remedy())]
pub struct ReviewError {
    /// The name of the file or folder.
    pub file: String,
    /// The line, counted from 1; `None` if the whole file is meant.
    pub line: Option<u64>,
    /// What is wrong.
    pub cause: ReviewCause,
}

/// What is wrong with a file. [`ReviewCause::remedy`] says what to do about it.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewCause {
    #[error("there is no such file or folder")]
    Missing,
    #[error("it cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the compressed data are damaged: {why}")]
    Damaged { why: String },
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("a review of more than {MAX_LINE} bytes")]
    LongReview,
    #[error("more than {MAX_BYTES} bytes of reviews")]
    ManyBytes,
    #[error("an archive of more than {MAX_ARCHIVE} bytes")]
    LargeArchive,
    #[error("{found} fields instead of four")]
    Fields { found: usize },
    #[error("label {found:?} instead of 0 (negative) or 1 (positive)")]
    Label { found: String },
    #[error("id {found:?} is no number")]
    Id { found: String },
    #[error("{found:?} stars instead of 1 to 10")]
    Stars { found: String },
    #[error("the file is not called ID_STARS.txt")]
    FileName,
    #[error("a second {class} review with id {id}")]
    Duplicate { class: &'static str, id: u64 },
    #[error("{found} {class} reviews: there must be at least {least}")]
    TooFew { class: &'static str, found: usize, least: usize },
    #[error(
        "the training reviews have {found} different words, too few for a vocabulary of {wanted} tokens"
    )]
    FewWords { found: usize, wanted: usize },
}

impl ReviewCause {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            ReviewCause::Missing => {
                "put the reviews there as train.tsv.gz and test.tsv.gz, or as the \
                                     published folders train/pos, train/neg, test/pos and test/neg, or as \
                                     aclImdb_v1.tar.gz, which `srnn data get imdb` downloads"
                    .into()
            }
            ReviewCause::LargeArchive => "check that this is the published archive".into(),
            ReviewCause::Unreadable { .. } => "check the permissions".into(),
            ReviewCause::Damaged { .. } => "download it again".into(),
            ReviewCause::NotUtf8 => "save it as UTF-8".into(),
            ReviewCause::LongReview | ReviewCause::ManyBytes => {
                "check that this is a file of reviews".into()
            }
            ReviewCause::Fields { .. }
            | ReviewCause::Label { .. }
            | ReviewCause::Id { .. }
            | ReviewCause::Stars { .. } => {
                "a line is label, id, stars and text between tabs".into()
            }
            ReviewCause::FileName => "remove it, or download the folder again".into(),
            ReviewCause::Duplicate { .. } => "remove one of them".into(),
            ReviewCause::TooFew { .. } => "download the reviews again, or add some".into(),
            ReviewCause::FewWords { found, .. } => format!("set vocabulary={} or less", found + 1),
        }
    }

    pub(super) fn at(self, file: &std::path::Path, line: Option<u64>) -> ReviewError {
        ReviewError { file: file.display().to_string(), line, cause: self }
    }
}
