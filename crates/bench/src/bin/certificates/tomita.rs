//! Tomita 1–7, clean labels, 20 seeds each, the default recipe.

use crate::Desk;
use crate::network::{VERDICT, equality, quietly, trained, verdict};
use crate::table::{Work, fill};
use srnn::key::Key;
use srnn::task::Split;
use srnn::task::tomita::{Grammar, sets, truth};
use srnn::train::{Sizes, recipe_default};
use srnn_automata::Moore;
use std::path::Path;

const SEEDS: u64 = 20;

struct Seed<'a> {
    grammar: Grammar,
    split: &'a Split,
    seed: u64,
    out: &'a Path,
}

pub fn run(desk: &Desk, grammars: &str) {
    let (first, last) = grammars.split_once('-').unwrap_or((grammars, grammars));
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let columns = format!("grammar,seed,solved,equal,{VERDICT},train_seconds");
    let grammars = (number(first)..=number(last)).map(|number| {
        let grammar = Grammar::numbered(number).expect("a grammar from 1 to 7");
        (grammar, sets(grammar, &Key::new(1)))
    });
    let grammars: Vec<(Grammar, Split)> = grammars.collect();
    let works = (1..=SEEDS).flat_map(|seed| {
        let out = &desk.out;
        grammars.iter().map(move |(grammar, split)| Seed { grammar: *grammar, split, seed, out })
    });
    fill(desk, "tomita", &columns, &works.collect::<Vec<_>>());
}

impl Work for Seed<'_> {
    fn name(&self) -> String {
        format!("tomita-{}-seed-{}", self.grammar.number(), self.seed)
    }

    fn row(&self) -> String {
        let recipe = quietly(recipe_default(&Sizes::of(2, 2)));
        let trained = trained(self.split, &recipe, self.seed);
        let verdict = verdict(&trained.file);
        verdict.save(&trained.file, &self.out.join("tomita").join(self.name()));
        let truth = Moore::from(&truth(self.grammar));
        let equal = verdict.automaton().map_or("".into(), |found| equality(found, &truth));
        let (number, seed, solved) = (self.grammar.number(), self.seed, trained.solved());
        let (verdict, seconds) = (verdict.row(), trained.seconds);
        format!("{number},{seed},{solved},{equal},{verdict},{seconds:.2}")
    }
}
