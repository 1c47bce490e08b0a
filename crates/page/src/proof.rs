//! The certificate, checked inside the page.

use crate::PageFiles;
use serde_json::{Value, json};
use srnn_automata::{Alphabet, Moore, Partial, State, distinguish};

impl PageFiles {
    /// Checks the certificate against the network, and its automaton against that of the page.
    ///
    /// # Errors
    /// If the certificate is refused, or proves another automaton. The error says which condition
    /// fails.
    pub fn check(&self) -> Result<Value, String> {
        let checked = srnn_check::check(&self.config, &self.weights, &self.certificate)
            .map_err(|refused| refused.to_string())?;
        let shown = self.automaton.as_ref().ok_or("the page has no automaton")?;
        compare(&proved_automaton(&self.certificate)?, shown)?;
        Ok(json!({
            "statement": checked.statement,
            "digest": checked.digest,
            "states": checked.states,
            "cells": checked.cells,
            "edges": checked.edges,
            "margin": checked.smallest_margin,
        }))
    }
}

/// The automaton that the certificate is about.
fn proved_automaton(certificate: &[u8]) -> Result<Moore<String>, String> {
    let value: Value = serde_json::from_slice(certificate).map_err(|error| error.to_string())?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("").to_string();
    let number = |value: &Value| value.as_u64().unwrap_or(u64::from(u32::MAX)) as u32;
    let (model, automaton) = (&value["model"], &value["automaton"]);
    let names = list(&model["alphabet"]).iter().map(text).collect();
    let alphabet = Alphabet::new(names).map_err(|error| error.to_string())?;
    let outputs = list(&automaton["outputs"]);
    let class = |output: &Value| text(&model["classes"][number(output) as usize]);
    let outputs = outputs.iter().map(class).collect();
    let rows = list(&automaton["transitions"]);
    let table = rows.iter().flat_map(list).map(|to| State(number(&to))).collect();
    let start = State(number(&automaton["start"]));
    Moore::new(alphabet, start, outputs, table).map_err(|error| error.to_string())
}

/// Whether the page shows the automaton that is proved.
fn compare(proved: &Moore<String>, shown: &Partial<String>) -> Result<(), String> {
    let shown = shown.to_moore().map_err(|error| error.to_string())?;
    match distinguish(proved, &shown).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(word) => {
            let word = proved.alphabet().format_word(&word);
            Err(format!("the automaton of the page is not the proved one: they differ on {word:?}"))
        }
    }
}
