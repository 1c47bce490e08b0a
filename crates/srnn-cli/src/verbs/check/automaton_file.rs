//! Compares the automaton file next to a certificate with the automaton that is proved.
//!
//! The checker does not read such files, so a proof does not cover them.

use crate::automaton::{complete, read};
use crate::failure::Failure;
use crate::files;
use crate::runs;
use serde_json::{Value, json};
use srnn::certify::Certificate;
use srnn::format::quoted;
use srnn_automata::{Alphabet, Moore, State, distinguish};
use std::path::{Path, PathBuf};

/// The comparison of an automaton file with a proof.
pub struct AutomatonFileCheck {
    /// The automaton file.
    pub path: PathBuf,
    /// How it differs from the automaton that is proved; `None` if it does not.
    pub difference: Option<String>,
}

impl AutomatonFileCheck {
    /// One line for people, with the remedy.
    pub fn text(&self) -> String {
        let path = self.path.display();
        match &self.difference {
            None => format!("{path} equals the automaton that is proved"),
            Some(why) => format!(
                "but {path} differs from the automaton that is proved: {why}\n  try: srnn extract \
                 RUN --force writes it again"
            ),
        }
    }

    pub fn value(&self) -> Value {
        json!({
            "file": self.path.display().to_string(),
            "is_proved": self.difference.is_none(),
            "difference": self.difference,
        })
    }
}

/// Compares the automaton file next to a verified certificate. `None` if there is no such file.
pub fn compare_with_proof(certificate: &Path) -> Result<Option<AutomatonFileCheck>, Failure> {
    let folder = certificate.parent().unwrap_or(Path::new(""));
    let Some(path) = runs::automaton_in(folder) else { return Ok(None) };
    let proved = proved(certificate)?;
    Ok(Some(AutomatonFileCheck { difference: difference(&path, &proved), path }))
}

/// The automaton of a certificate, with named outputs.
fn proved(path: &Path) -> Result<Moore<String>, Failure> {
    let Certificate { model, automaton, .. } = Certificate::from_json(&files::read_text(path)?)?;
    let next = automaton.transitions.into_iter().flatten().map(State).collect();
    let class = |&output: &u32| model.classes[output as usize].clone();
    let outputs = automaton.outputs.iter().map(class).collect();
    let alphabet = Alphabet::new(model.alphabet)?;
    Ok(Moore::new(alphabet, State(automaton.start), outputs, next)?)
}

fn difference(path: &Path, proved: &Moore<String>) -> Option<String> {
    let name = path.display().to_string();
    let found = read(path, None, None).and_then(|named| {
        let moore = complete(&named, &name, None)?;
        Ok(named.with_class_names(&moore))
    });
    let found = match found {
        Ok(found) => found,
        Err(failure) => return Some(failure.message),
    };
    match distinguish(proved, &found) {
        Ok(None) => None,
        Ok(Some(word)) => Some(format!("they differ on {}", quoted(proved.alphabet(), &word))),
        Err(_) => Some("its alphabet differs".into()),
    }
}
