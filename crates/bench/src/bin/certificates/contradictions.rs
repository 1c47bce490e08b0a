//! Whether any string contradicts a certificate that was issued.

use crate::Desk;
use crate::exam::{Exam, Outcome, examine};
use crate::table::{Work, fill, folders, last_name};
use srnn::certify::{Certificate, CertifiedAutomaton};
use srnn::key::Key;
use srnn::model::ModelFile;
use srnn_automata::{Alphabet, Moore, State, Word};
use std::path::PathBuf;

const FULL: Exam =
    Exam { cpu: 10_000, reference: 100, longest: 1_000, short: (1 << 15) - 1, shortest: 8 };

struct Certified {
    experiment: String,
    folder: PathBuf,
}

/// Examines every certified network under `OUT`.
pub fn run(desk: &Desk) {
    let mut works = vec![];
    for experiment in folders(&desk.out) {
        let name = last_name(&experiment);
        let certified = folders(&experiment).into_iter();
        let certified = certified.filter(|folder| folder.join("certificate.json").exists());
        works.extend(certified.map(|folder| Certified { experiment: name.clone(), folder }));
    }
    let columns = "experiment,arithmetic,symbols,states,cpu_words,cpu_contradictions,\
                   reference_words,reference_contradictions,example";
    fill(desk, "contradictions", columns, &works);
}

impl Work for Certified {
    fn name(&self) -> String {
        last_name(&self.folder)
    }

    fn row(&self) -> String {
        let file = ModelFile::load(&self.folder).expect("a model folder");
        let text = std::fs::read_to_string(self.folder.join("certificate.json"));
        let certificate: Certificate =
            serde_json::from_str(&text.expect("a certificate")).expect("a certificate");
        let automaton = automaton(&file.alphabet, &certificate.automaton);
        let outcome = examine(&file, &automaton, &FULL, &Key::new(1));
        let spell = |word: &Word| automaton.alphabet().format_word(word);
        let Outcome { cpu, reference } = &outcome;
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
