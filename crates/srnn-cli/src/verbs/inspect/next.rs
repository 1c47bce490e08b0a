//! Describes a model of `learn --next`: its kind, size, tokens and thresholds.

use super::Description;
use crate::automaton::quoted_list;
use crate::failure::Failure;
use crate::runs;
use serde_json::json;
use srnn::format::{percent, plural};
use srnn::next::{AnomalyThresholds, NextFile, NextModel};
use std::fmt::Write as _;
use std::path::Path;

/// Whether a folder holds such a model.
pub fn is_next(folder: &Path) -> bool {
    folder.join(NextFile::NAME).is_file()
}

pub fn describe(folder: &Path) -> Result<Description, Failure> {
    let file = runs::load_next(folder)?;
    let NextFile { kind, vocabulary, thresholds, model, .. } = &file;
    let size = match model {
        NextModel::Ngrams(model) => {
            format!("{}, n = {}", plural(model.contexts.len(), "context"), model.order)
        }
        NextModel::Automaton(model) => plural(model.visited(), "state"),
        NextModel::Network(model) => plural(model.params.len(), "parameter"),
    };
    let AnomalyThresholds { flagged, sequences, top_g, max_bits, mean_bits } = thresholds;
    let mut text = format!("model {}\n", folder.display());
    let _ = writeln!(text, "  predicts the next token: {}, {size}", kind.title());
    let _ = writeln!(text, "  tokens     {}", quoted_list(&vocabulary.alphabet));
    let _ = writeln!(
        text,
        "  anomalous  a step above {max_bits:.2} bits; by rank, top {top_g}; by a mean above \
         {mean_bits:.3} bits"
    );
    let _ = writeln!(
        text,
        "             at most {} of {} are above each",
        percent(*flagged),
        plural(*sequences, "validation sequence")
    );
    let value = json!({
        "kind": "next",
        "path": folder.display().to_string(),
        "model": kind,
        "size": size,
        "alphabet": vocabulary.alphabet,
        "thresholds": thresholds,
    });
    Ok(Description { text, value })
}
