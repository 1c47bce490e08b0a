//! Ten pinned losses per architecture. They detect unintended changes of mathematics,
//! initialisation, sampling or optimiser.

use srnn::engine::Trainer;
use srnn::engine::key::Key;
use srnn::engine::model::Model;
use srnn::engine::reference::ReferenceTrainer;
use srnn::task::tomita::{Grammar, sets};
use srnn::train::{ArchName, Recipe, Sampler, Sizes, batch, recipe_default};

/// Implementations of exp and tanh differ in the last bits, and ten updates amplify that.
const TOLERANCE: f64 = 1e-9;

/// Made by this test, which prints the losses where they differ.
#[rustfmt::skip]
const PINNED: [(ArchName, [f64; 10]); 6] = [
    (ArchName::SrGru, [
        0.693657747395, 0.695921221988, 0.693562169536, 0.694662278208, 0.694215627206,
        0.694127812140, 0.693645229265, 0.692162906326, 0.694180796234, 0.692936982350,
    ]),
    (ArchName::SrLstm, [
        0.694239825131, 0.695187267412, 0.694813671785, 0.694775262457, 0.695251567819,
        0.694766541511, 0.695068919175, 0.693649394616, 0.694548742542, 0.693889057834,
    ]),
    (ArchName::SrLstmP, [
        0.694156972827, 0.695231018088, 0.694844575177, 0.694827243206, 0.695345371448,
        0.694758010010, 0.695195218949, 0.693550235018, 0.694569609319, 0.694008997370,
    ]),
    (ArchName::Gru, [
        0.689568543770, 0.693192004690, 0.690895631242, 0.693321216121, 0.693650733300,
        0.692982268938, 0.692245313710, 0.688264456805, 0.691236641983, 0.690167081881,
    ]),
    (ArchName::Lstm, [
        0.691389725444, 0.692889554339, 0.692793705350, 0.693294361349, 0.694267876895,
        0.693638781218, 0.693723808133, 0.690902224155, 0.692271971781, 0.691451570453,
    ]),
    (ArchName::LstmP, [
        0.691249869011, 0.692901870541, 0.692888083066, 0.693357317665, 0.694472082909,
        0.693610340437, 0.694161151444, 0.690716472782, 0.692301464080, 0.691814683725,
    ]),
];

#[test]
fn the_first_ten_losses_of_every_architecture_are_the_pinned_ones() {
    let found = PINNED.map(|(arch, _)| (arch, losses(arch)));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE;
    let same = |(pinned, found): (&(_, [f64; 10]), &(_, [f64; 10]))| {
        pinned.1.iter().zip(&found.1).all(near)
    };
    assert!(PINNED.iter().zip(&found).all(same), "found {found:?}");
}

/// The losses of ten updates in the middle of the ramp, where every loss term is active.
fn losses(arch: ArchName) -> [f64; 10] {
    let sizes = Sizes { arch, units: 12, k: 5, ..Sizes::of(2, 2) };
    let Recipe { arch, init, train } = recipe_default(&sizes);
    let key = Key::new(1);
    let data = sets(Grammar::T3, &key).train;
    let model = Model::new(arch.clone(), &init, key).expect("a valid architecture");
    let mut engine = ReferenceTrainer::new(&model.to_f64(), train.optimiser);
    let mut sampler = Sampler::new(&data, &train, key);
    std::array::from_fn(|i| {
        let update = 2_000 + i as u64;
        let rows = batch(&data, &sampler.indices(update), &arch);
        engine.step(&rows, &train.regime(update)).unwrap().loss.total
    })
}
