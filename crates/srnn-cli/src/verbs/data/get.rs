//! `srnn data get`: downloads public data sets and verifies them.

use super::file_state::{FileState, file_state, size_difference};
use super::permutation::permutation_text;
use super::receive::{receive, wrong};
use super::sources::{Origin, PublicFile, PublicSet, SourceFlags};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use srnn::format::grouped;
use std::path::Path;
use std::time::Duration;
use ureq::{Agent, http::header::CONTENT_LENGTH};

/// Download public data sets.
///
/// Each file is verified by size and sha256 before it takes its name. Files that are there and
/// verified are skipped. An interrupted download leaves a file NAME.part, which the next one
/// replaces.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data get mnist pmnist-permutation
  srnn data get imdb --data /srv/data
  srnn data get mnist --from https://example.org/mirror/mnist")]
pub struct DataGetArgs {
    /// Names of data sets; `srnn data list` shows them.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    sources: SourceFlags,
    /// Download from this address instead: that of the folder that holds the files. For one set.
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// Replace files whose content is not the published one.
    #[arg(long)]
    force: bool,
}

/// More time without the first byte of an answer is an error.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// More time for a whole file is an error.
const FILE_TIMEOUT: Duration = Duration::from_secs(2 * 3600);

pub fn run(arguments: &DataGetArgs, output: &Output) -> Result<Answer, Failure> {
    let mut sets = arguments.sources.sets(&arguments.names)?;
    if let Some(url) = &arguments.from {
        set_address(&mut sets, url)?;
    }
    let mut files = Vec::new();
    for set in &sets {
        if !set.note.is_empty() {
            output.note(format!("note: {}: {}", set.name, set.note));
        }
        for file in &set.files {
            files.push(get_file(arguments, set, file, output)?);
        }
    }
    let lines: Vec<String> = files.iter().map(|(line, _)| line.clone()).collect();
    let values: Vec<Value> = files.into_iter().map(|(_, value)| value).collect();
    output.result(lines.join("\n"), &json!({ "files": values }))?;
    Ok(Answer::Yes)
}

/// Replaces the address of the one set that is downloaded.
fn set_address(sets: &mut [PublicSet], url: &str) -> Result<(), Failure> {
    match sets {
        [PublicSet { origin: Origin::Download(address), .. }] => {
            *address = url.trim_end_matches('/').to_string();
            Ok(())
        }
        [set] => {
            let message = format!("--from: {} is computed, not downloaded", set.name);
            Err(Failure::new(message, "leave out --from"))
        }
        _ => Err(Failure::new("--from is the address of one set", "name one set")),
    }
}

/// Brings one file to the data folder. Returns a line and a JSON value about it.
fn get_file(
    arguments: &DataGetArgs,
    set: &PublicSet,
    file: &PublicFile,
    output: &Output,
) -> Result<(String, Value), Failure> {
    let path = set.path(&arguments.sources.data, file);
    let (bytes, shown) = (grouped(file.bytes), path.display());
    let result = |action: &str| {
        let value = json!({ "path": shown.to_string(), "bytes": file.bytes, "action": action });
        (format!("{shown}: {bytes} bytes, {action}"), value)
    };
    match file_state(&path, file)? {
        FileState::Verified => return Ok(result("already there, verified")),
        FileState::Different { why } if !arguments.force => {
            let remedy = "--force replaces it; another folder can be given with --data DIR";
            return Err(Failure::new(format!("{shown}: {why}"), remedy));
        }
        FileState::Missing | FileState::Different { .. } => {}
    }
    match &set.origin {
        Origin::Download(address) => {
            download(&format!("{address}/{}", file.name), file, &path, output)?;
            Ok(result("downloaded, verified"))
        }
        &Origin::Permutation { seed, length } => {
            let text = permutation_text(seed, length);
            receive(&mut text.as_bytes(), &set.name, file, &path, &mut |_| {})?;
            Ok(result("computed, verified"))
        }
    }
}

fn download(url: &str, file: &PublicFile, path: &Path, output: &Output) -> Result<(), Failure> {
    let config = Agent::config_builder()
        .timeout_connect(Some(ANSWER_TIMEOUT))
        .timeout_recv_response(Some(ANSWER_TIMEOUT))
        .timeout_recv_body(Some(FILE_TIMEOUT))
        .max_redirects(5)
        .build();
    output.note(format!("{url}: {} bytes", grouped(file.bytes)));
    let unreachable = |error: ureq::Error| {
        let remedy = "check the network and the address, or give another with --from URL";
        Failure::new(format!("{url}: {error}"), remedy)
    };
    let mut response = Agent::new_with_config(config).get(url).call().map_err(unreachable)?;
    let length = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    match length.and_then(|value| value.parse().ok()) {
        Some(bytes) if bytes != file.bytes => {
            return Err(wrong(url, &size_difference(bytes, file)));
        }
        _ => {}
    }
    let bar = bar(file, output);
    let received = receive(&mut response.body_mut().as_reader(), url, file, path, &mut |n| {
        bar.set_position(n)
    });
    bar.finish_and_clear();
    received
}

/// A progress bar; invisible if the output is no terminal.
fn bar(file: &PublicFile, output: &Output) -> ProgressBar {
    if !output.draws_bars() {
        return ProgressBar::hidden();
    }
    let template =
        format!("{} {{bytes:>10}}/{{total_bytes}} {{eta:>4}} {{wide_msg}}", output.bar(20));
    let style = ProgressStyle::with_template(&template).expect("a template that parses");
    ProgressBar::new(file.bytes).with_style(style).with_message(file.name.clone())
}
