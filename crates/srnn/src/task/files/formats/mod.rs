//! The text formats: one file each, listed in [`FORMATS`].
//!
//! To add a format, write a file here that defines its [`FormatSpec`], declare the module and add
//! the spec to [`FORMATS`]. The command line, its help and the error messages read names and
//! extensions from that table. A spec reports its own syntax errors as [`Cause::malformed`].
//!
//! [`Cause::malformed`]: super::error::Cause::malformed

mod abbadingo;
mod csv;
mod events;
mod jsonl;
mod plain;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::collect::Collector;
use super::error::CauseAtLine;
use super::lines::LineReader;
use super::options::ReadOptions;
use super::write::LineWriter;

/// Every format. The first one that has an extension is chosen by it.
const FORMATS: [&FormatSpec; 6] =
    [&csv::CSV, &csv::TSV, &jsonl::JSONL, &plain::PLAIN, &abbadingo::ABBADINGO, &events::EVENTS];

/// What the rest of the program knows about a format.
pub(super) struct FormatSpec {
    /// The value of `--format`.
    pub(super) name: &'static str,
    /// The name in messages.
    pub(super) title: &'static str,
    /// One line for the help.
    pub(super) about: &'static str,
    /// Extensions in lower case, without the dot. Written files get the first.
    pub(super) extensions: &'static [&'static str],
    /// Whether the first line of a file points to this format. Used if the file name does not tell
    /// it.
    pub(super) looks_like: fn(&str) -> bool,
    /// Passes every sequence of a file to the collector.
    pub(super) read: fn(&mut LineReader, &ReadOptions, &mut Collector) -> Result<(), CauseAtLine>,
    /// How to write a data set, or the reason why that is not possible and what to do.
    pub(super) write: Result<LineWriter, &'static str>,
}

/// A format of labelled sequences.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Format(&'static FormatSpec);

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format {0:?}: use {names}", names = Format::names())]
pub struct UnknownFormatName(pub String);

impl Format {
    /// A table with commas, semicolons or tabs, and quotes.
    pub const CSV: Format = Format(&csv::CSV);
    /// The format of the Abbadingo competition.
    pub const ABBADINGO: Format = Format(&abbadingo::ABBADINGO);

    /// Every format, in the order in which the help lists them.
    pub fn all() -> impl Iterator<Item = Format> {
        FORMATS.into_iter().map(Format)
    }

    /// The format that the extension of a file name stands for.
    pub fn of_file_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let (_, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
        Format::all().find(|format| format.0.extensions.contains(&extension))
    }

    /// The value of `--format`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// One line for the help.
    pub fn about(self) -> &'static str {
        self.0.about
    }

    /// The extension of written files, without the dot.
    pub fn extension(self) -> &'static str {
        self.0.extensions.first().unwrap_or(&self.0.name)
    }

    /// All values of `--format`, as `csv|tsv|…`.
    pub fn names() -> String {
        Format::all().map(Format::name).collect::<Vec<_>>().join("|")
    }

    /// The extensions of written files, as `.csv, .tsv or .dat`.
    pub fn extensions() -> String {
        let with_extension = FORMATS.iter().filter_map(|spec| spec.extensions.first());
        let all: Vec<String> = with_extension.map(|extension| format!(".{extension}")).collect();
        let (last, others) = all.split_last().expect("a format has an extension");
        format!("{} or {last}", others.join(", "))
    }

    pub(super) fn title(self) -> &'static str {
        self.0.title
    }

    pub(super) fn looks_like(self, first_line: &str) -> bool {
        (self.0.looks_like)(first_line)
    }

    pub(super) fn read(
        self,
        lines: &mut LineReader,
        options: &ReadOptions,
        collector: &mut Collector,
    ) -> Result<(), CauseAtLine> {
        (self.0.read)(lines, options, collector)
    }

    pub(super) fn writer(self) -> Result<&'static LineWriter, &'static str> {
        self.0.write.as_ref().map_err(|reason| *reason)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormatName;

    fn from_str(name: &str) -> Result<Format, UnknownFormatName> {
        Format::all()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormatName(name.into()))
    }
}

impl TryFrom<String> for Format {
    type Error = UnknownFormatName;

    fn try_from(name: String) -> Result<Format, UnknownFormatName> {
        name.parse()
    }
}

impl From<Format> for String {
    fn from(format: Format) -> String {
        format.name().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for (at, format) in Format::all().enumerate() {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(Format::all().skip(at + 1).all(|other| other != format));
        }
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("\"xml\"") && error.contains("csv|tsv|jsonl"), "{error}");
        let extensions = Format::extensions();
        assert!(extensions.starts_with(".csv, .tsv, ") && extensions.contains(" or ."));
    }

    #[test]
    fn a_first_line_suggests_at_most_one_format() {
        for (line, expected) in [
            ("label,sequence", Some("csv")),
            ("Label;Text", Some("csv")),
            ("label\tseq", Some("tsv")),
            ("{\"label\": 1, \"sequence\": \"ab\"}", Some("jsonl")),
            ("100 2", Some("abbadingo")),
            ("Case ID;Activity;time", Some("events")),
            ("x ab", None),
            ("", None),
        ] {
            let found: Vec<&str> =
                Format::all().filter(|f| f.looks_like(line)).map(Format::name).collect();
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{line}");
        }
    }
}
