//! The classes a network gives to many words: computed once, then compared with any number of
//! automata.

use super::TransitionSystem;
use crate::engine::Real;
use crate::engine::reference::NetworkState;
use crate::engine::{Batch, Fields, Mode, Runner};
use crate::model::{Arch, When};
use srnn_automata::{Symbol, Word, shortlex};
use std::convert::Infallible;

/// A set of words in a fixed order.
#[derive(Clone, Debug, PartialEq)]
pub enum WordSet {
    /// All words of at most `longest` symbols, in length-lexicographic order.
    UpTo {
        /// Size of the alphabet.
        symbols: u32,
        /// The maximum length.
        longest: usize,
    },
    /// A list of words.
    List(Vec<Word>),
}

/// Words and the classes that a network gives to them.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifiedWords {
    /// The words.
    pub words: WordSet,
    /// The class of each word; `None` where a logit is not finite.
    pub classes: Vec<Option<u32>>,
}

impl WordSet {
    /// All words up to some length: the largest length of at most `longest` for which there are no
    /// more than `most` words.
    pub fn at_most(symbols: u32, most: usize, longest: usize) -> WordSet {
        let fits = |&length: &usize| count_up_to(symbols, length).is_some_and(|n| n <= most);
        let longest = (0..=longest).take_while(fits).last().unwrap_or(0);
        WordSet::UpTo { symbols, longest }
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        match self {
            WordSet::UpTo { symbols, longest } => {
                count_up_to(*symbols, *longest).expect("the number of words fits usize")
            }
            WordSet::List(words) => words.len(),
        }
    }

    /// Whether the set has no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words, in order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Word> + '_> {
        match self {
            WordSet::UpTo { symbols, longest } => Box::new(shortlex(*symbols, *longest)),
            WordSet::List(words) => Box::new(words.iter().cloned()),
        }
    }
}

/// The class of each word: the index of its largest logit.
pub fn classify_words<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    words: WordSet,
    mode: Mode,
) -> ClassifiedWords {
    let mut classes = Vec::with_capacity(words.len());
    word_logits(engine, &words, mode, |logits| classes.push(class_of(logits)));
    ClassifiedWords { words, classes }
}

/// Runs words through an engine in batches of bounded size, and calls `receive` with the logits of
/// each word, in order. They are the last read-out of the word's row.
pub fn word_logits<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    words: &WordSet,
    mode: Mode,
    mut receive: impl FnMut(&[F]),
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
            receive(read.map_or(bias, |n| &trace.logits[n * c..][..c]));
        }
    }
}

/// Classifies all words of at most `longest` symbols with the deployed network, in double
/// precision. Each word takes one step from its prefix instead of a run of its own.
pub fn classify_short_words(system: &TransitionSystem, longest: usize) -> ClassifiedWords {
    let words = WordSet::UpTo { symbols: system.alphabet().len() as u32, longest };
    let mut classes = vec![None; words.len()];
    classify_extensions(system, &system.start(Mode::default()), 0, longest, &mut classes);
    ClassifiedWords { words, classes }
}

/// Classifies a word and all its extensions by up to `left` symbols, depth first, so that only one
/// state per length is held. In the order of [`WordSet::UpTo`], the index of `word·x` is
/// `index(word) · |A| + x + 1`.
fn classify_extensions(
    system: &TransitionSystem,
    state: &NetworkState,
    index: usize,
    left: usize,
    classes: &mut [Option<u32>],
) {
    classes[index] = Some(system.classify(state));
    if left == 0 {
        return;
    }
    for symbol in system.alphabet().symbols() {
        let next = system.next(state, symbol, Mode::default());
        let index = index * system.alphabet().len() + symbol.index() + 1;
        classify_extensions(system, &next, index, left - 1, classes);
    }
}

/// Maximum rows of a batch.
const ROWS: usize = 4096;
/// A batch is full at this number of steps: with 50 centroids a trace of α in single precision
/// takes 13 MB.
const STEPS: usize = 1 << 16;

/// The words as batches, with start and end tokens and without targets.
pub(super) fn batches<'a>(arch: &'a Arch, words: &'a WordSet) -> impl Iterator<Item = Batch> + 'a {
    let special_tokens = arch.input.start().iter().len() + arch.input.end().iter().len();
    let mut words = words.iter();
    std::iter::from_fn(move || {
        let (mut chunk, mut steps): (Vec<Word>, usize) = (vec![], 0);
        while steps < STEPS && chunk.len() < ROWS {
            let Some(word) = words.next() else { break };
            steps += word.len() + special_tokens;
            chunk.push(word);
        }
        let ids = |word: &'_ Word| -> Vec<u32> { word.iter().map(|&x| token(arch, x)).collect() };
        (!chunk.is_empty()).then(|| Batch::of_words(&arch.input, chunk.iter().map(ids)))
    })
}

fn token(arch: &Arch, symbol: Symbol) -> u32 {
    let symbols = super::transition_system::symbols(arch).expect("a network that reads tokens");
    assert!(symbol.index() < symbols, "symbol {} of an alphabet of {symbols}", symbol.0);
    symbol.0
}

/// The index of the largest logit; the lowest index wins a tie.
fn class_of<F: Real>(logits: &[F]) -> Option<u32> {
    let finite = |x: &F| x.to().is_finite();
    logits.iter().all(finite).then(|| largest(logits) as u32)
}

/// The index of the largest value; the lowest index wins a tie.
pub(super) fn largest<F: Real>(values: &[F]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// `Σ |A|^ℓ` for ℓ up to `longest`; `None` on overflow.
fn count_up_to(symbols: u32, longest: usize) -> Option<usize> {
    let (mut total, mut power) = (1usize, 1usize);
    for _ in 0..longest {
        power = power.checked_mul(symbols as usize)?;
        total = total.checked_add(power)?;
    }
    Some(total)
}
