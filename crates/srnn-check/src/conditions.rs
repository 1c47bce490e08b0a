//! The three conditions of a certificate, checked cell by cell and word by word.

use crate::certificate::{Certificate, CertifiedCell};
use crate::interval::{Interval, UpperBound};
use crate::matrix::IntervalMatrix;
use crate::network::{ClassifierInput, EnclosedNetwork};
use crate::refused::{CheckLocation, Refused};
use crate::step::{ClassMargin, readout_margin, state_margin, step};
use crate::zonotope::{RoundedForm, Zonotope, layer_ranges};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Checks all conditions, the cells on up to `threads` threads. Returns the minimum logit margin over
/// all sets, or the failure of the first cell that fails; neither depends on `threads`.
pub fn check(
    network: &EnclosedNetwork,
    certificate: &Certificate,
    threads: usize,
) -> Result<f64, Refused> {
    let start = check_start(network, certificate)?;
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    // Takes cells in their order until one fails. So no cell before a cell that fails is left out.
    let check_cells = || -> Result<f64, (usize, Refused)> {
        let mut smallest = f64::INFINITY;
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= certificate.cells.len() {
                break;
            }
            match check_cell(network, certificate, index) {
                Ok(margin) => smallest = smallest.min(margin),
                Err(refused) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err((index, refused));
                }
            }
        }
        Ok(smallest)
    };
    let others = threads.min(certificate.cells.len()).saturating_sub(1);
    let mut results = thread::scope(|scope| {
        let spawned: Vec<_> = (0..others).map(|_| scope.spawn(check_cells)).collect();
        let own = check_cells();
        let joined = spawned.into_iter().map(|thread| thread.join().expect("no check panics"));
        joined.chain([own]).collect::<Vec<_>>()
    });
    results.sort_by_key(|result| result.as_ref().err().map_or(usize::MAX, |&(index, _)| index));
    results.into_iter().try_fold(start, |smallest, result| match result {
        Ok(margin) => Ok(smallest.min(margin)),
        Err((_, refused)) => Err(refused),
    })
}

/// Condition 1. Returns the margin at the start, or infinity if the classifier does not read it
/// here.
fn check_start(network: &EnclosedNetwork, certificate: &Certificate) -> Result<f64, Refused> {
    let start = &certificate.cells[certificate.start];
    let Some(token) = network.input.start_token() else {
        check_is_zero(network, start, certificate.start)?;
        return match network.classifier_input {
            // No step was taken: the empty word reads u = 0.
            ClassifierInput::LastStep => {
                decided(readout_margin(network, &initial_u(network), start.decision), start, || {
                    CheckLocation::Start
                })
            }
            _ => Ok(f64::INFINITY),
        };
    };
    let (set, u) = step(network, &Zonotope::zero(network), token);
    check_inside(network, &set, start, certificate.start, || CheckLocation::Start)?;
    match network.classifier_input {
        ClassifierInput::LastStep => {
            decided(readout_margin(network, &u, start.decision), start, || CheckLocation::Start)
        }
        _ => Ok(f64::INFINITY),
    }
}

/// α = 0 does not sum to one, so only the cell that is the point 0 contains it.
fn check_is_zero(
    network: &EnclosedNetwork,
    cell: &CertifiedCell,
    target: usize,
) -> Result<(), Refused> {
    for (layer, range) in layer_ranges(network).into_iter().enumerate() {
        for (coordinate, at) in range.enumerate() {
            let excess = cell.centre[at].abs().max(cell.radii[at]);
            if excess != 0.0 {
                let location = CheckLocation::Start;
                return Err(Refused::OutsideCell { location, target, layer, coordinate, excess });
            }
        }
    }
    Ok(())
}

/// u before any step: exactly zero.
fn initial_u(network: &EnclosedNetwork) -> RoundedForm {
    let d = network.layers.last().map_or(0, |layer| layer.d);
    RoundedForm::new(
        vec![Interval::ZERO; d],
        IntervalMatrix::zeros(0, d),
        vec![UpperBound::ZERO; d],
    )
}

/// Conditions 2 and 3 for one cell. Returns its margin.
fn check_cell(
    network: &EnclosedNetwork,
    certificate: &Certificate,
    index: usize,
) -> Result<f64, Refused> {
    let cell = &certificate.cells[index];
    let mut words =
        CellWords { network, certificate, cell: index, word: vec![], margin: f64::INFINITY };
    let set = Zonotope::of_cell(cell, network);
    if network.classifier_input != ClassifierInput::LastStep {
        words.decide(state_margin(network, &set, cell.decision), cell)?;
    }
    words.descend(&set, index, cell.depth)?;
    if cell.margin > 0.0 && cell.margin <= words.margin {
        return Ok(words.margin);
    }
    Err(Refused::Margin { cell: index, claimed: cell.margin, proved: words.margin })
}

/// A depth-first traversal of the words from one cell.
struct CellWords<'a> {
    network: &'a EnclosedNetwork,
    certificate: &'a Certificate,
    cell: usize,
    word: Vec<usize>,
    margin: f64,
}

impl CellWords<'_> {
    /// Steps `set` with every symbol. `set` is the enclosure after `self.word`, and `at` is the
    /// cell of that word. After `left` steps the images must lie in their target cells.
    fn descend(&mut self, set: &Zonotope, at: usize, left: u32) -> Result<(), Refused> {
        let cells = &self.certificate.cells;
        for (symbol, &target) in cells[at].successors.iter().enumerate() {
            self.word.push(symbol);
            let (next, u) = step(self.network, set, symbol);
            let goal = &cells[target];
            if self.network.classifier_input == ClassifierInput::LastStep {
                self.decide(readout_margin(self.network, &u, goal.decision), goal)?;
            } else if left > 1 {
                self.decide(state_margin(self.network, &next, goal.decision), goal)?;
            }
            if left > 1 {
                self.descend(&next, target, left - 1)?;
            } else {
                check_inside(self.network, &next, goal, target, || self.location())?;
            }
            self.word.pop();
        }
        Ok(())
    }

    fn decide(&mut self, margin: ClassMargin, cell: &CertifiedCell) -> Result<(), Refused> {
        self.margin = self.margin.min(decided(margin, cell, || self.location())?);
        Ok(())
    }

    fn location(&self) -> CheckLocation {
        let alphabet = &self.certificate.model.alphabet;
        let word = self.word.iter().map(|&symbol| alphabet[symbol].clone()).collect();
        CheckLocation::Cell { cell: self.cell, word }
    }
}

fn decided(
    margin: ClassMargin,
    cell: &CertifiedCell,
    location: impl Fn() -> CheckLocation,
) -> Result<f64, Refused> {
    if margin.value > 0.0 {
        return Ok(margin.value);
    }
    let (decision, rival) = (cell.decision, margin.rival);
    Err(Refused::Undecided { location: location(), decision, rival, margin: margin.value })
}

fn check_inside(
    network: &EnclosedNetwork,
    set: &Zonotope,
    cell: &CertifiedCell,
    target: usize,
    location: impl Fn() -> CheckLocation,
) -> Result<(), Refused> {
    match set.largest_excess(cell, network) {
        None => Ok(()),
        Some((layer, coordinate, excess)) => {
            Err(Refused::OutsideCell { location: location(), target, layer, coordinate, excess })
        }
    }
}
