//! Runs `learn --next` in an open run folder.

use super::budget::check_bytes;
use super::callbacks::{RunCallbacks, StopFlags};
use super::job::{learn_failure, stop_on_ctrl_c};
use super::next_settings::ResolvedNext;
use super::page::write_page;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::token_rule_name;
use serde_json::{Value, json};
use srnn::engine::Hardware;
use srnn::engine::key::Key;
use srnn::format::{grouped, plural};
use srnn::learn::{CandidateKind, LearnCallbacks, Round, Stage, worker_count};
use srnn::next::{NextPlan, NextReport, NextRequest, learn_next};
use srnn::run::RunFolder;
use srnn::task::TokenSequences;
use srnn::task::files::{HoldOut, LoadedTokens, load_unlabelled};
use srnn::train::{CheckpointStore, Control, Observer, estimate};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A job of `learn --next`, or of `resume`.
pub struct NextJob {
    /// The settings.
    pub resolved: ResolvedNext,
    /// The data.
    pub data: LoadedTokens,
    /// The run folder. Checkpoints in it are continued.
    pub folder: RunFolder,
    /// The training device and the threads.
    pub hardware: Hardware,
    /// When the program was started.
    pub started: Instant,
}

/// Reads and splits the data.
pub fn read_tokens(resolved: &ResolvedNext) -> Result<LoadedTokens, Failure> {
    let data = &resolved.data;
    let fractions = data.split.as_deref().unwrap_or_default().parse()?;
    let hold_out = HoldOut { fractions, valid: data.valid.clone(), test: data.test.clone() };
    let key = Key::new(data.seed.unwrap_or(1));
    Ok(load_unlabelled(&resolved.file, &hold_out, &data.reading.options()?, &key)?)
}

/// The content of `data.json`.
pub fn tokens_record(resolved: &ResolvedNext, data: &LoadedTokens) -> Value {
    let set = |set: &TokenSequences| json!({ "sequences": set.sequences.len(), "predictions": set.predictions() });
    json!({
        "source": resolved.file.display().to_string(),
        "task": "next",
        "digest": digests(data),
        "split": resolved.data.split,
        "tokens": token_rule_name(&data.tokens),
        "alphabet": data.split.train.alphabet[..],
        "train": set(&data.split.train),
        "valid": set(&data.split.valid),
        "test": data.split.test.as_ref().map(set),
    })
}

/// Digests of the three sets; equal data have equal digests.
pub fn digests(data: &LoadedTokens) -> Value {
    let test = data.split.test.as_ref().map(TokenSequences::digest);
    json!({ "train": data.split.train.digest(), "valid": data.split.valid.digest(), "test": test })
}

/// One line per set, and one for tokens that training does not show.
pub fn describe_tokens(data: &LoadedTokens) -> Vec<String> {
    let line = |name: &str, set: &TokenSequences| {
        let count = plural(set.sequences.len(), "sequence");
        format!("{name:5}  {count}, {} with their ends", plural(set.predictions(), "token"))
    };
    let split = &data.split;
    let mut lines = vec![line("train", &split.train), line("valid", &split.valid)];
    lines.extend(split.test.as_ref().map(|test| line("test", test)));
    let known = data.unknown();
    lines.push(format!("tokens {} in the training set", grouped(u64::from(known))));
    if !data.unknown_in_training {
        let unseen = |set: &TokenSequences| {
            set.sequences.iter().filter(|sequence| sequence.contains(&known)).count()
        };
        let count = unseen(&split.valid);
        if count > 0 {
            lines.push(format!(
                "note: {} with tokens that are not in the training set",
                plural(count, "validation sequence")
            ));
        }
    }
    lines
}

/// The plan, and a line about it.
///
/// # Errors
/// If a network would take more memory than `limit`, by default 3/4 of the free memory.
pub fn next_plan(
    resolved: &ResolvedNext,
    data: &LoadedTokens,
    threads: usize,
    limit: Option<u64>,
) -> Result<(NextPlan, String), Failure> {
    let ResolvedNext { seeds, preference, budget, flagged, .. } = resolved;
    let train = &data.split.train;
    let plan = NextPlan::new(train, seeds.clone(), *budget);
    let plan = NextPlan { preference: *preference, flagged: *flagged, ..plan };
    let workers = worker_count(seeds.len(), threads);
    let needed =
        |seeds| plan.networks.iter().map(move |(_, r)| estimate(&r.arch, &r.train, train, seeds));
    let bytes = needed(workers).map(|estimate| estimate.bytes).max().unwrap_or(0);
    let memory = check_bytes(bytes, limit, "use fewer --threads, or raise --memory-limit")?;
    let updates: u64 = needed(seeds.len()).map(|estimate| estimate.updates).sum();
    let line = format!(
        "{} of {} networks, at most {} updates, about {memory}",
        plural(seeds.len(), "seed"),
        plan.networks.len(),
        grouped(updates)
    );
    Ok((plan, line))
}

/// Learns, writes all files and prints the report.
pub fn run_next_job(job: &NextJob, plan: NextPlan, output: &Output) -> Result<Answer, Failure> {
    let path = job.folder.path();
    let stop = Arc::new(StopFlags::default());
    stop_on_ctrl_c(&stop, path, output)?;
    let inner = RunCallbacks::new(&job.folder, output, stop.clone(), job.started)?;
    let callbacks = NextCallbacks { inner: &inner, output, stop };
    let request = NextRequest { data: &job.data, plan, hardware: job.hardware.clone() };
    let learned = learn_next(&request, &callbacks);
    if let Some(failure) = inner.failure() {
        return Err(failure);
    }
    let learned = learned.map_err(|error| learn_failure(error, path))?;
    inner.start_stage("write");
    let report = NextReport {
        learned: &learned,
        source: job.resolved.file.display().to_string(),
        run: path.into(),
        seconds: inner.seconds(),
    };
    report.save()?;
    write_page(&job.folder, output);
    output.result(report.to_text(), &report.to_json())?;
    Ok(Answer::Yes)
}

/// The callbacks of a run, with messages about these candidates.
struct NextCallbacks<'a> {
    inner: &'a RunCallbacks<'a>,
    output: &'a Output,
    stop: Arc<StopFlags>,
}

impl LearnCallbacks for NextCallbacks<'_> {
    fn checkpoints(&self, round: Round, seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        self.inner.checkpoints(round, seed)
    }

    fn observer(&self, round: Round, seed: u64) -> Box<dyn Observer + '_> {
        self.inner.observer(round, seed)
    }

    fn stage(&self, stage: Stage) -> Control {
        match stage {
            Stage::Candidate(kind) => {
                self.inner.start_stage(kind.key());
                self.output.note(match kind {
                    CandidateKind::Ngrams => "counting n-grams …".into(),
                    kind => format!("training: {} …", kind.title()),
                });
            }
            other => return self.inner.stage(other),
        }
        match self.stop.requested.load(Ordering::Relaxed) {
            true => Control::Interrupt,
            false => Control::Continue,
        }
    }
}
