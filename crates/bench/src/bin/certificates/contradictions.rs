//! Searches for words that contradict a saved certificate.

use crate::ExperimentOptions;
use crate::table::{CsvRow, file_name, fill_table, subfolders};
use crate::word_test::{WordTestResult, WordTestSizes, test_words};
use srnn::certify::{Certificate, CertifiedAutomaton};
use srnn::engine::key::Key;
use srnn::engine::model::ModelFile;
use srnn_automata::{Alphabet, Moore, State, Word};
use std::path::PathBuf;

const TEST_SIZES: WordTestSizes = WordTestSizes {
    cpu: 10_000,
    reference: 100,
    longest: 1_000,
    short: (1 << 15) - 1,
    reference_length: 8,
};

struct CertifiedNetwork {
    experiment: String,
    folder: PathBuf,
}

/// Tests every certified network under `OUT`.
pub fn run(options: &ExperimentOptions) {
    let mut rows = vec![];
    for experiment in subfolders(&options.out) {
        let name = file_name(&experiment);
        let certified = subfolders(&experiment).into_iter();
        let certified = certified.filter(|folder| folder.join("certificate.json").exists());
        rows.extend(certified.map(|folder| CertifiedNetwork { experiment: name.clone(), folder }));
    }
    let columns = "experiment,arithmetic,symbols,states,cpu_words,cpu_contradictions,\
                   reference_words,reference_contradictions,example";
    fill_table(options, "contradictions", columns, &rows);
}

impl CsvRow for CertifiedNetwork {
    fn name(&self) -> String {
        file_name(&self.folder)
    }

    fn row(&self) -> String {
        let file = ModelFile::load(&self.folder).expect("a model folder");
        let text = std::fs::read_to_string(self.folder.join("certificate.json"));
        let certificate: Certificate =
            serde_json::from_str(&text.expect("a certificate")).expect("a certificate");
        let automaton = automaton(&file.alphabet, &certificate.automaton);
        let result = test_words(&file, &automaton, &TEST_SIZES, &Key::new(1));
        let spell = |word: &Word| automaton.alphabet().format_word(word);
        let WordTestResult { cpu, reference } = &result;
        let example = cpu.example.as_ref().or(reference.example.as_ref()).map(spell);
        let (symbols, states) = (automaton.alphabet().len(), automaton.state_count());
        let (experiment, arithmetic) = (&self.experiment, certificate.arithmetic.name());
        format!(
            "{experiment},{arithmetic},{symbols},{states},{},{},{},{},{}",
            cpu.words,
            cpu.contradictions,
            reference.words,
            reference.contradictions,
            example.unwrap_or_default()
        )
    }
}

fn automaton(names: &[String], certified: &CertifiedAutomaton) -> Moore<u32> {
    let alphabet = Alphabet::new(names.to_vec()).expect("names of symbols");
    let CertifiedAutomaton { start, transitions, outputs } = certified;
    let table = transitions.iter().flatten().map(|&state| State(state)).collect();
    Moore::new(alphabet, State(*start), outputs.clone(), table).expect("a complete automaton")
}
