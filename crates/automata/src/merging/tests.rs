//! Random automata, words of which some labels are wrong, and what merging makes of them.

use super::*;
use crate::random::{random_dfa, stream};
use crate::words::shortlex;

/// A minimal automaton with this number of states.
pub(super) fn random_automaton(
    states: usize,
    symbols: usize,
    bits: &mut impl FnMut() -> u64,
) -> Moore<u32> {
    loop {
        let dfa = random_dfa(states as u32 + 1, &letters(symbols), 0.5, bits).minimize();
        if dfa.state_count() == states {
            return dfa.map_outputs(|&accepts| u32::from(accepts));
        }
    }
}

fn letters(symbols: usize) -> Alphabet {
    Alphabet::of_chars(&"abcdefgh"[..symbols]).unwrap()
}

/// Random words up to a length. Each label is wrong with the given probability; the second result is
/// the number of wrong labels.
pub(super) fn noisy_words(
    truth: &Moore<u32>,
    count: usize,
    longest: usize,
    noise: f64,
    bits: &mut impl FnMut() -> u64,
) -> (PrefixTree, usize) {
    let symbols = truth.alphabet().len();
    let classes = 1 + *truth.outputs().iter().max().unwrap();
    let mut words = LabelledWords::default();
    let mut wrong = 0;
    for _ in 0..count {
        let length = bits() % (longest as u64 + 1);
        let word: Vec<Symbol> =
            (0..length).map(|_| Symbol((bits() % symbols as u64) as u32)).collect();
        let flip = ((bits() % 1000) as f64) < noise * 1000.0;
        let other = 1 + (bits() % (u64::from(classes).max(2) - 1)) as u32;
        let class = *truth.output_of(&word);
        words.add(word, if flip { (class + other) % classes } else { class });
        wrong += usize::from(flip);
    }
    (PrefixTree::new(symbols, classes as usize, &words).unwrap(), wrong)
}

fn merge_default(truth: &Moore<u32>, tree: &PrefixTree) -> Merged {
    merge(truth.alphabet(), tree, &MergeConfig::default()).unwrap()
}

#[test]
fn random_automata_are_found_from_clean_labels() {
    for seed in 0..12 {
        let mut bits = stream(seed);
        let truth = random_automaton(3 + seed as usize, 2 + seed as usize % 3, &mut bits);
        let tree = noisy_words(&truth, 2_000, 16, 0.0, &mut bits).0;
        let merged = merge_default(&truth, &tree);
        assert_eq!((&merged.automaton, merged.errors), (&truth, 0), "seed {seed}");
        assert!(merged.bits < merged.baseline_bits);
    }
}

#[test]
fn random_automata_are_found_though_a_tenth_of_the_labels_is_wrong() {
    for seed in 0..6 {
        let mut bits = stream(seed);
        let truth = random_automaton(3 + seed as usize, 2 + seed as usize % 2, &mut bits);
        let (tree, wrong) = noisy_words(&truth, 2_000, 16, 0.1, &mut bits);
        let merged = merge_default(&truth, &tree);
        assert_eq!((&merged.automaton, merged.errors), (&truth, wrong), "seed {seed}");
        let bits = DescriptionLength::of(&tree).bits(truth.state_count(), wrong);
        assert_eq!(merged.bits, bits);
    }
}

#[test]
fn trusted_labels_are_contradicted_only_if_they_contradict_each_other() {
    let mut bits = stream(6);
    let truth = random_automaton(4, 2, &mut bits);
    let (tree, wrong) = noisy_words(&truth, 400, 12, 0.05, &mut bits);
    let config = MergeConfig { labels: LabelTrust::Trusted, ..MergeConfig::default() };
    let merged = merge(truth.alphabet(), &tree, &config).unwrap();
    let contradictions: usize = (0..tree.prefixes() as u32)
        .map(|node| {
            let counts = tree.labels_of(node).iter().map(|&(_, n)| n as usize);
            counts.clone().sum::<usize>() - counts.max().unwrap_or(0)
        })
        .sum();
    assert!(merged.errors == contradictions && contradictions < wrong, "{}", merged.errors);
    let tolerant = merge_default(&truth, &tree);
    assert_eq!(tolerant.automaton, truth);
    assert!(tolerant.bits < merged.bits && tolerant.errors == wrong);
}

#[test]
fn automata_with_many_classes_are_found() {
    for noise in [0.0, 0.05] {
        let mut bits = stream(3);
        let truth = Moore::from_fn(
            letters(3),
            7,
            |state| state.0 % 4,
            |state, symbol| State((state.0 * (symbol.0 + 1) + symbol.0 + 1) % 7),
        );
        let truth = truth.unwrap().minimize();
        let (tree, wrong) = noisy_words(&truth, 1_500, 12, noise, &mut bits);
        let merged = merge_default(&truth, &tree);
        assert_eq!((&merged.automaton, merged.errors), (&truth, wrong));
    }
}

#[test]
fn the_same_words_in_another_order_give_the_same_result() {
    let mut bits = stream(8);
    let truth = random_automaton(6, 2, &mut bits);
    let words: Vec<_> = shortlex(2, 7).collect();
    let tree = |words: &mut dyn Iterator<Item = &Vec<Symbol>>| {
        let mut all = LabelledWords::default();
        words.for_each(|w| all.add(w.iter().copied(), *truth.output_of(w)));
        PrefixTree::new(2, 2, &all).unwrap()
    };
    let (forward, backward) = (tree(&mut words.iter()), tree(&mut words.iter().rev()));
    assert_eq!(forward, backward);
    assert_eq!(merge_default(&truth, &forward), merge_default(&truth, &backward));
}

#[test]
fn the_support_of_states_and_transitions_is_counted() {
    let mut words = LabelledWords::default();
    // Even numbers of a are class 0; b never occurs after an odd number of a.
    for length in 0..12 {
        words.add(vec![Symbol(0); length], length as u32 % 2);
    }
    words.add([Symbol(1)], 0);
    words.add([Symbol(1), Symbol(0)], 1);
    let tree = PrefixTree::new(2, 2, &words).unwrap();
    let merged = merge(&letters(2), &tree, &MergeConfig::default()).unwrap();
    assert_eq!(merged.automaton.state_count(), 2);
    assert_eq!(merged.words_ending, [7, 7]);
    // 11 + 9 + … + 1 words take a in the first state, and one more after b.
    assert_eq!(merged.words_taking, [37, 2, 30, 0]);
    let unseen = UnknownTransition { state: State(1), symbol: Symbol(1) };
    assert_eq!(merged.unseen, [unseen]);
}

#[test]
fn degenerate_words_give_an_automaton() {
    let merged = |symbols: usize, classes: usize, all: &[(&[u32], u32)]| {
        let mut words = LabelledWords::default();
        for &(word, class) in all {
            words.add(word.iter().map(|&s| Symbol(s)), class);
        }
        let tree = PrefixTree::new(symbols, classes, &words).unwrap();
        merge(&letters(symbols), &tree, &MergeConfig::default()).unwrap()
    };
    let only_empty = merged(0, 2, &[(&[], 1)]);
    assert_eq!((only_empty.automaton.outputs(), only_empty.errors), (&[1][..], 0));
    let one_class = merged(2, 1, &[(&[0], 0), (&[0, 1], 0)]);
    assert_eq!((one_class.automaton.state_count(), one_class.errors), (1, 0));
    let contradiction = merged(1, 2, &[(&[0], 0), (&[0], 1), (&[0], 1)]);
    assert_eq!((contradiction.automaton.state_count(), contradiction.errors), (1, 1));
    let one_symbol = merged(1, 2, &[(&[0], 1), (&[], 0)]);
    assert!(one_symbol.errors <= 1);
}

#[test]
fn refusals_name_the_numbers_and_the_remedy() {
    let mut words = LabelledWords::default();
    let empty = PrefixTree::new(2, 2, &words).unwrap();
    let default = MergeConfig::default();
    let refused = |symbols, tree, config| merge(&letters(symbols), tree, config).unwrap_err();
    assert_eq!(refused(2, &empty, &default), MergeError::NoWords);
    words.add([Symbol(1); 30], 1);
    let tree = PrefixTree::new(2, 2, &words).unwrap();
    assert_eq!(
        refused(3, &tree, &default).to_string(),
        "the alphabet has 3 symbols, but the words were read with 2"
    );
    let config = MergeConfig { memory: 1_000, ..MergeConfig::default() };
    assert_eq!(
        refused(2, &tree, &config).to_string(),
        "merging words with 31 distinct prefixes needs 1984 bytes, more than the 1000 allowed; \
         raise the limit, or use fewer or shorter words"
    );
}

#[test]
fn random_labels_are_not_taken_for_a_language() {
    let mut bits = stream(11);
    let mut words = LabelledWords::default();
    for word in shortlex(2, 7) {
        words.add(word, (bits() % 2) as u32);
    }
    let tree = PrefixTree::new(2, 2, &words).unwrap();
    let config = MergeConfig { steps: 20_000_000, ..MergeConfig::default() };
    let merged = merge(&letters(2), &tree, &config).unwrap();
    assert!(merged.bits > merged.baseline_bits - 32.0, "{} bits", merged.bits);
}
