//! Sequences without labels: reads them, and splits them for models that predict the next token.
//!
//! A `.txt` file, and a file whose name does not tell the format, has one sequence per line. Labels
//! of other formats are ignored. Each sequence is assigned to a set by itself, because how often
//! equal sequences occur is part of what is learned.

use super::collect::Collector;
use super::error::{Cause, CauseAtLine, DataError};
use super::formats::Format;
use super::lines::{self, LineReader};
use super::load::{HoldOut, check_held_out_once};
use super::options::{
    ColumnChoice, Contradictions, RareTokens, ReadOptions, TokenRule, Unlabelled,
};
use super::read;
use super::samples::Samples;
use crate::key::Key;
use crate::task::{Dataset, Fractions, Sequence, Split, TokenSequences, UNKNOWN, Vocabulary};
use std::path::{Path, PathBuf};

/// Sequences without labels, split and encoded with the vocabulary of the training set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTokens {
    /// The sequences. The last two tokens of the alphabet are `<unk>` and the end.
    pub split: Split<TokenSequences>,
    /// Whether `<unk>` occurs in the training set. If not, no token of it is like `<unk>`.
    pub unknown_in_training: bool,
    /// How strings were split into tokens; never a guess.
    pub tokens: TokenRule,
}

impl LoadedTokens {
    /// The id of `<unk>`.
    pub fn unknown(&self) -> u32 {
        self.split.train.end() - 1
    }
}

/// Reads the sequences of a file; all have the empty label, or a label that is not used.
///
/// # Errors
/// If the file cannot be read.
pub fn read_unlabelled(path: &Path, options: &ReadOptions) -> Result<Samples, DataError> {
    let (contradictions, unlabelled) = (Contradictions::Keep, Unlabelled::Keep);
    let options = ReadOptions { contradictions, unlabelled, ..options.clone() };
    let name = path.display().to_string();
    let of_name = Format::of_file_name(&name).filter(|format| format.name() != PLAIN);
    if options.format.or(of_name).is_none() {
        return read_lines(&name, path, &options).map_err(|cause| cause.in_file(&name));
    }
    match read(path, &options) {
        Err(DataError { cause: Cause::NoColumn { role: "label", wanted: None, .. }, .. }) => {
            read(path, &ReadOptions { label_column: ColumnChoice::Absent, ..options })
        }
        samples => samples,
    }
}

/// The format of labelled lines, which `.txt` stands for elsewhere.
const PLAIN: &str = "plain";

/// Reads sequences without labels, splits off the held-out sets, and encodes all with the
/// vocabulary of the training set. Unseen tokens become `<unk>`.
///
/// # Errors
/// If a file cannot be read, or a set has no sequences.
pub fn load_unlabelled(
    train: &Path,
    hold_out: &HoldOut,
    options: &ReadOptions,
    key: &Key,
) -> Result<LoadedTokens, DataError> {
    check_held_out_once(train, hold_out)?;
    let whole = read_unlabelled(train, options)?;
    // The rule that was found in the training file applies to all files.
    let tokens = whole.tokens.clone();
    let settled = ReadOptions { tokens: tokens.clone(), ..options.clone() };
    let file = |path: &Option<PathBuf>| match path {
        Some(path) => read_unlabelled(path, &settled).map(|samples| Some(samples.data)),
        None => Ok(None),
    };
    let (valid_file, test_file) = (file(&hold_out.valid)?, file(&hold_out.test)?);
    let file_name = whole.file.clone();
    let held_out = |data: Dataset, part| match data.sequences.is_empty() {
        true => Err(CauseAtLine::from(Cause::NothingHeldOut { part }).in_file(&file_name)),
        false => Ok(data),
    };
    let [train, valid, test] = split_randomly(whole.data, hold_out.fractions, key);
    let valid = held_out(valid_file.unwrap_or(valid), "valid")?;
    let test = match (test_file, hold_out.fractions.get()[2] > 0.0) {
        (None, false) => None,
        (file, _) => Some(held_out(file.unwrap_or(test), "test")?),
    };
    // Every vocabulary has `<unk>` here, so only an explicit count makes tokens rare.
    let min_count = match options.rare_tokens {
        RareTokens::Automatic => 0,
        RareTokens::Below(count) => count,
    };
    let (vocabulary, unknown_in_training) =
        fit_vocabulary(&train, min_count).map_err(|cause| cause.in_file(&file_name))?;
    let encoded = |data: Dataset| encode(data, &vocabulary);
    let split = Split { train: encoded(train), valid: encoded(valid), test: test.map(encoded) };
    Ok(LoadedTokens { split, unknown_in_training, tokens })
}

/// One sequence per line; blank lines are skipped.
fn read_lines(name: &str, path: &Path, options: &ReadOptions) -> Result<Samples, CauseAtLine> {
    if options.tokens == TokenRule::Separator(String::new()) {
        return Err(Cause::EmptySeparator.into());
    }
    let mut lines = LineReader::new(lines::open(path)?, options.limits)?;
    let mut collector = Collector::new(options);
    let mut text = String::new();
    while lines.next(&mut text)? {
        collector.add_text(lines.number(), &text, "")?;
    }
    collector.finish(name)
}

/// Assigns each sequence to a set at random; the sets keep the order of the file.
fn split_randomly(whole: Dataset, fractions: Fractions, key: &Key) -> [Dataset; 3] {
    let count = whole.sequences.len();
    let mut order: Vec<usize> = (0..count).collect();
    key.child("unlabelled split", 0).rng().shuffle(&mut order);
    let [_, valid, test] = fractions.get();
    let size = |fraction: f64| (fraction * count as f64).round() as usize;
    let (valid, test) = (size(valid), size(test));
    let mut subset = vec![0; count];
    order.iter().take(valid).for_each(|&index| subset[index] = 1);
    order.iter().skip(valid).take(test).for_each(|&index| subset[index] = 2);
    let empty = whole.without_sequences();
    let mut split = [empty.clone(), empty.clone(), empty];
    for (sequence, subset) in whole.sequences.into_iter().zip(subset) {
        split[subset].sequences.push(sequence);
    }
    split
}

/// The tokens that occur at least `min_count` times, then `<unk>` and the end; and whether `<unk>`
/// occurs in the training set.
fn fit_vocabulary(train: &Dataset, min_count: usize) -> Result<(Vocabulary, bool), CauseAtLine> {
    let mut counts = vec![0usize; train.alphabet.len()];
    for token in train.sequences.iter().flat_map(|sequence| &sequence.tokens) {
        counts[*token as usize] += 1;
    }
    let counted = || train.alphabet.iter().zip(&counts).filter(|(_, count)| **count > 0);
    if counted().next().is_none() {
        return Err(Cause::Empty.into());
    }
    if counted().any(|(name, _)| name == TokenSequences::END) {
        let what = format!("the token {} stands for the end of a sequence", TokenSequences::END);
        return Err(Cause::malformed(what, "give it another name in the file").into());
    }
    if counted().any(|(name, _)| name.is_empty()) {
        let what = "a token is empty, so no automaton could name it";
        return Err(Cause::malformed(what, "give it a name in the file").into());
    }
    let rare = |(name, count): (&String, &usize)| *count < min_count || name == UNKNOWN;
    let mut symbols: Vec<String> =
        counted().filter(|&pair| !rare(pair)).map(|(name, _)| name.clone()).collect();
    symbols.sort();
    let unknown = symbols.len() as u32;
    symbols.extend([UNKNOWN.to_string(), TokenSequences::END.to_string()]);
    let vocabulary = Vocabulary::new(symbols, Some(unknown)).expect("the names are unique");
    Ok((vocabulary, counted().any(rare)))
}

fn encode(data: Dataset, vocabulary: &Vocabulary) -> TokenSequences {
    let id = |name: &String| vocabulary.id(name).expect("unseen tokens have an id");
    // A held-out file may contain the name of the end; it is an unseen token there.
    let end = vocabulary.symbols().len() as u32 - 1;
    let new: Vec<u32> = data.alphabet.iter().map(id).map(|id| id.min(end - 1)).collect();
    let tokens = |sequence: Sequence| sequence.tokens.iter().map(|&t| new[t as usize]).collect();
    let sequences = data.sequences.into_iter().map(tokens).collect();
    TokenSequences { alphabet: vocabulary.symbols().into(), sequences }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn load(name: &str, text: &str, split: &str, min_count: usize) -> LoadedTokens {
        let (_folder, path) = file(name, text);
        let hold_out = HoldOut { fractions: split.parse().unwrap(), valid: None, test: None };
        let options =
            ReadOptions { rare_tokens: RareTokens::Below(min_count), ..ReadOptions::default() };
        load_unlabelled(&path, &hold_out, &options, &Key::new(1)).unwrap()
    }

    #[test]
    fn a_text_file_has_a_sequence_per_line_and_labels_of_a_table_are_ignored() {
        let lines = "open read\nopen\n\nopen read read\n";
        for (name, text) in [
            ("a.txt", lines),
            ("a.log", lines),
            ("a.csv", "sequence\nopen read\nopen\nopen read read\n"),
            ("a.tsv", "label\tsequence\nx\topen read\n\topen\ny\topen read read\n"),
        ] {
            let found = load(name, text, "0.7/0.3", 0);
            let Split { train, valid, test } = found.split;
            assert_eq!(
                train.alphabet[..],
                ["open", "read", UNKNOWN, TokenSequences::END],
                "{name}"
            );
            assert_eq!((train.sequences.len(), valid.sequences.len()), (2, 1), "{name}");
            assert!(test.is_none() && !found.unknown_in_training);
            let mut lengths: Vec<usize> =
                train.sequences.iter().chain(&valid.sequences).map(Vec::len).collect();
            lengths.sort_unstable();
            assert_eq!(lengths, [1, 2, 3], "{name}");
        }
    }

    #[test]
    fn unseen_and_rare_tokens_become_unknown() {
        let (_folder, path) = file("a.txt", "a a b\na a\n");
        let (_other, valid) = file("b.txt", "a z <eos>\n");
        let hold_out =
            HoldOut { fractions: "1/0".parse().unwrap(), valid: Some(valid), test: None };
        let options = ReadOptions { rare_tokens: RareTokens::Below(2), ..ReadOptions::default() };
        let found = load_unlabelled(&path, &hold_out, &options, &Key::new(1)).unwrap();
        assert!(found.unknown_in_training);
        assert_eq!(found.unknown(), 1);
        assert_eq!(found.split.train.sequences, [vec![0, 0, 1], vec![0, 0]]);
        assert_eq!(found.split.valid.sequences, [[0, 1, 1]], "also the name of the end");
    }

    #[test]
    fn equal_sequences_are_split_one_by_one_and_the_same_key_gives_the_same_split() {
        let text = "a b\n".repeat(90) + &"a a\n".repeat(10);
        let one = load("a.txt", &text, "0.6/0.2/0.2", 0);
        let sizes = |s: &Split<TokenSequences>| {
            [
                s.train.sequences.len(),
                s.valid.sequences.len(),
                s.test.as_ref().unwrap().sequences.len(),
            ]
        };
        assert_eq!(sizes(&one.split), [60, 20, 20]);
        assert!(one.split.valid.sequences.contains(&vec![0, 1]));
        assert!(one.split.train.sequences.contains(&vec![0, 1]));
        assert_eq!(load("a.txt", &text, "0.6/0.2/0.2", 0), one);
    }

    #[test]
    fn the_name_of_the_end_and_an_empty_file_are_refused() {
        let load = |text: &str| {
            let (_folder, path) = file("a.txt", text);
            let hold_out =
                HoldOut { fractions: "0.5/0.5".parse().unwrap(), valid: None, test: None };
            let error = load_unlabelled(&path, &hold_out, &ReadOptions::default(), &Key::new(1));
            error.unwrap_err().to_string()
        };
        assert!(load("a <eos>\na <eos>\n").contains("stands for the end"));
        assert!(load("\n\n").contains("no sequences"));
        assert!(
            load("a\n").contains("nothing is held out") || load("a\n").contains("no sequences")
        );
    }
}
