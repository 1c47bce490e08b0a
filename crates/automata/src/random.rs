//! Random automata, for tests and tasks.

use crate::alphabet::Alphabet;
use crate::moore::{Dfa, State};

/// A DFA with uniformly random transitions and start state 0. Each state accepts with the given
/// probability. States may be unreachable or equivalent. `bits` returns 64 uniform random bits per
/// call, so the same random stream gives the same automaton.
///
/// # Panics
/// If there are no states, or the probability is not within 0 to 1.
pub fn random_dfa(
    states: u32,
    alphabet: &Alphabet,
    accept_probability: f64,
    bits: &mut impl FnMut() -> u64,
) -> Dfa {
    assert!(states > 0, "a random automaton needs at least one state");
    assert!(
        (0.0..=1.0).contains(&accept_probability),
        "accept_probability is {accept_probability}, not within 0 to 1"
    );
    let outputs = (0..states).map(|_| unit(bits()) < accept_probability).collect();
    let entries = states as usize * alphabet.len();
    let table = (0..entries).map(|_| State(below(states, bits()))).collect();
    Dfa::new(alphabet.clone(), State(0), outputs, table).expect("targets are below the state count")
}

/// The top 53 bits as a number in [0, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A number below `n`, by multiplication instead of a remainder; the bias is below 2⁻³².
fn below(n: u32, bits: u64) -> u32 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u32
}

/// SplitMix64, for the tests of this crate.
#[cfg(test)]
pub(crate) fn stream(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stream_gives_the_same_automaton_and_another_one_does_not() {
        let alphabet = Alphabet::of_chars("abc").unwrap();
        let make = |seed| random_dfa(50, &alphabet, 0.5, &mut stream(seed));
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn the_share_of_accepting_states_and_the_targets_follow_their_distribution() {
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let dfa = random_dfa(10_000, &alphabet, 0.3, &mut stream(7));
        let accepting = dfa.outputs().iter().filter(|&&o| o).count();
        // Five standard deviations of a binomial are 229.
        assert!((2771..=3229).contains(&accepting), "{accepting} of 10000 accept");
        let low = dfa.states().filter(|&s| dfa.successors(s)[0].0 < 5000).count();
        assert!((4750..=5250).contains(&low), "{low} of 10000 targets are in the lower half");
        assert!(random_dfa(20, &alphabet, 1.0, &mut stream(3)).outputs().iter().all(|&o| o));
        assert!(!random_dfa(20, &alphabet, 0.0, &mut stream(3)).outputs().iter().any(|&o| o));
    }
}
