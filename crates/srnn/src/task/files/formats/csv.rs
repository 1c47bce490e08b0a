//! CSV and TSV: a table with a sequence and a label column.

use super::FormatSpec;
use crate::task::files::collect::Collector;
use crate::task::files::columns::{self, LABEL, SEQUENCE};
use crate::task::files::error::CauseAtLine;
use crate::task::files::lines::LineReader;
use crate::task::files::options::ReadOptions;
use crate::task::files::table::{TableReader, TableSyntax, first_present};
use crate::task::files::write::{LineWriter, TokenLayout, trimmed_label_obstacle};

pub(super) const CSV: FormatSpec = FormatSpec {
    name: "csv",
    title: "CSV",
    about: "A table with commas, semicolons or tabs, and quotes",
    extensions: &["csv"],
    looks_like: |line| [',', ';'].iter().any(|&delimiter| names_columns(line, delimiter)),
    read: |lines, options, collector| {
        let syntax = TableSyntax { quotes: true, delimiter: None, guess: first_present };
        read(lines, syntax, options, collector)
    },
    write: Ok(LineWriter {
        header: |_| "label,sequence\n".into(),
        tokens: TokenLayout::Joined,
        line: |label, _, text| format!("{},{}", quoted(label), quoted(text)),
        obstacle: |_| None,
        label_obstacle: trimmed_label_obstacle,
    }),
};

pub(super) const TSV: FormatSpec = FormatSpec {
    name: "tsv",
    title: "TSV",
    about: "A table with tabs, without quotes",
    extensions: &["tsv", "tab"],
    looks_like: |line| names_columns(line, '\t'),
    read: |lines, options, collector| {
        let syntax = TableSyntax { quotes: false, delimiter: Some('\t'), guess: |_| '\t' };
        read(lines, syntax, options, collector)
    },
    write: Ok(LineWriter {
        header: |_| "label\tsequence\n".into(),
        tokens: TokenLayout::Joined,
        line: |label, _, text| format!("{label}\t{text}"),
        obstacle: unquoted_obstacle,
        label_obstacle: |label| trimmed_label_obstacle(label).or(unquoted_obstacle(label)),
    }),
};

/// Whether a line has the usual name of a sequence and of a label column.
fn names_columns(line: &str, delimiter: char) -> bool {
    columns::have_usual_names(line.split(delimiter), &[&SEQUENCE, &LABEL])
}

fn read(
    lines: &mut LineReader,
    syntax: TableSyntax,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), CauseAtLine> {
    let mut rows = TableReader::new(lines, syntax, options);
    let wanted = [(&options.sequence_column, &SEQUENCE), (&options.label_column, &LABEL)];
    let wanted = columns::without_absent_label(&wanted);
    let Some(columns) = rows.find_columns(wanted, options.header)? else { return Ok(()) };
    while let Some((line, fields)) = rows.next()? {
        let label = columns.get(1).map_or("", |&label| fields[label].trim_ascii());
        collector.add_text(line, &fields[columns[0]], label)?;
    }
    Ok(())
}

fn quoted(field: &str) -> String {
    let special = field.contains([',', ';', '\t', '"', '\n', '\r']);
    if special { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

/// What ends a field or a line of a table without quotes.
fn unquoted_obstacle(name: &str) -> Option<&'static str> {
    match name {
        name if name.contains('\t') => Some("it holds a tab"),
        name if name.contains(['\n', '\r']) => Some("it holds a line break"),
        _ => None,
    }
}
