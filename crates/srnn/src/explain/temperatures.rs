//! Transition probabilities along a string for several temperatures τ.

use super::{Observation, observe};
use crate::engine::cpu::Cpu;
use crate::engine::{Batch, Fields};
use crate::model::{Model, Temperature};
use serde::Serialize;

/// The transition probabilities of a string at one temperature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemperatureSteps {
    /// τ.
    pub tau: f64,
    /// α of each step `[T][K]`.
    pub alpha: Vec<Vec<f64>>,
}

/// Runs the first row of a batch with each temperature of a layer instead of its own. The weights stay,
/// so that only the temperature of training gives the states of the network. `None` if the layer has no
/// centroids.
pub fn alpha_at_temperatures(
    model: &Model<f32>,
    batch: &Batch,
    layer: usize,
    taus: &[Temperature],
) -> Option<Vec<TemperatureSteps>> {
    model.arch.layers[layer].centroids?;
    let at = |&tau: &Temperature| {
        let mut model = model.clone();
        if let Some(centroids) = &mut model.arch.layers[layer].centroids {
            centroids.tau = tau;
        }
        let fields = Fields { alpha: true, ..Fields::default() };
        let seen: Observation = observe(&mut Cpu::new(&model, 1), batch, layer, fields);
        let alpha = seen.row(0).map(|n| seen.alpha_at(n).to_vec()).collect();
        TemperatureSteps { tau: tau.get(), alpha }
    };
    Some(taus.iter().map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::train::{Sizes, recipe_default};

    #[test]
    fn lower_temperatures_are_more_decided_and_the_own_one_changes_nothing() {
        let recipe = recipe_default(&Sizes { units: 5, k: 4, ..Sizes::of(2, 2) });
        let own = Model::new(recipe.arch, &recipe.init, Key::new(3)).unwrap();
        let batch = Batch::of_words(&own.arch.input, [[0u32, 1, 1].iter().copied()]);
        let taus = [0.05, 1.0, 20.0].map(|tau| Temperature::new(tau).unwrap());
        let found = alpha_at_temperatures(&own, &batch, 0, &taus).unwrap();
        let largest = |at: usize| -> Vec<f64> {
            let max = |alpha: &Vec<f64>| alpha.iter().copied().fold(0.0, f64::max);
            found[at].alpha.iter().map(max).collect()
        };
        for ((low, own), high) in largest(0).into_iter().zip(largest(1)).zip(largest(2)) {
            assert!(low > own && own > high, "{low} {own} {high}");
        }
        let fields = Fields { alpha: true, ..Fields::default() };
        let seen = observe(&mut Cpu::new(&own, 1), &batch, 0, fields);
        assert_eq!(found[1].alpha.concat(), seen.alpha);
        assert_eq!((found[1].tau, found[1].alpha.len()), (1.0, 4));
    }
}
