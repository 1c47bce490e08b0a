//! Moves the centroids to visited hidden states by k-means++ seeding, before the ramp.

use super::examples::Examples;
use crate::engine::Real;
use crate::engine::{Batch, DeviceError, Fields, Mode, Trainer, Transition};
use crate::key::{Key, Rng};

/// Moves the centroids of every layer to hidden states u that the network visits at λ = 0 on
/// `sequences` sampled sequences. The optimiser's moments do not change.
pub fn reseed<F: Real, E: Trainer<F> + ?Sized>(
    engine: &mut E,
    examples: &impl Examples,
    sequences: usize,
    key: Key,
) -> Result<(), DeviceError> {
    let key = key.child("reseed", 0);
    let batch = sample(engine, examples, sequences, key);
    let model = engine.model()?;
    let layout = model.layout();
    let mode = Mode { transition: Transition::Mixture, lambda: 0.0, tau: 1.0 };
    let trace = engine.trace(&batch, mode, Fields { u: true, ..Fields::default() })?;
    let visited = stochastic_steps(&batch, model.arch.input.end().is_some());
    let mut snapshot = engine.snapshot()?;
    for (l, layer) in model.arch.layers.iter().enumerate() {
        let d = layer.units;
        let states: Vec<&[F]> =
            visited.iter().map(|&step| &trace.layers[l].u[step * d..][..d]).collect();
        let rng = key.child("layer", l as u64).rng();
        let centroids = &mut snapshot.params[layout.layers[l].centroids.clone()];
        seed_plus_plus(centroids, d, &states, rng);
    }
    engine.restore(&snapshot)
}

fn sample<F: Real, E: Trainer<F> + ?Sized>(
    engine: &E,
    examples: &impl Examples,
    sequences: usize,
    key: Key,
) -> Batch {
    let mut indices: Vec<usize> = (0..examples.count()).collect();
    key.child("sample", 0).rng().shuffle(&mut indices);
    indices.truncate(sequences);
    examples.batch(&indices, engine.arch())
}

/// The steps with a stochastic transition: all but the end token of each row.
fn stochastic_steps(batch: &Batch, end_token: bool) -> Vec<usize> {
    (0..batch.rows())
        .flat_map(|b| {
            let row = batch.row(b);
            let end = if end_token { row.end.saturating_sub(1).max(row.start) } else { row.end };
            row.start..end
        })
        .collect()
}

/// The first centroid is a uniformly drawn state. Each further one is drawn with probability
/// proportional to the squared distance from the nearest centroid so far. Centroids beyond the
/// number of distinct states stay where they are: equal ones would have equal gradients forever.
fn seed_plus_plus<F: Real>(centroids: &mut [F], d: usize, states: &[&[F]], mut rng: Rng) {
    let mut nearest = vec![f64::INFINITY; states.len()];
    for centroid in centroids.chunks_exact_mut(d) {
        let Some(chosen) = choose(&nearest, &mut rng) else { return };
        centroid.copy_from_slice(states[chosen]);
        for (nearest, state) in nearest.iter_mut().zip(states) {
            *nearest = nearest.min(squared_distance(state, centroid));
        }
    }
}

/// An index drawn in proportion to `weights`: uniform while they are infinite, `None` where they
/// are all zero.
fn choose(weights: &[f64], rng: &mut Rng) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    if weights.is_empty() || total == 0.0 {
        return None;
    }
    if !total.is_finite() {
        return Some(rng.below(weights.len()));
    }
    let mut left = rng.unit() * total;
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return Some(index);
        }
    }
    // Rounding may leave a remainder: take the last index with a positive weight.
    weights.iter().rposition(|&weight| weight > 0.0)
}

fn squared_distance<F: Real>(a: &[F], b: &[F]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a.to() - b.to()) * (a.to() - b.to())).sum()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{engine, short_words};
    use super::*;
    use crate::engine::Runner as _;

    #[test]
    fn reseeding_is_deterministic_and_changes_only_centroids() {
        let reseeded = |seed| {
            let mut engine = engine(5, 3, 1);
            let mut before = engine.snapshot().unwrap();
            before.moments[0].fill(0.25);
            before.updates = 7;
            engine.restore(&before).unwrap();
            reseed(&mut engine, &short_words(4), 20, Key::new(seed)).unwrap();
            (before, engine.snapshot().unwrap(), engine.model().unwrap().layout())
        };
        let (before, after, layout) = reseeded(1);
        assert_eq!(after, reseeded(1).1);
        assert_ne!(after.params, reseeded(2).1.params);
        assert_eq!((after.updates, &after.moments), (7, &before.moments));
        let moved = layout.layers[0].centroids.clone();
        for j in 0..layout.len {
            assert_eq!(before.params[j] == after.params[j], !moved.contains(&j), "parameter {j}");
        }
    }

    #[test]
    fn centroids_become_distinct_states_and_the_rest_stay_where_they_are() {
        let states: [&[f64]; 4] = [&[1.0, 1.0], &[2.0, 2.0], &[1.0, 1.0], &[2.0, 2.0]];
        let mut centroids = vec![9.0; 6];
        seed_plus_plus(&mut centroids, 2, &states, Key::new(4).rng());
        let mut found: Vec<&[f64]> = centroids.chunks(2).collect();
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert_eq!(found, [&[1.0, 1.0], &[2.0, 2.0], &[9.0, 9.0]]);
    }

    #[test]
    fn no_states_move_no_centroid() {
        let mut centroids = vec![9.0f32; 4];
        seed_plus_plus(&mut centroids, 2, &[], Key::new(4).rng());
        assert_eq!(centroids, [9.0; 4]);
    }
}
