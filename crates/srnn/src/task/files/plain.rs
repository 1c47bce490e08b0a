//! Plain text: a label, one blank, the sequence. A label alone labels the empty sequence.

use super::collect::Collector;
use super::error::Fault;
use super::options::is_blank;
use super::source::Lines;

/// Reads one sequence a line.
pub(super) fn read(lines: &mut Lines, collector: &mut Collector) -> Result<(), Fault> {
    let mut text = String::new();
    while lines.next(&mut text)? {
        let line = text.trim_ascii_start();
        let (label, sequence) = line.split_once(is_blank).unwrap_or((line, ""));
        collector.text(lines.number(), sequence, label)?;
    }
    Ok(())
}
