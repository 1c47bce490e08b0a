//! The training sequences of a run, read again: which transitions of its automaton they take.

use crate::learning::{Settings, read_data};
use serde_json::Value;
use srnn::explain::{TransitionSupport, transition_support};
use srnn_automata::Partial;
use std::path::Path;

/// Larger files are not read again.
const MAX_BYTES: u64 = 64 << 20;

/// How the training sequences of a run take the transitions of its automaton, or why this is not known.
pub fn training_counts(run: &Path, automaton: &Partial<u32>) -> Result<TransitionSupport, String> {
    let settings = Settings::read(&run.join("config.toml")).map_err(|error| error.message)?;
    if let Some(source) = settings.source.as_deref().filter(|source| Path::new(source).is_file()) {
        let bytes = std::fs::metadata(source).map_or(0, |data| data.len());
        if bytes > MAX_BYTES {
            return Err(format!("{source}: {bytes} bytes are not read again (limit {MAX_BYTES})"));
        }
    }
    let source = settings.source().map_err(|error| error.message)?;
    let data = settings.data().and_then(|settings| read_data(&source, &settings));
    let data = data.map_err(|error| error.message)?;
    let record = std::fs::read_to_string(run.join("data.json")).unwrap_or_default();
    let record: Value = serde_json::from_str(&record).unwrap_or_default();
    if record["digest"]["train"] != data.digests()["train"] {
        return Err(format!("{source} has changed since the training"));
    }
    let train = data.split.train;
    if train.alphabet != automaton.alphabet().names() {
        return Err("the automaton has other symbols than the training data".into());
    }
    Ok(transition_support(automaton, train.sequences.iter().map(|one| &one.tokens[..])))
}
