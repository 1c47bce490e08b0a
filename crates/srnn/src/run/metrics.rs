//! `metrics.jsonl`: a line for every evaluation of every seed.

use crate::learn::{Labels, Learned, Round};
use crate::train::{Record, SeedOutcome};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The file while a run is under way: lines are added as evaluations happen. A run that goes on
/// from a checkpoint makes some evaluations again, to the same bits: these are left out.
pub struct Metrics {
    file: File,
    written: BTreeSet<(Round, u64, u64)>,
}

impl Metrics {
    /// Goes on with the file at `path`. What a crash left of a last line is cut off.
    pub fn open(path: &Path) -> io::Result<Metrics> {
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
            text => text?,
        };
        let mut written = BTreeSet::new();
        let mut good = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let Some(place) = place(line) else { break };
            written.insert(place);
            good += line.len();
        }
        let file = File::options().create(true).append(true).open(path)?;
        file.set_len(good as u64)?;
        Ok(Metrics { file, written })
    }

    /// Adds an evaluation, unless it is there.
    pub fn add(&mut self, round: Round, seed: u64, record: &Record) -> io::Result<()> {
        if !self.written.insert((round, seed, record.update)) {
            return Ok(());
        }
        // One call: lines of other seeds do not come between.
        self.file.write_all(line(round, seed, record).as_bytes())
    }
}

/// The whole file of a finished run: by round, seed and update, whatever the order in time was.
pub fn metrics_of(learned: &Learned<'_>) -> String {
    match &learned.labels {
        Labels::Corrected(correction) => {
            let before = correction.before.iter().map(|(round, outcomes)| lines(*round, outcomes));
            before.chain([lines(correction.round, &learned.outcomes)]).collect()
        }
        Labels::Trusted | Labels::Unexplained(_) => lines(Round::Given, &learned.outcomes),
    }
}

fn lines(round: Round, outcomes: &[SeedOutcome<f32>]) -> String {
    let of_seed = |outcome: &SeedOutcome<f32>| -> String {
        outcome.run.history.iter().map(|record| line(round, outcome.seed, record)).collect()
    };
    outcomes.iter().map(of_seed).collect()
}

/// How lines say that a network was trained again; those of the first round say nothing.
const ROUND: &str = "round";

fn name(round: Round) -> Option<&'static str> {
    match round {
        Round::Given => None,
        Round::Believed => Some("believed"),
        Round::Whole => Some("whole"),
    }
}

fn line(round: Round, seed: u64, record: &Record) -> String {
    let mut object = Map::from_iter([("seed".to_string(), Value::from(seed))]);
    object.extend(name(round).map(|name| (ROUND.to_string(), Value::from(name))));
    if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
        object.extend(fields);
    }
    format!("{}\n", Value::Object(object))
}

/// The round, the seed and the update of a complete line.
fn place(line: &[u8]) -> Option<(Round, u64, u64)> {
    let value: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    let named = value.get(ROUND).and_then(Value::as_str);
    let rounds = [Round::Given, Round::Believed, Round::Whole];
    let round = rounds.into_iter().find(|&round| name(round) == named)?;
    Some((round, value.get("seed")?.as_u64()?, value.get("update")?.as_u64()?))
}
