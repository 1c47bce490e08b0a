//! Data files in which labels are welcome and not needed.

use srnn::task::files::{
    Cause, ColumnChoice, Contradictions, DataError, ReadOptions, Samples, Unlabelled, read,
};
use std::path::Path;

/// Reads a file for its sequences; those without a label have the empty one. Contradictions are
/// no matter here.
pub fn read_any(file: &Path, asked: &ReadOptions) -> Result<Samples, DataError> {
    let (contradictions, unlabelled) = (Contradictions::Keep, Unlabelled::Keep);
    let options = ReadOptions { contradictions, unlabelled, ..asked.clone() };
    match read(file, &options) {
        Err(error) if lacks_labels(&error.cause) => {
            read(file, &ReadOptions { label_column: ColumnChoice::Absent, ..options })
        }
        samples => samples,
    }
}

fn lacks_labels(cause: &Cause) -> bool {
    matches!(cause, Cause::NoColumn { role: "label", wanted: None, .. })
}
