//! `srnn learn --next`: learns to predict the next token of sequences without labels.

use super::learn::hardware;
use crate::failure::{Answer, Failure};
use crate::learning::{
    NextJob, ResolvedNext, Settings, describe_tokens, next_plan, read_tokens, run_next_job,
    tokens_digests, tokens_record,
};
use crate::output::Output;
use serde_json::Value;
use srnn::engine::Hardware;
use srnn::run::{RunFolder, RunLocation};
use srnn::task::files::LoadedTokens;
use std::time::Instant;

/// What `learn` was asked besides its settings.
pub struct NextArguments {
    /// The location of the run folder, or the default.
    pub location: Box<dyn FnOnce(String) -> RunLocation>,
    /// `--threads`.
    pub threads: Option<usize>,
    /// `--memory-limit`.
    pub memory_limit: Option<u64>,
    /// Whether the settings are printed, and nothing else is done.
    pub print_config: bool,
}

/// Runs `srnn learn --next`.
pub fn run(
    settings: &Settings,
    arguments: NextArguments,
    started: Instant,
    output: &Output,
) -> Result<Answer, Failure> {
    let mut resolved = settings.resolve_next()?;
    let hardware = hardware(resolved.device, arguments.threads)?;
    resolved.device = hardware.device.name();
    if arguments.print_config {
        let value = serde_json::to_value(resolved.settings()).unwrap_or(Value::Null);
        output.result(resolved.to_toml()?, &value)?;
        return Ok(Answer::Yes);
    }
    let data = read_tokens(&resolved)?;
    describe(&resolved, &data, &hardware, output);
    let (plan, line) = next_plan(&resolved, &data, hardware.threads, arguments.memory_limit)?;
    output.note(format!("plan   {line}"));
    let record = tokens_record(&resolved, &data);
    let location = (arguments.location)(settings.source()?.name());
    let folder = RunFolder::create(&location, &resolved.to_toml()?, &format!("{record:#}\n"))?;
    output.note(format!("run    {}", folder.path().display()));
    run_next_job(&NextJob { resolved, data, folder, hardware, started }, plan, output)
}

/// Continues an interrupted run of `learn --next`.
pub fn resume(
    settings: &Settings,
    folder: RunFolder,
    hardware: Hardware,
    started: Instant,
    output: &Output,
) -> Result<Answer, Failure> {
    let resolved = settings.resolve_next()?;
    let data = read_tokens(&resolved)?;
    super::resume::check_digests(&folder, &tokens_digests(&data))?;
    describe(&resolved, &data, &hardware, output);
    // The run was within its memory limit when it was started.
    let (plan, _) = next_plan(&resolved, &data, hardware.threads, Some(u64::MAX))?;
    run_next_job(&NextJob { resolved, data, folder, hardware, started }, plan, output)
}

fn describe(resolved: &ResolvedNext, data: &LoadedTokens, hardware: &Hardware, output: &Output) {
    output.note(format!("data   {}", resolved.file.display()));
    describe_tokens(data).iter().for_each(|line| output.note(line));
    output.note(format!("device {hardware}"));
}
