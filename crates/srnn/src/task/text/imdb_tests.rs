use super::*;
use std::io::Write as _;
use tempfile::TempDir;

/// A label, an id and a text.
type Line = (u32, u64, String);

/// Ten reviews of each class for training, and two for the test.
fn made_up() -> [Vec<Line>; 2] {
    let review = |id: u64, label: u32| {
        let word = ["dull", "grand"][label as usize];
        (label, id, format!("A {word} film, number {id}.<br />Isn't it?"))
    };
    let train = (0..20).map(|n| review(n / 2, (n % 2) as u32)).collect();
    let test = vec![
        (1, 5, "Grand\tand unheard of.".into()),
        (0, 7, "dull".into()),
        (0, 30, "A FILM".into()),
        (1, 40, "A film".into()),
    ];
    [train, test]
}

fn table(lines: &[Line]) -> String {
    lines.iter().map(|(label, id, text)| format!("{label}\t{id}\t7\t{text}\n")).collect()
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn folder_with_tables() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (set, lines) in ["train", "test"].iter().zip(made_up()) {
        put(&folder, &format!("{set}.tsv.gz"), &gzipped(table(&lines).as_bytes()));
    }
    folder
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn small(vocabulary: usize) -> ImdbOptions {
    ImdbOptions { vocabulary, ..ImdbOptions::default() }
}

fn words(data: &Dataset, index: usize) -> String {
    let names = data.sequences[index].tokens.iter().map(|&token| &*data.alphabet[token as usize]);
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn reviews_are_lower_cased_moses_tokens_with_rare_words_unknown() {
    let split = sets(folder_with_tables().path(), &small(16)).unwrap();
    let test = split.test.unwrap();
    let frequent = &split.train.alphabet[1..14];
    assert!(frequent.is_sorted(), "all occur 18 times: {frequent:?}");
    assert_eq!(split.train.alphabet[0], UNKNOWN);
    assert_eq!(split.train.alphabet[14..], ["dull", "grand"], "nine times each");
    assert_eq!(split.train.classes, CLASSES);
    let expected = "a grand film , number <unk> . &lt; br / &gt; isn &apos;t it ?";
    assert_eq!(words(&split.train, 1), expected);
    assert_eq!(words(&test, 1), "grand <unk> <unk> <unk> .");
}

#[test]
fn the_last_tenth_of_each_class_is_held_out_and_classes_alternate() {
    let split = sets(folder_with_tables().path(), &small(16)).unwrap();
    let labels = |data: &Dataset| data.sequences.iter().map(|s| s.label).collect::<Vec<_>>();
    assert_eq!(labels(&split.train), [0, 1].repeat(9));
    assert_eq!(labels(&split.valid), [0, 1]);
    let twice = ImdbOptions { vocabulary: 25, ..small(25) };
    let all = sets(folder_with_tables().path(), &twice).unwrap();
    assert!(words(&all.train, 17).contains("number 8"), "ids 0 to 8 are trained on");
    assert!(words(&all.valid, 0).contains("number <unk>"), "id 9 is not in the vocabulary");
    assert_eq!(labels(split.test.as_ref().unwrap()), [0, 1, 0, 1]);
    let few = ImdbOptions { most: 7, ..small(16) };
    let few = sets(folder_with_tables().path(), &few).unwrap();
    assert_eq!((labels(&few.train), few.valid.sequences.len()), (vec![0, 1, 0, 1, 0, 1, 0], 0));
    assert_eq!(few.train.alphabet, split.train.alphabet, "the vocabulary is that of all");
}

#[test]
fn the_published_folders_hold_the_same_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    for (set, lines) in ["train", "test"].iter().zip(made_up()) {
        for (label, id, text) in lines {
            let class = ["neg", "pos"][label as usize];
            put(&folder, &format!("{set}/{class}/{id}_7.txt"), text.as_bytes());
        }
    }
    let tables = sets(folder_with_tables().path(), &small(16)).unwrap();
    assert_eq!(sets(folder.path(), &small(16)).unwrap(), tables);
    put(&folder, "train/pos/notes.txt", b"");
    let error = sets(folder.path(), &small(16)).unwrap_err();
    assert_eq!(error.cause, ReviewCause::FileName);
    assert!(error.to_string().contains("notes.txt: the file is not called"), "{error}");
}

#[test]
fn each_set_is_cut_on_its_own_and_the_vocabulary_is_of_what_is_left() {
    let cuts = ImdbOptions { train_words: 2, valid_words: 3, test_words: 1, ..small(4) };
    let split = sets(folder_with_tables().path(), &cuts).unwrap();
    assert_eq!(split.train.alphabet, [UNKNOWN, "a", "dull", "grand"]);
    assert_eq!(words(&split.train, 0), "a dull");
    assert_eq!(words(&split.valid, 1), "a grand <unk>");
    assert_eq!(words(&cut(&split.valid, 1, 1), 0), "a");
    assert!(split.test.unwrap().sequences.iter().all(|review| review.tokens.len() == 1));
}

#[test]
fn bad_files_are_refused_with_file_line_and_remedy() {
    let good = table(&made_up()[0]);
    let cases: [(&str, String, &str); 9] = [
        ("2\t1\t7\tx\n", good.clone(), "train.tsv.gz:1: label \"2\""),
        ("0\tx\t7\tx\n", good.clone(), "train.tsv.gz:1: id \"x\""),
        ("0\t1\t11\tx\n", good.clone(), "train.tsv.gz:1: \"11\" stars"),
        ("0\t1\tx\n", good.clone(), "train.tsv.gz:1: 3 fields"),
        ("", format!("{good}\n"), "train.tsv.gz:21: 1 fields"),
        ("0\t3\t7\tx\n", good.clone(), "a second negative review with id 3; remove"),
        ("", good.replace("0\t9\t", "1\t99\t"), "9 negative reviews: there must be at least 10"),
        ("", String::new(), "0 negative reviews"),
        ("", "0\t1\t7\t".to_string() + &"x".repeat(1 << 20), "a review of more than 1048576"),
    ];
    for (before, rest, message) in cases {
        let folder = folder_with_tables();
        put(&folder, "train.tsv.gz", &gzipped(format!("{before}{rest}").as_bytes()));
        let error = sets(folder.path(), &small(16)).unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn missing_damaged_and_endless_files_are_refused() {
    let folder = folder_with_tables();
    let error = |folder: &TempDir| sets(folder.path(), &small(16)).unwrap_err();
    put(&folder, "test.tsv.gz", &gzipped(b"0\t1\t1\t\xff\n"));
    assert_eq!((error(&folder).cause, error(&folder).line), (ReviewCause::NotUtf8, Some(1)));
    let whole = gzipped(table(&made_up()[1]).as_bytes());
    put(&folder, "test.tsv.gz", &whole[..whole.len() - 12]);
    assert!(matches!(error(&folder).cause, ReviewCause::Damaged { .. }), "{}", error(&folder));
    let line = "0\t1\t1\t".to_string() + &" ".repeat((1 << 20) - 7) + "\n";
    put(&folder, "test.tsv.gz", &gzipped(line.repeat(257).as_bytes()));
    assert_eq!((error(&folder).cause, error(&folder).line), (ReviewCause::ManyBytes, Some(257)));
    std::fs::remove_file(folder.path().join("test.tsv.gz")).unwrap();
    let missing = error(&folder).to_string();
    assert!(missing.contains("test.tsv.gz: there is no such") && missing.contains("train/pos"));
}

#[test]
fn a_vocabulary_larger_than_the_training_set_is_refused() {
    let error = sets(folder_with_tables().path(), &small(10_000)).unwrap_err().to_string();
    assert!(
        error.contains("have 24 different words") && error.contains("vocabulary=25"),
        "{error}"
    );
}

/// Runs if `SRNN_DATA` names a folder with `imdb/`.
#[test]
fn the_published_reviews_have_as_many_words_as_in_the_paper() {
    let folder = std::env::var_os("SRNN_DATA").map(|data| Path::new(&data).join("imdb"));
    let Some(folder) = folder.filter(|folder| folder.exists()) else {
        eprintln!("SKIPPED: SRNN_DATA names no folder with imdb/");
        return;
    };
    let Split { train, valid, test } = sets(&folder, &ImdbOptions::default()).unwrap();
    let test = test.unwrap();
    assert_eq!(
        [&train, &valid, &test].map(Dataset::class_counts),
        [vec![11_250, 11_250], vec![1_250, 1_250], vec![12_500, 12_500]]
    );
    // The paper's table: shortest, longest, and mean to one digit.
    let lengths = |sets: &[&Dataset]| {
        let all = sets.iter().flat_map(|set| &set.sequences).map(|review| review.tokens.len());
        let all: Vec<usize> = all.collect();
        let mean = all.iter().sum::<usize>() as f64 / all.len() as f64;
        (*all.iter().min().unwrap(), *all.iter().max().unwrap(), format!("{mean:.1}"))
    };
    assert_eq!(lengths(&[&train, &valid]), (11, 2820, "284.5".into()));
    assert_eq!(lengths(&[&test]), (8, 2956, "278.2".into()));
}

/// An archive with these entries.
fn archive(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

/// The entries of the made-up reviews, in an archive like the published one.
fn entries() -> Vec<(String, Vec<u8>)> {
    let mut entries = vec![
        ("aclImdb/train/neg/".to_string(), vec![]),
        ("aclImdb/train/unsup/0_0.txt".into(), b"\xff not labelled".into()),
        ("aclImdb/README".into(), b"Reviews".into()),
    ];
    for (set, lines) in ["train", "test"].iter().zip(made_up()) {
        for (label, id, text) in lines {
            let class = ["neg", "pos"][label as usize];
            entries.push((format!("aclImdb/{set}/{class}/{id}_7.txt"), text.into()));
        }
    }
    entries
}

fn folder_with_archive(bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(&folder, "aclImdb_v1.tar.gz", bytes);
    folder
}

#[test]
fn the_published_archive_holds_the_same_as_tables() {
    let folder = folder_with_archive(&gzipped(&archive(&entries())));
    let tables = sets(folder_with_tables().path(), &small(16)).unwrap();
    assert_eq!(sets(folder.path(), &small(16)).unwrap(), tables);
}

#[test]
fn bad_archives_are_refused_with_the_entry() {
    let changed = |name: &str, content: &[u8]| {
        let entry = (format!("aclImdb/train/{name}"), content.to_vec());
        gzipped(&archive(&[entries(), vec![entry]].concat()))
    };
    let good = gzipped(&archive(&entries()));
    let cases = [
        (
            changed("pos/notes.txt", b""),
            "aclImdb_v1.tar.gz/aclImdb/train/pos/notes.txt: the file is",
        ),
        (changed("pos/50_0.txt", b""), "50_0.txt: \"0\" stars"),
        (changed("pos/50_9.txt", b"\xff"), "50_9.txt: the text is not UTF-8"),
        (changed("neg/50_1.txt", &vec![b' '; (1 << 20) + 1]), "50_1.txt: a review of more than"),
        (changed("neg/3_1.txt", b"again"), "a second negative review with id 3"),
        (good[..good.len() - 12].to_vec(), "aclImdb_v1.tar.gz: the compressed data are damaged"),
        (gzipped(&archive(&[])), "0 negative reviews"),
        (b"no archive".repeat(100), "aclImdb_v1.tar.gz: the compressed data are damaged"),
    ];
    for (bytes, message) in cases {
        let error = sets(folder_with_archive(&bytes).path(), &small(16)).unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn an_archive_that_expands_to_more_than_the_limit_is_refused() {
    // One entry of zeros, which the reader skips: 2 GiB in 2 MB.
    let mut header = tar::Header::new_gnu();
    header.set_path("aclImdb/zeros").unwrap();
    header.set_size(2 << 30);
    header.set_cksum();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(header.as_bytes()).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..2 << 10).for_each(|_| encoder.write_all(&zeros).unwrap());
    let folder = folder_with_archive(&encoder.finish().unwrap());
    let error = sets(folder.path(), &small(16)).unwrap_err().to_string();
    assert!(error.contains("aclImdb_v1.tar.gz"), "{error}");
    assert!(error.contains("more than 1073741824 bytes"), "{error}");
}
