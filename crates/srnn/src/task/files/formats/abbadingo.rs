//! The format of the Abbadingo competition: `count symbols`, then `label length symbol …`.

use super::FormatSpec;
use crate::task::files::collect::Collector;
use crate::task::files::error::{Cause, CauseAtLine, quote};
use crate::task::files::lines::LineReader;
use crate::task::files::options::{ReadOptions, is_blank};
use crate::task::files::write::{LineWriter, TokenLayout};

pub(super) const ABBADINGO: FormatSpec = FormatSpec {
    name: "abbadingo",
    title: "Abbadingo",
    about: "The format of the Abbadingo competition",
    extensions: &["dat", "abbadingo"],
    looks_like: |line| header(line).is_some(),
    read,
    write: Ok(LineWriter {
        header: |dataset| format!("{} {}\n", dataset.sequences.len(), dataset.alphabet.len()),
        tokens: TokenLayout::Listed,
        line: |label, tokens, _| {
            let mut line = format!("{label} {}", tokens.len());
            for token in tokens {
                line.extend([" ", token]);
            }
            line
        },
        obstacle: |name| match name {
            "" => Some("it is empty"),
            name if name.contains(is_blank) => Some("tokens are separated by whitespace"),
            _ => None,
        },
        label_obstacle: |label| match label {
            UNKNOWN_LABEL => Some("it marks sequences without a label"),
            label if label.contains(is_blank) => Some("it holds a blank"),
            _ => None,
        },
    }),
};

/// Marks a sequence without a label.
const UNKNOWN_LABEL: &str = "-1";

/// Sequences without a label are counted, and kept only on demand.
fn read(
    lines: &mut LineReader,
    _: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), CauseAtLine> {
    let mut text = String::new();
    if !lines.next(&mut text)? {
        return Ok(());
    }
    let (count, symbols) = header(&text).ok_or_else(|| bad_header(&text).at(lines.number()))?;
    let mut found = 0;
    while lines.next(&mut text)? {
        found += 1;
        read_record(&text, lines.number(), collector)?;
        if collector.symbol_count() as u64 > symbols {
            return Err(Cause::malformed(
                format!("the header declares {symbols} different symbols, and this is one more"),
                "correct the header, or the symbol",
            )
            .at(lines.number()));
        }
    }
    if found != count {
        return Err(Cause::malformed(
            format!("the header declares {count} sequences, and the file has {found}"),
            "correct the header, or check for lost lines",
        )
        .at(lines.number()));
    }
    Ok(())
}

fn header(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
    let header = (words.next()??, words.next()??);
    words.next().is_none().then_some(header)
}

fn bad_header(text: &str) -> Cause {
    Cause::malformed(
        format!("not an Abbadingo header: {}", quote(text)),
        "begin with the number of sequences and of symbols, or set another --format",
    )
}

fn read_record(text: &str, line: u64, collector: &mut Collector) -> Result<(), CauseAtLine> {
    let bad = || {
        let what = format!("not an Abbadingo record: {}", quote(text));
        Cause::malformed(what, "write label, length and symbols between blanks").at(line)
    };
    let mut words = text.split_ascii_whitespace();
    let label = words.next().ok_or_else(bad)?;
    let declared: u64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(bad)?;
    let found = words.clone().count() as u64;
    if found != declared {
        return Err(Cause::malformed(
            format!("the record declares {declared} symbols and has {found}"),
            "correct the length, or check for lost symbols",
        )
        .at(line));
    }
    match label {
        UNKNOWN_LABEL if collector.keeps_unlabelled() => collector.add_tokens(line, words, ""),
        UNKNOWN_LABEL => {
            collector.skip_unlabelled();
            Ok(())
        }
        label => collector.add_tokens(line, words, label),
    }
}
