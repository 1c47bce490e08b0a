//! Mixtures of centroids and the cell's own output (λ < 1), at sizes around those where an engine
//! divides the units among several blocks.

use super::*;

pub(super) fn mixtures() -> Vec<Spec> {
    let of = |cell, units, k, (from, when), regime: Regime| Spec {
        name: format!(
            "mixture: {cell:?} D={units} K={k} {from:?} {when:?} commitment {} entropy {}",
            regime.commitment, regime.entropy
        ),
        layers: vec![layer(cell, units, dot(k))],
        lengths: vec![7, 3, 0, 9, 1, 5],
        readout: read(from, when),
        regime,
        ..Spec::default()
    };
    let plain = Regime { lambda: 0.4, tau: 0.8, ..PAPER };
    let learned = Regime { commitment: 0.3, ..plain };
    let (last_h, last_u) = ((ReadFrom::H, When::Last), (ReadFrom::Uc, When::Last));
    let every_h = (ReadFrom::Hc, When::EveryStep);
    let mut specs = vec![
        of(LSTM_P, 100, 5, last_h, plain),
        of(LSTM_P, 100, 5, every_h, learned),
        of(GRU, 100, 10, last_h, learned),
        of(GRU, 100, 10, (ReadFrom::H, When::EveryStep), ALL_TERMS),
        of(LSTM, 37, 25, every_h, ALL_TERMS),
        of(GRU, 51, 32, last_h, ALL_TERMS),
        of(LSTM_P, 256, 10, last_u, plain),
        of(LSTM_P, 256, 10, every_h, ALL_TERMS),
        of(GRU, 256, 10, (ReadFrom::H, When::EveryStep), learned),
        of(LSTM, 330, 3, last_h, learned),
    ];
    // More rows than clusters carry at a time.
    let many = (0..140).map(|b| [3, 0, 1, 4, 2, 6, 1][b % 7]).collect();
    specs.push(Spec { lengths: many, ..of(LSTM_P, 250, 10, last_u, learned) });
    // Without an end token, the last step has a transition, too.
    let endless = [(LSTM_P, plain), (GRU, learned), (LSTM_P, ALL_TERMS)];
    specs.extend(endless.map(|(cell, regime)| {
        let readout = (if cell == GRU { ReadFrom::H } else { ReadFrom::Hc }, When::Last);
        let spec = of(cell, 90, 5, readout, regime);
        let name = format!("{}, real inputs", spec.name);
        Spec { name, input: Input::Real { width: 1 }, ..spec }
    }));
    specs
}
