//! From files to a split: one vocabulary, the training set's, and what it cannot read.

use std::path::{Path, PathBuf};

use crate::key::Key;
use crate::task::{Dataset, Fractions, Part, Sequence, Split, UNKNOWN, Vocabulary, assign};

use super::error::{Cause, DataError, fault};
use super::options::{ReadOptions, Tokens};
use super::read;
use super::samples::Samples;

/// Where held-out sequences come from. A file takes the place of a fraction, which then is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldOut {
    /// How the training file is divided.
    pub fractions: Fractions,
    /// A file of validation sequences.
    pub valid: Option<PathBuf>,
    /// A file of test sequences.
    pub test: Option<PathBuf>,
}

/// Everything that training needs to know about its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The sequences, by the numbers of the vocabulary.
    pub split: Split,
    /// The training set's tokens.
    pub vocabulary: Vocabulary,
    /// How texts were divided into tokens; never a guess.
    pub tokens: Tokens,
    /// Where the sequences of the split stand.
    pub lines: LineNumbers,
    /// What is to be said about the validation set.
    pub valid: Aside,
    /// What is to be said about the test set.
    pub test: Aside,
    /// How many sequences were left out because they have no label, over all files.
    pub unlabelled: usize,
}

/// The line each sequence begins in, in the order of its set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineNumbers {
    /// Of the training file.
    pub train: Vec<u64>,
    /// Of the validation file, or of the training file where that was divided.
    pub valid: Vec<u64>,
}

/// What is to be said about a held-out set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// Sequences that the model cannot read. They count as errors.
    pub unreadable: Vec<Unreadable>,
    /// How many of its sequences the training set has too; 0 where one file was divided.
    pub in_training: usize,
}

/// A held-out sequence with a token that training has not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file it is in.
    pub file: String,
    /// The line it begins in.
    pub line: u64,
    /// Its label, as an index into the classes.
    pub label: u32,
    /// The first token that was not seen.
    pub token: String,
}

/// Reads a training file, holds out what is asked for, and gives all the same numbers. The rule
/// for unseen tokens is that of [`crate::task`].
pub fn load(
    train: &Path,
    hold_out: &HoldOut,
    options: &ReadOptions,
    key: &Key,
) -> Result<Loaded, DataError> {
    check_asked_once(train, hold_out)?;
    let whole = read(train, options)?;
    whole.check_trainable(options.one_symbol)?;
    // A guess is made once: the model reads all texts alike.
    let settled = ReadOptions { tokens: whole.tokens.clone(), ..options.clone() };
    let file = |path: &Option<PathBuf>| path.as_ref().map(|path| read(path, &settled)).transpose();
    let (valid_file, test_file) = (file(&hold_out.valid)?, file(&hold_out.test)?);
    let [train, valid_part, test_part] = divide(whole, hold_out.fractions, key);
    let valid = match valid_file {
        Some(samples) => samples,
        None => not_empty(valid_part, "valid")?,
    };
    let test = match (test_file, hold_out.fractions.get()[2] > 0.0) {
        (Some(samples), _) => Some(samples),
        (None, true) => Some(not_empty(test_part, "test")?),
        (None, false) => None,
    };
    fit(train, valid, test, options.min_count)
}

fn check_asked_once(train: &Path, hold_out: &HoldOut) -> Result<(), DataError> {
    let [_, valid, test] = hold_out.fractions.get();
    for (part, file, fraction) in
        [("valid", &hold_out.valid, valid), ("test", &hold_out.test, test)]
    {
        if file.is_some() && fraction > 0.0 {
            let cause = Cause::HeldOutTwice { part };
            return Err(fault(cause).in_file(&train.display().to_string()));
        }
    }
    Ok(())
}

fn divide(whole: Samples, fractions: Fractions, key: &Key) -> [Samples; 3] {
    let parts = assign(&whole.data, fractions, key);
    let empty = Samples {
        file: whole.file,
        data: whole.data.emptied(),
        lines: Vec::new(),
        tokens: whole.tokens,
        texts: 0,
        unlabelled: 0,
    };
    let mut divided =
        [Samples { unlabelled: whole.unlabelled, ..empty.clone() }, empty.clone(), empty];
    for ((sequence, line), part) in whole.data.sequences.into_iter().zip(whole.lines).zip(parts) {
        let samples = &mut divided[match part {
            Part::Train => 0,
            Part::Valid => 1,
            Part::Test => 2,
        }];
        samples.data.sequences.push(sequence);
        samples.lines.push(line);
    }
    divided
}

fn not_empty(samples: Samples, part: &'static str) -> Result<Samples, DataError> {
    if samples.data.sequences.is_empty() {
        return Err(fault(Cause::NothingHeldOut { part }).in_file(&samples.file));
    }
    Ok(samples)
}

fn fit(
    train: Samples,
    valid: Samples,
    test: Option<Samples>,
    min_count: usize,
) -> Result<Loaded, DataError> {
    let vocabulary = fit_vocabulary(&train.data, min_count);
    let unlabelled =
        train.unlabelled + valid.unlabelled + test.as_ref().map_or(0, |test| test.unlabelled);
    let (tokens, classes) = (train.tokens.clone(), train.data.classes.clone());
    let Recoded { data: train, lines, unreadable } = recode(train, &vocabulary, &classes)?;
    debug_assert!(unreadable.is_empty(), "the vocabulary is the training set's");
    let aside =
        |data: &Dataset, unreadable| Aside { unreadable, in_training: shared(&train, data) };
    let valid = recode(valid, &vocabulary, &classes)?;
    let lines = LineNumbers { train: lines, valid: valid.lines };
    let valid_aside = aside(&valid.data, valid.unreadable);
    let (test, test_aside) = match test {
        Some(test) => {
            let test = recode(test, &vocabulary, &classes)?;
            let test_aside = aside(&test.data, test.unreadable);
            (Some(test.data), test_aside)
        }
        None => (None, Aside::default()),
    };
    let split = Split { train, valid: valid.data, test };
    let (valid, test) = (valid_aside, test_aside);
    Ok(Loaded { split, vocabulary, tokens, lines, valid, test, unlabelled })
}

/// The tokens that occur often enough. Where none is too rare there is nothing to train
/// `<unk>` on, and so there is none.
fn fit_vocabulary(train: &Dataset, min_count: usize) -> Vocabulary {
    let mut counts = vec![0usize; train.alphabet.len()];
    for token in train.sequences.iter().flat_map(|sequence| &sequence.tokens) {
        counts[*token as usize] += 1;
    }
    let rare = counts.iter().any(|&count| (1..min_count).contains(&count));
    let often = |&(_, count): &(&String, usize)| count >= min_count.max(1);
    let mut symbols: Vec<String> =
        train.alphabet.iter().zip(counts).filter(often).map(|(name, _)| name.clone()).collect();
    // Some corpora come with their own `<unk>`: it means the same.
    if rare && !symbols.iter().any(|name| name == UNKNOWN) {
        symbols.push(UNKNOWN.into());
    }
    symbols.sort();
    let unknown = symbols.iter().position(|name| rare && name == UNKNOWN).map(|id| id as u32);
    Vocabulary::new(symbols, unknown).expect("an alphabet has no name twice")
}

struct Recoded {
    data: Dataset,
    /// Of the sequences in `data`.
    lines: Vec<u64>,
    unreadable: Vec<Unreadable>,
}

/// Gives sequences the numbers of the vocabulary and of these classes.
fn recode(
    samples: Samples,
    vocabulary: &Vocabulary,
    classes: &[String],
) -> Result<Recoded, DataError> {
    let new_label = new_labels(&samples, classes)?;
    let Samples { file, data, lines: all, .. } = samples;
    let new_token: Vec<Option<u32>> =
        data.alphabet.iter().map(|name| vocabulary.id(name)).collect();
    let (mut sequences, mut lines, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for (mut sequence, line) in data.sequences.into_iter().zip(all) {
        sequence.label = new_label[sequence.label as usize];
        match renumber(&mut sequence, &new_token) {
            Ok(()) => {
                sequences.push(sequence);
                lines.push(line);
            }
            Err(token) => unreadable.push(Unreadable {
                file: file.clone(),
                line,
                label: sequence.label,
                token: data.alphabet[token as usize].clone(),
            }),
        }
    }
    let alphabet = vocabulary.symbols().to_vec();
    let data = Dataset { alphabet, classes: classes.to_vec(), sequences };
    Ok(Recoded { data, lines, unreadable })
}

/// In place; the first token without a new number ends it.
fn renumber(sequence: &mut Sequence, new_token: &[Option<u32>]) -> Result<(), u32> {
    for token in &mut sequence.tokens {
        *token = new_token[*token as usize].ok_or(*token)?;
    }
    Ok(())
}

fn new_labels(samples: &Samples, classes: &[String]) -> Result<Vec<u32>, DataError> {
    let new = |(old, class): (usize, &String)| {
        let found = classes.iter().position(|known| known == class);
        found.map(|id| id as u32).ok_or_else(|| {
            let at = samples.data.sequences.iter().position(|s| s.label as usize == old);
            let line = at.map_or(1, |at| samples.lines[at]);
            let cause = Cause::UnseenClass { class: class.clone(), known: classes.to_vec() };
            cause.at(line).in_file(&samples.file)
        })
    };
    samples.data.classes.iter().enumerate().map(new).collect()
}

/// How many sequences of `held_out` training has too.
fn shared(train: &Dataset, held_out: &Dataset) -> usize {
    let mut known: Vec<&[u32]> = train.sequences.iter().map(|s| s.tokens.as_slice()).collect();
    known.sort_unstable();
    let is_known = |s: &&Sequence| known.binary_search(&s.tokens.as_slice()).is_ok();
    held_out.sequences.iter().filter(is_known).count()
}
