use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

const TRAIN: &str = "the cat sat\n\nthe cat ran <unk>\n";

fn folder(texts: [&str; 3]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (set, text) in ["train", "valid", "test"].into_iter().zip(texts) {
        std::fs::write(folder.path().join(format!("{set}.txt")), text).unwrap();
    }
    folder
}

fn options(vocabulary: usize, window: usize) -> CorpusOptions {
    CorpusOptions { vocabulary, window, ..CorpusOptions::default() }
}

fn words(corpus: &Corpus, ids: impl IntoIterator<Item = u32>) -> String {
    ids.into_iter().map(|id| corpus.vocabulary[id as usize].as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_text_is_its_words_and_the_ends_of_its_lines() {
    let folder = folder([TRAIN, "the dog sat\n", "ran"]);
    let split = sets(folder.path(), &options(6, 4)).unwrap();
    let train = &split.train;
    assert_eq!(*train.vocabulary, ["<unk>", "<eos>", "cat", "the", "ran", "sat"]);
    let text = "the cat sat <eos> <eos> the cat ran <unk> <eos>";
    assert_eq!(words(train, train.tokens.clone()), text);
    assert_eq!(words(&split.valid, split.valid.tokens.clone()), "the <unk> sat <eos>");
    assert_eq!(words(train, split.test.unwrap().tokens), "ran <eos>");
}

#[test]
fn a_step_reads_the_word_before_its_target_across_windows() {
    let folder = folder([TRAIN, "the\n", "the\n"]);
    let train = sets(folder.path(), &options(6, 4)).unwrap().train;
    assert_eq!(train.windows(), 3);
    let inputs: Vec<u32> = (0..3).flat_map(|window| train.inputs(window)).collect();
    let targets: Vec<u32> = (0..3).flat_map(|window| train.targets(window).to_vec()).collect();
    assert_eq!(targets, train.tokens);
    assert_eq!(words(&train, [inputs[0]]), "<eos>");
    assert_eq!(inputs[1..], train.tokens[..9]);
}

#[test]
fn rare_words_become_unknown_and_the_end_of_a_line_never_does() {
    let folder = folder(["a a a b b b c c c d\n", "a d\n", "a\n"]);
    let split = sets(folder.path(), &options(3, 4)).unwrap();
    assert_eq!(*split.train.vocabulary, ["<unk>", "a", "<eos>"]);
    assert_eq!(words(&split.valid, split.valid.tokens.clone()), "a <unk> <eos>");
}

#[test]
fn compressed_texts_are_the_same_and_damaged_ones_are_refused() {
    let plain = folder([TRAIN, "the\n", "the\n"]);
    let packed = folder(["", "the\n", "the\n"]);
    std::fs::remove_file(packed.path().join("train.txt")).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(TRAIN.as_bytes()).unwrap();
    let mut bytes = encoder.finish().unwrap();
    let path = packed.path().join("train.txt.gz");
    std::fs::write(&path, &bytes).unwrap();
    let read = |folder: &tempfile::TempDir| sets(folder.path(), &options(6, 4));
    assert_eq!(read(&packed).unwrap(), read(&plain).unwrap());
    assert_eq!(read(&packed).unwrap().train.digest(), read(&plain).unwrap().train.digest());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&path, &bytes).unwrap();
    let error = read(&packed).unwrap_err().to_string();
    assert!(error.contains("train.txt.gz:1") && error.contains("damaged"), "{error}");
}

#[test]
fn texts_that_cannot_be_used_name_the_place_and_the_remedy() {
    let refused = |texts: [&str; 3], vocabulary| {
        sets(folder(texts).path(), &options(vocabulary, 4)).unwrap_err().to_string()
    };
    let few = refused([TRAIN, "the\n", "the\n"], 7);
    assert!(few.contains("5 different words") && few.contains("vocabulary=6"), "{few}");
    let empty = refused([TRAIN, "", "the\n"], 6);
    assert!(empty.contains("valid.txt") && empty.contains("empty"), "{empty}");
    let missing = sets(Path::new("/nowhere"), &options(6, 4)).unwrap_err().to_string();
    assert!(missing.contains("train.txt") && missing.contains("put the texts"), "{missing}");
    let folder = folder([TRAIN, "the\n", "the\n"]);
    std::fs::write(folder.path().join("valid.txt"), b"good\n\xff\n").unwrap();
    let error = sets(folder.path(), &options(6, 4)).unwrap_err().to_string();
    assert!(error.contains("valid.txt:2") && error.contains("UTF-8"), "{error}");
}
