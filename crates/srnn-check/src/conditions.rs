//! The three conditions, cell by cell and word by word.

use crate::balls::Balls;
use crate::certificate::{Cell, Certificate};
use crate::interval::{Interval, Up};
use crate::network::{Network, Reading};
use crate::refused::{Place, Refused};
use crate::set::{Form, Set, places};
use crate::step::{Lead, lead, lead_on, step};

/// Checks all conditions; the smallest lead on any set, in logits.
pub fn check(network: &Network, certificate: &Certificate) -> Result<f64, Refused> {
    let mut smallest = check_start(network, certificate)?;
    for index in 0..certificate.cells.len() {
        smallest = smallest.min(check_cell(network, certificate, index)?);
    }
    Ok(smallest)
}

/// Condition 1. Infinity where the start itself is not read.
fn check_start(network: &Network, certificate: &Certificate) -> Result<f64, Refused> {
    let start = &certificate.cells[certificate.start];
    let Some(token) = network.input.start_token() else {
        check_is_zero(network, start, certificate.start)?;
        return match network.reading {
            // No step led here: the empty word reads u = 0.
            Reading::Step => {
                decided(lead(network, &no_units(network), start.decision), start, || Place::Start)
            }
            _ => Ok(f64::INFINITY),
        };
    };
    let (set, u) = step(network, &Set::zero(network), token);
    check_inside(network, &set, start, certificate.start, || Place::Start)?;
    match network.reading {
        Reading::Step => decided(lead(network, &u, start.decision), start, || Place::Start),
        _ => Ok(f64::INFINITY),
    }
}

/// α = 0 does not sum to one, so that only the point 0 holds it.
fn check_is_zero(network: &Network, cell: &Cell, target: usize) -> Result<(), Refused> {
    for (layer, place) in places(network).into_iter().enumerate() {
        for (coordinate, at) in place.enumerate() {
            let excess = cell.centre[at].abs().max(cell.radii[at]);
            if excess != 0.0 {
                let place = Place::Start;
                return Err(Refused::Leaves { place, target, layer, coordinate, excess });
            }
        }
    }
    Ok(())
}

/// u before any step: zero, exactly.
fn no_units(network: &Network) -> Form {
    let d = network.head.cols;
    Form::new(vec![Interval::ZERO; d], Balls::exact(0, d, vec![]), vec![Up::ZERO; d])
}

/// Conditions 2 and 3 for one cell, and its margin.
fn check_cell(network: &Network, certificate: &Certificate, index: usize) -> Result<f64, Refused> {
    let cell = &certificate.cells[index];
    let mut walk = Walk { network, certificate, cell: index, word: vec![], margin: f64::INFINITY };
    let set = Set::of_cell(cell, network);
    if network.reading != Reading::Step {
        walk.decide(lead_on(network, &set, cell.decision), cell)?;
    }
    walk.descend(&set, index, cell.depth)?;
    if cell.margin > 0.0 && cell.margin <= walk.margin {
        return Ok(walk.margin);
    }
    Err(Refused::Margin { cell: index, claimed: cell.margin, proved: walk.margin })
}

/// All words from one cell, depth first.
struct Walk<'a> {
    network: &'a Network,
    certificate: &'a Certificate,
    cell: usize,
    word: Vec<usize>,
    margin: f64,
}

impl Walk<'_> {
    /// Every symbol from `set`, the enclosure after `word`, which belongs to the cell `at`;
    /// `left` steps until the sets must lie in their cells.
    fn descend(&mut self, set: &Set, at: usize, left: u32) -> Result<(), Refused> {
        let cells = &self.certificate.cells;
        for (symbol, &target) in cells[at].successors.iter().enumerate() {
            self.word.push(symbol);
            let (next, u) = step(self.network, set, symbol);
            let goal = &cells[target];
            if self.network.reading == Reading::Step {
                self.decide(lead(self.network, &u, goal.decision), goal)?;
            } else if left > 1 {
                self.decide(lead_on(self.network, &next, goal.decision), goal)?;
            }
            if left > 1 {
                self.descend(&next, target, left - 1)?;
            } else {
                check_inside(self.network, &next, goal, target, || self.place())?;
            }
            self.word.pop();
        }
        Ok(())
    }

    fn decide(&mut self, lead: Lead, cell: &Cell) -> Result<(), Refused> {
        self.margin = self.margin.min(decided(lead, cell, || self.place())?);
        Ok(())
    }

    fn place(&self) -> Place {
        let alphabet = &self.certificate.model.alphabet;
        let word = self.word.iter().map(|&symbol| alphabet[symbol].clone()).collect();
        Place::Cell { cell: self.cell, word }
    }
}

fn decided(lead: Lead, cell: &Cell, place: impl Fn() -> Place) -> Result<f64, Refused> {
    if lead.by > 0.0 {
        return Ok(lead.by);
    }
    let (decision, rival) = (cell.decision, lead.rival);
    Err(Refused::Undecided { place: place(), decision, rival, missing: -lead.by })
}

fn check_inside(
    network: &Network,
    set: &Set,
    cell: &Cell,
    target: usize,
    place: impl Fn() -> Place,
) -> Result<(), Refused> {
    match set.outside(cell, network) {
        None => Ok(()),
        Some((layer, coordinate, excess)) => {
            Err(Refused::Leaves { place: place(), target, layer, coordinate, excess })
        }
    }
}
