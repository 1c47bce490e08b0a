//! What a person may name where an automaton is wanted: a file, a run, `re:…`, `tomita:3`.

use super::{Notation, acceptor, read, read_as, tomita};
use crate::builtin;
use crate::failure::Failure;
use crate::files;
use crate::runs;
use srnn::extract::json::NamedAutomaton;
use srnn_automata::{Alphabet, Partial};
use std::path::{Path, PathBuf};

/// An automaton that a person named.
#[derive(Clone, Debug)]
pub enum Operand {
    /// An expression; which alphabet it is over, the other operand tells.
    Expression(String),
    /// Anything else.
    Known {
        /// As it was named.
        name: String,
        /// The automaton.
        automaton: NamedAutomaton,
    },
}

impl Operand {
    /// Finds out what is named, and reads it.
    pub fn open(text: &str, from: Option<Notation>) -> Result<Operand, Failure> {
        if let Some(expression) = text.strip_prefix("re:") {
            return Ok(Operand::Expression(expression.into()));
        }
        if let Some(grammar) = builtin::tomita(text)? {
            let automaton = acceptor(&Partial::from(&tomita(grammar)));
            return Ok(Operand::Known { name: text.into(), automaton });
        }
        let path = named_file(Path::new(text))?;
        let regex = from.or_else(|| Notation::of_name(&path)) == Some(Notation::Regex);
        if regex {
            let expression = files::read_text(&path)?;
            return Ok(Operand::Expression(expression.trim_end_matches(['\n', '\r']).into()));
        }
        let automaton = read(&path, from, None)?;
        Ok(Operand::Known { name: files::shown(&path), automaton })
    }

    /// As it was named.
    pub fn name(&self) -> String {
        match self {
            Operand::Expression(text) => format!("re:{text}"),
            Operand::Known { name, .. } => name.clone(),
        }
    }

    /// The alphabet, where the operand has one of its own.
    pub fn alphabet(&self) -> Option<&Alphabet> {
        match self {
            Operand::Expression(_) => None,
            Operand::Known { automaton, .. } => Some(automaton.automaton().alphabet()),
        }
    }

    /// The automaton; an expression is over `alphabet`.
    pub fn resolve(&self, alphabet: &Alphabet) -> Result<NamedAutomaton, Failure> {
        match self {
            Operand::Known { automaton, .. } => Ok(automaton.clone()),
            Operand::Expression(text) => {
                Ok(read_as(text, &self.name(), Notation::Regex, Some(alphabet))?)
            }
        }
    }
}

/// A folder is a run, and stands for the automaton in it.
fn named_file(path: &Path) -> Result<PathBuf, Failure> {
    if path.is_dir() {
        return runs::automaton_in(path).ok_or_else(|| {
            let message = format!("{}: no automaton in this folder", path.display());
            Failure::new(message, remedy_without(path))
        });
    }
    if path.as_os_str() != files::STREAM && std::fs::symlink_metadata(path).is_err() {
        let message = format!("{}: no such file or run", path.display());
        let remedy = "a regular expression begins with re: as in 're:(10)*', a grammar is tomita:3";
        return Err(Failure::new(message, format!("{}; {remedy}", runs::did_you_mean(path))));
    }
    Ok(path.to_path_buf())
}

/// What to do about a folder without an automaton: extract it where that can be.
fn remedy_without(path: &Path) -> String {
    let shown = path.display();
    match runs::load(path) {
        Ok(saved) if !saved.has_automaton() => {
            "this network has more memory than its centroids, so there is none: train with \
             --arch sr-gru"
                .into()
        }
        Ok(_) => format!("srnn extract {shown} makes one"),
        Err(failure) if runs::is_run(path) => failure.remedy,
        Err(_) => "name a run with an automaton; srnn extract makes one".into(),
    }
}

/// The alphabet that `--alphabet` names: every character, or names between commas.
pub fn alphabet_of_flag(text: &str) -> Result<Alphabet, Failure> {
    let names: Vec<String> = match text.contains(',') {
        true => text.split(',').map(String::from).collect(),
        false => text.chars().map(String::from).collect(),
    };
    let remedy = "--alphabet 01, or --alphabet open,close";
    if names.is_empty() {
        return Err(Failure::new("--alphabet: it is empty", remedy));
    }
    Alphabet::new(names).map_err(|error| Failure::new(format!("--alphabet: {error}"), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alphabet_is_characters_or_names_between_commas() {
        assert_eq!(alphabet_of_flag("01").unwrap().names(), ["0", "1"]);
        assert_eq!(alphabet_of_flag("open,close").unwrap().names(), ["open", "close"]);
        for bad in ["", "00", "a,,b"] {
            assert!(alphabet_of_flag(bad).unwrap_err().message.contains("--alphabet"), "{bad:?}");
        }
    }
}
