//! `examples.json`: a sample of held-out sequences with the class that the kept model gives them, and
//! how the training sequences use the automaton. The page of a run shows it.

use super::support;
use crate::engine::cpu::Cpu;
use crate::engine::reference::argmax;
use crate::engine::{Fields, Mode, Runner};
use crate::learn::{KeptModel, Learned};
use crate::task::Dataset;
use crate::train::Examples;
use serde_json::{Value, json};
use srnn_automata::{Moore, Symbol};

/// The format that is written.
const FORMAT: &str = "srnn-examples-1";
/// Of a set, at most this many sequences are classified again.
const MAX_EXAMINED: usize = 2_000;
/// Examples of a set: of right answers, and of wrong ones.
const MAX_EXAMPLES: usize = 12;
/// Tokens of an example that are kept.
const MAX_TOKENS: usize = 60;
/// Steps of a batch; it bounds the memory.
const MAX_STEPS: usize = 1 << 14;
/// Larger automata have no counts: the file would be larger than the rest of the run.
const MAX_TRANSITIONS: usize = 20_000;
/// Examples of a state.
const MAX_OF_STATE: usize = 3;

/// The content of `examples.json`.
pub(super) fn value(learned: &Learned<'_>) -> Value {
    let split = &learned.data.split;
    let lines = &learned.data.lines.valid;
    let mut sets = vec![set_record(learned, "valid", &split.valid, lines)];
    sets.extend(split.test.as_ref().map(|test| set_record(learned, "test", test, &[])));
    json!({
        "format": FORMAT,
        "sets": sets,
        "automaton": learned.automaton().and_then(|kept| automaton_record(kept, &split.train)),
    })
}

/// Right and wrong answers on a set, each sample spread over all lengths.
fn set_record(learned: &Learned<'_>, name: &str, set: &Dataset, lines: &[u64]) -> Value {
    let examined: Vec<usize> = spread(&(0..set.sequences.len()).collect::<Vec<_>>(), MAX_EXAMINED);
    let predicted = predictions(learned, set, &examined);
    let answers = || examined.iter().copied().zip(predicted.iter().copied());
    let sample = |right: bool| {
        let is_right =
            |&(index, class): &(usize, u32)| (set.sequences[index].label == class) == right;
        let mut found: Vec<(usize, u32)> = answers().filter(is_right).collect();
        found.sort_by_key(|&(index, _)| (set.sequences[index].tokens.len(), index));
        let record = |(index, class)| example_record(set, index, class, lines);
        (found.len(), spread(&found, MAX_EXAMPLES).into_iter().map(record).collect::<Vec<_>>())
    };
    let ((right, right_examples), (wrong, wrong_examples)) = (sample(true), sample(false));
    json!({
        "set": name,
        "sequences": set.sequences.len(),
        "examined": examined.len(),
        "right": right,
        "wrong": wrong,
        "right_examples": right_examples,
        "wrong_examples": wrong_examples,
    })
}

/// At most `count` of the items, at equal distances; the first is always among them.
fn spread<T: Copy>(items: &[T], count: usize) -> Vec<T> {
    let shown = items.len().min(count);
    (0..shown).map(|number| items[number * items.len() / shown]).collect()
}

fn example_record(set: &Dataset, index: usize, class: u32, lines: &[u64]) -> Value {
    let sequence = &set.sequences[index];
    json!({
        "index": index,
        "line": lines.get(index),
        "length": sequence.tokens.len(),
        "tokens": names(set, &sequence.tokens),
        "given": set.classes[sequence.label as usize],
        "predicted": set.classes[class as usize],
    })
}

/// The names of the first tokens.
fn names<'a>(set: &'a Dataset, tokens: &[u32]) -> Vec<&'a str> {
    tokens.iter().take(MAX_TOKENS).map(|&id| set.alphabet[id as usize].as_str()).collect()
}

/// The class that the kept model gives each of these sequences.
fn predictions(learned: &Learned<'_>, set: &Dataset, indices: &[usize]) -> Vec<u32> {
    let class = |logits: &[f64]| argmax(logits) as u32;
    if let KeptModel::Ngrams(ngrams) = &learned.model {
        let tokens = indices.iter().map(|&index| &set.sequences[index].tokens[..]);
        return ngrams.logits(tokens).iter().map(|logits| class(logits)).collect();
    }
    let model = learned.model_file().model;
    let mut engine = Cpu::new(&model, 1);
    let mut classes = vec![];
    for part in batches(set, indices) {
        let batch = set.batch(part, &model.arch);
        let Ok(trace) = engine.trace(&batch, Mode::default(), Fields::default());
        let rows = trace.logits.chunks_exact(model.arch.classes);
        classes.extend(
            rows.map(|row| class(&row.iter().map(|&logit| f64::from(logit)).collect::<Vec<_>>())),
        );
    }
    classes
}

/// Consecutive parts of `indices` with at most [`MAX_STEPS`] steps, or one sequence.
fn batches<'a>(set: &Dataset, indices: &'a [usize]) -> Vec<&'a [usize]> {
    let (mut parts, mut rest) = (vec![], indices);
    while !rest.is_empty() {
        let mut steps = 0;
        let fits = |&&index: &&usize| {
            steps += set.sequences[index].tokens.len() + 2;
            steps <= MAX_STEPS
        };
        let count = rest.iter().take_while(fits).count().max(1);
        parts.push(&rest[..count]);
        rest = &rest[count..];
    }
    parts
}

/// How often the training sequences take each transition, and some that end in each state; `None` if
/// the automaton is too large.
fn automaton_record(automaton: &Moore<u32>, train: &Dataset) -> Option<Value> {
    if automaton.state_count() * automaton.alphabet().len() > MAX_TRANSITIONS {
        return None;
    }
    let rows = support::support(automaton, train);
    let taken: Vec<&Vec<u64>> = rows.iter().map(|row| &row.taken).collect();
    Some(json!({ "taken": taken, "ending": ending(automaton, train) }))
}

/// For each state, the shortest training sequences that end in it, each once.
fn ending(automaton: &Moore<u32>, train: &Dataset) -> Vec<Vec<Value>> {
    let mut of_states: Vec<Vec<&[u32]>> = vec![vec![]; automaton.state_count()];
    for sequence in &train.sequences {
        let next = |state, &token: &u32| automaton.next(state, Symbol(token));
        let end = sequence.tokens.iter().fold(automaton.start(), next);
        let shortest = &mut of_states[end.index()];
        let tokens = &sequence.tokens[..];
        if !shortest.contains(&tokens) {
            shortest.push(tokens);
            shortest.sort_by_key(|tokens| tokens.len());
            shortest.truncate(MAX_OF_STATE);
        }
    }
    let record = |tokens: &[u32]| json!({ "length": tokens.len(), "tokens": names(train, tokens) });
    of_states.into_iter().map(|found| found.into_iter().map(record).collect()).collect()
}
