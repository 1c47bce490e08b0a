//! The page of a run: one HTML file that shows what was learned, and needs no network.
//!
//! The page is made from the files of a finished run, so that `learn` and `srnn report` write the same
//! page. Everything can be read without scripts. Scripts step words through the automaton and the
//! network, and check the certificate; `crates/page` has the programs for that, as WebAssembly.
mod accuracy;
mod automaton;
mod base64;
mod certificate;
mod contents;
mod curves;
mod data;
mod document;
mod escape;
mod examples;
mod headline;
mod html;
mod interactive;
mod labels;
mod next;
mod ngrams;
mod picture;
mod repeat;
mod run_files;
mod states;
mod values;

use crate::UserError;
use crate::engine::atomic::IfExists;
use crate::files;
use crate::run::REPORT;
use run_files::RunFiles;
use std::path::{Path, PathBuf};

/// The largest page in bytes. A model that does not fit is left out, and the page says so.
pub const MAX_PAGE_BYTES: usize = 1_500_000;

/// The page of a finished run, as HTML.
///
/// # Errors
/// If the run is not finished, or one of its files cannot be read.
pub fn page(run: &Path) -> Result<String, UserError> {
    let files = RunFiles::read(run)?;
    Ok(match files.predicts_next() {
        true => next::page(&files),
        false => document::page(&files),
    })
}

/// Writes the page of a finished run to its folder as `report.html`, and returns the path.
///
/// # Errors
/// If the run is not finished, or a file cannot be read or written.
pub fn write_page(run: &Path) -> Result<PathBuf, UserError> {
    let path = run.join(REPORT);
    files::write_bytes(&path, page(run)?.as_bytes(), IfExists::Replace)?;
    Ok(path)
}

#[cfg(test)]
mod tests;
