//! The results of the extraction methods, and their files.

use super::ExtractMethodFlag;
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use crate::runs::SavedModel;
use srnn::engine::atomic::IfExists;
use srnn::extract::{EvaluatedAutomaton, Extraction, KeptCover, Tie};
use srnn::notation::{SavedFiles, save_extracted};
use srnn::report::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE};
use std::path::{Path, PathBuf};

/// The result of one extraction method.
pub struct MethodOutput<'a> {
    pub method: ExtractMethodFlag,
    /// The automaton with its agreement, or why there is none.
    pub judged: Result<&'a EvaluatedAutomaton, String>,
    /// Transitions chosen among equally frequent ones.
    pub ties: &'a [Tie],
    /// The cover, for that method.
    pub kept: Option<&'a KeptCover>,
}

impl MethodOutput<'_> {
    /// Whether there is an automaton whose agreement is at least `least`.
    pub fn is_good(&self, least: Option<f64>) -> bool {
        match &self.judged {
            Ok(judged) => least.is_none_or(|least| judged.on_words.rate() >= least),
            Err(_) => false,
        }
    }

    /// The name for --method.
    pub fn name(&self) -> &'static str {
        match self.method {
            ExtractMethodFlag::Cover | ExtractMethodFlag::All => "cover",
            ExtractMethodFlag::Soft => "soft",
            ExtractMethodFlag::Hard => "hard",
            ExtractMethodFlag::Table => "table",
        }
    }

    /// The stem of its files, as in `learn`.
    fn stem(&self, cover_stem: &'static str) -> &'static str {
        match self.method {
            ExtractMethodFlag::Cover | ExtractMethodFlag::All => cover_stem,
            ExtractMethodFlag::Soft => "counted_soft",
            ExtractMethodFlag::Hard => "counted_hard",
            ExtractMethodFlag::Table => "hard_table",
        }
    }
}

/// The results of a method, or of all four for `All`.
pub fn outputs(found: &Extraction, method: ExtractMethodFlag) -> Vec<MethodOutput<'_>> {
    let all = [
        ExtractMethodFlag::Cover,
        ExtractMethodFlag::Soft,
        ExtractMethodFlag::Hard,
        ExtractMethodFlag::Table,
    ];
    let chosen = all.into_iter().filter(|&one| method == one || method == ExtractMethodFlag::All);
    chosen.map(|method| output_of(found, method)).collect()
}

fn output_of(found: &Extraction, method: ExtractMethodFlag) -> MethodOutput<'_> {
    let counted = match method {
        ExtractMethodFlag::Soft => Some(&found.counted_soft),
        ExtractMethodFlag::Hard => Some(&found.counted_hard),
        _ => None,
    };
    let (judged, ties) = match counted {
        Some(Ok(counts)) => (Ok(&counts.evaluated), counts.ties.as_slice()),
        Some(Err(refusal)) => (Err(refusal.to_string()), [].as_slice()),
        None if method == ExtractMethodFlag::Table => {
            (found.hard_table.as_ref().map_err(ToString::to_string), [].as_slice())
        }
        None => (found.cover_evaluated.as_ref().ok_or_else(|| not_closed(found)), [].as_slice()),
    };
    let kept = found.cover.kept.as_ref().filter(|_| method == ExtractMethodFlag::Cover);
    MethodOutput { method, judged, ties, kept }
}

fn not_closed(found: &Extraction) -> String {
    let coarsest = found.cover.attempts.iter().map(|attempt| attempt.tolerance).fold(0.0, f64::max);
    format!(
        "no cover of its states closes, up to tolerance {coarsest}: the network does not move \
         between finitely many states; train longer, or use --method table"
    )
}

/// Where the automata are written.
pub struct AutomatonFiles<'a> {
    pub folder: &'a Path,
    /// The stem of the cover's files.
    pub cover_stem: &'static str,
    /// What happens to files that exist.
    pub if_exists: IfExists,
}

/// Writes every automaton. Returns the paths, one list per method.
pub fn write(
    outputs: &[MethodOutput<'_>],
    saved: &SavedModel,
    target: &AutomatonFiles<'_>,
    output: &Output,
) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let (title, mut written) = (saved.title(), Vec::new());
    for result in outputs.iter().filter(|result| result.judged.is_ok()) {
        let stem = target.folder.join(result.stem(target.cover_stem));
        let paths = ["json", "dot", "svg"].map(|extension| stem.with_extension(extension));
        paths.iter().try_for_each(|path| files::check_target(path, target.if_exists))?;
    }
    for result in outputs {
        let stem = result.stem(target.cover_stem);
        let files = match &result.judged {
            Ok(judged) => {
                let (stem, classes) = (target.folder.join(stem), &saved.file.classes);
                save_extracted(&stem, &judged.extracted, classes, &picture_title(&title, result))?
            }
            Err(_) => SavedFiles { written: vec![], left_out: vec![] },
        };
        files.left_out.iter().for_each(|why| output.note(format!("not written: {why}")));
        written.push(files.written);
    }
    Ok(written)
}

/// The title of a picture, as in `learn`: it names the method unless that is the cover.
fn picture_title(title: &str, result: &MethodOutput<'_>) -> String {
    let name = match result.method {
        ExtractMethodFlag::Cover | ExtractMethodFlag::All => return title.into(),
        ExtractMethodFlag::Soft => COUNTED_SOFT,
        ExtractMethodFlag::Hard => COUNTED_HARD,
        ExtractMethodFlag::Table => HARD_TABLE,
    };
    if title.is_empty() { name.into() } else { format!("{title}: {name}") }
}
