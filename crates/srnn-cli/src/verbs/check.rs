//! `srnn check`: a certificate, checked by code that shares nothing with what made it.

mod beside;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::runs;
use beside::Beside;
use clap::Args;
use serde_json::json;
use srnn::format::plural;
use srnn_check::{Arithmetic, Checked, Refused, check_files};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Check a certificate against the model it is about.
///
/// Every inequality is derived again from the weights and the file, by a crate that shares no code
/// with the one that made the proof. An automaton file beside the certificate, as a run has one,
/// must be the automaton that is proved.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn check runs/tomita-3/model runs/tomita-3/certificate.json
  srnn check runs/tomita-3",
    after_help = "Exit codes: 0 proved; 1 not proved, or the automaton file is another; 2 an error"
)]
pub struct Check {
    /// A model's folder, or a run folder.
    model: PathBuf,
    /// The certificate; by default that of the run.
    certificate: Option<PathBuf>,
}

/// Does it.
pub fn run(arguments: &Check, output: &Output) -> Result<Answer, Failure> {
    let (model, run) = runs::find(&arguments.model)?;
    let home = run.as_ref().unwrap_or(&model);
    let file = arguments.certificate.clone().unwrap_or_else(|| home.join(runs::CERTIFICATE));
    let begin = Instant::now();
    let checked = check_files(&model, &file);
    let seconds = begin.elapsed().as_secs_f64();
    match checked {
        Ok(checked) => {
            let beside = beside::automaton(&file)?;
            report(&file, &checked, beside.as_ref(), seconds, output)?;
            Ok(match beside.is_none_or(|beside| beside.difference.is_none()) {
                true => Answer::Yes,
                false => Answer::No,
            })
        }
        Err(refused) => {
            unreadable(&model, &file, &refused).map_or(Ok(()), Err)?;
            refuse(&file, &refused, seconds, output)?;
            Ok(Answer::No)
        }
    }
}

/// A file that cannot be read, where that is what is wrong: nothing was checked, and of the
/// certificate nothing is said where the model is at fault.
fn unreadable(model: &Path, certificate: &Path, refused: &Refused) -> Option<Failure> {
    let again = "copy the model again from where it is whole, or train it again";
    let (path, cause, remedy) = match refused {
        Refused::File { path, cause } if path == certificate => {
            (path.clone(), cause, "srnn certify makes a certificate")
        }
        Refused::File { path, cause } => (path.clone(), cause, again),
        Refused::Weights(cause) => (model.join("model.safetensors"), cause, again),
        Refused::Config(cause) => (
            model.join("config.json"),
            cause,
            "copy the model again from where it is whole; certificates speak of SR-GRUs only",
        ),
        _ => return None,
    };
    Some(Failure::new(format!("{}: {cause}", path.display()), remedy))
}

fn report(
    file: &Path,
    checked: &Checked,
    beside: Option<&Beside>,
    seconds: f64,
    output: &Output,
) -> Result<(), Failure> {
    let Checked { statement, digest, smallest_margin, .. } = checked;
    let mut text = format!(
        "proved: {statement}\n  network {digest}\n  {}, {}; the decision leads by \
         {smallest_margin:.2} logits or more; {seconds:.2} s",
        plural(checked.cells, "cell"),
        plural(checked.edges, "step"),
    );
    text.extend(beside.map(|beside| format!("\n  {}", beside.words())));
    let value = json!({
        "certificate": file.display().to_string(),
        "proved": true,
        "statement": statement,
        "arithmetic": match checked.arithmetic {
            Arithmetic::F64 => "f64",
            Arithmetic::F32 => "f32",
        },
        "engines": checked.engines,
        "digest": digest,
        "states": checked.states,
        "cells": checked.cells,
        "steps": checked.edges,
        "margin": smallest_margin,
        "automaton": beside.map(Beside::value),
        "seconds": seconds,
    });
    output.result(text, &value)
}

fn refuse(file: &Path, refused: &Refused, seconds: f64, output: &Output) -> Result<(), Failure> {
    let file = file.display().to_string();
    let text = format!("not proved: {file} is refused\n  {refused}");
    let value = json!({
        "certificate": file,
        "proved": false,
        "reason": refused.to_string(),
        "seconds": seconds,
    });
    output.result(text, &value)
}
