//! One certified network for each variant of the architecture.

use crate::ExperimentOptions;
use crate::network::{PROOF_COLUMNS, equality, timed_proof, train_network};
use crate::table::{CsvRow, fill_table};
use srnn::engine::key::Key;
use srnn::engine::model::{Arch, Cell, Gate, Input, Reset, Score};
use srnn::task::tomita::{Grammar, minimal_dfa, sets};
use srnn::train::{Sizes, recipe_default};
use srnn_automata::Moore;
use std::path::Path;

struct ArchVariant<'a> {
    name: &'static str,
    change: fn(&mut Arch),
    grammar: Grammar,
    out: &'a Path,
}

/// Largest number of seeds; the first certified network ends the search.
const SEEDS: u64 = 8;

type Change = fn(&mut Arch);

const VARIANTS: [(&str, Change); 6] = [
    ("euclidean-score", |arch| {
        arch.layers[0].centroids.as_mut().expect("an SR-GRU").score = Score::Euclidean;
    }),
    ("hard-sigmoid-without-biases", |arch| {
        arch.layers[0].gate = Gate::HardSigmoid;
        arch.layers[0].bias = false;
    }),
    ("reset-before-the-matrix", |arch| {
        arch.layers[0].cell = Cell::Gru { reset: Reset::BeforeMatrix };
    }),
    ("end-token", |arch| {
        let Input::Tokens { end, .. } = &mut arch.input else { panic!("reads tokens") };
        *end = true;
    }),
    ("no-end-token", |_| ()),
    ("two-layers", |arch| arch.layers.push(arch.layers[0].clone())),
];

pub fn run(options: &ExperimentOptions) {
    let columns = format!("grammar,seeds,solved,equal,{PROOF_COLUMNS},train_seconds");
    let rows = [Grammar::T4, Grammar::T7].into_iter().flat_map(|grammar| {
        let variant =
            move |(name, change)| ArchVariant { name, change, grammar, out: &options.out };
        VARIANTS.map(variant)
    });
    fill_table(options, "variants", &columns, &rows.collect::<Vec<_>>());
}

impl CsvRow for ArchVariant<'_> {
    fn name(&self) -> String {
        format!("{}-tomita-{}", self.name, self.grammar.number())
    }

    /// The row of the first certified network, or of the last seed.
    fn row(&self) -> String {
        let split = sets(self.grammar, &Key::new(1));
        let mut recipe = recipe_default(&Sizes { units: 32, k: 12, ..Sizes::of(2, 2) });
        (self.change)(&mut recipe.arch);
        let truth = Moore::from(&minimal_dfa(self.grammar));
        let mut row = String::new();
        for seed in 1..=SEEDS {
            let trained = train_network(&split, &recipe, seed);
            let proof = timed_proof(&trained.file);
            proof.save(&trained.file, &self.out.join("variants").join(self.name()));
            let equal = proof.automaton().map_or("".into(), |found| equality(found, &truth));
            let (solved, seconds) = (trained.solved(), trained.seconds);
            let number = self.grammar.number();
            row = format!("{number},{seed},{solved},{equal},{},{seconds:.2}", proof.row());
            eprintln!("{},{row}", self.name());
            if proof.result.is_ok() && solved {
                break;
            }
        }
        row
    }
}
