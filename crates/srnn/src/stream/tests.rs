//! Compiled automata against their originals, on random automata.

use super::compiled::InvalidByte;
use super::{ByteClasses, CompiledAutomaton, Kernel, StreamError, StreamProgress, run_lines};
use crate::key::{Key, Rng};
use srnn_automata::{Alphabet, Dfa, State, Symbol, random_dfa};
use std::convert::Infallible;
use std::io::{self, Read};

const LETTERS: &str = "abcdef";

fn alphabet(symbols: usize) -> Alphabet {
    Alphabet::of_chars(&LETTERS[..symbols]).unwrap()
}

fn automaton(states: usize, symbols: usize, stream: &mut Rng) -> Dfa {
    random_dfa(states as u32, &alphabet(symbols), 0.5, &mut || stream.bits())
}

/// The automaton compiled for every kernel that it and this machine allow.
fn compiled(dfa: &Dfa) -> Vec<CompiledAutomaton> {
    let bytes = ByteClasses::of_characters(dfa.alphabet()).unwrap();
    let kernels = [Kernel::Shuffle, Kernel::Table];
    kernels.into_iter().filter_map(|kernel| CompiledAutomaton::with(kernel, dfa, &bytes)).collect()
}

fn random_word(symbols: usize, length: usize, stream: &mut Rng) -> String {
    (0..length).map(|_| char::from(LETTERS.as_bytes()[stream.below(symbols)])).collect()
}

/// The end states of the words of a text by the specification, and that of the text after the last line
/// end.
fn expected_ends(dfa: &Dfa, text: &str) -> (Vec<State>, State) {
    let run = |line: &str| {
        let symbols = line.chars().filter(|c| !c.is_ascii_whitespace());
        let word: Vec<Symbol> =
            symbols.map(|c| dfa.alphabet().symbol(&c.to_string()).unwrap()).collect();
        dfa.run(&word)
    };
    let mut ends: Vec<State> = text.split('\n').map(run).collect();
    let last = ends.pop().unwrap();
    (ends, last)
}

/// A reader that returns a few bytes per call.
struct SlowReader<'a>(&'a [u8], Rng);

impl Read for SlowReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = (1 + self.1.below(40)).min(self.0.len()).min(buffer.len());
        buffer[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

fn end_states_of(
    program: &CompiledAutomaton,
    input: impl Read,
) -> Result<(Vec<State>, StreamProgress), String> {
    let mut all = Vec::new();
    let report = |ends: &[State], _| {
        all.extend_from_slice(ends);
        Ok::<(), Infallible>(())
    };
    let progress = run_lines(program, input, report).map_err(|error| error.to_string())?;
    Ok((all, progress))
}

#[test]
fn every_kernel_ends_where_the_automaton_does() {
    let mut stream = Key::new(1).rng();
    for case in 0..400 {
        let (states, symbols) = (1 + case % 40, 1 + stream.below(6));
        let dfa = automaton(states, symbols, &mut stream);
        let length = match case % 4 {
            0 => case / 4,
            _ => stream.below(5001),
        };
        let text = random_word(symbols, length, &mut stream);
        let (_, end) = expected_ends(&dfa, &text);
        for program in compiled(&dfa) {
            let ran = program.run(program.start(), text.as_bytes());
            assert_eq!(ran, Ok(end), "{:?}, {states} states, {text}", program.kernel());
        }
    }
}

#[test]
fn a_run_can_start_in_any_state() {
    let mut stream = Key::new(2).rng();
    for states in 1..=40 {
        let dfa = automaton(states, 2, &mut stream);
        let text = random_word(2, 3000, &mut stream);
        let (_, end) = expected_ends(&dfa, &text);
        for program in compiled(&dfa) {
            let cut = stream.below(text.len());
            let middle = program.run(program.start(), &text.as_bytes()[..cut]).unwrap();
            assert_eq!(program.run(middle, &text.as_bytes()[cut..]), Ok(end), "{states} states");
        }
    }
}

#[test]
fn words_of_all_lengths_end_where_the_automaton_does_however_the_text_is_cut() {
    let mut stream = Key::new(3).rng();
    for case in 0..120 {
        let (states, symbols) = (1 + case % 40, 1 + stream.below(6));
        let dfa = automaton(states, symbols, &mut stream);
        // Longer than a block, so that words cross block boundaries; from all short to all long.
        let longest = [1, 12, 200, 5000][case % 4];
        let mut text = String::new();
        while text.len() < 40_000 {
            text += &random_word(symbols, stream.below(longest + 1), &mut stream);
            text += ["\n", "\n", "\r\n", " \n", "\n\n", " "][stream.below(6)];
        }
        let (ends, last) = expected_ends(&dfa, &text);
        for program in compiled(&dfa) {
            let (mut at, mut rest, mut seen) = (program.start(), text.as_bytes(), vec![]);
            while !rest.is_empty() {
                let (now, later) = rest.split_at((1 + stream.below(30_000)).min(rest.len()));
                at = program.end_states(at, now, &mut seen).unwrap();
                rest = later;
            }
            let case = (program.kernel(), states, longest);
            assert!(seen == ends, "{case:?}");
            assert_eq!(at, last, "{case:?}");
            assert_eq!(program.run(program.start(), text.as_bytes()), Ok(last), "{case:?}");
        }
    }
}

#[test]
fn large_tables_have_wide_entries() {
    let mut stream = Key::new(4).rng();
    let dfa = automaton(20_000, 3, &mut stream);
    let text = random_word(4 - 1, 5000, &mut stream) + "\n" + &random_word(3, 90, &mut stream);
    let (ends, last) = expected_ends(&dfa, &text);
    for program in compiled(&dfa) {
        let mut seen = Vec::new();
        assert_eq!(program.end_states(program.start(), text.as_bytes(), &mut seen), Ok(last));
        assert_eq!(seen, ends);
        assert!(seen[0].0 > 0);
    }
}

#[test]
fn the_fastest_kernel_possible_is_chosen() {
    let mut stream = Key::new(5).rng();
    let kernel = |states: usize, stream: &mut Rng| {
        let dfa = automaton(states, 2, stream);
        CompiledAutomaton::new(&dfa, &ByteClasses::of_characters(dfa.alphabet()).unwrap()).kernel()
    };
    assert_eq!(kernel(17, &mut stream), Kernel::Table);
    // Both kernels exist on machines with AVX2, which is nearly every one.
    if compiled(&automaton(2, 2, &mut stream)).len() == 2 {
        assert_eq!(kernel(16, &mut stream), Kernel::Shuffle);
    }
}

#[test]
fn an_invalid_byte_is_found_at_any_offset_and_words_before_it_are_reported() {
    let mut stream = Key::new(6).rng();
    let dfa = automaton(7, 3, &mut stream);
    let lines: Vec<String> = (0..3000).map(|i| random_word(3, i % 23, &mut stream)).collect();
    let text = lines.join("\n");
    for program in compiled(&dfa) {
        for _ in 0..100 {
            let offset = stream.below(text.len());
            let mut bytes = text.clone().into_bytes();
            bytes[offset] = [b'd', 0, 0xff, b'A'][stream.below(4)];
            let invalid = InvalidByte { offset, byte: bytes[offset] };
            let mut seen = Vec::new();
            assert_eq!(program.end_states(program.start(), &bytes, &mut seen), Err(invalid));
            assert_eq!(seen, expected_ends(&dfa, &text[..offset]).0);
            assert_eq!(program.run(program.start(), &bytes), Err(invalid));
        }
    }
}

#[test]
fn an_alphabet_of_many_letters_accepts_exactly_its_letters() {
    let letters: String = (b'!'..=b'z').map(char::from).collect();
    let alphabet = Alphabet::of_chars(&letters).unwrap();
    let mut stream = Key::new(7).rng();
    let dfa = random_dfa(9, &alphabet, 0.5, &mut || stream.bits());
    for program in compiled(&dfa) {
        let (ends, _) = expected_ends(&dfa, &(letters.clone() + "\n"));
        let mut seen = Vec::new();
        program
            .end_states(program.start(), (letters.clone() + "\n").as_bytes(), &mut seen)
            .unwrap();
        assert_eq!(seen, ends);
        for invalid in [b'{', 0, 0x80] {
            assert!(program.run(program.start(), &[b'a', invalid]).is_err());
        }
    }
}

#[test]
fn a_stream_gives_one_end_state_per_line_however_slow_the_reader() {
    let mut stream = Key::new(8).rng();
    let dfa = automaton(5, 2, &mut stream);
    for text in ["", "\n", "a", "a\n", "\nab", "ab\r\n\r\nba\r\n", "a b\n\n\nb", " ", "abab\n\n"] {
        let mut expected = expected_ends(&dfa, text);
        if !text.is_empty() && !text.ends_with('\n') {
            expected.0.push(expected.1);
        }
        for program in compiled(&dfa) {
            for text in [text.to_string(), format!("\u{feff}{text}")] {
                let slow = SlowReader(text.as_bytes(), Key::new(stream.bits()).rng());
                let (ends, progress) = end_states_of(&program, slow).unwrap();
                assert_eq!(ends, expected.0, "{text:?}");
                assert_eq!(progress.words as usize, ends.len());
            }
        }
    }
}

#[test]
fn an_invalid_symbol_is_reported_with_its_line_and_column() {
    let mut stream = Key::new(9).rng();
    let dfa = automaton(5, 2, &mut stream);
    let far = "ab\n".repeat(200_000) + &"a".repeat(700_000) + "é";
    for (text, message) in [
        ("ab\nabxa\n", "line 2, column 3: 'x' is not a symbol"),
        ("ä", "line 1, column 1: 'ä' is not a symbol"),
        ("\u{feff}a\u{feff}", "line 1, column 2: '\\u{feff}' is not a symbol"),
        ("ab\n\n\nb\u{1b}", "line 4, column 2: '\\u{1b}' is not a symbol"),
        (&far, "line 200001, column 700001: 'é' is not a symbol"),
    ] {
        for program in compiled(&dfa) {
            assert_eq!(end_states_of(&program, text.as_bytes()).unwrap_err(), message);
        }
    }
    let bytes = b"a\xffb";
    for program in compiled(&dfa) {
        let message = "line 1, column 2: byte 0xff is not a symbol";
        assert_eq!(end_states_of(&program, &bytes[..]).unwrap_err(), message);
    }
}

#[test]
fn the_callback_can_stop_a_stream() {
    let mut stream = Key::new(10).rng();
    let dfa = automaton(5, 2, &mut stream);
    for program in compiled(&dfa) {
        let stop = |_: &[State], progress: StreamProgress| match progress.words {
            0..1000 => Ok(()),
            words => Err(words),
        };
        // This reader never ends.
        let endless = io::repeat(b'\n');
        let error = run_lines(&program, endless, stop).unwrap_err();
        assert!(matches!(error, StreamError::Stopped(words) if words >= 1000), "{error}");
    }
}
