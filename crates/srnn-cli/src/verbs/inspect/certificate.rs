//! Describes a certificate: its statement, its network, its margins.

use super::Description;
use crate::failure::Failure;
use crate::files;
use serde_json::json;
use srnn::certify::Certificate;
use srnn::format::plural;
use std::fmt::Write as _;
use std::path::Path;

/// Whether a file starts like a certificate.
pub fn is_certificate(path: &Path) -> bool {
    let head = std::fs::File::open(path).and_then(|file| {
        let mut head = vec![];
        std::io::Read::read_to_end(&mut std::io::Read::take(file, 256), &mut head)?;
        Ok(head)
    });
    head.is_ok_and(|head| String::from_utf8_lossy(&head).contains("\"srnn-certificate\""))
}

pub fn describe(path: &Path) -> Result<Description, Failure> {
    let name = path.display().to_string();
    let certificate = Certificate::from_json(&files::read_text(path)?).map_err(|error| {
        Failure::new(format!("{name}: {error}"), "write it again with srnn certify")
    })?;
    let depth = certificate.cells.iter().map(|cell| cell.depth).max().unwrap_or(0);
    let radii = certificate.cells.iter().flat_map(|cell| &cell.radii);
    let widest = radii.copied().fold(0.0, f64::max);
    let states = certificate.automaton.outputs.len();
    let mut text = format!("certificate {name}\n  {}\n", certificate.statement);
    let _ = writeln!(text, "  not verified here; srnn check MODEL {name} verifies it");
    let _ = writeln!(text, "  network  {}", certificate.model.digest);
    let _ = writeln!(
        text,
        "  proof    {}, followed {}, radii up to {widest:.2e}, minimum logit margin: {:.2}",
        plural(certificate.cells.len(), "cell"),
        plural(depth, "step"),
        certificate.margin()
    );
    let value = json!({
        "kind": "certificate",
        "path": name,
        "statement": certificate.statement,
        "digest": certificate.model.digest,
        "arithmetic": certificate.arithmetic,
        "engines": certificate.engines,
        "states": states,
        "cells": certificate.cells.len(),
        "depth": depth,
        "widest_radius": widest,
        "margin": certificate.margin(),
    });
    Ok(Description { text, value })
}
