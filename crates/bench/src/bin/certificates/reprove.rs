//! Proves every saved network under `OUT` again, to measure the time on an idle machine or with
//! another version of the prover.

use crate::ExperimentOptions;
use crate::network::{PROOF_COLUMNS, timed_proof};
use crate::table::{CsvRow, file_name, fill_table, subfolders};
use srnn::engine::model::ModelFile;
use std::path::PathBuf;

struct SavedNetwork {
    experiment: String,
    folder: PathBuf,
}

pub fn run(options: &ExperimentOptions) {
    let rows = subfolders(&options.out).into_iter().flat_map(|experiment| {
        let name = file_name(&experiment);
        let network = move |folder| SavedNetwork { experiment: name.clone(), folder };
        subfolders(&experiment).into_iter().map(network)
    });
    fill_table(
        options,
        "again",
        &format!("{PROOF_COLUMNS},processor_seconds"),
        &rows.collect::<Vec<_>>(),
    );
}

impl CsvRow for SavedNetwork {
    fn name(&self) -> String {
        format!("{}/{}", self.experiment, file_name(&self.folder))
    }

    fn row(&self) -> String {
        let file = ModelFile::load(&self.folder).expect("a model folder");
        let begin = processor_seconds();
        let proof = timed_proof(&file);
        let seconds = processor_seconds() - begin;
        proof.save(&file, &self.folder);
        format!("{},{seconds:.3}", proof.row())
    }
}

/// Processor time of this thread, from Linux. Unlike wall time it does not depend on the load.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")
        .expect("/proc is readable: Linux only");
    let nanoseconds: f64 = text.split(' ').next().expect("a field").parse().expect("a number");
    nanoseconds * 1e-9
}
