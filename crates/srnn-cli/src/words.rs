//! Numbers as people read them: one style for every verb.

/// A number as people read it: 131,071.
pub fn grouped(number: u64) -> String {
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
pub fn percent(part: f64) -> String {
    let hundredth = (part * 1e4).round() / 1e2;
    match part < 1.0 && hundredth >= 100.0 {
        true => "99.99 %".into(),
        false => format!("{hundredth:.2} %"),
    }
}

/// So many things: 1 state, 2 states.
pub fn some(count: usize, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(count as u64))
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
    fn one_thing_is_not_several() {
        assert_eq!([some(1, "state"), some(1000, "word")], ["1 state", "1,000 words"]);
    }

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(1.0), "100.00 %");
        assert_eq!(percent(0.999_999_9), "99.99 %");
        assert_eq!(percent(0.875), "87.50 %");
    }
}
