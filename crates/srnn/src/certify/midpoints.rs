//! The middles of the enclosures of single states, as a transition system. The cover of a network
//! starts from it: a step costs S·Rᵀ, where the reference engine multiplies by R.

use super::error_model::ErrorModel;
use super::gru::RoundedForm;
use super::network::EnclosedNetwork;
use super::zonotope::{StateBox, Zonotope, after_end_token, hidden, step};
use crate::engine::Arithmetic;
use crate::engine::Mode;
use crate::engine::reference::{NetworkState, argmax};
use crate::extract::{SoftSystem, TransitionSystem};
use srnn_automata::{Alphabet, Symbol};

/// A network whose steps are computed by enclosures. States have α and u alone.
pub struct Midpoints<'a> {
    pub machine: &'a TransitionSystem<'a>,
    pub network: &'a EnclosedNetwork,
}

impl Midpoints<'_> {
    fn set(&self, state: &NetworkState) -> Zonotope {
        let centre = state.alpha.concat();
        let point = StateBox { radii: vec![0.0; centre.len()], centre };
        Zonotope::of_box(self.network, &point, ErrorModel::of(Arithmetic::F64))
    }

    fn step(&self, state: &NetworkState, token: u32) -> NetworkState {
        let stepped = step(self.network, &self.set(state), token, ErrorModel::of(Arithmetic::F64));
        let layers = self.network.offsets.windows(2);
        NetworkState {
            h: vec![],
            c: vec![],
            alpha: layers.map(|at| stepped.set.centre[at[0]..at[1]].to_vec()).collect(),
            u: middles(&stepped.u),
        }
    }
}

impl SoftSystem for Midpoints<'_> {
    fn alphabet(&self) -> &Alphabet {
        self.machine.alphabet()
    }

    fn start(&self, _: Mode) -> NetworkState {
        let initial = self.machine.network().initial();
        match self.network.arch.input.start() {
            Some(token) => self.step(&initial, token),
            None => initial,
        }
    }

    fn next(&self, state: &NetworkState, symbol: Symbol, _: Mode) -> NetworkState {
        self.step(state, symbol.0)
    }

    fn classify(&self, state: &NetworkState) -> u32 {
        let errors = ErrorModel::of(Arithmetic::F64);
        let read = match self.network.arch.input.end() {
            Some(end) => middles(&after_end_token(self.network, &self.set(state), end, errors)),
            None if self.network.classifies_steps() => state.u.clone(),
            None => middles(&hidden(self.network, &self.set(state), errors)),
        };
        let head = &self.network.head;
        let rows = head.weight.chunks_exact(read.len()).zip(&head.bias);
        let logit =
            |(w, b): (&[f64], &f64)| w.iter().zip(&read).map(|(w, x)| w * x).sum::<f64>() + b;
        argmax(&rows.map(logit).collect::<Vec<f64>>()) as u32
    }
}

fn middles(form: &RoundedForm) -> Vec<f64> {
    form.value.centre.iter().map(|x| x.mid()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::random_networks::{KINDS, random_network};
    use super::*;

    #[test]
    fn middles_follow_the_reference_engine_on_every_kind_of_network() {
        let alphabet = Alphabet::of_chars("01").expect("two symbols");
        for kind in 0..KINDS {
            let random = random_network(kind, 3);
            let machine = TransitionSystem::new(&random.model, &alphabet).expect("an SR-GRU");
            let network = EnclosedNetwork::new(&random.model);
            let midpoints = Midpoints { machine: &machine, network: &network };
            let mode = Mode::default();
            let (mut found, mut exact) = (midpoints.start(mode), machine.start(mode));
            for symbol in [0, 1, 1, 0, 1].map(Symbol) {
                for (a, b) in found.alpha.concat().iter().zip(exact.alpha.concat()) {
                    assert!((a - b).abs() < 1e-9, "{}: {a} and {b}", random.name);
                }
                assert_eq!(midpoints.classify(&found), machine.classify(&exact), "{}", random.name);
                // From the exact state: some of the networks are chaotic.
                found = midpoints.next(&exact, symbol, mode);
                exact = machine.next(&exact, symbol, mode);
            }
        }
    }
}
