//! A simple prover for saturated networks. Cells are the simulated states, all radii are equal, and
//! the checker decides.

use super::Files;
use super::simulate::{Simulated, Simulation};
use serde_json::{Value, json};
use srnn_check::Refused;

/// States within this distance share a cell.
const SAME_CELL: f64 = 0.02;
const MAX_CELLS: usize = 12;

/// A certificate of this depth and arithmetic, if one of a few radii suffices.
pub fn certify(config: &[u8], weights: &[u8], arithmetic: &str, depth: u32) -> Option<Files> {
    certify_with(config, weights, arithmetic, depth, &[3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-8])
}

/// A certificate with the first of the radii that suffices.
pub fn certify_with(
    config: &[u8],
    weights: &[u8],
    arithmetic: &str,
    depth: u32,
    radii: &[f64],
) -> Option<Files> {
    let simulation = Simulation::new(config, weights);
    let cover = cover(&simulation)?;
    for &radius in radii {
        let mut value = certificate(config, &cover, arithmetic, depth, radius);
        if let Some(certificate) = with_margins(config, weights, &mut value) {
            let (config, weights) = (config.to_vec(), weights.to_vec());
            return Some(Files { config, weights, certificate });
        }
    }
    None
}

struct Cover {
    centres: Vec<Vec<f64>>,
    decisions: Vec<usize>,
    successors: Vec<Vec<usize>>,
}

/// Breadth-first from the start; `None` if there are too many cells.
fn cover(simulation: &Simulation) -> Option<Cover> {
    let mut states = vec![simulation.start_state()];
    let mut successors: Vec<Vec<usize>> = vec![];
    while successors.len() < states.len() {
        let here = states[successors.len()].clone();
        let mut row = vec![];
        for symbol in 0..simulation.symbols {
            let next = simulation.step(&here, symbol);
            let same = |state: &Simulated| {
                let gaps = state.alpha.concat().into_iter().zip(next.alpha.concat());
                gaps.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < SAME_CELL
                    && simulation.class(state) == simulation.class(&next)
            };
            let known = states.iter().position(same);
            row.push(known.unwrap_or(states.len()));
            if known.is_none() {
                states.push(next);
            }
        }
        successors.push(row);
        if states.len() > MAX_CELLS {
            return None;
        }
    }
    let centres = states.iter().map(|state| state.alpha.concat()).collect();
    let decisions = states.iter().map(|state| simulation.class(state)).collect();
    Some(Cover { centres, decisions, successors })
}

fn certificate(config: &[u8], cover: &Cover, arithmetic: &str, depth: u32, radius: f64) -> Value {
    let config: Value = serde_json::from_slice(config).unwrap();
    let cell = |c: usize| {
        let centre = &cover.centres[c];
        let zero = centre.iter().all(|&x| x == 0.0);
        json!({
            "centre": centre,
            "radii": vec![if zero { 0.0 } else { radius }; centre.len()],
            "depth": depth, "decision": cover.decisions[c], "margin": 1e300,
            "successors": cover.successors[c], "state": 0,
        })
    };
    let engines = if arithmetic == "f32" { vec!["reference", "cpu"] } else { vec!["reference"] };
    let mut value = json!({
        "format": "srnn-certificate", "version": 1, "statement": "",
        "model": {
            "digest": config["digest"], "arch": config["arch"],
            "alphabet": config["alphabet"], "classes": config["classes"],
        },
        "arithmetic": arithmetic, "engines": engines, "start": 0,
        "cells": (0..cover.centres.len()).map(cell).collect::<Vec<_>>(),
        "automaton": {},
    });
    set_automaton(&mut value);
    value
}

/// Sets the minimal automaton of the cells, their states and the statement.
pub fn set_automaton(value: &mut Value) {
    let decisions = list(&value["cells"], |cell| index(&cell["decision"]));
    let successors = list(&value["cells"], |cell| list(&cell["successors"], index));
    let state = equivalence_classes(&decisions, &successors);
    let reached = reached(index(&value["start"]), &successors);
    // The automaton has only reachable states, numbered by first appearance.
    let mut kept: Vec<usize> = vec![];
    for (cell, state) in state.iter().enumerate() {
        if reached[cell] && !kept.contains(state) {
            kept.push(*state);
        }
    }
    let number = |cell: usize| kept.iter().position(|&s| s == state[cell]).unwrap_or(0);
    let first = |s: usize| state.iter().position(|&other| other == s).unwrap();
    let follow = |s: &usize| successors[first(*s)].iter().map(|&n| number(n)).collect::<Vec<_>>();
    value["automaton"] = json!({
        "start": number(index(&value["start"])),
        "transitions": kept.iter().map(follow).collect::<Vec<_>>(),
        "outputs": kept.iter().map(|&s| decisions[first(s)]).collect::<Vec<_>>(),
    });
    for cell in 0..state.len() {
        value["cells"][cell]["state"] = json!(number(cell));
    }
    value["statement"] = json!(statement(value));
}

/// The statement as in `docs/src/certificate.md`.
pub fn statement(value: &Value) -> String {
    let names = |value: &Value| list(value, |name| name.as_str().unwrap().to_string());
    let engines = names(&value["engines"]);
    let states = match value["automaton"]["outputs"].as_array().unwrap().len() {
        1 => "1 state".to_string(),
        n => format!("{n} states"),
    };
    let quoted = list(&value["model"]["alphabet"], |name| name.to_string());
    format!(
        "For every word over the alphabet {{{}}}, of any length, the network gives the class that \
         the automaton with {states} gives, in real arithmetic and in the engines {}.",
        quoted.join(", "),
        engines.join(", ")
    )
}

/// Maps the entries of a JSON list.
pub fn list<T>(values: &Value, of: impl Fn(&Value) -> T) -> Vec<T> {
    values.as_array().unwrap().iter().map(of).collect()
}

/// A JSON number as an index.
pub fn index(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn reached(start: usize, successors: &[Vec<usize>]) -> Vec<bool> {
    let mut reached = vec![false; successors.len()];
    let mut pending = vec![start];
    while let Some(cell) = pending.pop() {
        if !std::mem::replace(&mut reached[cell], true) {
            pending.extend(&successors[cell]);
        }
    }
    reached
}

/// The equivalence class of each cell, numbered by first appearance.
fn equivalence_classes(decisions: &[usize], successors: &[Vec<usize>]) -> Vec<usize> {
    let n = decisions.len();
    let mut distinct = vec![false; n * n];
    loop {
        let differ = |a: usize, b: usize| {
            decisions[a] != decisions[b]
                || (successors[a].iter().zip(&successors[b])).any(|(&a, &b)| distinct[a * n + b])
        };
        let next: Vec<bool> = (0..n * n).map(|at| differ(at / n, at % n)).collect();
        if next == distinct {
            break;
        }
        distinct = next;
    }
    let mut count = 0;
    let mut class = vec![0; n];
    for a in 0..n {
        let earlier = (0..a).find(|&b| !distinct[a * n + b]);
        class[a] = earlier.map_or(count, |b| class[b]);
        count += earlier.is_none() as usize;
    }
    class
}

/// Sets each margin to a millionth below the one that the checker proves.
fn with_margins(config: &[u8], weights: &[u8], value: &mut Value) -> Option<Vec<u8>> {
    loop {
        let bytes = serde_json::to_vec(value).unwrap();
        match srnn_check::check(config, weights, &bytes) {
            Ok(_) => return Some(bytes),
            Err(Refused::Margin { cell, proved, .. }) => {
                assert!(value["cells"][cell]["margin"] == 1e300, "a margin was refused twice");
                value["cells"][cell]["margin"] = json!(proved * (1.0 - 1e-6));
            }
            Err(Refused::OutsideCell { .. } | Refused::Undecided { .. }) => return None,
            Err(other) => panic!("{other}"),
        }
    }
}
