//! Times of events: ISO 8601, near enough, or plain numbers. Only their order matters.

/// A point in time that can be compared with others of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) kind: Kind,
    /// Billionths of a unit (of a second, for dates) since an origin that the kind shares.
    pub(super) nanos: i128,
}

/// Times of different kinds have no order among each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number of whatever unit.
    Number,
    /// A date on some clock.
    Local,
    /// A date with its distance from UTC.
    Zoned,
}

const NANOS: i128 = 1_000_000_000;

/// Reads `2024-05-31`, `2024/05/31 23:59:59.123`, `2024-05-31T23:59+02:00`, `…Z`, or a decimal
/// number.
pub(super) fn parse(text: &str) -> Option<Time> {
    let text = text.trim_ascii();
    if let Some(nanos) = decimal(text) {
        return Some(Time { kind: Kind::Number, nanos });
    }
    let (date, clock) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim_ascii()),
        None => (text, "00:00"),
    };
    let (clock, zone) = split_zone(clock)?;
    let nanos = days(date)? * 86_400 * NANOS + of_day(clock)?;
    Some(match zone {
        None => Time { kind: Kind::Local, nanos },
        Some(minutes) => Time { kind: Kind::Zoned, nanos: nanos - minutes * 60 * NANOS },
    })
}

/// A decimal number in billionths. Not as a float: nanoseconds since 1970 need 61 bits.
fn decimal(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let nanos = i128::from(number(whole, 1..=19)?) * NANOS + billionths(fraction)?;
    Some(if negative { -nanos } else { nanos })
}

/// The digits after the point; beyond the ninth they no longer order anything.
fn billionths(digits: &str) -> Option<i128> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

/// Digits alone, so many of them.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let valid = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if valid { text.parse().ok() } else { None }
}

/// Days since 1970-01-01.
fn days(date: &str) -> Option<i128> {
    let separator = if date.contains('/') { '/' } else { '-' };
    let mut parts = date.split(separator);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let (year, month, day) = (number(year, 4..=4)?, number(month, 1..=2)?, number(day, 1..=2)?);
    if !(1..=12).contains(&month) || !(1..=month_length(year, month)).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let year = if month < 3 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(i128::from(365 * year + leaps + day_of_year - 719_468))
}

fn month_length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Billionths of a second since midnight, of `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fraction`.
fn of_day(clock: &str) -> Option<i128> {
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let mut part = |below: i64| number(parts.next()?, 1..=2).filter(|&n| n < below);
    let (hours, minutes) = (part(24)?, part(60)?);
    // 60 is a leap second.
    let seconds = if clock.matches(':').count() == 1 { 0 } else { part(61)? };
    if parts.next().is_some() {
        return None;
    }
    Some(i128::from(hours * 3600 + minutes * 60 + seconds) * NANOS + billionths(fraction)?)
}

/// The clock without its zone, and the zone in minutes east of UTC.
fn split_zone(clock: &str) -> Option<(&str, Option<i128>)> {
    for utc in ["Z", "z", "UTC", "GMT"] {
        if let Some(clock) = clock.strip_suffix(utc) {
            return Some((clock.trim_ascii_end(), Some(0)));
        }
    }
    let Some(at) = clock.rfind(['+', '-']) else { return Some((clock, None)) };
    let digits = clock[at + 1..].replace(':', "");
    let (hours, minutes) = match digits.len() {
        2 => (number(&digits, 2..=2)?, 0),
        4 => (number(digits.get(..2)?, 2..=2)?, number(digits.get(2..)?, 2..=2)?),
        _ => return None,
    };
    let east = i128::from(hours * 60 + minutes);
    let signed = if clock.as_bytes()[at] == b'-' { -east } else { east };
    Some((clock[..at].trim_ascii_end(), Some(signed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_distances_of_the_calendar() {
        let seconds = |text: &str| parse(text).unwrap().nanos / NANOS;
        // As `date -u -d … +%s` prints them.
        assert_eq!(seconds("1970-01-01"), 0);
        assert_eq!(seconds("2000-02-29 12:00"), 951_825_600);
        assert_eq!(seconds("2014/10/22 11:15:41.000"), 1_413_976_541);
        assert_eq!(seconds("1969-12-31T23:59:59Z"), -1);
        assert_eq!(seconds("2024-03-01T00:30:00+02:00"), 1_709_245_800);
        assert_eq!(seconds("2024-03-01 00:30:00 -0130"), 1_709_258_400);
    }

    #[test]
    fn times_of_a_kind_are_ordered_by_value_not_by_text() {
        let rising = [
            &["-10", "-9.5", "0", "2", "2.05", "2.5", "10", "1700000000000000001"][..],
            &["2023-9-30", "2023-10-01 0:00", "2023/10/01 00:00:00.5", "2023-10-01T00:00:00.51"],
            &["2023-10-01T02:00+03:00", "2023-10-01T00:00Z", "2023-09-30T23:00-05"],
        ];
        for texts in rising {
            let times: Vec<Time> = texts.iter().map(|text| parse(text).expect(text)).collect();
            assert!(times.windows(2).all(|two| two[0].kind == two[1].kind), "{texts:?}");
            assert!(times.windows(2).all(|two| two[0].nanos < two[1].nanos), "{texts:?}");
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(parse("20231001").unwrap().kind, Kind::Number);
        assert_eq!(parse("2023-10-01").unwrap().kind, Kind::Local);
        assert_eq!(parse("2023-10-01 10:00 UTC").unwrap().kind, Kind::Zoned);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let all = "|now|NaN|inf|1e5|1.|.5|--1|1.2.3|2023-13-01|2023-02-29|2023-01-32|31.12.2023\
                   |12/31/2023|2023-01-01T24:00|2023-01-01T10:60|2023-01-01T10|2023-01-01T1:2:3:4\
                   |2023-01-01T10:00+1|2023-01-01T10:00+é1|99999999999999999999|2023-01";
        for text in all.split('|') {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
