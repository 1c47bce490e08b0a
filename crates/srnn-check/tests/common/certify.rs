//! Certificates of networks that are so saturated that the cover is obvious: cells are where the
//! simulation goes, all radii are one number, and the checker is asked.

use super::Files;
use super::simulate::{Simulated, Simulation};
use serde_json::{Value, json};
use srnn_check::Refused;

/// States this close are one cell.
const NEAR: f64 = 0.02;
const MOST_CELLS: usize = 12;

/// A certificate of that depth for that arithmetic, if one of a few radii closes.
pub fn certify(config: &[u8], weights: &[u8], arithmetic: &str, depth: u32) -> Option<Files> {
    let simulation = Simulation::new(config, weights);
    let cover = cover(&simulation)?;
    for radius in [3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-8] {
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

/// Breadth first from the start; none where one cell is decided both ways or there are too many.
fn cover(simulation: &Simulation) -> Option<Cover> {
    let mut states = vec![simulation.begin()];
    let mut successors: Vec<Vec<usize>> = vec![];
    while successors.len() < states.len() {
        let here = states[successors.len()].clone();
        let mut row = vec![];
        for symbol in 0..simulation.symbols {
            let next = simulation.step(&here, symbol);
            let same = |state: &Simulated| {
                let gaps = state.alpha.concat().into_iter().zip(next.alpha.concat());
                gaps.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < NEAR
                    && simulation.class(state) == simulation.class(&next)
            };
            let known = states.iter().position(same);
            row.push(known.unwrap_or(states.len()));
            if known.is_none() {
                states.push(next);
            }
        }
        successors.push(row);
        if states.len() > MOST_CELLS {
            return None;
        }
    }
    let centres = states.iter().map(|state| state.alpha.concat()).collect();
    let decisions = states.iter().map(|state| simulation.class(state)).collect();
    Some(Cover { centres, decisions, successors })
}

fn certificate(config: &[u8], cover: &Cover, arithmetic: &str, depth: u32, radius: f64) -> Value {
    let config: Value = serde_json::from_slice(config).unwrap();
    let state = equivalent(cover);
    let states = state.iter().max().unwrap() + 1;
    let first: Vec<usize> =
        (0..states).map(|s| state.iter().position(|&other| other == s).unwrap()).collect();
    let follow = |cell: usize| -> Vec<usize> {
        cover.successors[cell].iter().map(|&next| state[next]).collect()
    };
    let engines = if arithmetic == "f32" { vec!["reference", "cpu"] } else { vec!["reference"] };
    let cells: Vec<Value> = (0..state.len())
        .map(|c| {
            let centre = &cover.centres[c];
            let zero = centre.iter().all(|&x| x == 0.0);
            json!({
                "centre": centre,
                "radii": vec![if zero { 0.0 } else { radius }; centre.len()],
                "depth": depth, "decision": cover.decisions[c], "margin": 1e300,
                "successors": cover.successors[c], "state": state[c],
            })
        })
        .collect();
    let noun = if engines.len() == 1 { "engine" } else { "engines" };
    let count = if states == 1 { "1 state".into() } else { format!("{states} states") };
    json!({
        "format": "srnn-certificate", "version": 1,
        "statement": format!(
            "For every word over the alphabet {{0, 1}}, of any length, the network gives the class \
             that the automaton with {count} gives, in real arithmetic and in the {noun} {}.",
            engines.join(", ")
        ),
        "model": {
            "digest": config["digest"], "arch": config["arch"],
            "alphabet": config["alphabet"], "classes": config["classes"],
        },
        "arithmetic": arithmetic, "engines": engines, "start": 0,
        "cells": cells,
        "automaton": {
            "start": state[0],
            "transitions": first.iter().map(|&cell| follow(cell)).collect::<Vec<_>>(),
            "outputs": first.iter().map(|&cell| cover.decisions[cell]).collect::<Vec<_>>(),
        },
    })
}

/// Each cell's class of equivalent cells, numbered by first appearance.
fn equivalent(cover: &Cover) -> Vec<usize> {
    let n = cover.decisions.len();
    let mut apart = vec![false; n * n];
    loop {
        let differ = |a: usize, b: usize| {
            cover.decisions[a] != cover.decisions[b]
                || (cover.successors[a].iter().zip(&cover.successors[b]))
                    .any(|(&a, &b)| apart[a * n + b])
        };
        let next: Vec<bool> = (0..n * n).map(|at| differ(at / n, at % n)).collect();
        if next == apart {
            break;
        }
        apart = next;
    }
    let mut count = 0;
    let mut class = vec![0; n];
    for a in 0..n {
        let earlier = (0..a).find(|&b| !apart[a * n + b]);
        class[a] = earlier.map_or(count, |b| class[b]);
        count += earlier.is_none() as usize;
    }
    class
}

/// Asks the checker for each margin, and leaves a millionth.
fn with_margins(config: &[u8], weights: &[u8], value: &mut Value) -> Option<Vec<u8>> {
    loop {
        let bytes = serde_json::to_vec(value).unwrap();
        match srnn_check::check(config, weights, &bytes) {
            Ok(_) => return Some(bytes),
            Err(Refused::Margin { cell, proved, .. }) => {
                assert!(value["cells"][cell]["margin"] == 1e300, "a margin refused twice");
                value["cells"][cell]["margin"] = json!(proved * (1.0 - 1e-6));
            }
            Err(Refused::Leaves { .. } | Refused::Undecided { .. }) => return None,
            Err(other) => panic!("{other}"),
        }
    }
}
