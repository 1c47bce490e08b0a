//! Results of the proof search as text and as JSON.

use crate::certify::{NotProved, Obstacle, Proof, ProofAttempt, Verdict};
use crate::engine::Arithmetic;
use crate::format::{plural, quoted};
use serde_json::{Value, json};
use srnn_automata::{Alphabet, Symbol, Word};

/// One line for the network in real arithmetic, and one for the f32 program.
pub fn status_lines(verdict: &Verdict) -> [String; 2] {
    let status = |arithmetic| if verdict.holds(arithmetic) { "proved" } else { "not proved" };
    [
        format!("network (real arithmetic, f64): {}", status(Arithmetic::F64)),
        format!("program (f32, engine cpu): {}", status(Arithmetic::F32)),
    ]
}

/// The size and the minimum logit margin of the proof, if there is one.
pub fn size_line(verdict: &Verdict) -> Option<String> {
    let proof = verdict.proof()?;
    let (cells, steps) = (plural(proof.cells.len(), "cell"), plural(proof.depth(), "step"));
    let margin = proof.margin();
    Some(format!("{cells}, followed {steps}; minimum logit margin: {margin:.2}"))
}

/// Why there is no proof, and the remedies. The text names the last attempt that failed at a cell,
/// and the last attempt of all.
pub fn obstacle(not_proved: &NotProved, alphabet: &Alphabet) -> [String; 2] {
    let last = not_proved.attempts.last().expect("at least one attempt");
    let names_a_cell = |attempt: &&ProofAttempt| {
        matches!(attempt.obstacle, Obstacle::Expands(_) | Obstacle::Undecided(_))
    };
    let shown = not_proved.attempts.iter().rev().find(names_a_cell).unwrap_or(last);
    let mut reasons = vec![];
    let mut remedies: Vec<&str> = vec![];
    for attempt in if shown == last { vec![last] } else { vec![shown, last] } {
        let (reason, attempt_remedies) = describe_attempt(attempt, alphabet);
        let (tolerance, cells) = (attempt.tolerance, plural(attempt.cells, "cell"));
        reasons.push(format!("tolerance {tolerance}, {cells}: {reason}"));
        for &remedy in attempt_remedies {
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
    }
    [reasons.join("; then "), remedies.join("; or ")]
}

const HARDEN: &str = "retrain with fewer centroids (--k), or with a longer `harden` phase or a \
                      larger `entropy` in [train] of --config";

fn describe_attempt(
    attempt: &ProofAttempt,
    alphabet: &Alphabet,
) -> (String, &'static [&'static str]) {
    let spelled = |word: &[u32]| {
        let word: Word = word.iter().map(|&symbol| Symbol(symbol)).collect();
        quoted(alphabet, &word)
    };
    let access = quoted(alphabet, &attempt.access);
    match &attempt.obstacle {
        Obstacle::Unsupported { what } => (
            format!("the network has {what}, which certificates do not support"),
            &["a network without it"],
        ),
        Obstacle::TooManyCells { cap } => {
            (format!("the network has more than {cap} soft states"), &[HARDEN])
        }
        Obstacle::Expands(overflow) => {
            let (cell, target, word) = (overflow.cell, overflow.target, spelled(&overflow.word));
            let reason = format!(
                "the states of cell {cell} (reached by {access}) expand: their distance to its \
                 centre is up to {:.2e}, and after {word} up to {:.2e} to the centre of cell \
                 {target}",
                overflow.source_radius, overflow.image_radius
            );
            (reason, &[HARDEN, "`srnn certify RUN` with a larger --depth"])
        }
        Obstacle::Undecided(undecided) => {
            let (cell, word) = (undecided.cell, spelled(&undecided.word));
            let after =
                if undecided.word.is_empty() { String::new() } else { format!(" after {word}") };
            let reason = format!(
                "in cell {cell} (reached by {access}){after} the minimum logit margin is {:.2e}",
                undecided.margin
            );
            (reason, &["longer training", "`srnn certify RUN` with a smaller --tolerance"])
        }
        Obstacle::Refused { why } => (
            format!("a proof was found, and the checker refuses it: {why}"),
            &["report this bug with the model"],
        ),
        Obstacle::OutOfSteps { steps } => (
            format!("{steps} steps were not enough"),
            &["`srnn certify RUN` with a larger --steps"],
        ),
    }
}

/// The verdict as a JSON object.
pub fn to_json(verdict: &Verdict, alphabet: &Alphabet) -> Value {
    let proof = verdict.proof();
    let obstacle = verdict.not_proved().map(|not_proved| obstacle(not_proved, alphabet));
    json!({
        "certified": proof.is_some(),
        "f64": verdict.holds(Arithmetic::F64),
        "f32": verdict.holds(Arithmetic::F32),
        "engines": proof.map_or(&[][..], |proof| proof.arithmetic.engines()),
        "states": proof.map(|proof| proof.automaton.state_count()),
        "cells": proof.map(|proof| proof.cells.len()),
        "depth": proof.map(Proof::depth),
        "margin": proof.map(Proof::margin),
        "tolerance": proof.map(|proof| proof.tolerance),
        "obstacle": obstacle.as_ref().map(|[reason, _]| reason),
        "remedy": obstacle.as_ref().map(|[_, remedy]| remedy),
    })
}
