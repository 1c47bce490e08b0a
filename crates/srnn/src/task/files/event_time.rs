//! Times of events: dates with the year first, as in ISO 8601, or plain numbers. Only their order
//! matters.

use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

/// A time. Times of one kind can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventTime {
    pub(super) kind: TimeKind,
    /// Billionths of a unit (of a second, for dates) since an origin that the kind shares.
    pub(super) nanos: i128,
}

/// Times of different kinds cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeKind {
    /// A number of an unknown unit.
    Number,
    /// A date without an offset from UTC.
    Local,
    /// A date with an offset from UTC.
    Zoned,
}

const NANOS: i128 = 1_000_000_000;
const DATES: [&str; 2] = ["%Y-%m-%d", "%Y/%m/%d"];
const CLOCKS: [&str; 2] = ["%H:%M:%S", "%H:%M"];
/// `+0200`, and `+02` or `+02:00`.
const OFFSETS: [&str; 2] = ["%z", "%:::z"];

/// Reads `2024-05-31`, `2024/05/31 23:59:59.123`, `2024-05-31T23:59+02:00`, `…Z`, `… UTC`, or a
/// decimal number. Dates with the day or the month first are ambiguous and refused.
pub(super) fn parse(text: &str) -> Option<EventTime> {
    let text = text.trim_ascii();
    if let Some(nanos) = decimal(text) {
        return Some(EventTime { kind: TimeKind::Number, nanos });
    }
    let (date, clock) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], text[at + 1..].trim_ascii()),
        None => (text, "00:00"),
    };
    // `%Y` also takes fewer digits: it would read `31-12-20` as a day of the year 31.
    if date.bytes().take_while(u8::is_ascii_digit).count() != 4 {
        return None;
    }
    let (clock, offset) = split_offset(clock)?;
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let date = parse_any(&DATES, date)?.to_date().ok()?;
    let time = parse_any(&CLOCKS, clock)?.to_time().ok()?;
    let kind = if offset.is_some() { TimeKind::Zoned } else { TimeKind::Local };
    let second = offset.unwrap_or(Offset::UTC).to_timestamp(date.to_datetime(time)).ok()?;
    Some(EventTime { kind, nanos: second.as_nanosecond() + billionths(fraction)? })
}

fn parse_any(formats: &[&str], text: &str) -> Option<BrokenDownTime> {
    formats.iter().find_map(|format| BrokenDownTime::parse(format, text).ok())
}

/// A decimal number in billionths. Floats are not exact: nanoseconds since 1970 need 61 bits.
fn decimal(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = (1..=19).contains(&whole.len()) && whole.bytes().all(|b| b.is_ascii_digit());
    let whole: i128 = is_number.then(|| whole.parse().ok())??;
    let nanos = whole * NANOS + billionths(fraction)?;
    Some(if negative { -nanos } else { nanos })
}

/// The value of the first nine digits after the decimal point; further digits are ignored.
fn billionths(digits: &str) -> Option<i128> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

/// The clock without its offset, and the offset.
fn split_offset(clock: &str) -> Option<(&str, Option<Offset>)> {
    for utc in ["Z", "z", "UTC", "GMT"] {
        if let Some(clock) = clock.strip_suffix(utc) {
            return Some((clock.trim_ascii_end(), Some(Offset::UTC)));
        }
    }
    let Some(at) = clock.rfind(['+', '-']) else { return Some((clock, None)) };
    let offset = parse_any(&OFFSETS, &clock[at..])?.offset()?;
    Some((clock[..at].trim_ascii_end(), Some(offset)))
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
            let times: Vec<EventTime> = texts.iter().map(|text| parse(text).expect(text)).collect();
            assert!(times.windows(2).all(|two| two[0].kind == two[1].kind), "{texts:?}");
            assert!(times.windows(2).all(|two| two[0].nanos < two[1].nanos), "{texts:?}");
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        assert_eq!(parse("20231001").unwrap().kind, TimeKind::Number);
        assert_eq!(parse("2023-10-01").unwrap().kind, TimeKind::Local);
        assert_eq!(parse("2023-10-01 10:00 UTC").unwrap().kind, TimeKind::Zoned);
    }

    #[test]
    fn texts_that_are_no_time_and_ambiguous_dates_are_refused() {
        let all = "|now|NaN|inf|1e5|1.|.5|--1|1.2.3|2023-13-01|2023-02-29|2023-01-32|31.12.2023\
                   |12/31/2023|05/06/2024|05-06-24|31-12-20|31/12/20 10:00|2023-01-01T24:00|2023-01-01T10:60|2023-01-01T10|2023-01-01T1:2:3:4\
                   |2023-01-01T10:00+1|2023-01-01T10:00+é1|2023-01-01T10:00+30:00|99999999999999999999|2023-01";
        for text in all.split('|') {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
