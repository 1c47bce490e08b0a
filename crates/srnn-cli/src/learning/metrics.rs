//! `metrics.jsonl`: a line for every evaluation of every seed.

use serde_json::{Map, Value};
use srnn::train::{Record, SeedOutcome};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The file while a run is under way: lines are added as evaluations happen. A run that goes on
/// from a checkpoint makes some evaluations again, to the same bits: these are left out.
pub struct Metrics {
    file: File,
    written: BTreeSet<(u64, u64)>,
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
    pub fn add(&mut self, seed: u64, record: &Record) -> io::Result<()> {
        if !self.written.insert((seed, record.update)) {
            return Ok(());
        }
        // One call: lines of other seeds do not come between.
        self.file.write_all(line(seed, record).as_bytes())
    }
}

/// The whole file of a finished run: by seed, then by update, whatever the order in time was.
pub fn whole(outcomes: &[SeedOutcome<f32>]) -> String {
    let lines = |outcome: &SeedOutcome<f32>| -> String {
        outcome.run.history.iter().map(|record| line(outcome.seed, record)).collect()
    };
    outcomes.iter().map(lines).collect()
}

fn line(seed: u64, record: &Record) -> String {
    let mut object = Map::from_iter([("seed".to_string(), Value::from(seed))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
        object.extend(fields);
    }
    format!("{}\n", Value::Object(object))
}

/// The seed and the update of a complete line.
fn place(line: &[u8]) -> Option<(u64, u64)> {
    let value: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    Some((value.get("seed")?.as_u64()?, value.get("update")?.as_u64()?))
}
