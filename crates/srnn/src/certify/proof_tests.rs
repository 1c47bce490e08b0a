//! The conditions of a proof, recomputed from its cells alone.

use super::error_model::ErrorModel;
use super::network::EnclosedNetwork;
use super::prove::{Proof, ProofSearch, prove};
use super::random_networks::{KINDS, RandomNetwork, random_network};
use super::zonotope::{Zonotope, step};
use crate::engine::Arithmetic;
use crate::extract::TransitionSystem;
use crate::model::Temperature;
use srnn_automata::Alphabet;

/// A network that contracts and decides: small weights, τ = 1 and a large bias of one class.
fn contracting(kind: usize) -> RandomNetwork {
    let mut random = random_network(kind, 200);
    for layer in &mut random.single.arch.layers {
        layer.centroids.as_mut().expect("centroids").tau = Temperature::ONE;
    }
    let largest = random.single.params.iter().fold(0f32, |a, p| a.max(p.abs()));
    random.single.params.iter_mut().for_each(|p| *p *= 0.6 / largest);
    random.single.params[random.layout.head_bias.start] = 9.0;
    random.model = random.single.to_f64();
    random
}

fn proof(random: &RandomNetwork) -> Proof {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    let machine = TransitionSystem::new(&random.model, &alphabet).expect("a memory-less network");
    prove(&machine, Arithmetic::F32, &ProofSearch::default())
        .unwrap_or_else(|failed| panic!("{}: {failed:?}", random.name))
}

#[test]
fn contracting_networks_of_every_kind_are_proved_and_their_images_lie_in_their_cells() {
    for kind in (0..KINDS).step_by(5) {
        let random = contracting(kind);
        let (proof, network) = (proof(&random), EnclosedNetwork::new(&random.model));
        let errors = ErrorModel::of(proof.arithmetic);
        for cell in &proof.cells {
            let mut pending = vec![(0, cell, Zonotope::of_box(&network, &cell.region, errors))];
            while let Some((t, current, set)) = pending.pop() {
                if t == cell.depth {
                    let distance = set.distance_from(&current.region.centre);
                    let mut pairs = distance.iter().zip(&current.region.radii);
                    assert!(pairs.all(|(d, r)| d <= r), "{}: {distance:?}", random.name);
                    continue;
                }
                for (symbol, &next) in current.successors.iter().enumerate() {
                    let image = step(&network, &set, symbol as u32, errors).set;
                    pending.push((t + 1, &proof.cells[next], image));
                }
            }
        }
    }
}

#[test]
fn without_a_start_token_the_first_cell_is_the_initial_state_and_nothing_else() {
    for kind in (0..KINDS).filter(|kind| kind >> 5 & 1 == 0).step_by(3) {
        let random = contracting(kind);
        let first = &proof(&random).cells[0].region;
        let mut all = first.centre.iter().chain(&first.radii);
        assert!(all.all(|&x| x == 0.0), "{}: {first:?}", random.name);
    }
}
