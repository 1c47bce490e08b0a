//! The seven Tomita grammars over {0, 1}: the languages, their minimal automata, and data sets made
//! as in the paper.
//!
//! ε is in all seven languages.

use crate::key::{Key, Rng};
use std::collections::HashSet;

use super::{Dataset, Sequence, Split};
use srnn_automata::{Alphabet, Moore, State};
use std::ops::RangeInclusive;

/// A Tomita grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grammar {
    /// No 0.
    T1,
    /// (10)*.
    T2,
    /// No odd run of 1s is followed, anywhere later, by an odd run of 0s.
    ///
    /// PAPER: some authors only look at the *next* run of 0s; the paper's counts fit only
    /// this definition.
    T3,
    /// No 000.
    T4,
    /// An even number of 0s and an even number of 1s.
    T5,
    /// As many 0s as 1s, modulo 3.
    T6,
    /// 0*1*0*1*.
    T7,
}

/// A complete DFA over {0, 1}.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryDfa {
    /// The number of states.
    pub states: u32,
    /// The start state.
    pub start: u32,
    /// `[states]`: whether the state accepts.
    pub accept: Vec<bool>,
    /// `[states, 2]`: the successor for each symbol.
    pub next: Vec<[u32; 2]>,
}

/// The lengths of training words.
///
/// PAPER: "0∼13" is the half-open range; the counts only fit 0–12.
pub const TRAIN_LENGTHS: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 19, 22];
/// The lengths of validation words.
pub(crate) const VALID_LENGTHS: [usize; 10] = [1, 4, 7, 10, 13, 16, 19, 22, 25, 28];

/// The largest length of a word: words are drawn as binary numbers.
pub(crate) const LONGEST_WORD: usize = 62;

/// The number of words drawn of each length.
const DRAWN: usize = 1_000;
/// If a length has at most this many words, all are listed and shuffled.
const LISTED: usize = 50_000;
/// The largest number of words of each length and class.
const PER_CLASS: usize = 150;
/// How many more words than the smaller class the larger class may have at each length.
const SURPLUS: usize = 20;

impl Grammar {
    /// All seven, in order.
    pub const ALL: [Grammar; 7] =
        [Grammar::T1, Grammar::T2, Grammar::T3, Grammar::T4, Grammar::T5, Grammar::T6, Grammar::T7];

    /// The grammar of this number, 1 to 7.
    pub fn numbered(number: usize) -> Option<Grammar> {
        Grammar::ALL.get(number.checked_sub(1)?).copied()
    }

    /// Its number, 1 to 7.
    pub fn number(self) -> usize {
        self as usize + 1
    }
}

/// Whether a word of 0s and 1s is in the language.
pub fn accepts(grammar: Grammar, word: &[u32]) -> bool {
    let count = |symbol| word.iter().filter(|&&s| s == symbol).count();
    match grammar {
        Grammar::T1 => count(0) == 0,
        Grammar::T2 => word.chunks(2).all(|pair| pair == [1, 0]),
        Grammar::T3 => {
            let mut odd = word.chunk_by(|a, b| a == b).filter(|run| run.len() % 2 == 1);
            !(odd.any(|run| run[0] == 1) && odd.any(|run| run[0] == 0))
        }
        Grammar::T4 => !word.windows(3).any(|three| three == [0, 0, 0]),
        Grammar::T5 => count(0) % 2 == 0 && count(1) % 2 == 0,
        Grammar::T6 => count(0) % 3 == count(1) % 3,
        Grammar::T7 => {
            let runs = word.chunk_by(|a, b| a == b).count();
            runs + usize::from(word.first() == Some(&1)) <= 4
        }
    }
}

/// The minimal complete DFA of the language. States are numbered breadth first.
pub fn minimal_dfa(grammar: Grammar) -> BinaryDfa {
    let (accept, next): (&[u8], &[[u32; 2]]) = match grammar {
        Grammar::T1 => (&[1, 0], &[[1, 0], [1, 1]]),
        Grammar::T2 => (&[1, 0, 0], &[[1, 2], [1, 1], [0, 1]]),
        // States: only even runs of 1s so far; in an odd run of 1s; after it in an odd run of
        // 0s; in an even run of 0s; rejecting sink.
        Grammar::T3 => (&[1, 1, 0, 1, 0], &[[0, 1], [2, 0], [3, 4], [2, 3], [4, 4]]),
        Grammar::T4 => (&[1, 1, 1, 0], &[[1, 0], [2, 0], [3, 0], [3, 3]]),
        Grammar::T5 => (&[1, 0, 0, 0], &[[1, 2], [0, 3], [3, 0], [2, 1]]),
        Grammar::T6 => (&[1, 0, 0], &[[1, 2], [2, 0], [0, 1]]),
        Grammar::T7 => (&[1, 1, 1, 1, 0], &[[0, 1], [2, 1], [2, 3], [4, 3], [4, 4]]),
    };
    BinaryDfa {
        states: accept.len() as u32,
        start: 0,
        accept: accept.iter().map(|&bit| bit == 1).collect(),
        next: next.to_vec(),
    }
}

/// The outputs are classes: 1 accepts.
impl From<&BinaryDfa> for Moore<u32> {
    fn from(dfa: &BinaryDfa) -> Moore<u32> {
        let alphabet = Alphabet::of_chars("01").expect("two symbols");
        let outputs = dfa.accept.iter().map(|&accepts| u32::from(accepts)).collect();
        let targets = dfa.next.iter().flatten().map(|&state| State(state)).collect();
        Moore::new(alphabet, State(dfa.start), outputs, targets).expect("a complete automaton")
    }
}

/// Training and validation sets, made as in the paper. Of each length at most 1,000 distinct words
/// are drawn. At most 150 of each class are kept, and of the larger class at most 20 more than of
/// the smaller. Classes are `reject` and `accept`.
///
/// PAPER: random words of grammars 1, 2 and 7 are hardly ever long positives. So are the sets of
/// the paper.
pub fn sets(grammar: Grammar, key: &Key) -> Split {
    Split {
        train: set(grammar, &TRAIN_LENGTHS, &key.child("tomita train", grammar.number() as u64)),
        valid: set(grammar, &VALID_LENGTHS, &key.child("tomita valid", grammar.number() as u64)),
        test: None,
    }
}

/// Up to `count` different words of these lengths that are not in `seen`, half of them in the
/// language. Each is drawn uniformly from the words of a random length. There are fewer words if
/// the language has fewer: grammar 1 has one word of each length.
pub(crate) fn test(
    grammar: Grammar,
    lengths: &RangeInclusive<usize>,
    count: usize,
    seen: &Split,
    key: &Key,
) -> Dataset {
    let mut rng = key.child("tomita test", grammar.number() as u64).rng();
    let dfa = minimal_dfa(grammar);
    let sets = [&seen.train, &seen.valid].map(|set| &set.sequences);
    let mut taken: HashSet<Vec<u32>> =
        sets.into_iter().flatten().map(|sequence| sequence.tokens.clone()).collect();
    let mut sequences = Vec::new();
    for label in [1, 0] {
        let counts = WordCounts::of(&dfa, label == 1, *lengths.end());
        let share = if label == 1 { count.div_ceil(2) } else { count / 2 };
        let enough = sequences.len() + share;
        for _ in 0..count.min(word_count(lengths)).saturating_mul(MAX_DRAWS) {
            let length = lengths.start() + rng.below(lengths.end() - lengths.start() + 1);
            let word = counts.draw_word(&dfa, length, &mut rng);
            if let Some(tokens) = word.filter(|word| taken.insert(word.clone())) {
                sequences.push(Sequence { tokens, label });
            }
            if sequences.len() >= enough {
                break;
            }
        }
    }
    Dataset { sequences, ..set(grammar, &[], key) }
}

/// A test set is complete after this many draws for each of its words.
const MAX_DRAWS: usize = 20;

/// The number of words of these lengths. It saturates.
fn word_count(lengths: &RangeInclusive<usize>) -> usize {
    let of_length = |length: usize| 2usize.checked_pow(length as u32).unwrap_or(usize::MAX);
    lengths.clone().map(of_length).fold(0, usize::saturating_add)
}

/// `[length][state]`: the number of words of a length that lead from a state to the states of a
/// class.
struct WordCounts(Vec<Vec<f64>>);

impl WordCounts {
    fn of(dfa: &BinaryDfa, accepted: bool, longest: usize) -> WordCounts {
        let ends = dfa.accept.iter().map(|&accept| f64::from(u8::from(accept == accepted)));
        let mut counts = vec![ends.collect::<Vec<f64>>()];
        for length in 0..longest {
            let sum = |next: &[u32; 2]| next.iter().map(|&q| counts[length][q as usize]).sum();
            counts.push(dfa.next.iter().map(sum).collect());
        }
        WordCounts(counts)
    }

    /// Draws one of these words uniformly; `None` if there is none.
    fn draw_word(&self, dfa: &BinaryDfa, length: usize, rng: &mut Rng) -> Option<Vec<u32>> {
        let mut state = dfa.start as usize;
        if self.0[length][state] == 0.0 {
            return None;
        }
        let step = |left: usize| {
            let next = dfa.next[state].map(|q| q as usize);
            let [zero, one] = next.map(|q| self.0[left][q]);
            let symbol = usize::from(rng.unit() * (zero + one) >= zero);
            state = next[symbol];
            symbol as u32
        };
        Some((0..length).rev().map(step).collect())
    }
}

fn set(grammar: Grammar, lengths: &[usize], key: &Key) -> Dataset {
    let of_length = |&length: &usize| {
        let words = draw_words(length, &mut key.child("length", length as u64).rng());
        balance(grammar, words)
    };
    Dataset {
        alphabet: ["0", "1"].map(String::from).to_vec(),
        classes: ["reject", "accept"].map(String::from).to_vec(),
        sequences: lengths.iter().flat_map(of_length).collect(),
    }
}

/// Distinct random words of one length, drawn as binary numbers: all of them, or 1,000.
fn draw_words(length: usize, rng: &mut Rng) -> Vec<Vec<u32>> {
    let count = 1usize << length;
    let mut drawn: Vec<usize> = Vec::new();
    if count <= LISTED {
        drawn.extend(0..count);
        rng.shuffle(&mut drawn);
        drawn.truncate(DRAWN);
    }
    let mut seen: HashSet<usize> = drawn.iter().copied().collect();
    while drawn.len() < DRAWN.min(count) {
        let word = rng.below(count);
        if seen.insert(word) {
            drawn.push(word);
        }
    }
    let bits = |word: usize| (0..length).rev().map(|bit| (word >> bit & 1) as u32).collect();
    drawn.into_iter().map(bits).collect()
}

/// Labels the words and keeps the first of each class, such that the classes are balanced.
fn balance(grammar: Grammar, words: Vec<Vec<u32>>) -> Vec<Sequence> {
    let label = |word: &[u32]| u32::from(accepts(grammar, word));
    let positives = words.iter().filter(|word| label(word) == 1).count();
    let sizes = [words.len() - positives, positives].map(|size| size.min(PER_CLASS));
    let mut remaining = sizes.map(|size| size.min(sizes[0].min(sizes[1]) + SURPLUS));
    let mut kept = Vec::new();
    for tokens in words {
        let label = label(&tokens);
        if remaining[label as usize] > 0 {
            remaining[label as usize] -= 1;
            kept.push(Sequence { tokens, label });
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Vec<u32> {
        text.bytes().map(|b| u32::from(b - b'0')).collect()
    }

    fn run(dfa: &BinaryDfa, word: &[u32]) -> bool {
        let end = word.iter().fold(dfa.start, |q, &s| dfa.next[q as usize][s as usize]);
        dfa.accept[end as usize]
    }

    fn all_words(longest: usize) -> impl Iterator<Item = Vec<u32>> {
        (0..=longest).flat_map(|length| {
            (0..1usize << length).map(move |w| (0..length).map(|b| (w >> b & 1) as u32).collect())
        })
    }

    /// Size and positives of the training and the validation set.
    fn sizes(grammar: Grammar, seed: u64) -> [(usize, usize); 2] {
        let split = sets(grammar, &Key::new(seed));
        [&split.train, &split.valid].map(|set| (set.sequences.len(), set.class_counts()[1]))
    }

    #[test]
    fn every_grammar_accepts_and_rejects_the_words_of_its_definition() {
        // Written by hand from the definitions: words of the language | words outside it.
        let cases = [
            ("1 11 111111", "0 10 1101 0111"),
            ("10 1010 101010", "1 0 01 100 110 1011 1001"),
            ("1 0 11 100 110 011000 0100 1110011 100111", "10 010 1000 100110 1001011000 11101"),
            ("1 00 001 100100 00100", "000 1000 0001 10001"),
            ("00 11 0101 1001 110000", "0 1 01 000 0111"),
            ("01 10 000 111 0011 0000011 11110", "0 1 00 11 001 0111"),
            ("0 1 01 10 0101 1101 001100111 101", "1010 01010 10100 0010010"),
        ];
        for (grammar, (inside, outside)) in Grammar::ALL.into_iter().zip(cases) {
            assert!(accepts(grammar, &[]), "{grammar:?} ε");
            for (words, expected) in [(inside, true), (outside, false)] {
                for text in words.split(' ') {
                    assert_eq!(accepts(grammar, &word(text)), expected, "{grammar:?} {text}");
                }
            }
        }
    }

    #[test]
    fn the_minimal_dfas_agree_with_the_definitions_on_all_words_up_to_length_14() {
        for grammar in Grammar::ALL {
            let dfa = minimal_dfa(grammar);
            for word in all_words(14) {
                assert_eq!(run(&dfa, &word), accepts(grammar, &word), "{grammar:?} {word:?}");
            }
        }
    }

    #[test]
    fn the_minimal_dfas_are_minimal_and_numbered_breadth_first() {
        let states = Grammar::ALL.map(|grammar| minimal_dfa(grammar).states);
        assert_eq!(states, [2, 3, 5, 4, 4, 3, 5]);
        for dfa in Grammar::ALL.map(minimal_dfa) {
            assert_eq!(
                (dfa.accept.len(), dfa.next.len()),
                (dfa.states as usize, dfa.states as usize)
            );
            let mut found = vec![dfa.start];
            for at in 0..dfa.states as usize {
                let state = *found.get(at).expect("every state can be reached");
                for next in dfa.next[state as usize] {
                    if !found.contains(&next) {
                        found.push(next);
                    }
                }
            }
            assert!(found.iter().copied().eq(0..dfa.states));
            for a in 0..dfa.states {
                for b in 0..a {
                    let from = |start| BinaryDfa { start, ..dfa.clone() };
                    let (a, b) = (from(a), from(b));
                    assert!(all_words(4).any(|word| run(&a, &word) != run(&b, &word)));
                }
            }
        }
    }

    #[test]
    fn the_sets_have_the_sizes_of_the_paper() {
        // Every seed gives these.
        for seed in 0..5 {
            assert_eq!(sizes(Grammar::T4, seed)[0], (2571, 1335));
            assert_eq!(sizes(Grammar::T5, seed), [(1651, 771), (1298, 608)]);
            assert_eq!(sizes(Grammar::T6, seed), [(2523, 1221), (2222, 1098)]);
        }
    }

    #[test]
    fn the_sets_whose_sizes_depend_on_the_seed_are_pinned() {
        // All are within the ranges of the paper's sets. So is grammar 2: its single positives of
        // lengths 10 and 12 are drawn with probabilities 0.98 and 0.24.
        assert_eq!(sizes(Grammar::T1, 1), [(263, 11), (182, 4)]);
        assert_eq!(sizes(Grammar::T2, 1), [(257, 6), (180, 2)]);
        assert_eq!(sizes(Grammar::T3, 1), [(2123, 1019), (1254, 570)]);
        assert_eq!(sizes(Grammar::T4, 1), [(2571, 1335), (2107, 1050)]);
        assert_eq!(sizes(Grammar::T7, 1), [(1539, 734), (692, 294)]);
    }

    #[test]
    fn the_sizes_of_every_seed_are_within_the_possible_range() {
        for seed in 0..20 {
            // Only the single positives of lengths 10 to 13 may be missed; longer ones may be drawn.
            let [train, valid] = sizes(Grammar::T1, seed);
            assert!((261..=267).contains(&train.0) && (10..=13).contains(&train.1), "{train:?}");
            assert!((180..=184).contains(&valid.0) && (3..=5).contains(&valid.1), "{valid:?}");
            let [train, valid] = sizes(Grammar::T2, seed);
            assert!([(255, 5), (257, 6), (259, 7)].contains(&train), "{train:?}");
            assert!([(178, 1), (180, 2)].contains(&valid), "{valid:?}");
        }
    }

    #[test]
    fn words_are_distinct_correctly_labelled_and_of_the_stated_lengths() {
        for grammar in Grammar::ALL {
            let split = sets(grammar, &Key::new(9));
            for (set, lengths) in
                [(&split.train, &TRAIN_LENGTHS[..]), (&split.valid, &VALID_LENGTHS[..])]
            {
                let summary = set.summary();
                assert_eq!((summary.duplicates, summary.contradictions), (0, 0));
                for sequence in &set.sequences {
                    assert!(lengths.contains(&sequence.tokens.len()));
                    assert_eq!(sequence.label == 1, accepts(grammar, &sequence.tokens));
                }
            }
        }
    }

    #[test]
    fn test_words_are_unseen_and_of_both_classes() {
        for grammar in Grammar::ALL {
            let seen = sets(grammar, &Key::new(3));
            let set = test(grammar, &(20..=40), 300, &seen, &Key::new(3));
            let known = [&seen.train, &seen.valid].map(|set| &set.sequences);
            let known: HashSet<&Vec<u32>> =
                known.into_iter().flatten().map(|s| &s.tokens).collect();
            let mut once = HashSet::new();
            for Sequence { tokens, label } in &set.sequences {
                assert_eq!(*label == 1, accepts(grammar, tokens));
                assert!((20..=40).contains(&tokens.len()) && !known.contains(tokens));
                assert!(once.insert(tokens));
            }
            let accepted = set.class_counts()[1];
            let expected = match grammar {
                Grammar::T1 => 17..=21,
                Grammar::T2 => 8..=11,
                _ => 150..=150,
            };
            assert!(expected.contains(&accepted), "{grammar:?}: {accepted}");
        }
    }

    #[test]
    fn a_test_set_larger_than_the_language_has_all_its_unseen_words() {
        let [train, valid] = [(); 2].map(|()| set(Grammar::T4, &[], &Key::new(1)));
        let seen = Split { train, valid, test: None };
        let made = |count| test(Grammar::T4, &(3..=5), count, &seen, &Key::new(1)).sequences.len();
        assert_eq!([made(usize::MAX), made(1_000_000)], [8 + 16 + 32; 2]);
    }

    #[test]
    fn sets_are_a_function_of_grammar_and_key() {
        let digest = |seed| sets(Grammar::T5, &Key::new(seed)).train.digest();
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }
}
