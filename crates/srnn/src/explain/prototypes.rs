//! What centroids stand for: the tokens after which each is the most probable, and the class that the
//! classifier gives it.

use super::Observation;
use crate::model::{HeadWeights, Model};
use serde::Serialize;
use std::borrow::Borrow;

/// Which tokens are prototypes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrototypeConfig {
    /// The number of tokens for each centroid. Default 5.
    pub tokens: usize,
    /// Tokens that occur less often are left out: their mean says little. Default 5.
    pub min_count: u64,
    /// Tokens after which the centroid is less probable are left out. Default 0.05.
    pub least_mean: f64,
}

impl Default for PrototypeConfig {
    fn default() -> Self {
        PrototypeConfig { tokens: 5, min_count: 5, least_mean: 0.05 }
    }
}

/// The prototypical tokens of a centroid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prototypes {
    /// The centroid.
    pub centroid: usize,
    /// Its tokens, those with the largest mean probability first.
    pub tokens: Vec<PrototypeToken>,
}

/// A token, and how probable a centroid is after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PrototypeToken {
    /// The token.
    pub token: u32,
    /// The mean α of the centroid over the steps that read the token.
    pub mean: f64,
    /// The number of these steps.
    pub count: u64,
}

/// The mean α of each centroid after each token.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenMeans {
    /// K.
    pub centroids: usize,
    /// The number of steps that read each token.
    pub counts: Vec<u64>,
    /// `[symbols, K]`.
    sums: Vec<f64>,
}

/// Sums over all steps that read one of `symbols` tokens.
///
/// # Panics
/// If an observation has no α or no tokens, or another K than the first.
pub fn token_means<O: Borrow<Observation>>(
    observations: impl IntoIterator<Item = O>,
    symbols: usize,
) -> TokenMeans {
    let mut means = TokenMeans { centroids: 0, counts: vec![0; symbols], sums: vec![] };
    for observation in observations {
        let observation = observation.borrow();
        if means.sums.is_empty() {
            means.centroids = observation.centroids;
            means.sums = vec![0.0; symbols * means.centroids];
        }
        assert_eq!(observation.centroids, means.centroids, "K of this and the first observation");
        for (n, &token) in observation.tokens.iter().enumerate() {
            // A start token is no symbol.
            let Some(count) = means.counts.get_mut(token as usize) else { continue };
            *count += 1;
            let row = &mut means.sums[token as usize * means.centroids..][..means.centroids];
            row.iter_mut().zip(observation.alpha_at(n)).for_each(|(sum, alpha)| *sum += alpha);
        }
    }
    means
}

impl TokenMeans {
    /// The mean α of a centroid after a token; 0 if the token does not occur.
    pub fn mean(&self, token: u32, centroid: usize) -> f64 {
        let count = self.counts[token as usize].max(1);
        self.sums[token as usize * self.centroids + centroid] / count as f64
    }
}

/// The prototypes of every centroid.
pub fn prototypes(means: &TokenMeans, config: &PrototypeConfig) -> Vec<Prototypes> {
    let counts = &means.counts;
    let of = |centroid: usize| {
        let frequent = (0..counts.len()).filter(|&token| counts[token] >= config.min_count.max(1));
        let token = |token: usize| PrototypeToken {
            token: token as u32,
            mean: means.mean(token as u32, centroid),
            count: counts[token],
        };
        let probable = frequent.map(token).filter(|token| token.mean >= config.least_mean);
        let mut tokens: Vec<PrototypeToken> = probable.collect();
        tokens.sort_by(|a, b| b.mean.total_cmp(&a.mean).then(a.token.cmp(&b.token)));
        tokens.truncate(config.tokens);
        Prototypes { centroid, tokens }
    };
    (0..means.centroids).map(of).collect()
}

/// The logits that the classifier gives to each centroid of the top layer `[K][C]`: those of a hidden
/// state that equals the centroid, without the part of a cell state. `None` if the layer has no
/// centroids or the classifier does not read its hidden state.
pub fn centroid_logits(model: &Model<f32>) -> Option<Vec<Vec<f64>>> {
    let (arch, layout) = (&model.arch, model.layout());
    let top = arch.layers.len() - 1;
    let units = arch.layers[top].units;
    arch.layers[top].centroids?;
    let reads = arch.readout.from.h() || arch.readout.from.u();
    if !reads || arch.readout.weights != HeadWeights::Own {
        return None;
    }
    let weights = &model.params[layout.head_weight.clone()];
    let bias = &model.params[layout.head_bias.clone()];
    let centroids = &model.params[layout.layers[top].centroids.clone()];
    // The hidden state comes before the cell state.
    let rows = weights.chunks(arch.readout.from.width(units));
    let rows: Vec<&[f32]> = rows.map(|row| &row[..units]).collect();
    let logit = |centroid: &[f32], row: &[f32], bias: f32| {
        let products = row.iter().zip(centroid).map(|(&w, &s)| f64::from(w) * f64::from(s));
        f64::from(bias) + products.sum::<f64>()
    };
    let logits = |centroid: &[f32]| {
        rows.iter().zip(bias).map(|(row, &bias)| logit(centroid, row, bias)).collect()
    };
    Some(centroids.chunks(units).map(logits).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::train::{Sizes, recipe_default};

    #[test]
    fn frequent_tokens_with_the_largest_mean_are_the_prototypes_of_a_centroid() {
        let seen = Observation {
            offsets: vec![0, 7],
            tokens: vec![9, 0, 1, 0, 1, 2, 0],
            centroids: 2,
            alpha: [
                [1.0, 0.0],
                [0.9, 0.1],
                [0.2, 0.8],
                [0.7, 0.3],
                [0.4, 0.6],
                [0.0, 1.0],
                [0.8, 0.2],
            ]
            .concat(),
            ..Observation::default()
        };
        let config = PrototypeConfig { tokens: 1, min_count: 2, ..PrototypeConfig::default() };
        let means = token_means([&seen], 3);
        let found = prototypes(&means, &config);
        assert_eq!(found.iter().map(|of| of.tokens[0].token).collect::<Vec<_>>(), [0, 1]);
        assert!((found[0].tokens[0].mean - 0.8).abs() < 1e-12 && found[0].tokens[0].count == 3);
        let all = prototypes(&means, &PrototypeConfig { tokens: 3, min_count: 1, least_mean: 0.3 });
        let tokens: Vec<u32> = all[1].tokens.iter().map(|token| token.token).collect();
        assert_eq!(tokens, [2, 1], "the mean after token 0 is 0.2");
    }

    #[test]
    fn the_logits_of_a_centroid_are_those_of_a_network_in_that_state() {
        let recipe = recipe_default(&Sizes::of(2, 3));
        let model = Model::new(recipe.arch, &recipe.init, Key::new(5)).unwrap();
        let logits = centroid_logits(&model).unwrap();
        let (layout, units) = (model.layout(), model.arch.layers[0].units);
        let s = &model.params[layout.layers[0].centroids.clone()][units..2 * units];
        let w = &model.params[layout.head_weight.clone()][2 * units..3 * units];
        let b = model.params[layout.head_bias.clone()][2];
        let expected =
            f64::from(b) + s.iter().zip(w).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
        assert!((logits[1][2] - expected).abs() < 1e-9, "{logits:?}");
        assert_eq!((logits.len(), logits[0].len()), (model.arch.layers[0].centroids.unwrap().k, 3));
    }
}
