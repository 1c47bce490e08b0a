//! Estimates of memory and time before a run starts.

use super::resolve::Resolved;
use crate::failure::Failure;
use srnn::engine::DeviceName;
use srnn::format::grouped;
use srnn::learn::LearnData;
use srnn::train::estimate;

/// The memory limit if the system does not report free memory.
const DEFAULT_LIMIT: u64 = 4 << 30;

/// Describes the updates, memory and time that the run will take.
///
/// # Errors
/// If it would take more memory than `limit`, by default 3/4 of the free memory.
pub fn check_memory(
    resolved: &Resolved,
    data: &LearnData,
    workers: usize,
    limit: Option<u64>,
) -> Result<String, Failure> {
    let recipe = &resolved.recipe;
    let train = &data.split.train;
    let needed = estimate(&recipe.arch, &recipe.train, train, workers);
    let remedy = "lower --units, --k or train.batch_size, use fewer --threads, \
                  or raise --memory-limit";
    let memory = check_bytes(needed.bytes, limit, remedy)?;
    let all = estimate(&recipe.arch, &recipe.train, train, resolved.seeds.len());
    let plan = format!("at most {} updates, about {memory}", grouped(all.updates));
    if resolved.device != DeviceName::Cpu {
        return Ok(plan);
    }
    let share = largest_share(resolved.seeds.len(), workers);
    let seconds = FIXED_SECONDS + all.core_seconds * share;
    Ok(format!("{plan} and {}", duration(seconds)))
}

/// An amount of memory as text.
///
/// # Errors
/// If it is more than `limit`, by default 3/4 of the free memory.
pub(super) fn check_bytes(
    needed: u64,
    limit: Option<u64>,
    remedy: &str,
) -> Result<String, Failure> {
    let limit = limit.unwrap_or_else(default_limit);
    if needed > limit {
        let message = format!(
            "training takes about {}, more than the limit of {}",
            bytes(needed),
            bytes(limit)
        );
        return Err(Failure::new(message, remedy));
    }
    Ok(bytes(needed))
}

/// Parses a number of bytes: `500MB`, `4GiB`, `1000000`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not an amount of memory: write 500MB or 4GiB");
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

/// Parses a time: `60s`, `5min`, `1h`, `90`.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a time: write 60s, 5min or 1h");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if (1.0..=1e7).contains(&seconds) { Ok(seconds) } else { Err(wrong()) }
}

/// Three quarters of the free memory, in bytes.
pub fn default_limit() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(DEFAULT_LIMIT, |kib| kib.saturating_mul(768))
}

/// Seconds for selection and extraction, which do not grow with training: they took 2 to 4 for two
/// symbols.
const FIXED_SECONDS: f64 = 3.0;

/// The fraction of all training that the busiest worker does. A seed is not split between workers.
fn largest_share(seeds: usize, workers: usize) -> f64 {
    seeds.div_ceil(workers.max(1)) as f64 / seeds.max(1) as f64
}

/// An amount of memory with its unit.
pub fn bytes(count: u64) -> String {
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
    fn the_busiest_worker_determines_the_duration() {
        assert_eq!(
            [largest_share(4, 1), largest_share(4, 2), largest_share(4, 4)],
            [1.0, 0.5, 0.25]
        );
        assert_eq!(largest_share(4, 3), 0.5, "one of three workers has two seeds");
    }

    #[test]
    fn times_are_parsed_with_their_unit() {
        assert_eq!(parse_seconds("90"), Ok(90.0));
        assert_eq!(parse_seconds("1.5 min"), Ok(90.0));
        assert_eq!(parse_seconds("2h"), Ok(7_200.0));
        for bad in ["", "soon", "5d", "-1", "0", "0.5s", "1e9h"] {
            assert!(parse_seconds(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn amounts_of_memory_are_parsed_with_decimal_and_binary_units() {
        assert_eq!(parse_bytes("1000"), Ok(1000));
        assert_eq!(parse_bytes("500MB"), Ok(500_000_000));
        assert_eq!(parse_bytes("4 GiB"), Ok(4 << 30));
        assert_eq!(parse_bytes("1.5k"), Ok(1536));
        for bad in ["", "much", "4XB", "-1", "1.2.3"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
