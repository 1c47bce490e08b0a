//! The result of learning to predict the next token, as text, as JSON and as files.

use super::{
    AnomalyThresholds, NextCandidate, NextFile, NextKind, NextLearned, NextModel, NextScore,
    TokenAutomaton,
};
use crate::UserError;
use crate::files;
use crate::format::{aligned, grouped, percent, plural};
use crate::learn::KeepReason;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A result, and what the caller measured about its run.
#[derive(Clone, Debug)]
pub struct NextReport<'a> {
    /// The result.
    pub learned: &'a NextLearned<'a>,
    /// The name of the data.
    pub source: String,
    /// The run folder.
    pub run: PathBuf,
    /// Seconds of each stage, by name.
    pub seconds: Map<String, Value>,
}

/// Arcs of a state that are shown.
const SHOWN_ARCS: usize = 4;

impl NextReport<'_> {
    /// The report for people.
    pub fn to_text(&self) -> String {
        let learned = self.learned;
        let mut parts = vec![self.table(), self.conclusion()];
        match learned.readable_automaton() {
            Some(automaton) => parts.push(self.automaton_text(automaton)),
            None => parts.push(no_automaton(learned)),
        }
        parts.push(format!("run: {}", self.run.display()));
        parts.join("\n")
    }

    /// The content of `result.json`.
    pub fn to_json(&self) -> Value {
        let NextLearned { data, vocabulary, candidates, .. } = self.learned;
        let kept = self.learned.kept();
        let sets = json!({
            "train": data.split.train.sequences.len(),
            "valid": data.split.valid.sequences.len(),
            "test": data.split.test.as_ref().map(|test| test.sequences.len()),
        });
        let records: Vec<Value> = candidates.iter().map(|c| self.record(c)).collect();
        json!({
            "run": self.run.display().to_string(),
            "source": self.source,
            "task": "next",
            "sequences": sets,
            "tokens": vocabulary.alphabet.len(),
            "unknown_in_training": vocabulary.unknown_in_training,
            "candidates": records,
            "kept": kept.kind,
            "reason": self.learned.reason,
            "best": self.learned.best().kind,
            "thresholds": kept.thresholds,
            "text": self.conclusion(),
            "seconds": self.seconds,
        })
    }

    /// Writes `model/` with the kept model, `candidates/KIND/` with every other one, the automaton
    /// if it is readable, and `result.json`, which is the last.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self) -> Result<(), UserError> {
        for (index, candidate) in self.learned.candidates.iter().enumerate() {
            let folder = match index == self.learned.kept {
                true => self.run.join("model"),
                false => self.run.join("candidates").join(candidate.kind.key()),
            };
            if let Some(file) = self.file(candidate) {
                file.save(&folder).map_err(|error| unsaved(&folder, &error))?;
            }
        }
        if let Some(automaton) = self.learned.readable_automaton() {
            files::write(&self.run.join("automaton/next.dot"), &self.dot(automaton))?;
            files::write(&self.run.join("automaton/next.txt"), &self.automaton_text(automaton))?;
        }
        files::write(&self.run.join("result.json"), &format!("{:#}\n", self.to_json()))
    }

    fn file(&self, candidate: &NextCandidate) -> Option<NextFile> {
        Some(NextFile {
            kind: candidate.kind,
            vocabulary: self.learned.vocabulary.clone(),
            tokens: self.learned.data.tokens.clone(),
            thresholds: candidate.thresholds?,
            model: candidate.model.clone()?,
        })
    }

    fn table(&self) -> String {
        let mut rows = vec![
            [
                "",
                "candidate",
                "bits per token",
                "perplexity",
                "top 1",
                "g",
                "in top g",
                "size",
                "seconds",
                "",
            ]
            .map(String::from)
            .to_vec(),
        ];
        for (index, candidate) in self.learned.candidates.iter().enumerate() {
            let score = |show: &dyn Fn(&NextScore) -> String| {
                candidate.valid.as_ref().map_or("–".into(), show)
            };
            rows.push(vec![
                if index == self.learned.kept { "*".into() } else { String::new() },
                candidate.kind.title().into(),
                score(&bits_text),
                score(&|s| format!("{:.3}", s.perplexity())),
                score(&|s| percent(s.top_1)),
                candidate.thresholds.map_or("–".into(), |t| t.top_g.to_string()),
                score(&|s| percent(s.top_g)),
                size_text(candidate),
                self.seconds_of(candidate.kind).map_or("–".into(), |s| format!("{s:.1}")),
                candidate.note.clone().unwrap_or_default(),
            ]);
        }
        format!(
            "Candidates by bits per token on the validation set, the most readable first:\n{}",
            aligned(&rows)
        )
    }

    /// Seconds of a candidate's stage. The automaton is made in the stage of the SR-GRU.
    fn seconds_of(&self, kind: NextKind) -> Option<f64> {
        match kind {
            NextKind::Frequencies | NextKind::Automaton => None,
            kind => self.seconds.get(kind.key()).and_then(Value::as_f64),
        }
    }

    fn record(&self, candidate: &NextCandidate) -> Value {
        let score = |score: &NextScore| {
            json!({ "bits": score.bits, "error": score.error, "perplexity": score.perplexity(),
                    "top_1": score.top_1, "top_g": score.top_g })
        };
        json!({
            "kind": candidate.kind,
            "name": candidate.kind.title(),
            "valid": candidate.valid.as_ref().map(score),
            "test": candidate.test.as_ref().map(score),
            "thresholds": candidate.thresholds,
            "size": size_of_model(candidate).map(|(size, _)| size),
            "seed": candidate.seed.map(|(seed, _)| seed),
            "updates": candidate.seed.map(|(_, updates)| updates),
            "seconds": self.seconds_of(candidate.kind),
            "kept": std::ptr::eq(candidate, self.learned.kept()),
            "note": candidate.note,
        })
    }

    /// Which candidate is kept and why, from which surprise on a sequence is anomalous, and what to
    /// do next.
    fn conclusion(&self) -> String {
        let thresholds = self.learned.kept().thresholds.expect("the kept candidate has a score");
        let next = format!(
            "Next: `srnn predict {} --file FILE` shows how surprising each sequence is.",
            self.run.display()
        );
        [kept_sentence(self.learned), thresholds_sentence(&thresholds), next].join("\n")
    }

    fn automaton_text(&self, automaton: &TokenAutomaton) -> String {
        let mut text = format!(
            "Automaton with probabilities, {} (state: visits; token probability -> state):\n",
            plural(automaton.visited(), "state")
        );
        for (number, state) in automaton.states[..automaton.visited()].iter().enumerate() {
            let visits: u64 = state.followers.iter().map(|&(_, count)| count).sum();
            let mut arcs = state.followers.clone();
            arcs.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            let arc = |&(token, count): &(u32, u64)| {
                let p = percent(count as f64 / visits as f64);
                let name = &self.learned.vocabulary.alphabet[token as usize];
                match state.next.get(token as usize) {
                    Some(to) => format!("{name} {p} -> {to}"),
                    None => format!("{name} {p}"),
                }
            };
            let shown: Vec<String> = arcs.iter().take(SHOWN_ARCS).map(arc).collect();
            let more = match arcs.len().saturating_sub(SHOWN_ARCS) {
                0 => String::new(),
                more => format!(", {more} more"),
            };
            let _ = writeln!(text, "{number:>4}: {}; {}{more}", grouped(visits), shown.join(", "));
        }
        text
    }

    /// The automaton in the language of Graphviz.
    fn dot(&self, automaton: &TokenAutomaton) -> String {
        let end = self.learned.vocabulary.end();
        let mut text =
            String::from("digraph next {\n  rankdir=LR;\n  start [shape=point];\n  start -> 0;\n");
        for (number, state) in automaton.states[..automaton.visited()].iter().enumerate() {
            let visits: u64 = state.followers.iter().map(|&(_, count)| count).sum();
            let ends = state.followers.iter().any(|&(token, _)| token == end);
            let shape = if ends { "doublecircle" } else { "circle" };
            let _ = writeln!(text, "  {number} [shape={shape}];");
            for &(token, count) in &state.followers {
                let Some(to) = state.next.get(token as usize) else { continue };
                let name = escape_dot(&self.learned.vocabulary.alphabet[token as usize]);
                let p = count as f64 / visits as f64;
                let _ = writeln!(text, "  {number} -> {to} [label=\"{name} {p:.3}\"];");
            }
        }
        text + "}\n"
    }
}

fn kept_sentence(learned: &NextLearned<'_>) -> String {
    let (kept, best) = (learned.kept(), learned.best());
    let score = |candidate: &NextCandidate| candidate.valid.as_ref().map_or("–".into(), bits_text);
    let (name, bits) = (kept.kind.title(), score(kept));
    match learned.reason {
        KeepReason::WithinOneError => format!(
            "kept: {name} with {bits} bits per token, the most readable within one standard error \
             of the best ({}, {}).",
            best.kind.title(),
            score(best)
        ),
        KeepReason::NothingLearned => format!(
            "kept: {name} with {bits} bits per token. WARNING: no candidate is better than the \
             token frequencies by a standard error, so nothing is shown to have been learned."
        ),
        _ => format!("kept: {name}, which has the fewest bits per token: {bits}."),
    }
}

fn thresholds_sentence(thresholds: &AnomalyThresholds) -> String {
    let AnomalyThresholds { flagged, sequences, top_g, max_bits, mean_bits } = thresholds;
    format!(
        "anomalous: a sequence with a step of more than {max_bits:.2} bits. By other criteria: a \
         token that is not among the {top_g} most probable, or a mean above {mean_bits:.3} bits. \
         Each flags at most {} of the {} validation sequences.",
        percent(*flagged),
        grouped(*sequences as u64)
    )
}

/// Why no automaton is printed.
fn no_automaton(learned: &NextLearned<'_>) -> String {
    let candidate = learned.of(NextKind::Automaton);
    let note = candidate.and_then(|candidate| candidate.note.as_deref());
    let why = note.unwrap_or("the SR-GRU was not trained");
    format!("No automaton is printed: {why}.")
}

fn bits_text(score: &NextScore) -> String {
    format!("{:.4} ± {:.4}", score.bits, score.error)
}

/// The number of contexts, states or parameters, and what they are.
fn size_of_model(candidate: &NextCandidate) -> Option<(usize, &'static str)> {
    Some(match candidate.model.as_ref()? {
        NextModel::Ngrams(model) => (model.contexts.len(), "context"),
        NextModel::Automaton(model) => (model.visited(), "state"),
        NextModel::Network(model) => (model.params.len(), "parameter"),
    })
}

fn size_text(candidate: &NextCandidate) -> String {
    let order = match &candidate.model {
        Some(NextModel::Ngrams(model)) if model.order > 1 => format!(", n = {}", model.order),
        _ => String::new(),
    };
    size_of_model(candidate).map_or("–".into(), |(size, unit)| plural(size, unit) + &order)
}

fn escape_dot(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

fn unsaved(folder: &Path, error: &super::NextFileError) -> UserError {
    let message = format!("{}: the model cannot be written: {error}", folder.display());
    UserError::new(message, "free some space or name another --out, then `srnn resume` the run")
}
