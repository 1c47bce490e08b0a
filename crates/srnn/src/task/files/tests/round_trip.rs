use super::*;
use crate::key::Key;
use crate::model::Tokenizer;
use crate::task::{Sequence, tomita};

/// Formats that can be written. A new one adds a column to the tables below.
const WRITABLE: usize = 5;

/// Every format that can be written, with a file name.
fn formats() -> [(Format, &'static str); WRITABLE] {
    [
        ("csv", "d.csv"),
        ("tsv", "d.tsv"),
        ("jsonl", "d.jsonl"),
        ("plain", "d.txt"),
        ("abbadingo", "d.dat"),
    ]
    .map(|(name, file)| (format(name), file))
}

fn written(data: &Dataset, format: Format, tokens: &TokenRule) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    write(data, format, tokens, &mut bytes).map(|()| bytes)
}

/// Some sequences over these names; every name occurs, and the empty sequence.
fn over(alphabet: &[&str], classes: &[&str]) -> Dataset {
    let n = alphabet.len() as u32;
    let word = |i: u32| Sequence {
        tokens: (0..=i % 4).map(|j| (i + j * j) % n).collect(),
        label: i % classes.len() as u32,
    };
    let mut sequences: Vec<Sequence> = (0..12).map(word).collect();
    sequences.push(Sequence { tokens: Vec::new(), label: 0 });
    let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect();
    Dataset { alphabet: names(alphabet), classes: names(classes), sequences }
}

/// Whether the format takes the set; then it must read back the same.
fn comes_back(data: &Dataset, format: Format, name: &str, tokens: &TokenRule) -> bool {
    let bytes = match written(data, format, tokens) {
        Ok(bytes) => bytes,
        Err(error) => {
            assert!(error.to_string().contains("JSONL"), "{error}");
            return false;
        }
    };
    let options = ReadOptions {
        tokens: tokens.clone(),
        contradictions: Contradictions::Keep,
        ..ReadOptions::default()
    };
    let back = read_from(name, &bytes[..], &options).unwrap_or_else(|error| panic!("{error}"));
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(named(&back.data), named(data), "{format:?} {tokens:?}\n{text}");
    true
}

#[test]
fn tomita_sets_come_back_from_every_format() {
    let data = tomita::sets(tomita::Grammar::T4, &Key::new(1)).train;
    for (format, name) in formats() {
        assert!(comes_back(&data, format, name, &TokenRule::Guess));
    }
}

#[test]
fn tokens_come_back_from_every_format_that_takes_them() {
    let separator = TokenRule::Separator("|".into());
    // Which of CSV, TSV, JSONL, plain, Abbadingo take these.
    let cases: [(&[&str], TokenRule, [bool; WRITABLE]); 14] = [
        (&["a", "b"], TokenRule::Guess, [true; WRITABLE]),
        (&["ab", "c"], TokenRule::Guess, [true; WRITABLE]),
        (&["ä", "🦀", "\u{85}"], TokenRule::Guess, [true; WRITABLE]),
        (&["a,b", "say \"hi\"", ";"], separator.clone(), [true, true, true, true, false]),
        (&["a,b", "\"", "''"], TokenRule::Guess, [true; WRITABLE]),
        (&["\"", ",", ";"], TokenRule::Guess, [true; WRITABLE]),
        (&["a b", "c"], TokenRule::Guess, [false, false, true, false, false]),
        (&["a b", "c"], separator.clone(), [true, true, true, true, false]),
        (&["a\tb", "c"], separator.clone(), [true, false, true, true, false]),
        (&["a\nb", "c\r\n", "\r"], separator.clone(), [true, false, true, false, false]),
        (&["a|b", "c"], separator, [false, false, true, false, true]),
        (&["\n", " ", "\"", "x"], TokenRule::Characters, [true, false, true, false, false]),
        (&["", "c"], TokenRule::Guess, [false, false, true, false, false]),
        (&["<script>", "\u{1b}[31m", "\0"], TokenRule::Guess, [true; WRITABLE]),
    ];
    for (alphabet, tokens, taken) in cases {
        let data = over(alphabet, &["no", "yes"]);
        for ((format, name), expected) in formats().into_iter().zip(taken) {
            let back = comes_back(&data, format, name, &tokens);
            assert_eq!(back, expected, "{alphabet:?} {tokens:?} {format:?}");
        }
    }
}

#[test]
fn labels_come_back_from_every_format_that_takes_them() {
    let cases: [(&[&str], [bool; WRITABLE]); 6] = [
        (&["0", "1", "2"], [true; WRITABLE]),
        (&["a,b", "\"q\""], [true; WRITABLE]),
        (&["very good", "bad"], [true, true, true, false, false]),
        (&["a\nb", "c"], [true, false, true, false, false]),
        (&[" padded", "c"], [false, false, true, false, false]),
        (&["-1", "1"], [true, true, true, true, false]),
    ];
    for (classes, taken) in cases {
        let data = over(&["a", "b"], classes);
        for ((format, name), expected) in formats().into_iter().zip(taken) {
            let back = comes_back(&data, format, name, &TokenRule::Guess);
            assert_eq!(back, expected, "{classes:?} {format:?}");
        }
    }
}

#[test]
fn lone_words_are_refused_where_they_would_be_read_as_characters() {
    let mut data = over(&["ab", "cd"], &["x", "y"]);
    data.sequences.iter_mut().for_each(|sequence| sequence.tokens.truncate(1));
    assert!(written(&data, Format::CSV, &TokenRule::Guess).is_err());
    assert!(comes_back(&data, Format::CSV, "d.csv", &TokenRule::Whitespace));
    let text = TokenRule::Text(Tokenizer::MosesLowerCase);
    assert!(written(&data, Format::CSV, &text).is_err(), "Moses escapes what it has escaped");
    assert!(comes_back(&data, Format::ABBADINGO, "d.dat", &TokenRule::Guess));
}

#[test]
fn event_logs_are_not_written_and_failing_disks_are_reported() {
    let data = over(&["a", "b"], &["x", "y"]);
    assert!(written(&data, format("events"), &TokenRule::Guess).is_err());
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = write(&data, Format::CSV, &TokenRule::Guess, &mut Full).unwrap_err();
    assert!(error.to_string().contains("disk full"));
}
