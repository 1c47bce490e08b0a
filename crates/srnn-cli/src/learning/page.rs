//! The page of a run that was just finished.

use crate::files;
use crate::output::Output;
use srnn::run::{REPORT, RunFolder};

/// Writes `report.html`. A page that cannot be written does not cost the run.
pub fn write_page(folder: &RunFolder, output: &Output) {
    let run = folder.path();
    match srnn::page::write_page(run) {
        Ok(path) => output.note(format!("page   {}", path.display())),
        Err(error) => output.note(format!(
            "warning: {} could not be written: {error}; try again with `srnn report {}`",
            run.join(REPORT).display(),
            files::shell_path(run)
        )),
    }
}
