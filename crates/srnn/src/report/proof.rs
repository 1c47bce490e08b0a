//! Verdicts as text and as JSON.

use crate::certify::{NotProved, Obstacle, Proof, ProofAttempt, Verdict};
use crate::engine::Arithmetic;
use crate::format::{plural, quoted};
use serde_json::{Value, json};
use srnn_automata::{Alphabet, Symbol, Word};

/// The two verdicts, a line each.
pub fn lines(verdict: &Verdict) -> [String; 2] {
    let status = |arithmetic| if verdict.holds(arithmetic) { "proved" } else { "not proved" };
    [
        format!("network (real arithmetic, f64): {}", status(Arithmetic::F64)),
        format!("program (f32, engine cpu): {}", status(Arithmetic::F32)),
    ]
}

/// What a proof consists of, in one line.
pub fn size(verdict: &Verdict) -> Option<String> {
    let proof = verdict.proof()?;
    let (cells, steps) = (plural(proof.cells.len(), "cell"), plural(proof.depth(), "step"));
    let margin = proof.margin();
    Some(format!("{cells}, followed {steps}; minimum logit margin: {margin:.2}"))
}

/// What stands in the way of a proof, and what to try: the last attempt that names a cell, and what
/// ended the search.
pub fn obstacle(missing: &NotProved, alphabet: &Alphabet) -> [String; 2] {
    let last = missing.attempts.last().expect("at least one attempt");
    let names_a_cell = |attempt: &&ProofAttempt| {
        matches!(attempt.obstacle, Obstacle::Expands(_) | Obstacle::Undecided(_))
    };
    let shown = missing.attempts.iter().rev().find(names_a_cell).unwrap_or(last);
    let at = |attempt: &ProofAttempt| {
        let [why, remedy] = described(attempt, alphabet);
        let (tolerance, cells) = (attempt.tolerance, plural(attempt.cells, "cell"));
        (format!("tolerance {tolerance}, {cells}: {why}"), remedy)
    };
    let (why, remedy) = at(shown);
    match shown == last {
        true => [why, remedy],
        false => [format!("{why}; then {}", at(last).0), format!("{remedy}; {}", at(last).1)],
    }
}

const HARDEN: &str = "train so that states are hard: a longer `harden` phase, a larger `entropy`, \
                      or fewer centroids (--k)";

fn described(attempt: &ProofAttempt, alphabet: &Alphabet) -> [String; 2] {
    let spelled = |word: &[u32]| {
        let word: Word = word.iter().map(|&symbol| Symbol(symbol)).collect();
        quoted(alphabet, &word)
    };
    let access = quoted(alphabet, &attempt.access);
    match &attempt.obstacle {
        Obstacle::Unsupported { what } => [
            format!("the network has {what}: certificates do not speak of that"),
            "train a network without it".into(),
        ],
        Obstacle::TooManyCells { cap } => {
            [format!("the network has more than {cap} soft states"), HARDEN.into()]
        }
        Obstacle::Expands(overflow) => {
            let (cell, target, word) = (overflow.cell, overflow.target, spelled(&overflow.word));
            let why = format!(
                "the states of cell {cell} (reached by {access}) reach up to {:.2e} from its \
                 centre, and after {word} up to {:.2e} from that of cell {target}: they spread",
                overflow.source_radius, overflow.image_radius
            );
            [why, format!("{HARDEN}; or a larger --depth")]
        }
        Obstacle::Undecided(undecided) => {
            let (cell, word) = (undecided.cell, spelled(&undecided.word));
            let after =
                if undecided.word.is_empty() { String::new() } else { format!(" after {word}") };
            let why = format!(
                "in cell {cell} (reached by {access}){after} the minimum logit margin is {:.2e}",
                undecided.margin
            );
            [why, "train longer, or try a smaller --tolerance".into()]
        }
        Obstacle::OutOfSteps { steps } => {
            [format!("{steps} steps were not enough"), "a larger --steps".into()]
        }
    }
}

/// The verdict as JSON.
pub fn value(verdict: &Verdict, alphabet: &Alphabet) -> Value {
    let proof = verdict.proof();
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
        "obstacle": verdict.not_proved().map(|missing| obstacle(missing, alphabet)[0].clone()),
        "remedy": verdict.not_proved().map(|missing| obstacle(missing, alphabet)[1].clone()),
    })
}
