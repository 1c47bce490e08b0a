//! Batches whose rows start from given states, as those of language models do.

use super::*;

/// Cell × score × λ, and two layers.
pub(super) fn given_states() -> Vec<Spec> {
    let named = |name: String, layers: Vec<Layer>, lambda: f64| Spec {
        name: format!("given states: {name} λ={lambda}"),
        layers,
        input: tokens(6, 5, false, false),
        readout: read(ReadFrom::H, When::EveryStep),
        classes: 6,
        lengths: vec![4, 1, 6, 2, 3],
        given_states: true,
        regime: Regime { lambda, ..PAPER },
        ..Spec::default()
    };
    let mut specs = vec![];
    for cell in [GRU, GRU_BEFORE, LSTM, LSTM_P] {
        for stochastic in [None, dot(3), dot(12), centroids(4, Score::Euclidean, 0.8)] {
            for lambda in [0.4, 1.0] {
                let k = stochastic.map(|s| (s.k, s.score));
                let name = format!("{cell:?} {k:?}");
                specs.push(named(name, vec![layer(cell, 7, stochastic)], lambda));
            }
        }
    }
    specs.push(named(
        "two layers".into(),
        vec![layer(LSTM_P, 9, dot(4)), layer(GRU, 5, None)],
        1.0,
    ));
    specs.push(Spec {
        readout: read(ReadFrom::Uc, When::Last),
        classes: 80,
        lengths: vec![17; 20],
        regime: ALL_TERMS,
        ..named("twenty rows, all terms".into(), vec![layer(LSTM_P, 33, dot(50))], 0.4)
    });
    let tied = named("tied weights".into(), vec![layer(LSTM_P, 7, dot(12))], 1.0);
    specs.push(Spec { input: tokens(6, 7, false, false), readout: tie(tied.readout), ..tied });
    specs
}

/// Random states of the layers for `rows` rows.
pub(super) fn states(arch: &Arch, rows: usize, rng: &mut Rng) -> Vec<LayerState> {
    let mut states = LayerState::zeros(arch, rows);
    for LayerState { h, c } in &mut states {
        h.iter_mut().chain(c).for_each(|x| *x = rng.uniform(-1.0, 1.0) as f32);
    }
    states
}
