//! A certificate: what it states, of which network, with how much room.

use super::About;
use crate::failure::Failure;
use crate::files;
use serde_json::json;
use srnn::certify::Certificate;
use srnn::format::plural;
use std::fmt::Write as _;
use std::path::Path;

/// Whether a file says that it is a certificate.
pub fn is_one(path: &Path) -> bool {
    let head = std::fs::File::open(path).and_then(|file| {
        let mut head = vec![];
        std::io::Read::read_to_end(&mut std::io::Read::take(file, 256), &mut head)?;
        Ok(head)
    });
    head.is_ok_and(|head| String::from_utf8_lossy(&head).contains("\"srnn-certificate\""))
}

pub fn about(path: &Path) -> Result<About, Failure> {
    let name = path.display().to_string();
    let certificate = Certificate::from_json(&files::read_text(path)?).map_err(|error| {
        Failure::new(format!("{name}: {error}"), "make it again with srnn certify")
    })?;
    let depth = certificate.cells.iter().map(|cell| cell.depth).max().unwrap_or(0);
    let radii = certificate.cells.iter().flat_map(|cell| &cell.radii);
    let widest = radii.copied().fold(0.0, f64::max);
    let states = certificate.automaton.outputs.len();
    let mut text = format!("certificate {name}\n  {}\n", certificate.statement);
    let _ = writeln!(text, "  not checked here: srnn check MODEL {name} does that");
    let _ = writeln!(text, "  network  {}", certificate.model.digest);
    let _ = writeln!(
        text,
        "  proof    {}, followed {}, radii up to {widest:.2e}, margins from {:.2} logits",
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
    Ok(About { text, value })
}
