//! Sampled and argmax transitions. They are discontinuous: close to a tie, single precision may select
//! another centroid, and from there on the row differs.

use crate::agreement::{ALL, Check, UNCLIPPED_ADAM, fields, with_transition};
use crate::cases::{self, Case};
use srnn_engine::Optimiser;
use srnn_engine::model::{Model, When};
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{Runner, Trace, Trainer, Transition};

/// Probabilities this close to a tie may go either way: each of two may have an error of 1e-4.
const TIE: f64 = 2e-4;

/// Checks sampled and argmax transitions, row by row up to the first step that is close to a tie.
pub fn hard_transitions_agree<E: Trainer<f32>>(
    make: &impl Fn(&Model<f32>, Optimiser) -> E,
    wrong: &mut Vec<String>,
) {
    let (mut compared, mut all) = (0, 0);
    for case in cases::all() {
        for transition in [Transition::Argmax, Transition::Sample(case.key().child("draw", 0))] {
            let got = make(&case.model, UNCLIPPED_ADAM)
                .trace(&case.batch, with_transition(transition), ALL)
                .unwrap();
            let want = ReferenceTrainer::new(&case.model.to_f64(), UNCLIPPED_ADAM)
                .trace(&case.batch, with_transition(transition), ALL)
                .unwrap();
            let mut check = Check { case: &case, wrong };
            for b in 0..case.batch.rows() {
                let sure = sure_steps(&case, &want, transition, b);
                check.row(b, sure, &got, &want);
                compared += sure;
                all += case.batch.row(b).len();
            }
        }
    }
    assert!(compared * 20 > all * 19, "only {compared} of {all} hard steps were compared");
}

impl Check<'_> {
    /// The first `sure` steps of row `b`.
    fn row(&mut self, b: usize, sure: usize, got: &Trace<f32>, want: &Trace<f64>) {
        let row = self.case.batch.row(b);
        let part = |values: usize| {
            let width = values / self.case.batch.steps().max(1);
            row.start * width..(row.start + sure) * width
        };
        for (l, (got, want)) in got.layers.iter().zip(&want.layers).enumerate() {
            for (name, got, want) in fields(got, want) {
                let what = format!("hard {name} of layer {l}, row {b}");
                self.close(&what, &got[part(got.len())], &want[part(want.len())]);
            }
        }
        let classes = self.case.model.arch.classes;
        let logits = match self.case.model.arch.readout.when {
            When::EveryStep => part(want.logits.len()),
            When::Last if sure == row.len() => b * classes..(b + 1) * classes,
            When::Last => 0..0,
        };
        self.close("hard logits", &got.logits[logits.clone()], &want.logits[logits]);
    }
}

/// The number of steps of row `b` before the first in which a layer is close to a tie.
fn sure_steps(case: &Case, trace: &Trace<f64>, transition: Transition, b: usize) -> usize {
    let row = case.batch.row(b);
    let mut sure = row.len();
    for (l, (layer, run)) in case.model.arch.layers.iter().zip(&trace.layers).enumerate() {
        let Some(centroids) = layer.centroids else { continue };
        let mut rng = match transition {
            Transition::Sample(key) => {
                Some(key.child("row", b as u64).child("layer", l as u64).rng())
            }
            Transition::Mixture | Transition::Argmax => None,
        };
        for t in 0..row.len() {
            let alpha = &run.alpha[(row.start + t) * centroids.k..][..centroids.k];
            // An end token draws nothing: its α is zero.
            if alpha.iter().all(|&a| a == 0.0) {
                continue;
            }
            let unsure = match &mut rng {
                Some(rng) => near_a_boundary(alpha, rng.unit()),
                None => near_a_tie(alpha),
            };
            if unsure {
                sure = sure.min(t);
            }
        }
    }
    sure
}

fn near_a_boundary(alpha: &[f64], unit: f64) -> bool {
    let mut sum = 0.0;
    let inner = &alpha[..alpha.len() - 1];
    inner.iter().any(|a| {
        sum += a;
        (sum - unit).abs() < TIE
    })
}

fn near_a_tie(alpha: &[f64]) -> bool {
    let mut sorted = alpha.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.len() > 1 && sorted[0] - sorted[1] < TIE
}
