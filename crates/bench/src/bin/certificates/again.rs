//! Proves every network under `OUT` again, from its file: the times of a table that was made on a
//! busy machine, or with another prover.

use crate::Desk;
use crate::network::{VERDICT, verdict};
use crate::table::{Work, fill, folders, last_name};
use srnn::model::ModelFile;
use std::path::PathBuf;

struct Saved {
    experiment: String,
    folder: PathBuf,
}

pub fn run(desk: &Desk) {
    let works = folders(&desk.out).into_iter().flat_map(|experiment| {
        let name = last_name(&experiment);
        let saved = move |folder| Saved { experiment: name.clone(), folder };
        folders(&experiment).into_iter().map(saved)
    });
    fill(desk, "again", &format!("{VERDICT},processor_seconds"), &works.collect::<Vec<_>>());
}

impl Work for Saved {
    fn name(&self) -> String {
        format!("{}/{}", self.experiment, last_name(&self.folder))
    }

    fn row(&self) -> String {
        let file = ModelFile::load(&self.folder).expect("a model folder");
        let begin = processor_seconds();
        let verdict = verdict(&file);
        let seconds = processor_seconds() - begin;
        verdict.save(&file, &self.folder);
        format!("{},{seconds:.3}", verdict.row())
    }
}

/// What this thread has used so far, as Linux counts it: unlike the clock it does not count the
/// work of others.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds: f64 = text.split(' ').next().expect("a field").parse().expect("a number");
    nanoseconds * 1e-9
}
