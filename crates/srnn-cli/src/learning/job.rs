//! Runs a learning job in an open run folder.

use super::callbacks::{RunCallbacks, StopFlags};
use super::page::write_page;
use super::resolve::Resolved;
use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use serde_json::json;
use srnn::engine::Hardware;
use srnn::learn::{LabelPolicy, LearnData, LearnError, LearnRequest, learn};
use srnn::report::{LearnReport, Requirements};
use srnn::run::RunFolder;
use srnn::train::TrainError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A job of `learn` or `resume`.
pub struct LearnJob {
    /// The settings.
    pub resolved: Resolved,
    /// The data.
    pub data: LearnData,
    /// The run folder. Checkpoints in it are continued.
    pub folder: RunFolder,
    /// The training device and the threads.
    pub hardware: Hardware,
    /// When the program was started.
    pub started: Instant,
}

/// Learns, writes all files and prints the report.
pub fn run_job(job: &LearnJob, output: &Output) -> Result<Answer, Failure> {
    let stop = Arc::new(StopFlags::default());
    stop_on_ctrl_c(&stop, job.folder.path(), output)?;
    let callbacks = RunCallbacks::new(&job.folder, output, stop, job.started)?;
    let learned = learn(&request(job), &callbacks);
    if let Some(failure) = callbacks.failure() {
        return Err(failure);
    }
    let learned = learned.map_err(|error| learn_failure(error, job.folder.path()))?;
    callbacks.start_stage("write");
    learned.save_parts(job.folder.path())?;
    let report = LearnReport {
        learned: &learned,
        run: job.folder.path().into(),
        requirements: Requirements {
            valid_accuracy: job.resolved.fail_under,
            proof: job.resolved.must_certify == Some(true),
        },
        seconds: callbacks.seconds(),
    };
    let (text, value) = (report.to_text(), report.to_json());
    report.save()?;
    write_page(&job.folder, output);
    output.result(text, &value)?;
    match report.unmet() {
        Some(reason) => {
            output.reason(reason);
            Ok(Answer::No)
        }
        None => Ok(Answer::Yes),
    }
}

/// The first Ctrl-C during training ends it with a checkpoint, the second ends the process at once;
/// checkpoints on disk are always complete. After training, Ctrl-C ends the process at once, because
/// everything else can be repeated from the checkpoints.
pub(super) fn stop_on_ctrl_c(
    stop: &Arc<StopFlags>,
    run: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let (stop, run, output) = (stop.clone(), files::shell_path(run), *output);
    ctrlc::set_handler(move || {
        if stop.trained.load(Ordering::Relaxed) {
            let message = format!("{run}: training is saved, the rest is done again");
            output.failure(&Failure::interrupted(message, format!("srnn resume {run}")));
            std::process::exit(130);
        }
        if stop.requested.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(())
}

fn request(job: &LearnJob) -> LearnRequest<'_> {
    LearnRequest {
        recipe: job.resolved.recipe.clone(),
        seeds: job.resolved.seeds.clone(),
        hardware: job.hardware.clone(),
        label_policy: match job.resolved.data.trust_labels {
            Some(true) => LabelPolicy::Trust,
            _ => LabelPolicy::Check,
        },
        short_updates: job.resolved.short_updates,
        candidates: job.resolved.candidates(&job.data.split),
        ..LearnRequest::new(&job.data)
    }
}

pub(super) fn learn_failure(error: LearnError, run: &Path) -> Failure {
    let command = format!("srnn resume {}", files::shell_path(run));
    let run = run.display();
    match error {
        LearnError::Interrupted => {
            Failure::interrupted(format!("{run}: a checkpoint of every seed is written"), command)
        }
        LearnError::NoResult(_) => {
            let remedy = "lower learning_rate in [train] of a --config, or use --recipe default";
            Failure::new(error, remedy)
        }
        LearnError::Train(TrainError::Device(_)) => {
            Failure::new(error, format!("{command} continues from the last checkpoint"))
        }
        LearnError::Alphabet(_) | LearnError::Train(_) => Failure::from(error),
    }
}

/// Prints the result of a finished run; `None` if the run is not finished.
pub fn finished_result(folder: &RunFolder, output: &Output) -> Result<Option<Answer>, Failure> {
    let path = folder.result();
    let Some(text) = files::read_own_text(&path)? else { return Ok(None) };
    let value = serde_json::from_str(&text).map_err(|error| {
        let remedy = format!(
            "remove {} and resume: the result is made again from the checkpoints",
            path.display()
        );
        Failure::new(format!("{}: {error}", path.display()), remedy)
    })?;
    let run = folder.path().display();
    output.result(format!("{run}: this run is finished; see {}", path.display()), &value)?;
    let passed = value.get("passed") != Some(&json!(false));
    Ok(Some(if passed { Answer::Yes } else { Answer::No }))
}
