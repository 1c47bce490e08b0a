//! IMDB: film reviews, negative or positive (Maas et al. 2011).
//!
//! A folder holds `train.tsv.gz` and `test.tsv.gz`, whose lines are `label \t id \t stars \t text`
//! with label 0 for negative; or the published folders `train/neg`, `train/pos`, `test/neg` and
//! `test/pos` with a file `ID_STARS.txt` per review; or the published archive of these folders,
//! `aclImdb_v1.tar.gz`.
//!
//! Words are lower-cased [`moses`](super::moses) tokens. They include the line breaks of the texts, which are
//! HTML. The numbers of words then equal those of the paper.

use super::error::{ReviewCause, ReviewError};
use super::{reviews, tokenize};
use crate::model::Tokenizer;
use crate::task::{Dataset, Sequence, Split, UNKNOWN};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

/// How reviews become sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImdbOptions {
    /// V: the number of tokens, the most frequent words of the training set and `<unk>`. Default
    /// 10,000.
    pub vocabulary: usize,
    /// Training reviews are cut after this many words. Default: never.
    pub train_words: usize,
    /// Validation reviews are cut after this many words. Default: never.
    pub valid_words: usize,
    /// Test reviews are cut after this many words. Default: never.
    pub test_words: usize,
    /// The number of training reviews used, including those held out. The vocabulary is that of
    /// all but the held-out ones. Default: all.
    pub most: usize,
}

/// How a review becomes tokens.
pub const TOKENIZER: Tokenizer = Tokenizer::MosesLowerCase;

/// The names of the classes.
pub const CLASSES: [&str; 2] = ["negative", "positive"];

/// One in this many training reviews of each class is held out for validation: the last ones.
///
/// Reviews of one film have neighbouring ids, and the films of the test set are not in the training
/// set. A part with ids of its own is held out for the same reason: had it the same films, it would
/// select networks that remember their names.
pub const HELD_OUT: usize = 10;

impl Default for ImdbOptions {
    fn default() -> Self {
        let all = usize::MAX;
        let vocabulary = 10_000;
        ImdbOptions { vocabulary, train_words: all, valid_words: all, test_words: all, most: all }
    }
}

/// Reads the sets of a folder. In every set negative and positive reviews alternate, in the order of
/// their ids. The alphabet is `<unk>`, then words by falling frequency in the training set as it is
/// cut; words of equal frequency are in alphabetical order.
pub fn sets(folder: &Path, options: &ImdbOptions) -> Result<Split, ReviewError> {
    Ok(cut_sets(whole(folder, options)?, options))
}

/// Like [`sets`], with whole reviews. The alphabet is still that of the cut training set.
pub fn whole(folder: &Path, options: &ImdbOptions) -> Result<Split, ReviewError> {
    let mut ids = WordIds::default();
    let train = read(folder, "train", HELD_OUT, &mut ids)?;
    let test = read(folder, "test", 1, &mut ids)?;
    let used = train.len().min(options.most);
    // Classes alternate, so that an even number has as many of each.
    let held_out = used / (CLASSES.len() * HELD_OUT) * CLASSES.len();
    let held_out = used - held_out..used;
    let trained = train.iter().enumerate().filter(|(at, _)| !held_out.contains(at));
    let trained = trained.flat_map(|(_, review)| first(&review.words, options.train_words));
    let alphabet = vocabulary(&ids, trained, options.vocabulary);
    let alphabet = alphabet.map_err(|cause| cause.at(folder, None))?;
    let token_of = token_ids(&ids, &alphabet);
    let classes = CLASSES.map(String::from).to_vec();
    let set = |reviews: &[Review]| Dataset {
        alphabet: alphabet.clone(),
        classes: classes.clone(),
        sequences: reviews.iter().map(|review| review.sequence(&token_of)).collect(),
    };
    Ok(Split {
        train: set(&train[..held_out.start]),
        valid: set(&train[held_out]),
        test: Some(set(&test)),
    })
}

/// Cuts every review of [`whole`] sets as `options` say.
pub fn cut_sets(whole: Split, options: &ImdbOptions) -> Split {
    let cut = |mut reviews: Dataset, words: usize| {
        reviews.sequences.iter_mut().for_each(|review| review.tokens.truncate(words));
        reviews
    };
    Split {
        train: cut(whole.train, options.train_words),
        valid: cut(whole.valid, options.valid_words),
        test: whole.test.map(|test| cut(test, options.test_words)),
    }
}

/// The same reviews, each cut after `words` words; only the first `count`.
pub fn cut(reviews: &Dataset, count: usize, words: usize) -> Dataset {
    let sequence = |sequence: &Sequence| Sequence {
        tokens: first(&sequence.tokens, words).to_vec(),
        label: sequence.label,
    };
    let sequences = reviews.sequences.iter().take(count).map(sequence).collect();
    Dataset { sequences, ..reviews.without_sequences() }
}

/// A review with words by their ids in [`WordIds`].
struct Review {
    label: u32,
    id: u64,
    words: Vec<u32>,
}

impl Review {
    fn sequence(&self, token_of: &[u32]) -> Sequence {
        let tokens = self.words.iter().map(|&word| token_of[word as usize]);
        Sequence { tokens: tokens.collect(), label: self.label }
    }
}

/// The words read so far, by order of occurrence.
#[derive(Default)]
struct WordIds {
    ids: HashMap<String, u32>,
    words: Vec<String>,
}

impl WordIds {
    fn of_text(&mut self, text: &str) -> Vec<u32> {
        tokenize(text, TOKENIZER).split_ascii_whitespace().map(|word| self.id(word)).collect()
    }

    fn id(&mut self, word: &str) -> u32 {
        if let Some(&id) = self.ids.get(word) {
            return id;
        }
        let id = self.words.len() as u32;
        self.ids.insert(word.into(), id);
        self.words.push(word.into());
        id
    }
}

/// Reads one set. It must have `least` reviews of each class.
fn read(
    folder: &Path,
    set: &str,
    least: usize,
    ids: &mut WordIds,
) -> Result<Vec<Review>, ReviewError> {
    let mut found = Vec::new();
    reviews::read(folder, set, &mut |raw| {
        let words = ids.of_text(raw.text);
        found.push(Review { label: raw.label, id: raw.id, words });
    })?;
    let locate = |cause: ReviewCause| cause.at(&folder.join(set), None);
    for (label, class) in CLASSES.into_iter().enumerate() {
        let count = found.iter().filter(|review| review.label as usize == label).count();
        if count < least {
            return Err(locate(ReviewCause::TooFew { class, found: count, least }));
        }
    }
    reviews::alternate(found, |review| (review.label, review.id)).map_err(locate)
}

/// `<unk>` and the most frequent words, `size` names in all.
fn vocabulary<'a>(
    ids: &WordIds,
    words: impl Iterator<Item = &'a u32>,
    size: usize,
) -> Result<Vec<String>, ReviewCause> {
    let mut counts = vec![0u64; ids.words.len()];
    words.for_each(|&word| counts[word as usize] += 1);
    let mut ranked: Vec<usize> = (0..counts.len()).filter(|&word| counts[word] > 0).collect();
    if ranked.len() + 1 < size {
        return Err(ReviewCause::FewWords { found: ranked.len(), wanted: size });
    }
    ranked.sort_by_key(|&word| (Reverse(counts[word]), &ids.words[word]));
    let frequent = ranked[..size - 1].iter().map(|&word| ids.words[word].clone());
    Ok([UNKNOWN.to_string()].into_iter().chain(frequent).collect())
}

/// The token of every word; 0, which is `<unk>`, for words outside the alphabet.
fn token_ids(ids: &WordIds, alphabet: &[String]) -> Vec<u32> {
    let mut token_of = vec![0; ids.words.len()];
    for (token, name) in alphabet.iter().enumerate().skip(1) {
        token_of[ids.ids[name] as usize] = token as u32;
    }
    token_of
}

fn first(words: &[u32], most: usize) -> &[u32] {
    &words[..most.min(words.len())]
}

#[cfg(test)]
#[path = "imdb_tests.rs"]
mod tests;
