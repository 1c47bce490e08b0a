//! Plain text for language models: every word is predicted from the words before it.
//!
//! A folder holds `train.txt`, `valid.txt` and `test.txt`, or the same with `.gz`. Words stand between
//! spaces; [`END_OF_LINE`] stands for the end of each line, as in published results on WikiText-2.

use super::corpus_error::{CorpusCause, CorpusError};
use crate::engine::hex::hex;
use crate::task::files::{Decompressed, decompress};
use crate::task::{Split, UNKNOWN};
use sha2::{Digest as _, Sha256};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The word at the end of every line.
pub const END_OF_LINE: &str = "<eos>";

/// The largest number of bytes of a line.
pub(super) const MAX_LINE: u64 = 1 << 24;

/// The largest number of bytes of a text, after decompression.
pub(super) const MAX_BYTES: u64 = 1 << 32;

/// The largest number of words of a text: of a compressed one, empty lines would fill the memory.
pub(super) const MAX_WORDS: usize = 1 << 28;

/// How texts become sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorpusOptions {
    /// V: the most frequent words of the training text and `<unk>`, which stands for all others.
    pub vocabulary: usize,
    /// Words per window. Gradients end at the first word of a window.
    pub window: usize,
    /// The number of windows of the training and of the validation text. Default: all.
    pub most: usize,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        CorpusOptions { vocabulary: 10_000, window: 20, most: usize::MAX }
    }
}

/// A text in windows. Every word is the target of a step, which reads the word before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// The words by id: `<unk>`, then by falling frequency.
    pub vocabulary: Arc<[String]>,
    /// The text.
    pub tokens: Vec<u32>,
    /// Words per window.
    pub window: usize,
    /// The id of [`END_OF_LINE`], which the first step reads.
    before: u32,
}

impl Corpus {
    /// The number of windows; the last may be shorter.
    pub fn windows(&self) -> usize {
        self.tokens.len().div_ceil(self.window)
    }

    /// The targets of a window.
    ///
    /// # Panics
    /// If there is no such window.
    pub fn targets(&self, window: usize) -> &[u32] {
        let first = window * self.window;
        &self.tokens[first..self.tokens.len().min(first + self.window)]
    }

    /// What the steps of a window read: the words before its targets.
    pub fn inputs(&self, window: usize) -> impl Iterator<Item = u32> + '_ {
        let first = window * self.window;
        let before = first.checked_sub(1).map_or(self.before, |at| self.tokens[at]);
        let targets = self.targets(window);
        std::iter::once(before).chain(targets[..targets.len() - 1].iter().copied())
    }

    /// The first `count` windows.
    pub fn first(mut self, count: usize) -> Corpus {
        self.tokens.truncate(count.saturating_mul(self.window));
        self
    }

    /// The SHA-256 of a canonical encoding, in hex.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"srnn corpus 1\n");
        for number in [self.window, self.before as usize, self.vocabulary.len()] {
            hash.update((number as u64).to_le_bytes());
        }
        for word in &*self.vocabulary {
            hash.update((word.len() as u64).to_le_bytes());
            hash.update(word);
        }
        self.tokens.iter().for_each(|token| hash.update(token.to_le_bytes()));
        hex(&hash.finalize())
    }
}

/// Reads the three texts of a folder.
pub fn sets(folder: &Path, options: &CorpusOptions) -> Result<Split<Corpus>, CorpusError> {
    let mut ids = HashMap::new();
    let train = read(folder, "train", &mut |word| number(&mut ids, word))?;
    let vocabulary =
        vocabulary(&ids, &train, options.vocabulary).map_err(|cause| cause.at(folder, None))?;
    let of: HashMap<&str, u32> =
        vocabulary.iter().zip(0..).map(|(word, id)| (word.as_str(), id)).collect();
    let before = of[END_OF_LINE];
    let corpus = |tokens: Vec<u32>| {
        let (vocabulary, window) = (vocabulary.clone(), options.window);
        Corpus { vocabulary, tokens, window, before }
    };
    let mut by_first_use = vec![0; ids.len()];
    ids.iter().for_each(|(word, &id)| by_first_use[id as usize] = *of.get(&**word).unwrap_or(&0));
    let held_out = |set| read(folder, set, &mut |word| *of.get(word).unwrap_or(&0));
    let train = train.into_iter().map(|id| by_first_use[id as usize]).collect();
    Ok(Split {
        train: corpus(train).first(options.most),
        valid: corpus(held_out("valid")?).first(options.most),
        test: Some(corpus(held_out("test")?)),
    })
}

/// The id of a word, by its first use.
fn number(ids: &mut HashMap<String, u32>, word: &str) -> u32 {
    if let Some(&id) = ids.get(word) {
        return id;
    }
    let id = ids.len() as u32;
    ids.insert(word.to_string(), id);
    id
}

/// `<unk>`, then the most frequent words; words of equal frequency in alphabetical order. The end of
/// a line is always among them.
fn vocabulary(
    ids: &HashMap<String, u32>,
    train: &[u32],
    wanted: usize,
) -> Result<Arc<[String]>, CorpusCause> {
    let mut counts = vec![0u64; ids.len()];
    train.iter().for_each(|&id| counts[id as usize] += 1);
    let mut words: Vec<(&String, u64)> = ids
        .iter()
        .filter(|(word, _)| *word != UNKNOWN)
        .map(|(word, &id)| (word, counts[id as usize]))
        .collect();
    words.sort_by_key(|&(word, count)| (word != END_OF_LINE, Reverse(count), word));
    let found = words.len();
    if found + 1 < wanted {
        return Err(CorpusCause::FewWords { found, wanted });
    }
    words.truncate(wanted - 1);
    words.sort_by_key(|&(word, count)| (Reverse(count), word));
    let unknown = std::iter::once(UNKNOWN.to_string());
    Ok(unknown.chain(words.into_iter().map(|(word, _)| word.clone())).collect())
}

/// The words of `folder/{set}.txt` or `folder/{set}.txt.gz`, by the ids that `id_of` gives them.
fn read(
    folder: &Path,
    set: &str,
    id_of: &mut dyn FnMut(&str) -> u32,
) -> Result<Vec<u32>, CorpusError> {
    let files = ["txt", "txt.gz"].map(|ending| folder.join(format!("{set}.{ending}")));
    let Some(path) = files.iter().find(|path| path.exists()) else {
        return Err(CorpusCause::Missing.at(&files[0], None));
    };
    let mut tokens = vec![];
    read_lines(path, &mut |line| {
        tokens.extend(line.split_ascii_whitespace().chain([END_OF_LINE]).map(&mut *id_of));
        if tokens.len() > MAX_WORDS { Err(CorpusCause::ManyWords) } else { Ok(()) }
    })?;
    if tokens.is_empty() {
        return Err(CorpusCause::Empty.at(path, None));
    }
    Ok(tokens)
}

/// Calls `visit` with every line, without its end.
fn read_lines(
    path: &PathBuf,
    visit: &mut dyn FnMut(&str) -> Result<(), CorpusCause>,
) -> Result<(), CorpusError> {
    let unreadable = |error: std::io::Error| CorpusCause::Unreadable { why: error.to_string() };
    let file = File::open(path).map_err(|error| unreadable(error).at(path, None))?;
    let opened = decompress(file).map_err(|error| unreadable(error).at(path, None))?;
    let Decompressed { content: mut input, compressed } = opened;
    let (mut line, mut bytes, mut number) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        number += 1;
        let at = |cause: CorpusCause| cause.at(path, Some(number));
        let read = input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line);
        let read = read.map_err(|error| match compressed {
            true => at(CorpusCause::Damaged { why: error.to_string() }),
            false => at(unreadable(error)),
        })? as u64;
        bytes += read;
        match (read, bytes) {
            (0, _) => return Ok(()),
            (read, _) if read > MAX_LINE => return Err(at(CorpusCause::LongLine)),
            (_, bytes) if bytes > MAX_BYTES => return Err(at(CorpusCause::Large)),
            _ => {}
        }
        let text = str::from_utf8(&line).map_err(|_| at(CorpusCause::NotUtf8))?;
        visit(text.strip_suffix('\n').unwrap_or(text)).map_err(at)?;
    }
}

#[cfg(test)]
#[path = "corpus_tests.rs"]
mod tests;
