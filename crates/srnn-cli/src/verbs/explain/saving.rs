//! Files of explanations.

use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use serde_json::Value;
use srnn::render::ChartTooLarge;
use std::path::{Path, PathBuf};

/// Where files go.
pub struct Saving<'a> {
    folder: &'a Path,
    force: bool,
    output: &'a Output,
}

impl<'a> Saving<'a> {
    /// Into a folder; what is there is replaced only by force.
    pub fn new(folder: &'a Path, force: bool, output: &'a Output) -> Saving<'a> {
        Saving { folder, force, output }
    }

    /// Writes the numbers and every picture that can be drawn; nothing where one of them is there
    /// already. Returns the files.
    pub fn save(
        &self,
        numbers: &str,
        value: &Value,
        pictures: Vec<(impl AsRef<str>, Result<String, ChartTooLarge>)>,
    ) -> Result<Vec<String>, Failure> {
        let mut texts = vec![(self.folder.join(numbers), format!("{value:#}\n"))];
        for (name, picture) in pictures {
            let name = name.as_ref();
            match picture {
                Ok(picture) => texts.push((self.folder.join(name), picture)),
                Err(why) => self.output.note(format!("warning: no {name}: {why}")),
            }
        }
        if !self.force {
            texts.iter().try_for_each(|(path, _)| files::check_free(path))?;
        }
        texts.iter().try_for_each(|(path, text)| files::write(path, text))?;
        let name = |(path, _): &(PathBuf, String)| path.display().to_string();
        Ok(texts.iter().map(name).collect())
    }
}
