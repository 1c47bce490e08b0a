//! The ways asked for, and their files.

use super::Method;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Saved;
use srnn::extract::{EvaluatedAutomaton, Extraction, KeptCover, Tie};
use srnn::notation::{SavedFiles, save};
use srnn::report::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE};
use std::path::{Path, PathBuf};

/// One way, and what came of it.
pub struct Way<'a> {
    /// The way.
    pub method: Method,
    /// The automaton, or why there is none.
    pub judged: Result<&'a EvaluatedAutomaton, String>,
    /// Where counting had to choose.
    pub ties: &'a [Tie],
    /// The cover that was kept.
    pub kept: Option<&'a KeptCover>,
}

impl Way<'_> {
    /// Whether there is an automaton, and one that agrees often enough.
    pub fn is_good(&self, least: Option<f64>) -> bool {
        match &self.judged {
            Ok(judged) => least.is_none_or(|least| judged.on_words.rate() >= least),
            Err(_) => false,
        }
    }

    /// As it is asked for.
    pub fn name(&self) -> &'static str {
        match self.method {
            Method::Cover | Method::All => "cover",
            Method::Soft => "soft",
            Method::Hard => "hard",
            Method::Table => "table",
        }
    }

    /// The name of its files, as `learn` names them.
    fn stem(&self, cover: &'static str) -> &'static str {
        match self.method {
            Method::Cover | Method::All => cover,
            Method::Soft => "counted_soft",
            Method::Hard => "counted_hard",
            Method::Table => "hard_table",
        }
    }
}

/// The ways that a method stands for.
pub fn ways(found: &Extraction, method: Method) -> Vec<Way<'_>> {
    let all = [Method::Cover, Method::Soft, Method::Hard, Method::Table];
    let asked = all.into_iter().filter(|&way| method == way || method == Method::All);
    asked.map(|method| way(found, method)).collect()
}

fn way(found: &Extraction, method: Method) -> Way<'_> {
    let counted = match method {
        Method::Soft => Some(&found.counted_soft),
        Method::Hard => Some(&found.counted_hard),
        _ => None,
    };
    let (judged, ties) = match counted {
        Some(Ok(counts)) => (Ok(&counts.evaluated), counts.ties.as_slice()),
        Some(Err(refusal)) => (Err(refusal.to_string()), [].as_slice()),
        None if method == Method::Table => {
            (found.hard_table.as_ref().map_err(ToString::to_string), [].as_slice())
        }
        None => (found.cover_evaluated.as_ref().ok_or_else(|| not_closed(found)), [].as_slice()),
    };
    let kept = found.cover.kept.as_ref().filter(|_| method == Method::Cover);
    Way { method, judged, ties, kept }
}

fn not_closed(found: &Extraction) -> String {
    let coarsest = found.cover.attempts.iter().map(|attempt| attempt.tolerance).fold(0.0, f64::max);
    format!(
        "no cover of its states closes, up to tolerance {coarsest}: the network does not move \
         between finitely many states; train it longer, or take --method table"
    )
}

/// Where files go.
pub struct Place<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The name of the cover's files.
    pub stem: &'static str,
}

/// Writes every automaton there is. Gives their paths by way.
pub fn write(
    ways: &[Way<'_>],
    saved: &Saved,
    place: &Place<'_>,
    output: &Output,
) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let (title, mut written) = (saved.title(), Vec::new());
    for way in ways {
        let stem = way.stem(place.stem);
        let files = match &way.judged {
            Ok(judged) => {
                let (stem, classes) = (place.folder.join(stem), &saved.file.classes);
                save(&stem, &judged.extracted, classes, &titled(&title, way))?
            }
            Err(_) => SavedFiles { written: vec![], left_out: vec![] },
        };
        files.left_out.iter().for_each(|why| output.note(format!("not written: {why}")));
        written.push(files.written);
    }
    Ok(written)
}

/// As `learn` has it: the cover goes without saying.
fn titled(title: &str, way: &Way<'_>) -> String {
    let name = match way.method {
        Method::Cover | Method::All => return title.into(),
        Method::Soft => COUNTED_SOFT,
        Method::Hard => COUNTED_HARD,
        Method::Table => HARD_TABLE,
    };
    if title.is_empty() { name.into() } else { format!("{title}: {name}") }
}
