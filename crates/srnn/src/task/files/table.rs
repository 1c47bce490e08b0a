//! CSV and TSV.
//!
//! Rows are divided here and not by a CSV crate, since the usual one neither reports a quote
//! that is never closed nor bounds the row that this makes.

use std::borrow::Cow;

use super::collect::Collector;
use super::columns::{self, LABEL, Role, SEQUENCE};
use super::error::{Cause, Fault};
use super::options::{Column, Delimiter, Format, Header, ReadOptions};
use super::source::{Lines, strip_ending};

/// Reads one sequence a row.
pub(super) fn read(
    lines: &mut Lines,
    format: Format,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), Fault> {
    let mut rows = Rows::new(lines, format, options);
    let wanted = [(&options.sequence_column, &SEQUENCE), (&options.label_column, &LABEL)];
    let wanted = columns::present(&wanted);
    let Some(columns) = rows.columns(wanted, options.header)? else { return Ok(()) };
    while let Some((line, fields)) = rows.next()? {
        let label = columns.get(1).map_or("", |&label| fields[label].trim_ascii());
        collector.text(line, &fields[columns[0]], label)?;
    }
    Ok(())
}

/// The rows of a table.
pub(super) struct Rows<'l, 'a> {
    lines: &'l mut Lines<'a>,
    format: Format,
    delimiter: Option<char>,
    /// The current row, and the line it begins in.
    text: String,
    line: u64,
    /// Whether the current row has yet to be given out.
    pending: bool,
    width: usize,
}

impl<'l, 'a> Rows<'l, 'a> {
    pub(super) fn new(lines: &'l mut Lines<'a>, format: Format, options: &ReadOptions) -> Self {
        let delimiter = match (format, options.delimiter) {
            (Format::Tsv, _) => Some('\t'),
            (_, Delimiter::Is(delimiter)) => Some(delimiter),
            (_, Delimiter::Guess) => None,
        };
        let (text, line, pending, width) = (String::new(), 0, false, 0);
        Rows { lines, format, delimiter, text, line, pending, width }
    }

    /// Where the wanted columns are; nothing if the table is empty. Call it first.
    pub(super) fn columns(
        &mut self,
        wanted: &[(&Column, &Role)],
        header: Header,
    ) -> Result<Option<Vec<usize>>, Fault> {
        if !self.advance()? {
            return Ok(None);
        }
        let names: Vec<String> =
            self.fields()?.iter().map(|name| name.trim_ascii().to_string()).collect();
        let by_place = wanted.iter().all(|(column, _)| matches!(column, Column::Position(_)));
        self.pending = match header {
            Header::Guess => by_place,
            Header::Present => false,
            Header::Absent => true,
        };
        self.width = names.len();
        let mut found = Vec::new();
        for (column, role) in wanted {
            found.push((self.find(&names, column, role)?, role.name));
        }
        columns::check_different(&names, &found, self.line)?;
        Ok(Some(found.into_iter().map(|(index, _)| index).collect()))
    }

    /// The next row with its line; every row has as many fields as the first.
    #[allow(clippy::type_complexity)] // A row is its line and its fields.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Vec<Cow<'_, str>>)>, Fault> {
        if !std::mem::take(&mut self.pending) && !self.advance()? {
            return Ok(None);
        }
        let fields = self.fields()?;
        if fields.len() != self.width {
            let cause = Cause::FieldCount { expected: self.width, found: fields.len() };
            return Err(cause.at(self.line));
        }
        Ok(Some((self.line, fields)))
    }

    fn find(&self, names: &[String], column: &Column, role: &Role) -> Result<usize, Fault> {
        // Without a header the first row is data: it must not be taken for names.
        let blind = self.pending && !matches!(column, Column::Position(_));
        let names = if blind { &[] } else { names };
        columns::find(names, column, role).map_err(|cause| cause.at(self.line))
    }

    /// Moves to the next row that is not blank.
    fn advance(&mut self) -> Result<bool, Fault> {
        loop {
            self.text.clear();
            self.line = self.lines.number() + 1;
            if !self.lines.append(&mut self.text)? {
                return Ok(false);
            }
            self.close_quotes()?;
            strip_ending(&mut self.text);
            if !self.text.trim_ascii().is_empty() || self.is_blank_row() {
                self.delimiter.get_or_insert_with(|| guess_delimiter(&self.text, self.format));
                return Ok(true);
            }
        }
    }

    /// Tabs alone are a row of empty fields where tabs are the delimiter.
    fn is_blank_row(&self) -> bool {
        self.delimiter.is_some_and(|delimiter| self.text.contains(delimiter))
    }

    /// Adds lines until every quote has its partner.
    fn close_quotes(&mut self) -> Result<(), Fault> {
        if self.format == Format::Tsv {
            return Ok(());
        }
        let mut open = count_quotes(&self.text) % 2 == 1;
        while open {
            let known = self.text.len();
            match self.lines.append(&mut self.text) {
                Ok(true) => open ^= count_quotes(&self.text[known..]) % 2 == 1,
                Ok(false) => return Err(Cause::OpenQuote.at(self.line)),
                // The row grows past its limit because a quote is open: that is the mistake.
                Err(fault) if fault.is_about("max-line") => {
                    return Err(Cause::OpenQuote.at(self.line));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    fn fields(&self) -> Result<Vec<Cow<'_, str>>, Fault> {
        let delimiter = self.delimiter.unwrap_or(',');
        if self.format == Format::Tsv {
            return Ok(self.text.split(delimiter).map(Cow::Borrowed).collect());
        }
        split_quoted(&self.text, delimiter).map_err(|cause| cause.at(self.line))
    }
}

fn count_quotes(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'"').count()
}

fn guess_delimiter(first: &str, format: Format) -> char {
    let candidates = [',', ';', '\t'];
    let unquoted: String = first.split('"').step_by(2).collect();
    let count = |c: char| unquoted.matches(c).count();
    if format == Format::Csv {
        return candidates.into_iter().find(|&c| count(c) > 0).unwrap_or(',');
    }
    // `max_by_key` takes the last of equals, and a comma is the likeliest.
    candidates.into_iter().rev().max_by_key(|&c| count(c)).unwrap_or(',')
}

/// The fields of a row in which every quote has its partner.
fn split_quoted(row: &str, delimiter: char) -> Result<Vec<Cow<'_, str>>, Cause> {
    let mut fields = Vec::new();
    let mut rest = row;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => bare_field(rest, delimiter)?,
        };
        fields.push(field);
        if after.is_empty() {
            return Ok(fields);
        }
        let next = after.strip_prefix(delimiter);
        rest = next.ok_or_else(|| Cause::StrayQuote { field: after.into() })?;
    }
}

fn bare_field(rest: &str, delimiter: char) -> Result<(Cow<'_, str>, &str), Cause> {
    let (field, after) = rest.split_at(rest.find(delimiter).unwrap_or(rest.len()));
    if field.contains('"') {
        return Err(Cause::StrayQuote { field: field.into() });
    }
    Ok((Cow::Borrowed(field), after))
}

/// A field whose opening quote is already read; a doubled quote is one that is data.
fn quoted_field(rest: &str) -> Result<(Cow<'_, str>, &str), Cause> {
    let mut end = 0;
    loop {
        let quote = rest[end..].find('"').ok_or(Cause::OpenQuote)? + end;
        if !rest[quote + 1..].starts_with('"') {
            let field = &rest[..quote];
            let field = if field.contains('"') {
                Cow::Owned(field.replace("\"\"", "\""))
            } else {
                Cow::Borrowed(field)
            };
            return Ok((field, &rest[quote + 1..]));
        }
        end = quote + 2;
    }
}
