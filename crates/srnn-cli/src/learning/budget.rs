//! What a run will take, before it is started.

use super::settings::Resolved;
use crate::failure::Failure;
use srnn::engine::DeviceName;
use srnn::format::grouped;
use srnn::learn::LearnData;
use srnn::model::Arch;
use srnn::train::{Estimate, estimate};

/// Where the system does not say how much memory is free.
const USUAL_LIMIT: u64 = 4 << 30;

/// Refuses a run that would take more memory than there is; otherwise says what it will take.
pub fn check_memory(
    resolved: &Resolved,
    data: &LearnData,
    workers: usize,
    limit: Option<u64>,
) -> Result<String, Failure> {
    let recipe = &resolved.recipe;
    let train = &data.split.train;
    let needed = estimate(&recipe.arch, &recipe.train, train, workers);
    let limit = limit.unwrap_or_else(available);
    if needed.bytes > limit {
        let message = format!(
            "training {workers} seeds at a time takes about {}, more than the limit of {}",
            bytes(needed.bytes),
            bytes(limit)
        );
        let remedy = "lower --units, --k or train.batch_size, use fewer --threads, \
                      or raise --memory-limit";
        return Err(Failure::new(message, remedy));
    }
    let all = estimate(&recipe.arch, &recipe.train, train, resolved.seeds.len());
    let plan = format!("{} updates, about {}", grouped(all.updates), bytes(needed.bytes));
    if resolved.device != DeviceName::Cpu {
        return Ok(plan);
    }
    let seconds = FIXED + seconds(&recipe.arch, &all) * share(resolved.seeds.len(), workers);
    Ok(format!("{plan} and {}", duration(seconds)))
}

/// A number of bytes as it is typed: `500MB`, `4GiB`, `1000000`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no amount of memory: write 500MB or 4GiB");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Ok((number * factor) as u64)
}

/// Three quarters of what is free.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(USUAL_LIMIT, |kib| kib.saturating_mul(768))
}

/// Multiplications a core makes in a second, all told: Tomita 3 with 100 units and 50 centroids
/// took 44 core-seconds in training; other machines and shapes are off by a factor of two or three.
const RATE: f64 = 2.4e10;

/// Seconds for what does not grow with training: choosing among seeds and reading automata took 2
/// to 4 for two symbols.
const FIXED: f64 = 3.0;

/// The part of all training that one worker does: seeds are not divided.
fn share(seeds: usize, workers: usize) -> f64 {
    seeds.div_ceil(workers.max(1)) as f64 / seeds.max(1) as f64
}

fn seconds(arch: &Arch, all: &Estimate) -> f64 {
    let per_token: usize = arch
        .layers
        .iter()
        .map(|layer| {
            let (d, blocks) = (layer.units, layer.cell.blocks());
            let rank = layer.centroids.map_or(d, |centroids| centroids.k.min(d));
            // The recurrence, the scores, the nonlinearities.
            blocks * d * rank + layer.centroids.map_or(0, |c| c.k * d) + 20 * blocks * d
        })
        .sum();
    // Forward once, backward twice.
    3.0 * per_token as f64 * all.tokens as f64 / RATE
}

fn bytes(count: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    match count as f64 / MIB {
        mib if mib >= 1024.0 => format!("{:.1} GiB", mib / 1024.0),
        mib => format!("{mib:.1} MiB"),
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_worker_decides_how_long_it_takes() {
        assert_eq!([share(4, 1), share(4, 2), share(4, 4)], [1.0, 0.5, 0.25]);
        assert_eq!(share(4, 3), 0.5, "one of three has two seeds");
    }

    #[test]
    fn amounts_of_memory_are_read_with_either_kind_of_unit() {
        assert_eq!(parse_bytes("1000"), Ok(1000));
        assert_eq!(parse_bytes("500MB"), Ok(500_000_000));
        assert_eq!(parse_bytes("4 GiB"), Ok(4 << 30));
        assert_eq!(parse_bytes("1.5k"), Ok(1536));
        for bad in ["", "much", "4XB", "-1", "1.2.3"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
