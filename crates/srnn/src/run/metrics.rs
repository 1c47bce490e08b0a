//! `metrics.jsonl`: one line per evaluation of a seed.

use crate::atomic::open_regular;
use crate::learn::{CandidateKind, LabelVerdict, Learned, Round};
use crate::train::{Record, SeedOutcome};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;

/// Enough for five million evaluations. A larger file is a mistake or an attack.
const MAX_BYTES: u64 = 1 << 30;

/// Lines have some hundred bytes.
const MAX_LINE: u64 = 64 << 10;

/// Appends evaluations to `metrics.jsonl` during a run. A run that is resumed from a checkpoint
/// repeats some evaluations with the same bits; these are not written twice.
pub struct MetricsFile {
    file: File,
    written: BTreeSet<(Round, u64, u64)>,
}

impl MetricsFile {
    /// Opens or creates the file. Everything after the last complete line is removed.
    ///
    /// # Errors
    /// If the file cannot be read or written, is no regular file, or is larger than any run's.
    pub fn open(path: &Path) -> io::Result<MetricsFile> {
        let file = open_regular(path, File::options().create(true).read(true).append(true))?;
        let size = file.metadata()?.len();
        if size > MAX_BYTES {
            let message = format!("{size} bytes, more than the {MAX_BYTES} of any run");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let (mut written, mut complete) = (BTreeSet::new(), 0);
        let mut lines = BufReader::new(&file);
        let mut line = vec![];
        loop {
            line.clear();
            lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
            let Some(key) = record_key(&line) else { break };
            written.insert(key);
            complete += line.len();
        }
        file.set_len(complete as u64)?;
        Ok(MetricsFile { file, written })
    }

    /// Appends an evaluation, unless the file has it already.
    pub fn add(&mut self, round: Round, seed: u64, record: &Record) -> io::Result<()> {
        if !self.written.insert((round, seed, record.update)) {
            return Ok(());
        }
        // A single write, so that lines of different seeds are not interleaved.
        self.file.write_all(line(round, seed, record).as_bytes())
    }
}

/// The file of a finished run, ordered by round, seed and update.
pub(crate) fn metrics_text(learned: &Learned<'_>) -> String {
    let earlier: &[_] = match &learned.label_verdict {
        LabelVerdict::Corrected(correction) => &correction.earlier_rounds,
        LabelVerdict::Trusted | LabelVerdict::NotCorrected(_) => &[],
    };
    let mut rounds: Vec<(Round, &[SeedOutcome<f32>])> = vec![(learned.round, &learned.outcomes)];
    let others = earlier.iter().chain(&learned.other_rounds);
    rounds.extend(others.map(|(round, outcomes)| (*round, &outcomes[..])));
    rounds.sort_by_key(|(round, _)| *round);
    rounds.iter().map(|(round, outcomes)| lines(*round, outcomes)).collect()
}

fn lines(round: Round, outcomes: &[SeedOutcome<f32>]) -> String {
    let of_seed = |outcome: &SeedOutcome<f32>| -> String {
        outcome.run.history.iter().map(|record| line(round, outcome.seed, record)).collect()
    };
    outcomes.iter().map(of_seed).collect()
}

/// The key of the round; lines of the first round do not have it.
const ROUND: &str = "round";

/// The name of a round in files; `None` for the training with the data as given.
pub(crate) fn round_name(round: Round) -> Option<&'static str> {
    match round {
        Round::Short => Some("short"),
        Round::Given => None,
        Round::Corrected => Some("believed"),
        Round::CorrectedAll => Some("whole"),
        Round::Candidate(kind) => Some(kind.key()),
    }
}

fn line(round: Round, seed: u64, record: &Record) -> String {
    let mut object = Map::from_iter([("seed".to_string(), Value::from(seed))]);
    object.extend(round_name(round).map(|name| (ROUND.to_string(), Value::from(name))));
    if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
        object.extend(fields);
    }
    format!("{}\n", Value::Object(object))
}

/// The round, the seed and the update of a line; `None` if the line is not complete.
fn record_key(line: &[u8]) -> Option<(Round, u64, u64)> {
    let value: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    let named = value.get(ROUND).and_then(Value::as_str);
    let candidates = CandidateKind::ALL.map(Round::Candidate);
    let rounds = [Round::Short, Round::Given, Round::Corrected, Round::CorrectedAll];
    let mut rounds = rounds.into_iter().chain(candidates);
    let round = rounds.find(|&round| round_name(round) == named)?;
    Some((round, value.get("seed")?.as_u64()?, value.get("update")?.as_u64()?))
}
