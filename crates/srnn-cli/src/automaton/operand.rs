//! Automata as arguments: a file, a run folder, `re:…` or `tomita:3`.

use super::{Notation, acceptor, read, read_as, tomita_dfa};
use crate::builtin;
use crate::failure::Failure;
use crate::files;
use crate::runs;
use srnn::extract::json::NamedAutomaton;
use srnn::notation::{complete, symbols_of_expression};
use srnn::task::builtin::Task;
use srnn_automata::{Alphabet, Moore, Partial};
use std::path::{Path, PathBuf};

/// An automaton given as an argument.
#[derive(Clone, Debug)]
pub enum AutomatonArg {
    /// A regular expression. Its alphabet may depend on the other argument.
    Expression(String),
    /// An automaton with its own alphabet.
    Known {
        /// The argument.
        name: String,
        /// The automaton.
        automaton: NamedAutomaton,
    },
}

impl AutomatonArg {
    /// Reads the automaton that `text` names; `from` is the notation of a file, if given.
    pub fn open(text: &str, from: Option<Notation>) -> Result<AutomatonArg, Failure> {
        if let Some(expression) = text.strip_prefix("re:") {
            return Ok(AutomatonArg::Expression(expression.into()));
        }
        if let Some(grammar) = builtin::tomita(text)? {
            let automaton = acceptor(&Partial::from(&tomita_dfa(grammar)));
            return Ok(AutomatonArg::Known { name: text.into(), automaton });
        }
        let path = automaton_file(Path::new(text))?;
        let regex = from.or_else(|| Notation::of_name(&path)) == Some(Notation::Regex);
        if regex {
            let expression = files::read_text(&path)?;
            return Ok(AutomatonArg::Expression(expression.trim_end_matches(['\n', '\r']).into()));
        }
        let automaton = read(&path, from, None)?;
        Ok(AutomatonArg::Known { name: files::display_path(&path), automaton })
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        match self {
            AutomatonArg::Expression(text) => format!("re:{text}"),
            AutomatonArg::Known { name, .. } => name.clone(),
        }
    }

    /// The alphabet; `None` for an expression.
    pub fn alphabet(&self) -> Option<&Alphabet> {
        match self {
            AutomatonArg::Expression(_) => None,
            AutomatonArg::Known { automaton, .. } => Some(automaton.automaton().alphabet()),
        }
    }

    /// The automaton with its classes, and with all transitions. `alphabet` is the flag with the symbols
    /// of a regular expression, `missing` the class of a sink for unknown transitions.
    pub fn complete(
        &self,
        alphabet: Option<&str>,
        missing: Option<&str>,
    ) -> Result<(NamedAutomaton, Moore<u32>), Failure> {
        let alphabet = match (alphabet, self) {
            (Some(text), _) => alphabet_of_flag(text)?,
            (None, AutomatonArg::Expression(text)) => symbols_of_expression(text),
            (None, AutomatonArg::Known { automaton, .. }) => {
                automaton.automaton().alphabet().clone()
            }
        };
        let named = self.resolve(&alphabet)?;
        let moore = complete(&named, &self.name(), missing)?;
        Ok((named, moore))
    }

    /// The automaton; `alphabet` is used for an expression.
    pub fn resolve(&self, alphabet: &Alphabet) -> Result<NamedAutomaton, Failure> {
        match self {
            AutomatonArg::Known { automaton, .. } => Ok(automaton.clone()),
            AutomatonArg::Expression(text) => {
                Ok(read_as(text, &self.name(), Notation::Regex, Some(alphabet))?)
            }
        }
    }
}

/// The path of the automaton file. A run folder stands for its automaton.
fn automaton_file(path: &Path) -> Result<PathBuf, Failure> {
    if path.is_dir() {
        return runs::automaton_in(path).ok_or_else(|| {
            let message = format!("{}: there is no automaton in this folder", path.display());
            Failure::new(message, missing_automaton_remedy(path))
        });
    }
    if path.as_os_str() != files::STDIO_PATH && std::fs::symlink_metadata(path).is_err() {
        let message = format!("{}: no such file or run", path.display());
        let meant = path.to_str().and_then(builtin::did_you_mean);
        if let Some(grammar @ Task::Tomita(_)) = meant {
            return Err(Failure::new(message, format!("did you mean {grammar}?")));
        }
        let remedy = "a regular expression begins with re: as in 're:(10)*'; a grammar is tomita:3";
        return Err(Failure::new(message, format!("{}; {remedy}", runs::did_you_mean(path))));
    }
    Ok(path.to_path_buf())
}

/// What to do about a folder without an automaton: extract one if the network can have one.
fn missing_automaton_remedy(path: &Path) -> String {
    let shown = files::shell_path(path);
    match runs::load(path) {
        Ok(saved) if !saved.has_automaton() => {
            "this network has a cell state besides its centroids, so it has no automaton: train \
             with --arch sr-gru"
                .into()
        }
        Ok(_) => format!("srnn extract {shown} creates one"),
        Err(failure) if runs::is_run(path) => failure.remedy,
        Err(_) => "name a run with an automaton; srnn extract creates one".into(),
    }
}

/// Parses `--alphabet`: characters, or names separated by commas.
pub fn alphabet_of_flag(text: &str) -> Result<Alphabet, Failure> {
    let names: Vec<String> = match text.contains(',') {
        true => text.split(',').map(String::from).collect(),
        false => text.chars().map(String::from).collect(),
    };
    let remedy = "--alphabet 01, or --alphabet open,close";
    if names.is_empty() {
        return Err(Failure::new("--alphabet is empty", remedy));
    }
    Alphabet::new(names).map_err(|error| Failure::new(format!("--alphabet: {error}"), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alphabet_is_characters_or_names_separated_by_commas() {
        assert_eq!(alphabet_of_flag("01").unwrap().names(), ["0", "1"]);
        assert_eq!(alphabet_of_flag("open,close").unwrap().names(), ["open", "close"]);
        for bad in ["", "00", "a,,b"] {
            assert!(alphabet_of_flag(bad).unwrap_err().message.contains("--alphabet"), "{bad:?}");
        }
    }
}
