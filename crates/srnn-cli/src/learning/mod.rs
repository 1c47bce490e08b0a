//! What `learn` and `resume` share: settings, data, the run folder, the job, and how it is shown.

mod automata;
mod budget;
mod folder;
mod material;
mod metrics;
mod perform;
mod progress;
mod report;
mod result;
mod settings;
mod watcher;

pub use budget::{check_memory, parse_bytes};
pub use folder::{Place, RunFolder};
pub use material::Material;
pub use perform::{Order, finished, perform};
pub use settings::{Data, Network, Resolved, Settings, says_nothing};

/// A number as people read it: 131,071.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part as people read it. Only all is 100 %: what is nearly all must not look like it.
fn percent(part: f64) -> String {
    let hundredth = (part * 1e4).round() / 1e2;
    match part < 1.0 && hundredth >= 100.0 {
        true => "99.99 %".into(),
        false => format!("{hundredth:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts = [0, 999, 1_000, 131_071, 1_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "131,071", "1,000,000"]);
    }

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(1.0), "100.00 %");
        assert_eq!(percent(0.999_999_9), "99.99 %");
        assert_eq!(percent(0.875), "87.50 %");
    }
}
