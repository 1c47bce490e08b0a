//! Edits of a word that change the answer of any classifier, by a bounded search.
//!
//! An automaton has an exact search ([`shortest_flip`](super::edit::shortest_flip)). A network or an
//! n-gram model can only be asked.

use super::edit::{Edit, Flip, edited};
use crate::engine::reference::argmax;
use std::cmp::Ordering;

/// Bounds of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct FlipSearchConfig {
    /// The largest number of edits. Default 4.
    pub max_edits: usize,
    /// The number of edited words that are edited further. Default 6.
    pub beam: usize,
    /// The largest number of tokens that the classifier reads for each number of edits. Default
    /// 600,000. Beyond it, only the tokens that speak most for other classes are tried, or only
    /// some places.
    pub max_tokens_read: usize,
    /// Tokens that no edit inserts, such as the one for unknown tokens. Default none.
    pub never_inserted: Vec<u32>,
}

impl Default for FlipSearchConfig {
    fn default() -> Self {
        FlipSearchConfig { max_edits: 4, beam: 6, max_tokens_read: 600_000, never_inserted: vec![] }
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedFlip {
    /// The edited word; `None` if the search found none.
    pub flip: Option<Flip>,
    /// Whether no word with fewer edits has another class.
    pub shortest: bool,
    /// The number of edited words that were classified.
    pub tried: usize,
}

/// Searches for edits after which `logits` are largest for another class. One edit is tried at every
/// place first; then the edited words with the smallest margin are edited further.
pub fn search_flip(
    logits: &mut impl FnMut(&[Vec<u32>]) -> Vec<Vec<f64>>,
    symbols: usize,
    word: &[u32],
    config: &FlipSearchConfig,
) -> SearchedFlip {
    let mut result = SearchedFlip { flip: None, shortest: false, tried: 0 };
    let Some(class) = class_of(&logits(&[word.to_vec()])[0]) else { return result };
    let mut ranked: Option<Vec<u32>> = None;
    let mut beam: Vec<Vec<Edit>> = vec![vec![]];
    let mut tried_each_edit = false;
    for count in 1..=config.max_edits {
        let choice = candidates(word, symbols, config, beam.len());
        let mut tokens: Vec<u32> = match choice.tokens >= symbols {
            true => (0..symbols as u32).collect(),
            false => {
                let ranked = ranked.get_or_insert_with(|| strongest(logits, symbols, class));
                ranked.iter().copied().take(choice.tokens).collect()
            }
        };
        tokens.retain(|token| !config.never_inserted.contains(token));
        let mut edits = extensions(word, &beam, &tokens, choice.stride);
        edits.sort_unstable();
        edits.dedup();
        let scored = score(logits, word, &edits, class, &mut result.tried);
        if count == 1 {
            tried_each_edit = choice.tokens >= symbols && choice.stride == 1;
        }
        if let Some((edits, class)) = scored.flip {
            result.shortest = tried_each_edit && count <= 2;
            let word = edited(word, &edits);
            result.flip = Some(Flip { edits, word, class });
            return result;
        }
        beam = scored.smallest_margins(config.beam);
        if beam.is_empty() {
            break;
        }
    }
    result
}

/// What is tried for one number of edits.
struct Candidates {
    /// The number of tokens to insert.
    tokens: usize,
    /// The distance of the places.
    stride: usize,
}

/// As many tokens at every place as the bound allows; with very long words, one token at some places.
fn candidates(word: &[u32], symbols: usize, config: &FlipSearchConfig, beam: usize) -> Candidates {
    let length = word.len() + 1;
    let words = (config.max_tokens_read / (length * beam.max(1))).max(3);
    match (words.saturating_sub(length) / (2 * length)).min(symbols) {
        0 => Candidates { tokens: 1.min(symbols), stride: (3 * length).div_ceil(words) },
        tokens => Candidates { tokens, stride: 1 },
    }
}

/// All edits of the beam with one more edit.
fn extensions(word: &[u32], beam: &[Vec<Edit>], tokens: &[u32], stride: usize) -> Vec<Vec<Edit>> {
    let mut found = vec![];
    for edits in beam {
        let taken = |at: usize| edits.iter().any(|edit| edit.at() == at);
        for at in (0..=word.len()).step_by(stride).filter(|&at| !taken(at)) {
            let mut extend = |edit: Edit| {
                let mut longer = edits.clone();
                longer.push(edit);
                longer.sort_by_key(Edit::at);
                found.push(longer);
            };
            if let Some(&present) = word.get(at) {
                let others = tokens.iter().filter(|&&token| token != present);
                others.for_each(|&token| extend(Edit::Replace { at, token }));
                extend(Edit::Delete { at });
            }
            tokens.iter().for_each(|&token| extend(Edit::Insert { at, token }));
        }
    }
    found
}

/// The classified edits of one number.
struct Scored {
    flip: Option<(Vec<Edit>, u32)>,
    margins: Vec<(f64, Vec<Edit>)>,
}

impl Scored {
    fn smallest_margins(mut self, count: usize) -> Vec<Vec<Edit>> {
        let order = |a: &(f64, Vec<Edit>), b: &(f64, Vec<Edit>)| match a.0.total_cmp(&b.0) {
            Ordering::Equal => a.1.cmp(&b.1),
            order => order,
        };
        self.margins.sort_by(order);
        self.margins.into_iter().take(count).map(|(_, edits)| edits).collect()
    }
}

/// Classifies edited words in order, until one has another class.
fn score(
    logits: &mut impl FnMut(&[Vec<u32>]) -> Vec<Vec<f64>>,
    word: &[u32],
    edits: &[Vec<Edit>],
    class: usize,
    tried: &mut usize,
) -> Scored {
    /// Words of one call: enough to fill the threads, few enough to stop early.
    const WORDS: usize = 512;
    let mut scored = Scored { flip: None, margins: Vec::with_capacity(edits.len()) };
    for part in edits.chunks(WORDS) {
        let words: Vec<Vec<u32>> = part.iter().map(|edits| edited(word, edits)).collect();
        *tried += words.len();
        for (edits, row) in part.iter().zip(logits(&words)) {
            match class_of(&row) {
                Some(other) if other != class => {
                    scored.flip = Some((edits.clone(), other as u32));
                    return scored;
                }
                Some(_) => scored.margins.push((margin(&row, class), edits.clone())),
                None => {}
            }
        }
    }
    scored
}

/// The tokens, those first that alone speak most against `class`.
fn strongest(
    logits: &mut impl FnMut(&[Vec<u32>]) -> Vec<Vec<f64>>,
    symbols: usize,
    class: usize,
) -> Vec<u32> {
    let alone: Vec<Vec<u32>> = (0..symbols as u32).map(|token| vec![token]).collect();
    let margins = logits(&alone).into_iter().map(|row| margin(&row, class));
    let mut ranked: Vec<(f64, u32)> = margins.zip(0..).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, token)| token).collect()
}

/// The class with the largest logit; `None` if a logit is not finite.
fn class_of(logits: &[f64]) -> Option<usize> {
    logits.iter().all(|logit| logit.is_finite()).then(|| argmax(logits))
}

/// The logit of `class` less the largest of the others.
fn margin(logits: &[f64], class: usize) -> f64 {
    let others = logits.iter().enumerate().filter(|&(other, _)| other != class);
    logits[class] - others.map(|(_, &logit)| logit).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::edit::shortest_flip;
    use srnn_automata::{Alphabet, Partial, State, Symbol};

    /// Logits of a classifier that counts token 1, and says 1 from `enough` of them on.
    fn counting(enough: f64) -> impl FnMut(&[Vec<u32>]) -> Vec<Vec<f64>> {
        let row = move |word: &Vec<u32>| {
            let ones = word.iter().filter(|&&token| token == 1).count() as f64;
            vec![0.0, ones - enough + 0.5]
        };
        move |words| words.iter().map(row).collect()
    }

    #[test]
    fn one_edit_is_found_as_an_automaton_finds_it() {
        let alphabet = Alphabet::of_chars("abc").unwrap();
        for seed in 0..60u32 {
            let next = (0..12).map(|i| Some(State((i * (seed + 3) + seed / 7) % 4))).collect();
            let outputs = vec![0, 1, seed % 2, 0];
            let automaton = Partial::new(alphabet.clone(), State(0), outputs, next).unwrap();
            let word: Vec<u32> = (0..seed % 6).map(|i| (i * seed) % 3).collect();
            let mut logits = |words: &[Vec<u32>]| -> Vec<Vec<f64>> {
                let row = |word: &Vec<u32>| {
                    let word: Vec<Symbol> = word.iter().map(|&token| Symbol(token)).collect();
                    let class = *automaton.output(automaton.run(&word).unwrap());
                    vec![1.0 - f64::from(class), f64::from(class)]
                };
                words.iter().map(row).collect()
            };
            let exact = shortest_flip(&automaton, &word).unwrap();
            let found = search_flip(&mut logits, 3, &word, &FlipSearchConfig::default());
            match exact.filter(|exact| exact.edits.len() == 1) {
                Some(exact) => {
                    assert_eq!(found.flip, Some(exact), "seed {seed}");
                    assert!(found.shortest);
                }
                None => assert!(found.flip.is_none_or(|flip| flip.edits.len() > 1)),
            }
        }
    }

    #[test]
    fn more_edits_follow_the_smallest_margins() {
        let found = search_flip(&mut counting(3.0), 2, &[0, 0, 0, 0], &FlipSearchConfig::default());
        let flip = found.flip.unwrap();
        assert_eq!((flip.edits.len(), flip.class, found.shortest), (3, 1, false), "{flip:?}");
        assert_eq!(flip.word.iter().filter(|&&token| token == 1).count(), 3);
        let two = search_flip(&mut counting(2.0), 2, &[0, 0, 0], &FlipSearchConfig::default());
        assert!(two.shortest && two.flip.is_some_and(|flip| flip.edits.len() == 2));
    }

    #[test]
    fn with_a_large_alphabet_the_strongest_tokens_are_tried_and_the_bound_is_kept() {
        let mut read = 0;
        let mut inner = counting(1.0);
        let mut logits = |words: &[Vec<u32>]| {
            read += words.iter().map(Vec::len).sum::<usize>();
            inner(words)
        };
        let config = FlipSearchConfig { max_tokens_read: 20_000, ..FlipSearchConfig::default() };
        let found = search_flip(&mut logits, 50_000, &[7; 30], &config);
        assert_eq!(found.flip.unwrap().edits, [Edit::Replace { at: 0, token: 1 }]);
        assert!(!found.shortest, "not all tokens were tried");
        assert!(read <= 20_000 + 50_000 + 30, "{read}");
    }

    #[test]
    fn what_cannot_be_flipped_ends_and_tokens_that_are_excluded_are_not_used() {
        let config = FlipSearchConfig { never_inserted: vec![1], ..FlipSearchConfig::default() };
        let found = search_flip(&mut counting(1.0), 3, &[0, 2], &config);
        assert_eq!((found.flip, found.shortest), (None, false));
        assert!(found.tried > 0);
        let mut broken = |words: &[Vec<u32>]| vec![vec![f64::NAN; 2]; words.len()];
        assert_eq!(search_flip(&mut broken, 2, &[0], &config).flip, None);
    }
}
