use std::path::PathBuf;

use super::*;
use crate::key::Key;
use crate::task::{Fractions, UNKNOWN};

/// A folder of its own for one test, gone with it.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(test: &str) -> TestFolder {
        let path = std::env::temp_dir().join(format!("srnn-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TestFolder(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn files(valid: PathBuf, test: Option<PathBuf>) -> HoldOut {
    HoldOut { fractions: Fractions::new(1.0, 0.0, 0.0).unwrap(), valid: Some(valid), test }
}

fn fractions(text: &str) -> HoldOut {
    HoldOut { fractions: text.parse().unwrap(), valid: None, test: None }
}

#[test]
fn held_out_files_take_the_vocabulary_classes_and_token_rule_of_training() {
    let folder = TestFolder::new("shared");
    let train = folder.file("train.txt", "x a b\ny b\nx c a\n");
    let valid = folder.file("valid.txt", "y c\nx a b\ny ab\n");
    let loaded = load(&train, &files(valid, None), &ReadOptions::default(), &Key::new(0)).unwrap();
    assert_eq!(loaded.vocabulary.symbols(), ["a", "b", "c"]);
    assert_eq!(loaded.split.valid.alphabet, loaded.split.train.alphabet);
    assert_eq!(loaded.split.valid.classes, loaded.split.train.classes);
    assert_eq!(named(&loaded.split.valid), [(vec!["c"], "y"), (vec!["a", "b"], "x")]);
    assert_eq!(loaded.tokens, TokenRule::Whitespace);
    assert_eq!(loaded.valid.in_training, 1);
    let [unreadable] = &loaded.valid.unreadable[..] else { panic!("{:?}", loaded.valid) };
    assert!(unreadable.file.ends_with("valid.txt"));
    assert_eq!((unreadable.line, unreadable.label, unreadable.token.as_str()), (3, 1, "ab"));
}

#[test]
fn rare_training_tokens_become_unknown_and_then_every_sequence_can_be_read() {
    let folder = TestFolder::new("rare");
    let train = folder.file("train.txt", "x a b rare\ny b a\n");
    let valid = folder.file("valid.txt", "y never a\n");
    let options = ReadOptions { rare_tokens: RareTokens::Below(2), ..ReadOptions::default() };
    let loaded = load(&train, &files(valid.clone(), None), &options, &Key::new(0)).unwrap();
    assert_eq!(loaded.vocabulary.symbols(), [UNKNOWN, "a", "b"]);
    assert_eq!(named(&loaded.split.train)[0].0, ["a", "b", UNKNOWN]);
    assert_eq!(named(&loaded.split.valid)[0].0, [UNKNOWN, "a"]);
    assert!(loaded.valid.unreadable.is_empty());
    // Nothing is rare: there would be nothing to train the unknown token on.
    let train = folder.file("train.txt", "x a b a\ny b a\n");
    let loaded = load(&train, &files(valid, None), &options, &Key::new(0)).unwrap();
    assert_eq!((loaded.vocabulary.unknown(), loaded.valid.unreadable.len()), (None, 1));
}

#[test]
fn one_file_is_divided_and_the_vocabulary_is_that_of_the_training_part() {
    let folder = TestFolder::new("divided");
    let text: String =
        (0..60).map(|i| format!("{} t{} t{} only{i}\n", ["x", "y"][i % 2], i % 7, i % 5)).collect();
    let train = folder.file("all.txt", &text);
    let held_out = fractions("0.8/0.1/0.1");
    let options = ReadOptions { rare_tokens: RareTokens::Below(0), ..ReadOptions::default() };
    let loaded = load(&train, &held_out, &options, &Key::new(4)).unwrap();
    assert_eq!(loaded.split.train.class_counts(), [24, 24]);
    // Every held-out sequence has a token of its own.
    let test = loaded.split.test.as_ref().unwrap();
    assert_eq!((loaded.valid.unreadable.len(), loaded.test.unreadable.len()), (6, 6));
    assert!(loaded.split.valid.sequences.is_empty() && test.sequences.is_empty());
    assert!(!loaded.vocabulary.symbols().contains(&loaded.valid.unreadable[0].token));
    assert_eq!(loaded, load(&train, &held_out, &options, &Key::new(4)).unwrap());
    let options = ReadOptions { rare_tokens: RareTokens::Below(2), ..options };
    let loaded = load(&train, &held_out, &options, &Key::new(4)).unwrap();
    assert_eq!((loaded.split.valid.sequences.len(), loaded.valid.unreadable.len()), (6, 0));
    assert!(loaded.vocabulary.unknown().is_some());
    let automatic = load(&train, &held_out, &ReadOptions::default(), &Key::new(4)).unwrap();
    assert_eq!(automatic.vocabulary, loaded.vocabulary, "every sequence has a token of its own");
}

#[test]
fn unknown_tokens_are_expected_if_one_sequence_in_a_hundred_has_a_token_of_its_own() {
    let folder = TestFolder::new("automatic");
    let unknown = |text: &str| {
        let (train, valid) =
            (folder.file("train.txt", text), folder.file("valid.txt", "y b new\n"));
        let loaded = load(&train, &files(valid, None), &ReadOptions::default(), &Key::new(0));
        loaded.unwrap().vocabulary.unknown().is_some()
    };
    let rows = |rare: usize| -> String {
        let row = |i: usize| match i < rare {
            // Twice in one sequence is still one sequence.
            true => format!("x a b rare{i} rare{i}\n"),
            false => format!("{}\n", ["x a b", "y b a"][i % 2]),
        };
        (0..300).map(row).collect()
    };
    assert!(!unknown(&rows(2)) && unknown(&rows(3)));
    assert!(!unknown("x a\ny b\nx c\ny d\n"), "`<unk>` alone says nothing");
}

#[test]
fn a_fraction_for_validation_and_a_file_for_test_go_together() {
    let folder = TestFolder::new("together");
    let text: String = (0..32).map(|i| format!("{} {i:05b}\n", i % 2)).collect();
    let train = folder.file("train.txt", &text);
    let test = folder.file("test.txt", "1 0101\n");
    let hold_out = HoldOut { test: Some(test), ..fractions("0.75/0.25") };
    let loaded = load(&train, &hold_out, &ReadOptions::default(), &Key::new(0)).unwrap();
    assert_eq!(loaded.split.train.sequences.len(), 24);
    assert_eq!(loaded.split.valid.sequences.len(), 8);
    assert_eq!(named(&loaded.split.test.unwrap()), [(vec!["0", "1", "0", "1"], "1")]);
}

#[test]
fn what_cannot_be_held_out_is_refused_with_a_remedy() {
    let folder = TestFolder::new("refused");
    let train = folder.file("train.txt", "x ab\ny b\n");
    let other = folder.file("valid.txt", "x ab\nz b\n");
    let twice = HoldOut { valid: Some(other.clone()), ..fractions("0.5/0.5") };
    let cases = [
        (&train, fractions("0.9/0.1"), "train.txt: nothing is held out for valid; give either"),
        (&train, fractions("1/0"), "train.txt: nothing is held out for valid; give either"),
        (&train, files(other.clone(), None), "valid.txt:2: label \"z\" does not occur in training"),
        (&train, twice, "train.txt: valid is requested both as a fraction and as a file"),
        (&train, files(folder.0.join("no.txt"), None), "no.txt: there is no such file; check"),
    ];
    for (train, hold_out, expected) in cases {
        let error = load(train, &hold_out, &ReadOptions::default(), &Key::new(0)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_test_file_may_hold_one_class_but_a_training_file_may_not() {
    let folder = TestFolder::new("one");
    let both = folder.file("both.txt", "x ab\ny b\n");
    let one = folder.file("one.txt", "x ab\nx b\n");
    let options = ReadOptions::default();
    assert!(load(&both, &files(one.clone(), Some(one.clone())), &options, &Key::new(0)).is_ok());
    let error = load(&one, &files(both, None), &options, &Key::new(0)).unwrap_err();
    assert!(matches!(error.cause, Cause::OneClass { .. }), "{error}");
}
