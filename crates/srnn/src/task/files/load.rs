//! Loads files into a [`Split`] with the vocabulary of the training set.

use std::path::{Path, PathBuf};

use crate::key::Key;
use crate::task::{Dataset, Fractions, Sequence, Split, UNKNOWN, Vocabulary, assign_subsets};

use super::error::{Cause, CauseAtLine, DataError};
use super::options::{OneSymbol, RareTokens, ReadOptions, TokenRule};
use super::read;
use super::samples::Samples;

/// Where held-out sequences come from. If a file is given, its fraction must be 0.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldOut {
    /// How the training file is split.
    pub fractions: Fractions,
    /// A file of validation sequences.
    pub valid: Option<PathBuf>,
    /// A file of test sequences.
    pub test: Option<PathBuf>,
}

/// The data of a training run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The sequences, with the ids of the vocabulary.
    pub split: Split,
    /// The tokens of the training set.
    pub vocabulary: Vocabulary,
    /// How strings were split into tokens; never a guess.
    pub tokens: TokenRule,
    /// The lines of the sequences of the split.
    pub lines: LineNumbers,
    /// Issues of the validation set.
    pub valid: HeldOutIssues,
    /// Issues of the test set.
    pub test: HeldOutIssues,
    /// The number of sequences without a label that were skipped, over all files.
    pub unlabelled: usize,
}

/// The line in which each sequence begins, in the order of its set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineNumbers {
    /// Lines of the training file.
    pub train: Vec<u64>,
    /// Lines of the validation file, or of the training file if that was split.
    pub valid: Vec<u64>,
}

/// What a user should know about a held-out set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldOutIssues {
    /// Sequences that the model cannot read. They count as errors.
    pub unreadable: Vec<Unreadable>,
    /// The number of its sequences that are also in the training set; 0 if one file was split.
    pub in_training: usize,
}

/// A held-out sequence with a token that is not in the training set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub file: String,
    /// The line in which it begins.
    pub line: u64,
    /// Its label, as an index into the classes.
    pub label: u32,
    /// The first such token.
    pub token: String,
}

/// Reads the training file and the held-out files, splits off the fractions, and encodes all with
/// the vocabulary of the training set. [`crate::task`] says what becomes of unseen tokens.
pub fn load(
    train: &Path,
    hold_out: &HoldOut,
    options: &ReadOptions,
    key: &Key,
) -> Result<Loaded, DataError> {
    check_held_out_once(train, hold_out)?;
    let whole = read(train, options)?;
    whole.check_trainable(options.one_symbol)?;
    // The rule that was found in the training file applies to all files.
    let settled = ReadOptions { tokens: whole.tokens.clone(), ..options.clone() };
    let file = |path: &Option<PathBuf>| path.as_ref().map(|path| read(path, &settled)).transpose();
    let (valid_file, test_file) = (file(&hold_out.valid)?, file(&hold_out.test)?);
    let [train, valid_part, test_part] = split_samples(whole, hold_out.fractions, key);
    let valid = match valid_file {
        Some(samples) => samples,
        None => not_empty(valid_part, "valid")?,
    };
    let test = match (test_file, hold_out.fractions.get()[2] > 0.0) {
        (Some(samples), _) => Some(samples),
        (None, true) => Some(not_empty(test_part, "test")?),
        (None, false) => None,
    };
    encode_all(train, valid, test, options)
}

pub(super) fn check_held_out_once(train: &Path, hold_out: &HoldOut) -> Result<(), DataError> {
    let [_, valid, test] = hold_out.fractions.get();
    for (part, file, fraction) in
        [("valid", &hold_out.valid, valid), ("test", &hold_out.test, test)]
    {
        if file.is_some() && fraction > 0.0 {
            let cause = Cause::HeldOutTwice { part };
            return Err(CauseAtLine::from(cause).in_file(&train.display().to_string()));
        }
    }
    Ok(())
}

fn split_samples(whole: Samples, fractions: Fractions, key: &Key) -> [Samples; 3] {
    let subsets = assign_subsets(&whole.data, fractions, key);
    let empty = Samples {
        file: whole.file,
        data: whole.data.without_sequences(),
        lines: Vec::new(),
        tokens: whole.tokens,
        texts: 0,
        unlabelled: 0,
    };
    let mut split =
        [Samples { unlabelled: whole.unlabelled, ..empty.clone() }, empty.clone(), empty];
    for ((sequence, line), subset) in whole.data.sequences.into_iter().zip(whole.lines).zip(subsets)
    {
        let samples = &mut split[subset as usize];
        samples.data.sequences.push(sequence);
        samples.lines.push(line);
    }
    split
}

fn not_empty(samples: Samples, part: &'static str) -> Result<Samples, DataError> {
    if samples.data.sequences.is_empty() {
        let cause = CauseAtLine::from(Cause::NothingHeldOut { part });
        return Err(cause.in_file(&samples.file));
    }
    Ok(samples)
}

fn encode_all(
    train: Samples,
    valid: Samples,
    test: Option<Samples>,
    options: &ReadOptions,
) -> Result<Loaded, DataError> {
    let vocabulary = fit_vocabulary(&train.data, options.rare_tokens);
    if vocabulary.unknown().is_some()
        && vocabulary.symbols().len() == 1
        && options.one_symbol == OneSymbol::Refuse
    {
        return Err(CauseAtLine::from(Cause::OnlyUnknown).in_file(&train.file));
    }
    let unlabelled =
        train.unlabelled + valid.unlabelled + test.as_ref().map_or(0, |test| test.unlabelled);
    let (tokens, classes) = (train.tokens.clone(), train.data.classes.clone());
    let Encoded { data: train, lines, unreadable } = encode(train, &vocabulary, &classes)?;
    debug_assert!(unreadable.is_empty(), "every training token is in the vocabulary");
    let issues = |data: &Dataset, unreadable| HeldOutIssues {
        unreadable,
        in_training: count_shared(&train, data),
    };
    let valid = encode(valid, &vocabulary, &classes)?;
    let lines = LineNumbers { train: lines, valid: valid.lines };
    let valid_issues = issues(&valid.data, valid.unreadable);
    let (test, test_issues) = match test {
        Some(test) => {
            let test = encode(test, &vocabulary, &classes)?;
            let test_issues = issues(&test.data, test.unreadable);
            (Some(test.data), test_issues)
        }
        None => (None, HeldOutIssues::default()),
    };
    let split = Split { train, valid: valid.data, test };
    let (valid, test) = (valid_issues, test_issues);
    Ok(Loaded { split, vocabulary, tokens, lines, valid, test, unlabelled })
}

/// The tokens that are not rare, and `<unk>` if some are. Without rare tokens nothing would train
/// `<unk>`.
fn fit_vocabulary(train: &Dataset, rare: RareTokens) -> Vocabulary {
    let uses = match rare {
        RareTokens::Automatic => automatic_rarity(train),
        RareTokens::Below(count) => token_counts(train).into_iter().map(rarity(count)).collect(),
    };
    let rare = uses.contains(&TokenUse::Rare);
    let used = train.alphabet.iter().zip(&uses).filter(|(_, found)| **found == TokenUse::Frequent);
    let mut symbols: Vec<String> = used.map(|(name, _)| name.clone()).collect();
    // Some corpora contain `<unk>` with the same meaning.
    if rare && !symbols.iter().any(|name| name == UNKNOWN) {
        symbols.push(UNKNOWN.into());
    }
    symbols.sort();
    let unknown = symbols.iter().position(|name| rare && name == UNKNOWN).map(|id| id as u32);
    Vocabulary::new(symbols, unknown).expect("the names of an alphabet are unique")
}

/// How a token is used in the training set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenUse {
    /// Only held-out sequences have it.
    Unseen,
    /// It becomes `<unk>`.
    Rare,
    /// It has an id of its own.
    Frequent,
}

fn rarity(least: usize) -> impl Fn(usize) -> TokenUse {
    move |count| match count {
        0 => TokenUse::Unseen,
        n if n < least => TokenUse::Rare,
        _ => TokenUse::Frequent,
    }
}

fn token_counts(train: &Dataset) -> Vec<usize> {
    let mut counts = vec![0usize; train.alphabet.len()];
    for token in train.sequences.iter().flat_map(|sequence| &sequence.tokens) {
        counts[*token as usize] += 1;
    }
    counts
}

/// Tokens of one sequence only are rare, if enough sequences have one. A set whose tokens are all
/// rare is kept as it is: `<unk>` alone says nothing.
fn automatic_rarity(train: &Dataset) -> Vec<TokenUse> {
    const MIN_FRACTION: f64 = 0.01;
    const MIN_SEQUENCES: f64 = 3.0;
    let mut sequences = vec![0usize; train.alphabet.len()];
    let mut last = vec![usize::MAX; train.alphabet.len()];
    for (index, sequence) in train.sequences.iter().enumerate() {
        for &token in &sequence.tokens {
            if last[token as usize] != index {
                (last[token as usize], sequences[token as usize]) =
                    (index, sequences[token as usize] + 1);
            }
        }
    }
    let has_rare = |s: &&Sequence| s.tokens.iter().any(|&token| sequences[token as usize] == 1);
    let with_rare = train.sequences.iter().filter(has_rare).count();
    let needed = (MIN_FRACTION * train.sequences.len() as f64).max(MIN_SEQUENCES);
    let enough = with_rare as f64 >= needed;
    let some_frequent = sequences.iter().any(|&count| count > 1);
    let least = if enough && some_frequent { 2 } else { 1 };
    sequences.into_iter().map(rarity(least)).collect()
}

struct Encoded {
    data: Dataset,
    /// The lines of the sequences in `data`.
    lines: Vec<u64>,
    unreadable: Vec<Unreadable>,
}

/// Replaces the ids of a file by those of the vocabulary and of these classes.
fn encode(
    samples: Samples,
    vocabulary: &Vocabulary,
    classes: &[String],
) -> Result<Encoded, DataError> {
    let new_label = new_labels(&samples, classes)?;
    let Samples { file, data, lines: all, .. } = samples;
    let new_token: Vec<Option<u32>> =
        data.alphabet.iter().map(|name| vocabulary.id(name)).collect();
    let (mut sequences, mut lines, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for (mut sequence, line) in data.sequences.into_iter().zip(all) {
        sequence.label = new_label[sequence.label as usize];
        match replace_ids(&mut sequence, &new_token) {
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
    Ok(Encoded { data, lines, unreadable })
}

/// Replaces ids in place. The error is the first token without a new id.
fn replace_ids(sequence: &mut Sequence, new_token: &[Option<u32>]) -> Result<(), u32> {
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

/// The number of sequences of `held_out` that are also in `train`.
fn count_shared(train: &Dataset, held_out: &Dataset) -> usize {
    let mut known: Vec<&[u32]> = train.sequences.iter().map(|s| s.tokens.as_slice()).collect();
    known.sort_unstable();
    let is_known = |s: &&Sequence| known.binary_search(&s.tokens.as_slice()).is_ok();
    held_out.sequences.iter().filter(is_known).count()
}
