//! Batches so large that a GPU uses other code: more rows than it processes at a time, so that blocks
//! continue with other rows; more read-outs or tokens than its small kernels support.
//!
//! They are separate because the reference is slow: updates and finite differences skip them. So are
//! wide mixtures: their rounding errors grow with every update.

use super::mixtures::mixtures;
use super::{Case, GRU, LSTM, LSTM_P, Spec, centroids, dot, layer, read, tie, tokens};
use srnn_engine::model::{Input, Layer, ReadFrom, Score, When};
use srnn_engine::{Dropout, Regime};

/// More than two for each multiprocessor of any GPU, and odd.
const ROWS: usize = 401;

/// More than clusters of six blocks process at a time, eight rows each.
const LARGE_ROWS: usize = 190;

/// All large cases; the same in every call.
pub fn large_batches() -> Vec<Case> {
    specs().into_iter().chain(mixtures()).map(Spec::build).collect()
}

fn specs() -> Vec<Spec> {
    let named = |name: &str, layer: Layer| Spec {
        name: format!("crowd: {name}"),
        layers: vec![layer],
        input: tokens(3, 4, false, false),
        lengths: lengths(ROWS),
        ..Spec::default()
    };
    let large = |name, layer| Spec { lengths: lengths(LARGE_ROWS), ..named(name, layer) };
    let classes = |classes: usize, spec: Spec| Spec { classes, weighted: true, ..spec };
    let steps = |from, spec: Spec| Spec { readout: read(from, When::EveryStep), ..spec };
    let real = |width, spec: Spec| Spec { input: Input::Real { width }, ..spec };
    let end = |spec: Spec| Spec { input: tokens(3, 4, false, true), ..spec };
    let dropping = |spec: Spec| {
        let dropout = Dropout { readout: 0.4, embedding: 0.25, seed: 3 };
        Spec { regime: Regime { dropout, ..spec.regime }, ..spec }
    };
    // Several tiles of rows and columns, and several chunks of the depth.
    let given = |name, layer: Layer| Spec {
        lengths: lengths(67).into_iter().map(|length| length.max(1)).collect(),
        given_states: true,
        ..steps(ReadFrom::U, named(name, layer))
    };
    vec![
        given("given states, many centroids", layer(LSTM_P, 70, dot(150))),
        given("given states, plain", layer(LSTM, 150, None)),
        Spec {
            input: tokens(20_000, 14, false, false),
            readout: tie(read(ReadFrom::U, When::EveryStep)),
            classes: 20_000,
            lengths: vec![9; 5],
            ..named("tied, thousands of classes", layer(LSTM, 14, None))
        },
        named("few centroids", layer(LSTM_P, 9, dot(5))),
        end(named("few centroids, end token", layer(GRU, 9, dot(5)))),
        named("many centroids", layer(LSTM, 20, dot(25))),
        end(named("many centroids, end token", layer(GRU, 30, dot(25)))),
        real(2, named("many centroids on narrow vectors", layer(LSTM_P, 20, dot(25)))),
        named("Euclidean scores", layer(LSTM, 5, centroids(4, Score::Euclidean, 1.0))),
        named("direct form", layer(LSTM, 5, dot(8))),
        named("plain, few units", layer(GRU, 6, None)),
        named("plain, many units", layer(LSTM_P, 120, None)),
        large("plain, more units than two blocks hold", layer(LSTM_P, 200, None)),
        large("plain, more units than six blocks hold", layer(GRU, 360, None)),
        large("more centroids than two blocks hold", layer(LSTM, 256, dot(200))),
        steps(ReadFrom::H, named("read-outs at every step", layer(GRU, 30, dot(25)))),
        Spec {
            lengths: vec![12; ROWS],
            ..steps(ReadFrom::Uc, named("thousands of read-outs", layer(LSTM, 3, dot(2))))
        },
        classes(70, named("classes beyond those of the small classifier", layer(LSTM, 7, dot(5)))),
        dropping(classes(70, named("dropout with many classes", layer(LSTM, 7, dot(5))))),
        steps(
            ReadFrom::Uc,
            classes(333, named("several blocks of classes", layer(LSTM, 7, dot(5)))),
        ),
        Spec {
            input: tokens(200, 3, false, false),
            lengths: vec![40; 4],
            ..named("tokens beyond those a block sums itself", layer(LSTM_P, 100, dot(5)))
        },
        dropping(Spec {
            input: tokens(20_000, 48, false, false),
            lengths: (0..32).map(|b| [100, 100, 0, 100, 98, 100, 1, 100][b % 8]).collect(),
            ..named("tokens so many that the scan is cut", layer(LSTM_P, 256, dot(10)))
        }),
    ]
}

/// Rows of different lengths, some of them empty.
fn lengths(rows: usize) -> Vec<usize> {
    (0..rows).map(|b| [3, 0, 1, 4, 2, 6, 1][b % 7]).collect()
}
