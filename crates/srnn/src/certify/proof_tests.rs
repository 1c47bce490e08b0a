//! What a proof says of its cells, followed again from nothing but the proof.

use super::arithmetic::Errors;
use super::network::Network;
use super::prove::{Proof, Search, prove};
use super::samples::{KINDS, Sample, sample};
use super::set::{Set, step};
use crate::engine::Arithmetic;
use crate::extract::TransitionSystem;
use crate::model::Temperature;
use srnn_automata::Alphabet;

/// A network that contracts, and decides: small weights, τ = 1, and classes far apart.
fn calm(kind: usize) -> Sample {
    let mut sample = sample(kind, 200);
    for layer in &mut sample.single.arch.layers {
        layer.centroids.as_mut().expect("centroids").tau = Temperature::ONE;
    }
    let largest = sample.single.params.iter().fold(0f32, |a, p| a.max(p.abs()));
    sample.single.params.iter_mut().for_each(|p| *p *= 0.6 / largest);
    sample.single.params[sample.layout.head_bias.start] = 9.0;
    sample.model = sample.single.to_f64();
    sample
}

fn proof(sample: &Sample) -> Proof {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    let machine = TransitionSystem::new(&sample.model, &alphabet).expect("a memory-less network");
    prove(&machine, Arithmetic::F32, &Search::default())
        .unwrap_or_else(|failed| panic!("{}: {failed:?}", sample.name))
}

#[test]
fn calm_networks_of_every_kind_are_proved_and_their_images_lie_in_their_cells() {
    for kind in (0..KINDS).step_by(5) {
        let sample = calm(kind);
        let (proof, network) = (proof(&sample), Network::new(&sample.model));
        let errors = Errors::of(proof.arithmetic);
        for cell in &proof.cells {
            let mut open = vec![(0, cell, Set::of_ball(&network, &cell.ball, errors))];
            while let Some((t, passed, set)) = open.pop() {
                if t == cell.depth {
                    let distance = set.distance_from(&passed.ball.centre);
                    let mut pairs = distance.iter().zip(&passed.ball.radii);
                    assert!(pairs.all(|(d, r)| d <= r), "{}: {distance:?}", sample.name);
                    continue;
                }
                for (symbol, &next) in passed.successors.iter().enumerate() {
                    let image = step(&network, &set, symbol as u32, errors).set;
                    open.push((t + 1, &proof.cells[next], image));
                }
            }
        }
    }
}

#[test]
fn without_a_start_token_the_first_cell_is_the_initial_state_and_nothing_else() {
    for kind in (0..KINDS).filter(|kind| kind >> 5 & 1 == 0).step_by(3) {
        let sample = calm(kind);
        let first = &proof(&sample).cells[0].ball;
        let mut all = first.centre.iter().chain(&first.radii);
        assert!(all.all(|&x| x == 0.0), "{}: {first:?}", sample.name);
    }
}
