//! The limit on memory, checked before memory is taken.

use crate::failure::Failure;
use crate::learning::{default_memory_limit, memory_text, parse_bytes};
use clap::Args;

/// The option that limits memory.
#[derive(Args, Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// Refuse what would take more memory, such as 4GiB [default: 3/4 of the free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
}

impl MemoryLimit {
    /// Refuses work that takes `bytes`, an estimate that may have saturated.
    pub fn check(self, what: &str, bytes: u64, remedy: &str) -> Result<(), Failure> {
        let limit = self.memory_limit.unwrap_or_else(default_memory_limit);
        if bytes <= limit && bytes < u64::MAX {
            return Ok(());
        }
        let needed = match bytes {
            u64::MAX => "more memory than any machine has".into(),
            bytes => format!("about {}", memory_text(bytes)),
        };
        let message = format!("{what} takes {needed}, and the limit is {}", memory_text(limit));
        Err(Failure::new(message, format!("{remedy}, or raise --memory-limit")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_more_than_the_limit_is_refused() {
        let limit = MemoryLimit { memory_limit: Some(1 << 20) };
        assert!(limit.check("it", 1 << 20, "less").is_ok());
        let failure = limit.check("it", (1 << 20) + 1, "less").unwrap_err();
        assert!(failure.message.contains("1.0 MiB"), "{failure:?}");
        assert_eq!(failure.remedy, "less, or raise --memory-limit");
        let limit = MemoryLimit { memory_limit: Some(u64::MAX) };
        assert!(limit.check("it", u64::MAX, "less").is_err(), "the estimate has saturated");
        let limit = MemoryLimit { memory_limit: None };
        assert!(limit.check("it", 1, "less").is_ok());
    }
}
