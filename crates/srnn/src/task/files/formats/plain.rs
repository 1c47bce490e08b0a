//! Plain text: a label, one blank, the sequence. A label alone labels the empty sequence.

use super::FormatSpec;
use crate::task::files::collect::Collector;
use crate::task::files::error::CauseAtLine;
use crate::task::files::lines::LineReader;
use crate::task::files::options::{ReadOptions, is_blank};
use crate::task::files::write::{LineWriter, TokenLayout, no_header};

pub(super) const PLAIN: FormatSpec = FormatSpec {
    name: "plain",
    title: "plain text",
    about: "A label, a blank, the sequence",
    extensions: &["txt"],
    // Any line of text fits.
    looks_like: |_| false,
    read,
    write: Ok(LineWriter {
        header: no_header,
        tokens: TokenLayout::Joined,
        line: |label, _, text| format!("{label} {text}"),
        obstacle,
        label_obstacle: |label| match label.contains(is_blank) {
            true => Some("it holds a blank"),
            false => None,
        },
    }),
};

fn read(
    lines: &mut LineReader,
    _: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), CauseAtLine> {
    let mut text = String::new();
    while lines.next(&mut text)? {
        let line = text.trim_ascii_start();
        let (label, sequence) = line.split_once(is_blank).unwrap_or((line, ""));
        collector.add_text(lines.number(), sequence, label)?;
    }
    Ok(())
}

fn obstacle(name: &str) -> Option<&'static str> {
    name.contains(['\n', '\r']).then_some("it holds a line break")
}
