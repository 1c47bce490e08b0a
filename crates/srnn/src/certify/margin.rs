//! Whether the network decides as the cells say, on every cell and on the way between them.

use super::arithmetic::Errors;
use super::cell::{Computed, Spread};
use super::close::walk;
use super::decide::{lead, lead_of_states};
use super::interval::Interval;
use super::matrix::Matrix;
use super::network::Network;
use super::outline::Outline;
use super::set::{Ball, Set, step};

/// A set on which the decision is not certain.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// The cell it is in, or comes from.
    pub cell: usize,
    /// The word that leads to it from there; empty for the cell itself.
    pub word: Vec<u32>,
    /// By how much the decision leads there: at least this, which is not above 0.
    pub lead: f64,
}

/// The margin of every cell: the smallest lead on it and on the sets its words pass.
pub fn margins(
    network: &Network,
    outline: &Outline,
    balls: &[Ball],
    errors: Errors,
) -> Result<Vec<f64>, Undecided> {
    let judge = Judge { network, outline, errors };
    let mut margins = vec![];
    for (cell, ball) in balls.iter().enumerate() {
        let leads = match network.reads_u_on_the_way() {
            true => judge.steps(cell, ball),
            false => judge.states(cell, ball),
        };
        let smallest = |a: &(Vec<u32>, f64), b: &(Vec<u32>, f64)| a.1.total_cmp(&b.1);
        let (word, lead) = leads.into_iter().min_by(smallest).expect("a cell has a lead");
        if lead.is_nan() || lead <= 0.0 {
            return Err(Undecided { cell, word, lead });
        }
        margins.push(lead);
    }
    Ok(margins)
}

struct Judge<'a> {
    network: &'a Network,
    outline: &'a Outline,
    errors: Errors,
}

type Lead = (Vec<u32>, f64);

impl Judge<'_> {
    /// Where the decision depends on the state alone.
    fn states(&self, cell: usize, ball: &Ball) -> Vec<Lead> {
        let Judge { network, outline, errors } = *self;
        let decision = |cell: usize| outline.decisions[cell];
        let set = Set::of_ball(network, ball, errors);
        let mut leads = vec![(vec![], lead_of_states(network, &set, decision(cell), errors))];
        // The sets of the last step lie in cells, which have leads of their own.
        let depth = outline.depths[cell] - 1;
        if depth > 0 {
            walk(network, outline, cell, &set, depth, errors, &mut |passed| {
                let lead = lead_of_states(network, passed.set, decision(passed.cell), errors);
                leads.push((passed.word.to_vec(), lead));
            });
        }
        leads
    }

    /// Where it depends on the last step.
    fn steps(&self, cell: usize, ball: &Ball) -> Vec<Lead> {
        let Judge { network, outline, errors } = *self;
        let mut leads = vec![];
        if cell == 0 {
            let decision = outline.decisions[0];
            leads.push((vec![], lead(&network.head, &self.first_u(), decision, errors)));
        }
        let set = Set::of_ball(network, ball, errors);
        walk(network, outline, cell, &set, outline.depths[cell], errors, &mut |passed| {
            let decision = outline.decisions[passed.cell];
            let lead = lead(&network.head, passed.u, decision, errors);
            leads.push((passed.word.to_vec(), lead));
        });
        leads
    }

    /// u after the start token; 0 where there is none.
    fn first_u(&self) -> Computed {
        let Judge { network, errors, .. } = *self;
        let origin = Set::origin(network);
        match network.arch.input.start() {
            Some(token) => step(network, &origin, token, errors).u,
            None => {
                let d = network.layers[network.layers.len() - 1].d;
                let centre = vec![Interval::point(0.0); d];
                let value = Spread::new(centre, Matrix::zeros(0, d));
                Computed { value, error: vec![0.0; d] }
            }
        }
    }
}
