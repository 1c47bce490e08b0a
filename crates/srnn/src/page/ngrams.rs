//! The n-grams that speak most for each class, if n-grams are the kept model.

use super::html::{TableLine, name, paragraph, table, word};
use super::run_files::RunFiles;
use crate::format::grouped;
use crate::learn::{Feature, NgramFile};

/// N-grams of a class.
const SHOWN: usize = 12;
/// Classes that are shown.
const MAX_CLASSES: usize = 8;

/// The strongest n-grams; empty if another model is kept.
pub(super) fn body(files: &RunFiles) -> String {
    let Some(file) = &files.ngrams else { return String::new() };
    let tables: String =
        (0..file.classes.len().min(MAX_CLASSES)).map(|class| of_class(file, class)).collect();
    let count = grouped(file.model.features.len() as u64);
    let explained = paragraph(&format!(
        "The model adds one weight for each of {count} n-grams, runs of up to three tokens that a \
         sequence contains, and answers with the class that has the largest sum. A weight is that of \
         the class less the mean of the other classes."
    ));
    format!("{explained}<div class=\"columns\">\n{tables}</div>\n")
}

fn of_class(file: &NgramFile, class: usize) -> String {
    let classes = file.classes.len();
    let strength = |row: &[f64]| {
        let others = (row.iter().sum::<f64>() - row[class]) / (classes.max(2) - 1) as f64;
        row[class] - others
    };
    let weights = file.model.weights.chunks_exact(classes).map(strength);
    let mut found: Vec<(f64, usize)> = weights.zip(0..).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.truncate(SHOWN);
    let row = |&(weight, feature): &(f64, usize)| {
        TableLine::plain(vec![
            describe(file, &file.model.features[feature]),
            format!("{weight:.2}"),
        ])
    };
    let rows: Vec<TableLine> = found.iter().map(row).collect();
    let caption = format!("For {}", name(&file.classes[class]));
    table(&caption, &["n-gram", "#weight"], &rows)
}

fn describe(file: &NgramFile, feature: &Feature) -> String {
    let named = |ids: &[u32]| -> Vec<String> {
        ids.iter().map(|&id| file.alphabet[id as usize].clone()).collect()
    };
    match feature {
        Feature::Ngram(ids) => word(&named(ids), ids.len()),
        Feature::At(position, id) => {
            format!("{} at position {}", name(&named(&[*id])[0]), position + 1)
        }
    }
}
