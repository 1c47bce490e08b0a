//! The ways asked for, and their files.

use super::Method;
use crate::automaton::{Notation, Wanted, write as as_text};
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use crate::runs::Saved;
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{Agreement, Extraction, Judged, Kept, Tie};
use srnn_automata::Partial;
use std::path::{Path, PathBuf};

/// One way, and what came of it.
pub struct Way<'a> {
    /// The way.
    pub method: Method,
    /// The automaton, or why there is none.
    pub judged: Result<&'a Judged, String>,
    /// Where counting had to choose.
    pub ties: &'a [Tie],
    /// The cover that was kept.
    pub kept: Option<&'a Kept>,
}

impl Way<'_> {
    /// Whether there is an automaton, and one that agrees often enough.
    pub fn is_good(&self, least: Option<f64>) -> bool {
        match &self.judged {
            Ok(judged) => least.is_none_or(|least| share(&judged.on_words) >= least),
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

    /// The name of its files beside the kept automaton, as `learn` names them.
    fn stem(&self) -> &'static str {
        match self.method {
            Method::Cover | Method::All => "cover",
            Method::Soft => "counted_soft",
            Method::Hard => "counted_hard",
            Method::Table => "hard_table",
        }
    }
}

/// The part of the words on which both give the same answer; an unknown transition gives none.
pub fn share(agreement: &Agreement) -> f64 {
    let all = agreement.compared + agreement.unknown + agreement.unanswered;
    agreement.equal as f64 / all.max(1) as f64
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
        Some(Ok(counts)) => (Ok(&counts.judged), counts.ties.as_slice()),
        Some(Err(refusal)) => (Err(refusal.to_string()), [].as_slice()),
        None if method == Method::Table => {
            (found.hard_table.as_ref().map_err(ToString::to_string), [].as_slice())
        }
        None => (found.cover_judged.as_ref().ok_or_else(|| not_closed(found)), [].as_slice()),
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

/// Writes every automaton there is; the first of all is `automaton`. Gives their paths by way.
pub fn write(
    ways: &[Way<'_>],
    saved: &Saved,
    out: &Path,
    output: &Output,
) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let mut written = Vec::new();
    for (number, way) in ways.iter().enumerate() {
        let stem = if number == 0 { "automaton" } else { way.stem() };
        written.push(match &way.judged {
            Ok(judged) => write_one(judged, saved, &out.join(stem), output)?,
            Err(_) => vec![],
        });
    }
    Ok(written)
}

/// JSON always; DOT and SVG where every transition is known and the picture can be read.
fn write_one(
    judged: &Judged,
    saved: &Saved,
    stem: &Path,
    output: &Output,
) -> Result<Vec<PathBuf>, Failure> {
    let extracted = &judged.extracted;
    let automaton = match &extracted.minimal {
        Ok(minimal) => Partial::from(minimal),
        Err(_) => extracted.automaton.clone(),
    };
    let named = NamedAutomaton::new(saved.file.classes.clone(), automaton)?;
    let mut written = Vec::new();
    for (notation, extension) in
        [(Notation::Json, "json"), (Notation::Dot, "dot"), (Notation::Svg, "svg")]
    {
        let path = stem.with_extension(extension);
        match as_text(&named, &path.display().to_string(), notation, Wanted::default()) {
            Ok(text) => {
                files::write(&path, &text)?;
                written.push(path);
            }
            Err(failure) => output.note(format!("not written: {}", failure.message)),
        }
    }
    Ok(written)
}
