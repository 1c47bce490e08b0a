//! What a network says about many words: asked once, kept as plain data, compared with any number
//! of automata.

use super::Memoryless;
use crate::engine::Real;
use crate::engine::reference::State;
use crate::engine::{Batch, Fields, Inputs, Mode, Runner, Targets};
use crate::model::{Arch, When};
use srnn_automata::{Symbol, Word, shortlex};
use std::convert::Infallible;

/// A set of words in a fixed order.
#[derive(Clone, Debug, PartialEq)]
pub enum Words {
    /// All words of at most `longest` symbols, shorter ones first, then in alphabet order.
    UpTo {
        /// Size of the alphabet.
        symbols: u32,
        /// The largest length.
        longest: usize,
    },
    /// These.
    List(Vec<Word>),
}

/// What a network says about each of a set of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The words.
    pub words: Words,
    /// The class given to each; `None` where the logits are no numbers.
    pub classes: Vec<Option<u32>>,
}

impl Words {
    /// All words up to the largest length of at most `longest` at which they are not more than
    /// `most`.
    pub fn at_most(symbols: u32, most: usize, longest: usize) -> Words {
        let fits = |&length: &usize| count_up_to(symbols, length).is_some_and(|n| n <= most);
        let longest = (0..=longest).take_while(fits).last().unwrap_or(0);
        Words::UpTo { symbols, longest }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Words::UpTo { symbols, longest } => {
                count_up_to(*symbols, *longest).expect("as many words as can be addressed")
            }
            Words::List(words) => words.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words, in order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Word> + '_> {
        match self {
            Words::UpTo { symbols, longest } => Box::new(shortlex(*symbols, *longest)),
            Words::List(words) => Box::new(words.iter().cloned()),
        }
    }
}

/// What a network says about words, by its largest logit.
pub fn ask<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    words: Words,
    mode: Mode,
) -> Answers {
    let mut classes = Vec::with_capacity(words.len());
    read_out(engine, &words, mode, |logits| classes.push(decision(logits)));
    Answers { words, classes }
}

/// Runs words through an engine, in batches of bounded size, and hands on the logits of each, in
/// order: the last read-out of its row.
pub fn read_out<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    words: &Words,
    mode: Mode,
    mut hear: impl FnMut(&[F]),
) {
    let Ok(model) = engine.model();
    let bias = &model.params[model.layout().head_bias.clone()];
    let (arch, c) = (&model.arch, model.arch.classes);
    for batch in batches(arch, words) {
        let Ok(trace) = engine.trace(&batch, mode, Fields::default());
        for row in 0..batch.rows() {
            let read = match arch.readout.when {
                When::Last => Some(row),
                When::EveryStep => batch.row(row).last(),
            };
            // A row without steps reads the initial state, which is zero.
            hear(read.map_or(bias, |n| &trace.logits[n * c..][..c]));
        }
    }
}

/// The answers of the deployed network in double precision to all words of at most `longest`
/// symbols: every word is one step from its prefix, instead of a run of its own.
pub fn walk(machine: &Memoryless, longest: usize) -> Answers {
    let words = Words::UpTo { symbols: machine.alphabet().len() as u32, longest };
    let mut classes = vec![None; words.len()];
    descend(machine, &machine.start(Mode::default()), 0, longest, &mut classes);
    Answers { words, classes }
}

/// Depth first, so that only one state per length is held. The number of `word·x` in the order of
/// [`Words::UpTo`] is `number(word) · |A| + x + 1`.
fn descend(
    machine: &Memoryless,
    state: &State,
    number: usize,
    left: usize,
    classes: &mut [Option<u32>],
) {
    classes[number] = Some(machine.decide(state));
    if left == 0 {
        return;
    }
    for symbol in machine.alphabet().symbols() {
        let next = machine.next(state, symbol, Mode::default());
        let number = number * machine.alphabet().len() + symbol.index() + 1;
        descend(machine, &next, number, left - 1, classes);
    }
}

/// Rows of a batch, unless its steps run out first.
const ROWS: usize = 4096;
/// Steps of a batch: with 50 centroids a trace of α in single precision takes 13 MB.
const STEPS: usize = 1 << 16;

/// The words as batches, with start and end tokens and without targets.
pub(super) fn batches<'a>(arch: &'a Arch, words: &'a Words) -> impl Iterator<Item = Batch> + 'a {
    let mut words = words.iter().peekable();
    std::iter::from_fn(move || {
        words.peek()?;
        let mut offsets = vec![0];
        let mut ids = Vec::new();
        while ids.len() < STEPS && offsets.len() <= ROWS {
            let Some(word) = words.next() else { break };
            ids.extend(arch.input.start());
            ids.extend(word.iter().map(|symbol| symbol_id(arch, *symbol)));
            ids.extend(arch.input.end());
            offsets.push(ids.len());
        }
        let input = Inputs::Tokens(ids);
        Some(Batch { offsets, input, targets: Targets::None, class_weights: vec![] })
    })
}

fn symbol_id(arch: &Arch, symbol: Symbol) -> u32 {
    let symbols = super::machine::symbols(arch).expect("a network that reads tokens");
    assert!(symbol.index() < symbols, "symbol {} of an alphabet of {symbols}", symbol.0);
    symbol.0
}

/// The largest logit, the first of equals.
fn decision<F: Real>(logits: &[F]) -> Option<u32> {
    let number = |x: &F| x.to().is_finite();
    logits.iter().all(number).then(|| largest(logits) as u32)
}

/// The index of the largest value, the first of equals.
pub(super) fn largest<F: Real>(values: &[F]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// `Σ |A|^ℓ` for ℓ up to `longest`, unless it overflows.
fn count_up_to(symbols: u32, longest: usize) -> Option<usize> {
    let (mut total, mut power) = (1usize, 1usize);
    for _ in 0..longest {
        power = power.checked_mul(symbols as usize)?;
        total = total.checked_add(power)?;
    }
    Some(total)
}
