//! A run from its open folder to its answer.

use super::settings::Resolved;
use super::watcher::{StopFlags, Watcher};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use serde_json::json;
use srnn::engine::Hardware;
use srnn::learn::{LearnData, LearnError, LearnRequest, Trust, learn};
use srnn::report::{LearnReport, Requirements};
use srnn::run::RunFolder;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What `learn` and `resume` hand over.
pub struct LearnJob {
    /// Everything that decides the outcome.
    pub resolved: Resolved,
    /// The data.
    pub data: LearnData,
    /// The run's folder. A run that was begun there continues.
    pub folder: RunFolder,
    /// What trains.
    pub hardware: Hardware,
    /// When the program was started.
    pub started: Instant,
}

/// Trains, selects, extracts, proves, writes everything and prints the report.
pub fn perform(job: &LearnJob, output: &Output) -> Result<Answer, Failure> {
    let stop = Arc::new(StopFlags::default());
    stop_on_ctrl_c(&stop, job.folder.path(), output)?;
    let watcher = Watcher::new(&job.folder, output, stop, job.started)?;
    let learned = learn(&request(job), &watcher);
    if let Some(failure) = watcher.failure() {
        return Err(failure);
    }
    let learned = learned.map_err(|error| explain(error, job.folder.path()))?;
    watcher.mark("write");
    learned.save_parts(job.folder.path())?;
    let report = LearnReport {
        learned: &learned,
        run: job.folder.path().into(),
        requirements: Requirements {
            valid_accuracy: job.resolved.fail_under,
            proof: job.resolved.must_certify == Some(true),
        },
        seconds: watcher.seconds(),
    };
    let (text, value) = (report.to_text(), report.to_json());
    report.save()?;
    output.result(text, &value)?;
    match report.unmet() {
        Some(reason) => {
            output.reason(reason);
            Ok(Answer::No)
        }
        None => Ok(Answer::Yes),
    }
}

/// Ctrl-C during training: end with a checkpoint; a second time: end at once, since checkpoints are
/// complete at any moment. After training there is nothing to save: all else follows from the
/// checkpoints.
fn stop_on_ctrl_c(stop: &Arc<StopFlags>, run: &Path, output: &Output) -> Result<(), Failure> {
    let (stop, run, output) = (stop.clone(), run.display().to_string(), *output);
    ctrlc::set_handler(move || {
        if stop.trained.load(Ordering::Relaxed) {
            let message = format!("{run}: training is saved, extraction was not finished");
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
        trust: match job.resolved.data.trust_labels {
            Some(true) => Trust::Always,
            _ => Trust::WhileTheyFit,
        },
        ..LearnRequest::new(&job.data)
    }
}

fn explain(error: LearnError, run: &Path) -> Failure {
    let run = run.display();
    match error {
        LearnError::Interrupted => Failure::interrupted(
            format!("{run}: a checkpoint of every seed is written"),
            format!("srnn resume {run}"),
        ),
        LearnError::NoResult { .. } => {
            let remedy = "lower learning_rate in [train] of a --config, or use --recipe default";
            Failure::new(error, remedy)
        }
        LearnError::Refused(_) => {
            Failure::new(error, format!("please report it with the files of {run}"))
        }
        LearnError::Alphabet(_) | LearnError::Train(_) => Failure::from(error),
    }
}

/// The answer of a run that is finished already; `None` if it is not.
pub fn finished(folder: &RunFolder, output: &Output) -> Result<Option<Answer>, Failure> {
    let path = folder.result();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| Failure::new(format!("{}: {error}", path.display()), ""))?,
    };
    let value = serde_json::from_str(&text).map_err(|error| {
        let remedy = format!("remove {} and resume: the checkpoints have it all", path.display());
        Failure::new(format!("{}: {error}", path.display()), remedy)
    })?;
    let run = folder.path().display();
    output.result(format!("{run}: this run is finished; see {}", path.display()), &value)?;
    let passed = value.get("passed") != Some(&json!(false));
    Ok(Some(if passed { Answer::Yes } else { Answer::No }))
}
