//! The programs inside the page of a run: they step a word through the automaton and the network, and
//! check the certificate. `build.sh` compiles this crate to WebAssembly, and `srnn` embeds the module.
//!
//! [`PageFiles`] does the work and is tested natively; `exports` is its interface to the page's script.

mod exports;
mod proof;
mod step;

use srnn_automata::{Alphabet, Partial, State};
use srnn_engine::model::{Model, ModelFile};

/// A file of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFile {
    /// `automaton.json`.
    Automaton,
    /// `config.json` of the network.
    Config,
    /// `model.safetensors`. It is read with the config, which comes first.
    Weights,
    /// `certificate.json`.
    Certificate,
}

impl PageFile {
    /// The file of a number in the page's script.
    pub fn of_number(number: u32) -> Option<PageFile> {
        let files =
            [PageFile::Automaton, PageFile::Config, PageFile::Weights, PageFile::Certificate];
        files.get(number as usize).copied()
    }
}

/// The files of a run that are inside its page.
#[derive(Default)]
pub struct PageFiles {
    automaton: Option<Partial<String>>,
    config: Vec<u8>,
    weights: Vec<u8>,
    certificate: Vec<u8>,
    network: Option<RunnableNetwork>,
}

/// A network that can be stepped.
struct RunnableNetwork {
    model: Model<f64>,
    classes: Vec<String>,
}

impl PageFiles {
    /// Takes a file.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn load(&mut self, file: PageFile, bytes: Vec<u8>) -> Result<(), String> {
        match file {
            PageFile::Automaton => self.automaton = Some(parse_automaton(&bytes)?),
            PageFile::Config => self.config = bytes,
            PageFile::Certificate => self.certificate = bytes,
            PageFile::Weights => {
                let file = ModelFile::from_bytes(&self.config, &bytes);
                let file = file.map_err(|error| error.to_string())?;
                self.network =
                    Some(RunnableNetwork { model: file.model.to_f64(), classes: file.classes });
                self.weights = bytes;
            }
        }
        Ok(())
    }
}

fn parse_automaton(bytes: &[u8]) -> Result<Partial<String>, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_string();
    let number = |value: &serde_json::Value| value.as_u64().map(|state| State(state as u32));
    let names = list(&value["alphabet"]).iter().map(text).collect();
    let alphabet = Alphabet::new(names).map_err(|error| error.to_string())?;
    let states = list(&value["states"]);
    let outputs = states.iter().map(|state| text(&state["output"])).collect();
    let next = states.iter().flat_map(|state| list(&state["next"])).map(|to| number(&to)).collect();
    let start = number(&value["start"]).ok_or("the automaton has no start state")?;
    Partial::new(alphabet, start, outputs, next).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
