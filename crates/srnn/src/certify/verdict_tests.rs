//! Every proof that is returned has been accepted by the checker.

use super::prove::{Proof, ProofSearch, prove};
use super::random_networks::{KINDS, RandomNetwork, random_network};
use super::{Obstacle, Verdict, certify, certify_checked, check_proof};
use crate::engine::Arithmetic;
use crate::extract::TransitionSystem;
use crate::model::ModelFile;
use srnn_automata::Alphabet;

/// Networks of each kind. Most have a proof. With 8 of each, 1,675 proofs in double and 1,673 in single
/// precision were all accepted; with a slack of 1e-15, 20 in double precision were refused.
const NETWORKS: u64 = 1;

/// Enough for networks with a short proof.
const SEARCH: ProofSearch =
    ProofSearch { tolerance: 0.2, refinements: 2, depth: 2, cells: 60, steps: 600, slack: 1e-11 };

fn alphabet() -> Alphabet {
    Alphabet::of_chars("01").expect("two symbols")
}

fn machine<'a>(random: &'a RandomNetwork, alphabet: &'a Alphabet) -> TransitionSystem<'a> {
    TransitionSystem::new(&random.model, alphabet).expect("a memory-less network")
}

fn file(random: &RandomNetwork) -> ModelFile {
    let model = random.single.clone();
    let classes = (0..model.arch.classes).map(|class| format!("class {class}")).collect();
    let alphabet = ["0", "1"].map(String::from).to_vec();
    ModelFile { model, alphabet, unknown: None, classes, image: None, tokenizer: None }
}

#[test]
fn the_checker_accepts_the_proofs_of_random_networks_in_both_arithmetics() {
    let (mut accepted, alphabet) = ([0, 0], alphabet());
    for (kind, index) in (0..KINDS).flat_map(|kind| (0..NETWORKS).map(move |i| (kind, 1000 + i))) {
        let random = random_network(kind, index);
        for (count, arithmetic) in accepted.iter_mut().zip([Arithmetic::F64, Arithmetic::F32]) {
            let Ok(proof) = prove(&machine(&random, &alphabet), arithmetic, &SEARCH) else {
                continue;
            };
            let checked = check_proof(&file(&random), &proof);
            assert!(checked.is_ok(), "{}, {arithmetic:?}: {:?}", random.name, checked.err());
            *count += 1;
        }
    }
    assert!(accepted.iter().all(|&count| count > 100), "{accepted:?}");
}

#[test]
fn with_less_slack_the_checker_refuses_a_proof() {
    let (random, alphabet) = (random_network(0b0001_0000, 1006), alphabet());
    let proved = |slack| {
        let search = ProofSearch { slack, ..SEARCH };
        prove(&machine(&random, &alphabet), Arithmetic::F64, &search).expect("it is proved")
    };
    assert!(check_proof(&file(&random), &proved(1e-15)).is_err());
    assert!(check_proof(&file(&random), &proved(SEARCH.slack)).is_ok());
}

/// A network with a proof in single precision.
fn provable() -> RandomNetwork {
    let mut networks = (0..).map(|index| random_network(0, index));
    let proved = |random: &RandomNetwork| {
        certify(&machine(random, &alphabet()), &SEARCH).holds(Arithmetic::F32)
    };
    networks.find(proved).expect("many have one")
}

#[test]
fn a_refused_proof_is_searched_again_with_wider_radii() {
    let random = provable();
    let mut radii = vec![];
    let mut second = |proof: &Proof| {
        radii.push(proof.cells.iter().flat_map(|cell| cell.region.radii.clone()).sum::<f64>());
        if radii.len() == 1 { Err("no".into()) } else { Ok(()) }
    };
    let verdict = certify_checked(&machine(&random, &alphabet()), &SEARCH, &mut second);
    assert!(verdict.holds(Arithmetic::F32));
    assert!(radii.len() == 2 && radii[1] > radii[0], "{radii:?}");
}

#[test]
fn a_proof_that_is_refused_twice_is_no_proof_and_the_reason_is_kept() {
    let random = provable();
    let verdict =
        certify_checked(&machine(&random, &alphabet()), &SEARCH, &mut |_| Err("no".into()));
    let Verdict::NotProved(reason) = verdict else { panic!("{verdict:?}") };
    let last = reason.attempts.last().expect("an attempt");
    assert_eq!(last.obstacle, Obstacle::Refused { why: "no".into() });
}
