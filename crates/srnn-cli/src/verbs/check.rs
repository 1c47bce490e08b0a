//! `srnn check`: verifies a certificate with code that is independent of the prover.

mod automaton_file;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::runs;
use automaton_file::AutomatonFileCheck;
use clap::Args;
use serde_json::json;
use srnn::format::plural;
use srnn_check::{Arithmetic, Checked, Refused, check_files};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Verify a certificate against its model.
///
/// Every inequality is derived again from the weights and the certificate, by a crate that shares no
/// code with the prover. If there is an automaton file next to the certificate, it must equal the
/// automaton that is proved.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn check runs/tomita-3/model runs/tomita-3/certificate.json
  srnn check runs/tomita-3",
    after_help = "Exit codes: 0 proved; 1 not proved, or the automaton file differs; 2 an error"
)]
pub struct CheckArgs {
    /// A run folder or a model folder.
    model: PathBuf,
    /// The certificate [default: certificate.json of the run].
    certificate: Option<PathBuf>,
}

pub fn run(arguments: &CheckArgs, output: &Output) -> Result<Answer, Failure> {
    let (model, run) = runs::find(&arguments.model)?;
    runs::refuse_other_models(&arguments.model, &model)?;
    let home = run.as_ref().unwrap_or(&model);
    let file = arguments.certificate.clone().unwrap_or_else(|| home.join(runs::CERTIFICATE));
    let begin = Instant::now();
    let checked = check_files(&model, &file);
    let seconds = begin.elapsed().as_secs_f64();
    match checked {
        Ok(checked) => {
            let automaton_file = automaton_file::compare_with_proof(&file)?;
            report(&file, &checked, automaton_file.as_ref(), seconds, output)?;
            Ok(
                match automaton_file
                    .is_none_or(|automaton_file| automaton_file.difference.is_none())
                {
                    true => Answer::Yes,
                    false => Answer::No,
                },
            )
        }
        Err(refused) => {
            if let Some(failure) = unreadable(&model, &file, &refused) {
                return Err(failure);
            }
            report_refusal(&file, &refused, seconds, output)?;
            Ok(Answer::No)
        }
    }
}

/// The error if a file could not be read. Then nothing was verified. If the model is at fault, the
/// message does not mention the certificate.
fn unreadable(model: &Path, certificate: &Path, refused: &Refused) -> Option<Failure> {
    let again = "copy the model again from an intact copy, or train it again";
    let (path, cause, remedy) = match refused {
        Refused::File { path, cause } if path == certificate => {
            (path.clone(), cause, "srnn certify writes a certificate")
        }
        Refused::File { path, cause } => (path.clone(), cause, again),
        Refused::Weights(cause) => (model.join("model.safetensors"), cause, again),
        Refused::Config(cause) => (
            model.join("config.json"),
            cause,
            "copy the model again from an intact copy; only SR-GRUs have certificates",
        ),
        _ => return None,
    };
    Some(Failure::new(format!("{}: {cause}", path.display()), remedy))
}

fn report(
    file: &Path,
    checked: &Checked,
    automaton_file: Option<&AutomatonFileCheck>,
    seconds: f64,
    output: &Output,
) -> Result<(), Failure> {
    let Checked { statement, digest, smallest_margin, .. } = checked;
    let mut text = format!(
        "proved: {statement}\n  network {digest}\n  {}, {}; minimum logit margin: {smallest_margin:.2}; \
         {seconds:.2} s",
        plural(checked.cells, "cell"),
        plural(checked.edges, "step"),
    );
    text.extend(automaton_file.map(|automaton_file| format!("\n  {}", automaton_file.text())));
    let value = json!({
        "certificate": file.display().to_string(),
        // An automaton file that is not the proved one would be taken for it.
        "proved": automaton_file.is_none_or(|file| file.difference.is_none()),
        "certificate_valid": true,
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
        "automaton": automaton_file.map(AutomatonFileCheck::value),
        "seconds": seconds,
    });
    output.result(text, &value)
}

fn report_refusal(
    file: &Path,
    refused: &Refused,
    seconds: f64,
    output: &Output,
) -> Result<(), Failure> {
    let file = file.display().to_string();
    let text = format!("not proved: {file} is invalid\n  {refused}");
    let value = json!({
        "certificate": file,
        "proved": false,
        "certificate_valid": false,
        "reason": refused.to_string(),
        "seconds": seconds,
    });
    output.result(text, &value)
}
