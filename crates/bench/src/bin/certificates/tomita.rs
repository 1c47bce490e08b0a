//! Tomita 1–7: clean labels, 20 seeds each, the default recipe.

use crate::ExperimentOptions;
use crate::network::{PROOF_COLUMNS, equality, timed_proof, train_network, validate_at_end};
use crate::table::{CsvRow, fill_table};
use srnn::engine::key::Key;
use srnn::task::Split;
use srnn::task::tomita::{Grammar, minimal_dfa, sets};
use srnn::train::{Sizes, recipe_default};
use srnn_automata::Moore;
use std::path::Path;

const SEEDS: u64 = 20;

struct TomitaSeed<'a> {
    grammar: Grammar,
    split: &'a Split,
    seed: u64,
    out: &'a Path,
}

pub fn run(options: &ExperimentOptions, grammars: &str) {
    let (first, last) = grammars.split_once('-').unwrap_or((grammars, grammars));
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let columns = format!("grammar,seed,solved,equal,{PROOF_COLUMNS},train_seconds");
    let grammars = (number(first)..=number(last)).map(|number| {
        let grammar = Grammar::numbered(number).expect("a grammar from 1 to 7");
        (grammar, sets(grammar, &Key::new(1)))
    });
    let grammars: Vec<(Grammar, Split)> = grammars.collect();
    let rows = (1..=SEEDS).flat_map(|seed| {
        let out = &options.out;
        grammars.iter().map(move |(grammar, split)| TomitaSeed {
            grammar: *grammar,
            split,
            seed,
            out,
        })
    });
    fill_table(options, "tomita", &columns, &rows.collect::<Vec<_>>());
}

impl CsvRow for TomitaSeed<'_> {
    fn name(&self) -> String {
        format!("tomita-{}-seed-{}", self.grammar.number(), self.seed)
    }

    fn row(&self) -> String {
        let recipe = validate_at_end(recipe_default(&Sizes::of(2, 2)));
        let trained = train_network(self.split, &recipe, self.seed);
        let proof = timed_proof(&trained.file);
        proof.save(&trained.file, &self.out.join("tomita").join(self.name()));
        let truth = Moore::from(&minimal_dfa(self.grammar));
        let equal = proof.automaton().map_or("".into(), |found| equality(found, &truth));
        let (number, seed, solved) = (self.grammar.number(), self.seed, trained.solved());
        let (proof, seconds) = (proof.row(), trained.seconds);
        format!("{number},{seed},{solved},{equal},{proof},{seconds:.2}")
    }
}
