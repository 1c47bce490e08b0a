//! The format of the Abbadingo competition: `count symbols`, then `label length symbol …`.

use super::collect::Collector;
use super::error::{Cause, Fault};
use super::source::Lines;

/// Reads one sequence a line. Label `-1` means unknown: such sequences are counted, and kept
/// only on demand.
pub(super) fn read(lines: &mut Lines, collector: &mut Collector) -> Result<(), Fault> {
    let mut text = String::new();
    if !lines.next(&mut text)? {
        return Ok(());
    }
    let (count, symbols) = header(&text)
        .ok_or_else(|| Cause::AbbadingoHeader { text: text.clone() }.at(lines.number()))?;
    let mut found = 0;
    while lines.next(&mut text)? {
        found += 1;
        record(&text, lines.number(), collector)?;
        if collector.symbols() as u64 > symbols {
            return Err(Cause::AbbadingoSymbols { declared: symbols }.at(lines.number()));
        }
    }
    if found != count {
        return Err(Cause::AbbadingoCount { declared: count, found }.at(lines.number()));
    }
    Ok(())
}

fn header(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
    let header = (words.next()??, words.next()??);
    words.next().is_none().then_some(header)
}

fn record(text: &str, line: u64, collector: &mut Collector) -> Result<(), Fault> {
    let bad = || Cause::AbbadingoRecord { text: text.into() }.at(line);
    let mut words = text.split_ascii_whitespace();
    let label = words.next().ok_or_else(bad)?;
    let declared: u64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(bad)?;
    let found = words.clone().count() as u64;
    if found != declared {
        return Err(Cause::AbbadingoLength { declared, found }.at(line));
    }
    match label {
        "-1" if collector.keeps_unlabelled() => collector.list(line, words, ""),
        "-1" => {
            collector.skip();
            Ok(())
        }
        label => collector.list(line, words, label),
    }
}
