//! Rows of CSV, TSV and event logs.
//!
//! Rows are split here and not by the `csv` crate: that crate neither reports a quote that is
//! never closed nor limits the length of the row that results.

use std::borrow::Cow;

use super::columns::{self, ColumnRole};
use super::error::{Cause, CauseAtLine};
use super::lines::{LineReader, strip_line_ending};
use super::options::{ColumnChoice, Delimiter, ReadOptions, TableHeader};

/// How the fields of a table are separated.
#[derive(Clone, Copy)]
pub(super) struct TableSyntax {
    /// Whether fields may be quoted.
    pub(super) quotes: bool,
    /// The delimiter; `None` if the options or the first row decide.
    pub(super) delimiter: Option<char>,
    /// The delimiter of a first row from which quoted fields were removed.
    pub(super) guess: fn(&str) -> char,
}

/// Reads a table row by row.
pub(super) struct TableReader<'l, 'a> {
    lines: &'l mut LineReader<'a>,
    syntax: TableSyntax,
    /// Known once the first row is read.
    delimiter: Option<char>,
    /// The current row.
    text: String,
    /// The line in which the current row begins.
    line: u64,
    /// Whether [`TableReader::next`] has yet to return the current row.
    pending: bool,
    /// The number of fields of the first row.
    width: usize,
}

impl<'l, 'a> TableReader<'l, 'a> {
    pub(super) fn new(
        lines: &'l mut LineReader<'a>,
        syntax: TableSyntax,
        options: &ReadOptions,
    ) -> Self {
        let delimiter = syntax.delimiter.or(match options.delimiter {
            Delimiter::Is(delimiter) => Some(delimiter),
            Delimiter::Guess => None,
        });
        let (text, line, pending, width) = (String::new(), 0, false, 0);
        TableReader { lines, syntax, delimiter, text, line, pending, width }
    }

    /// Reads the first row and returns the indices of the wanted columns; `None` if the table is
    /// empty. Must be called before [`TableReader::next`].
    pub(super) fn find_columns(
        &mut self,
        wanted: &[(&ColumnChoice, &ColumnRole)],
        header: TableHeader,
    ) -> Result<Option<Vec<usize>>, CauseAtLine> {
        if !self.advance()? {
            return Ok(None);
        }
        let names: Vec<String> =
            self.fields()?.iter().map(|name| name.trim_ascii().to_string()).collect();
        let by_position =
            wanted.iter().all(|(choice, _)| matches!(choice, ColumnChoice::Position(_)));
        self.pending = match header {
            TableHeader::Guess => by_position,
            TableHeader::Present => false,
            TableHeader::Absent => true,
        };
        self.width = names.len();
        let mut found = Vec::new();
        for (choice, role) in wanted {
            found.push((self.find_column(&names, choice, role)?, role.name));
        }
        columns::check_different(&names, &found, self.line)?;
        Ok(Some(found.into_iter().map(|(index, _)| index).collect()))
    }

    /// The line and the fields of the next row. Fails if it has more or fewer fields than the first.
    #[allow(clippy::type_complexity)] // A row is its line and its fields.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Vec<Cow<'_, str>>)>, CauseAtLine> {
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

    fn find_column(
        &self,
        names: &[String],
        choice: &ColumnChoice,
        role: &ColumnRole,
    ) -> Result<usize, CauseAtLine> {
        // Without a header the first row is data, and its fields are not column names.
        let unnamed = self.pending && !matches!(choice, ColumnChoice::Position(_));
        let names = if unnamed { &[] } else { names };
        columns::find(names, choice, role).map_err(|cause| cause.at(self.line))
    }

    /// Moves to the next row that is not blank.
    fn advance(&mut self) -> Result<bool, CauseAtLine> {
        loop {
            self.text.clear();
            self.line = self.lines.number() + 1;
            if !self.lines.append(&mut self.text)? {
                return Ok(false);
            }
            self.close_quotes()?;
            strip_line_ending(&mut self.text);
            if !self.text.trim_ascii().is_empty() || self.has_delimiter() {
                let guess = || (self.syntax.guess)(&without_quoted(&self.text));
                self.delimiter.get_or_insert_with(guess);
                return Ok(true);
            }
        }
    }

    /// A blank line of tabs is a row of empty fields if tabs are the delimiter.
    fn has_delimiter(&self) -> bool {
        self.delimiter.is_some_and(|delimiter| self.text.contains(delimiter))
    }

    /// Appends lines until the number of quotes is even.
    fn close_quotes(&mut self) -> Result<(), CauseAtLine> {
        if !self.syntax.quotes {
            return Ok(());
        }
        let mut open = count_quotes(&self.text) % 2 == 1;
        while open {
            let known = self.text.len();
            match self.lines.append(&mut self.text) {
                Ok(true) => open ^= count_quotes(&self.text[known..]) % 2 == 1,
                Ok(false) => return Err(Cause::OpenQuote.at(self.line)),
                // An open quote made the row exceed its limit.
                Err(cause) if cause.is_about_limit("max-line") => {
                    return Err(Cause::OpenQuote.at(self.line));
                }
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }

    fn fields(&self) -> Result<Vec<Cow<'_, str>>, CauseAtLine> {
        let delimiter = self.delimiter.unwrap_or(',');
        if !self.syntax.quotes {
            return Ok(self.text.split(delimiter).map(Cow::Borrowed).collect());
        }
        split_quoted(&self.text, delimiter).map_err(|cause| cause.at(self.line))
    }
}

fn count_quotes(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'"').count()
}

fn without_quoted(row: &str) -> String {
    row.split('"').step_by(2).collect()
}

const DELIMITERS: [char; 3] = [',', ';', '\t'];

/// The first of comma, semicolon and tab that occurs; a comma if none does.
pub(super) fn first_present(row: &str) -> char {
    DELIMITERS.into_iter().find(|&delimiter| row.contains(delimiter)).unwrap_or(',')
}

/// The most frequent of comma, semicolon and tab; the earliest of equals.
pub(super) fn most_frequent(row: &str) -> char {
    // `max_by_key` returns the last of equals.
    let count = |delimiter: &char| row.matches(*delimiter).count();
    DELIMITERS.into_iter().rev().max_by_key(count).unwrap_or(',')
}

/// The fields of a row with an even number of quotes.
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

/// Parses a field after its opening quote. A doubled quote stands for one quote.
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
