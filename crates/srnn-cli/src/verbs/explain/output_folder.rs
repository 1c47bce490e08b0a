//! Writing explanations to a folder.

use super::pictures::SvgResult;
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of --out.
pub struct OutputFolder<'a> {
    folder: &'a Path,
    force: bool,
    output: &'a Output,
}

impl<'a> OutputFolder<'a> {
    /// Existing files are replaced only with `force`.
    pub fn new(folder: &'a Path, force: bool, output: &'a Output) -> OutputFolder<'a> {
        OutputFolder { folder, force, output }
    }

    /// Writes `value` to the file `numbers`, and every picture that can be drawn. Without `force`,
    /// writes nothing if one of the files exists. Returns the paths.
    pub fn save(
        &self,
        numbers: &str,
        value: &Value,
        pictures: Vec<(impl AsRef<str>, SvgResult)>,
    ) -> Result<Vec<String>, Failure> {
        let mut texts = vec![(self.folder.join(numbers), format!("{value:#}\n"))];
        for (name, picture) in pictures {
            let name = name.as_ref();
            match picture {
                Ok(picture) => texts.push((self.folder.join(name), picture)),
                Err(why) => self.output.note(format!("warning: no {name}: {why}")),
            }
        }
        let if_exists = files::if_exists(self.force);
        texts.iter().try_for_each(|(path, _)| files::check_target(path, if_exists))?;
        texts.iter().try_for_each(|(path, text)| files::write(path, text, if_exists))?;
        let name = |(path, _): &(PathBuf, String)| path.display().to_string();
        Ok(texts.iter().map(name).collect())
    }
}
