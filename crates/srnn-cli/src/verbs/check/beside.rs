//! The automaton file beside a certificate: is it the automaton that is proved?
//!
//! The checker knows nothing of such files, and a proof says nothing of them.

use crate::automaton::{complete, read};
use crate::failure::Failure;
use crate::files;
use crate::runs;
use serde_json::{Value, json};
use srnn::certify::Certificate;
use srnn::format::quoted;
use srnn_automata::{Alphabet, Moore, State, distinguish};
use std::path::{Path, PathBuf};

/// How an automaton file compares with a proof.
pub struct Beside {
    /// The file.
    pub path: PathBuf,
    /// Why it is not the automaton that is proved; nothing where it is.
    pub difference: Option<String>,
}

impl Beside {
    /// In words, with the remedy.
    pub fn words(&self) -> String {
        let path = self.path.display();
        match &self.difference {
            None => format!("{path} is the automaton that is proved"),
            Some(why) => format!(
                "but {path} is not the automaton that is proved: {why}\n  try: srnn extract RUN \
                 --force writes it again"
            ),
        }
    }

    /// As JSON.
    pub fn value(&self) -> Value {
        json!({
            "file": self.path.display().to_string(),
            "is_proved": self.difference.is_none(),
            "difference": self.difference,
        })
    }
}

/// The automaton file beside a certificate that the checker has confirmed, where there is one.
pub fn automaton(certificate: &Path) -> Result<Option<Beside>, Failure> {
    let folder = certificate.parent().unwrap_or(Path::new(""));
    let Some(path) = runs::automaton_in(folder) else { return Ok(None) };
    let proved = proved(certificate)?;
    Ok(Some(Beside { difference: difference(&path, &proved), path }))
}

/// The automaton of a certificate, its outputs by name.
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
        Err(_) => Some("it has other symbols".into()),
    }
}
