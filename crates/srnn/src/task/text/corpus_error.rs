//! Errors about texts for language models. Each names file, line, cause and remedy.

use super::corpus::{MAX_BYTES, MAX_LINE, MAX_WORDS};
use std::path::Path;

/// A text that cannot be used. The message also says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {cause}; {}", line.map_or(String::new(), |n| format!(":{n}")), cause.remedy())]
pub struct CorpusError {
    /// The name of the file or folder.
    pub file: String,
    /// The line, counted from 1; `None` if the whole file is meant.
    pub line: Option<u64>,
    /// What is wrong.
    pub cause: CorpusCause,
}

/// What is wrong with a text. [`CorpusCause::remedy`] says what to do about it.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorpusCause {
    #[error("there is no such file")]
    Missing,
    #[error("it cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the compressed data are damaged: {why}")]
    Damaged { why: String },
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("a line of more than {MAX_LINE} bytes")]
    LongLine,
    #[error("more than {MAX_BYTES} bytes of text")]
    Large,
    #[error("more than {MAX_WORDS} words")]
    ManyWords,
    #[error("the text is empty")]
    Empty,
    #[error(
        "the training text has {found} different words, too few for a vocabulary of {wanted} tokens"
    )]
    FewWords { found: usize, wanted: usize },
}

impl CorpusCause {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            CorpusCause::Missing => {
                "put the texts there as train.txt, valid.txt and test.txt, or with .gz".into()
            }
            CorpusCause::Unreadable { .. } => "check the permissions".into(),
            CorpusCause::Damaged { .. } => "compress it again, or download it again".into(),
            CorpusCause::NotUtf8 => "save it as UTF-8".into(),
            CorpusCause::LongLine => "break it into lines".into(),
            CorpusCause::Large | CorpusCause::ManyWords => "use a part of it".into(),
            CorpusCause::Empty => "give at least one line".into(),
            CorpusCause::FewWords { found, .. } => format!("set vocabulary={} or less", found + 1),
        }
    }

    pub(super) fn at(self, file: &Path, line: Option<u64>) -> CorpusError {
        CorpusError { file: file.display().to_string(), line, cause: self }
    }
}
