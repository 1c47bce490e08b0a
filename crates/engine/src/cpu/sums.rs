//! Sums over rows: gradients of the panels and of the classifier, and what was measured.

use super::group::{Group, Shared};
use super::head::{Head, Said};
use super::panels::{Panels, add};
use super::prepare::{Prepared, Source};
use super::scan::Measured;

/// Sums over the rows of some groups.
#[derive(Default)]
pub struct Sums {
    pub panels: Vec<Panels>,
    /// Where the gradient of each of a batch's distinct tokens is in the table of the bottom
    /// layer, if it has one; [`ABSENT`] where no row has the token.
    pub places: Vec<u32>,
    pub head: Head,
    pub said: Said,
    pub measured: Vec<Measured>,
}

/// No place.
const ABSENT: u32 = u32::MAX;

impl Sums {
    /// Zeros for all rows of a batch, but for a table that threads share.
    fn clear_for_all(&mut self, shared: &Shared<'_>) {
        let count = shared.tokens.distinct.len();
        self.places.clear();
        self.places.extend(0..count as u32);
        self.zero(shared, if self.shares_table() { 0 } else { count });
    }

    /// Zeros for some groups of a batch.
    // PERF: a table for the tokens of these groups alone. One for all tokens of the batch in every
    // chunk took a third of the time of a step of 32×300 tokens out of 10,000.
    pub fn clear(&mut self, shared: &Shared<'_>, groups: &[Group]) {
        let (places, mut count) = (&mut self.places, 0);
        places.clear();
        places.resize(shared.tokens.distinct.len(), ABSENT);
        for b in groups.iter().flat_map(|group| group.rows).flatten() {
            for &token in shared.tokens.places.get(shared.batch.row(b)).unwrap_or(&[]) {
                let place = &mut places[token as usize];
                if *place == ABSENT {
                    *place = count as u32;
                    count += 1;
                }
            }
        }
        self.zero(shared, count);
    }

    fn zero(&mut self, shared: &Shared<'_>, tokens: usize) {
        self.panels.resize_with(shared.layers.len(), Panels::default);
        for (panels, p) in self.panels.iter_mut().zip(shared.layers) {
            panels.clear_like(
                &p.panels,
                match p.source {
                    Source::Table => tokens * p.table_row(),
                    _ => p.panels.input.len(),
                },
            );
        }
        self.head.clear(shared.arch);
        self.said = Said::default();
        self.measured.clear();
        self.measured.resize(shared.layers.len(), Measured::default());
    }

    /// Makes these the sums of some parts in their order.
    pub fn of_some(&mut self, parts: &[&Sums], shared: &Shared<'_>) {
        self.clear_for_all(shared);
        self.add_in_order(parts, shared.layers);
        if !self.shares_table() && shared.layers[0].source == Source::Table {
            add_tables(&mut self.panels[0].input, 0, parts, shared.layers[0].table_row());
        }
    }

    /// Makes these those of others but for the table, for another core to read.
    pub fn receive(&mut self, from: &Sums, layers: &[Prepared]) {
        self.panels.resize_with(from.panels.len(), Panels::default);
        for ((into, from), p) in self.panels.iter_mut().zip(&from.panels).zip(layers) {
            into.receive(from);
            if p.source != Source::Table {
                into.input.receive(&from.input);
            }
        }
        self.head.receive(&from.head);
        self.said = from.said;
        self.measured.clone_from(&from.measured);
    }

    /// Whether threads share the adding of tables.
    pub fn shares_table(&self) -> bool {
        self.places.len() > WORTH_A_THREAD
    }

    /// Adds all but tables.
    pub fn add_in_order(&mut self, parts: &[&Sums], layers: &[Prepared]) {
        for (l, (into, p)) in self.panels.iter_mut().zip(layers).enumerate() {
            for part in parts {
                for (into, from) in into.parts_mut().into_iter().zip(part.panels[l].parts()) {
                    add(into, from);
                }
                if p.source != Source::Table {
                    add(&mut into.input, &part.panels[l].input);
                }
            }
        }
        for part in parts {
            self.head.add(&part.head);
            self.said.loss += part.said.loss;
            self.said.correct += part.said.correct;
            self.said.counted += part.said.counted;
            for (into, from) in self.measured.iter_mut().zip(&part.measured) {
                into.commitment += from.commitment;
                into.entropy += from.entropy;
                into.saturation += from.saturation;
                into.writing += from.writing;
            }
        }
    }
}

/// Adds the tables of parts, each with tokens of its own, to the rows of all tokens from `first`,
/// of `width` numbers each.
pub fn add_tables(rows: &mut [f32], first: usize, parts: &[&Sums], width: usize) {
    for (token, row) in rows.chunks_exact_mut(width).enumerate() {
        for part in parts {
            let place = part.places[first + token];
            if place != ABSENT {
                add(row, &part.panels[0].input[place as usize * width..][..width]);
            }
        }
    }
}

/// More rows of a table than this are worth a thread of their own.
pub const WORTH_A_THREAD: usize = 64;
