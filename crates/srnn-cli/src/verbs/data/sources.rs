//! The table of public data sets: names, licences, origins, sizes and digests.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folder of data sets, and the table that describes them.
#[derive(Args)]
pub struct SourceFlags {
    /// The folder of data sets.
    #[arg(
        long,
        value_name = "DIR",
        env = "SRNN_DATA",
        default_value = "data",
        hide_env_values = true
    )]
    pub data: PathBuf,
    /// A table of data sets that replaces the built-in one. Tests use it.
    #[arg(long, value_name = "FILE", hide = true)]
    sources: Option<PathBuf>,
}

/// All known data sets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTable {
    #[serde(rename = "set")]
    pub sets: Vec<PublicSet>,
}

/// A public data set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicSet {
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    pub licence: String,
    /// The folder of its files in the data folder; empty for the data folder itself.
    pub folder: String,
    pub origin: Origin,
    /// A reservation about size or digest; empty if there is none.
    #[serde(default)]
    pub note: String,
    #[serde(rename = "file")]
    pub files: Vec<PublicFile>,
}

/// Where the files of a set come from.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Origin {
    /// The address of the folder that holds the files.
    Download(String),
    /// One file with a random permutation, which the program computes.
    Permutation { seed: u32, length: u32 },
}

/// A file of a set, as it was published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicFile {
    pub name: String,
    pub bytes: u64,
    /// In hex, lower case.
    pub sha256: String,
}

const BUILTIN: &str = include_str!("../../../data/sources.toml");

impl SourceFlags {
    /// The sets with these names, in the order of the table; all sets for no names.
    pub fn sets(&self, names: &[String]) -> Result<Vec<PublicSet>, Failure> {
        let table = match &self.sources {
            Some(path) => parse(&files::read_text(path)?, &path.display().to_string())?,
            None => parse(BUILTIN, "the built-in table")?,
        };
        let known = || table.sets.iter().map(|set| &*set.name).collect::<Vec<_>>().join(", ");
        if let Some(name) = names.iter().find(|name| table.sets.iter().all(|s| s.name != **name)) {
            let message = format!("{name:?}: no such data set");
            return Err(Failure::new(message, format!("the names are {}", known())));
        }
        let wanted = |set: &PublicSet| names.is_empty() || names.contains(&set.name);
        Ok(table.sets.into_iter().filter(wanted).collect())
    }
}

impl PublicSet {
    /// The path of one of its files in the data folder.
    pub fn path(&self, data: &Path, file: &PublicFile) -> PathBuf {
        data.join(&self.folder).join(&file.name)
    }

    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

fn parse(text: &str, name: &str) -> Result<SourceTable, Failure> {
    let remedy = "compare the file with crates/srnn-cli/data/sources.toml";
    let failure = |why: String| Failure::new(format!("{name}: {why}"), remedy);
    let table: SourceTable = toml::from_str(text).map_err(|error| failure(error.to_string()))?;
    match table.sets.iter().find_map(problem) {
        Some(problem) => Err(failure(problem)),
        None => Ok(table),
    }
}

/// What is wrong with a set. Files must stay in the data folder.
fn problem(set: &PublicSet) -> Option<String> {
    let is_digest = |text: &str| {
        text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    if !set.folder.is_empty() && !is_plain_name(&set.folder) {
        return Some(format!("{}: the folder {:?} is no plain name", set.name, set.folder));
    }
    if set.files.is_empty() {
        return Some(format!("{}: there is no file", set.name));
    }
    set.files.iter().find_map(|file| match (is_plain_name(&file.name), is_digest(&file.sha256)) {
        (false, _) => Some(format!("{}: {:?} is no plain file name", set.name, file.name)),
        (_, false) => Some(format!("{}: the sha256 is not 64 digits", file.name)),
        _ => None,
    })
}

fn is_plain_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_valid_and_names_are_unique() {
        let table = parse(BUILTIN, "built-in").unwrap();
        let mut names: Vec<&str> = table.sets.iter().map(|set| &*set.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["fashion-mnist", "imdb", "mnist", "pmnist-permutation"]);
    }

    #[test]
    fn names_that_leave_the_data_folder_are_refused() {
        for (from, to) in [
            ("folder = \"mnist\"", "folder = \"..\""),
            ("folder = \"mnist\"", "folder = \"/etc\""),
            ("\"t10k-labels-idx1-ubyte.gz\"", "\"../t10k\""),
            ("\"t10k-labels-idx1-ubyte.gz\"", "\"a\\\\b\""),
            ("f7ae60f92e00", "F7AE60F92E00"),
            ("f7ae60f92e00", ""),
        ] {
            let text = BUILTIN.replace(from, to);
            assert_ne!(text, BUILTIN);
            let failure = parse(&text, "table.toml").unwrap_err();
            assert!(failure.message.starts_with("table.toml: "), "{}", failure.message);
        }
    }
}
