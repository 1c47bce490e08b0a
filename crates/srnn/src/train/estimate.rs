//! Estimates of memory, updates and tokens of a run before it starts.

use super::batch::Sampler;
use super::config::TrainConfig;
use super::examples::Examples;
use crate::key::Key;
use crate::model::{Arch, Layer, Layout, When};

/// Estimated memory, updates and tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Approximate peak memory in bytes; an upper bound where engines differ.
    pub bytes: u64,
    /// Updates summed over all seeds.
    pub updates: u64,
    /// Training tokens of all updates, including start and end tokens; the expected number where
    /// sequences are drawn.
    pub tokens: u64,
    /// Seconds of training on one CPU core. Machines and shapes differ by a factor of two or three.
    pub core_seconds: f64,
}

/// Multiplications per second and core, overhead included. Tomita 3 with 100 units and 50 centroids
/// took 44 core-seconds of training.
const MULTIPLICATIONS_PER_SECOND: f64 = 2.4e10;

/// Vectors as long as the parameters: parameters, gradient, clipped gradient, a snapshot being
/// saved, the packed parameters, and the gradient sums of the engine's eight chunks.
const COPIES: u64 = 4 + 1 + 8;

/// Networks of phases, and their copies in a checkpoint being saved.
const PHASES: u64 = 2 * 4;

/// Token tables: the table itself, and the gradient sums of eight chunks.
const TABLES: u64 = 1 + 8;

/// The program itself, and the memory of automaton extraction.
const BASE: u64 = 48 << 20;

/// Bytes per number: runs use single precision.
const NUMBER: u64 = 4;

/// The estimate for `seeds` runs on `train` that are in memory at the same time. Numbers beyond 64
/// bits saturate.
pub fn estimate(
    arch: &Arch,
    config: &TrainConfig,
    train: &impl Examples,
    seeds: usize,
) -> Estimate {
    let schedule = config.schedule.adapted_to(arch);
    let updates = schedule.updates();
    let seeds = seeds as u64;
    let config = TrainConfig { schedule, ..config.clone() };
    let per_seed = parameters(arch, &config).saturating_add(activations(arch, &config, train));
    let tokens = tokens(arch, &config, train).saturating_mul(seeds);
    Estimate {
        bytes: per_seed.saturating_mul(seeds).saturating_add(train.bytes()).saturating_add(BASE),
        updates: updates.saturating_mul(seeds),
        tokens,
        core_seconds: core_seconds(arch, tokens),
    }
}

/// Seconds on one core for this number of training tokens.
fn core_seconds(arch: &Arch, tokens: u64) -> f64 {
    let of_layer = |layer: &Layer| {
        let (d, blocks) = (layer.units, layer.cell.blocks());
        let rank = layer.centroids.map_or(d, |centroids| centroids.k.min(d));
        // Recurrence, centroid scores, nonlinearities.
        blocks * d * rank + layer.centroids.map_or(0, |c| c.k * d) + 20 * blocks * d
    };
    let head = match arch.readout.when {
        When::Last => 0,
        When::EveryStep => arch.top().units.saturating_mul(arch.classes),
    };
    let per_token = arch.layers.iter().map(of_layer).fold(head, usize::saturating_add);
    // The backward pass takes twice as long as the forward pass.
    3.0 * per_token as f64 * tokens as f64 / MULTIPLICATIONS_PER_SECOND
}

/// Bytes of parameters, moments, best network, and copies of them.
fn parameters(arch: &Arch, config: &TrainConfig) -> u64 {
    let phases = if config.keep_phases.is_never() { 0 } else { PHASES };
    let vectors = COPIES + 2 * (1 + config.optimiser.rule.moments() as u64) + phases;
    (Layout::of(arch).len as u64).saturating_mul(vectors * NUMBER)
}

/// Bytes of activations kept for the backward pass, for a batch of the longest sequences.
fn activations(arch: &Arch, config: &TrainConfig, train: &impl Examples) -> u64 {
    let longest = (0..train.count()).map(|index| train.length(index)).max().unwrap_or(0);
    let steps = (longest as u64 + extra_tokens(arch)).saturating_mul(config.batch_size as u64);
    let layers = arch.layers.iter().map(|layer| {
        let k = layer.centroids.map_or(0, |s| s.k) as u64;
        // Gates and their gradients; u, h, c, mixture; α and the scores.
        let vectors = 2 * layer.cell.blocks() as u64 + 4;
        vectors * layer.units as u64 + 2 * k
    });
    let per_step = layers.fold(arch.input.width() as u64, u64::saturating_add);
    // The logits and their gradients.
    let readouts = match arch.readout.when {
        When::Last => config.batch_size as u64,
        When::EveryStep => steps,
    };
    let head = readouts.saturating_mul(2 * arch.classes as u64);
    let table = steps.min(arch.input.vocabulary() as u64);
    let bottom = &arch.layers[0];
    let row = bottom.units as u64 * bottom.cell.blocks() as u64;
    let tables = table.saturating_mul(row).saturating_mul(TABLES);
    [tables, head]
        .into_iter()
        .fold(steps.saturating_mul(per_step), u64::saturating_add)
        .saturating_mul(NUMBER)
}

/// The number of start and end tokens per sequence.
fn extra_tokens(arch: &Arch) -> u64 {
    arch.input.start().is_some() as u64 + arch.input.end().is_some() as u64
}

/// Expected tokens of one run: summed while the curriculum grows, a product after it.
fn tokens(arch: &Arch, config: &TrainConfig, train: &impl Examples) -> u64 {
    if train.count() == 0 {
        return 0;
    }
    let sampler = Sampler::new(train, config, Key::new(0));
    let mut lengths: Vec<u64> =
        (0..train.count()).map(|index| train.length(index) as u64).collect();
    lengths.sort_unstable();
    let mut sums = vec![0u64];
    lengths.iter().for_each(|length| sums.push(sums[sums.len() - 1] + length));
    let mean = |update| {
        let available = sampler.available(update);
        extra_tokens(arch) as f64 + sums[available] as f64 / available as f64
    };
    let updates = config.schedule.updates();
    let growing = updates.min(config.schedule.curriculum);
    // A curriculum has as many different means as lengths; 4,096 samples of it are enough.
    let stride = growing.div_ceil(4_096).max(1);
    let sampled = (0..growing).step_by(stride as usize);
    let early: f64 = sampled.map(|i| mean(i) * stride.min(growing - i) as f64).sum();
    let late = mean(config.schedule.curriculum) * (updates - growing) as f64;
    ((early + late) * config.batch_size as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::super::testing::{arch, short_words, words};
    use super::*;

    #[test]
    fn tokens_and_updates_are_counted_exactly_without_a_curriculum() {
        let set = words(&["0000", "11"]);
        let config =
            TrainConfig { schedule: Schedule::plain(10), batch_size: 3, ..Default::default() };
        let estimate = estimate(&arch(4, 2), &config, &set, 2);
        assert_eq!(estimate.updates, 20);
        assert_eq!(estimate.tokens, 2 * 10 * 3 * (3 + 1), "mean length 3 and a start token");
    }

    #[test]
    fn a_curriculum_has_fewer_tokens() {
        let (set, arch) = (short_words(6), arch(4, 2));
        let with = TrainConfig::default();
        let schedule = Schedule { curriculum: 0, ..Schedule::default() };
        let without = TrainConfig { schedule, ..TrainConfig::default() };
        let tokens = |config| estimate(&arch, config, &set, 1).tokens;
        assert!(tokens(&with) < tokens(&without));
        assert!(tokens(&with) > tokens(&without) * 3_600 / 4_600);
    }

    #[test]
    fn memory_grows_with_units_seeds_and_batch_and_never_overflows() {
        let set = short_words(3);
        let base = TrainConfig::default();
        let bytes = |config: &TrainConfig, units, seeds| {
            estimate(&arch(units, 5), config, &set, seeds).bytes
        };
        let least = bytes(&base, 10, 1);
        assert!(least > BASE && least < 2 * BASE, "{least}");
        assert!(bytes(&base, 20, 1) > least);
        assert!(bytes(&base, 10, 2) > least);
        assert!(bytes(&TrainConfig { batch_size: 128, ..base.clone() }, 10, 1) > least);
        let absurd = TrainConfig { batch_size: usize::MAX, ..base };
        assert_eq!(bytes(&absurd, 10, usize::MAX), u64::MAX);
    }
}
