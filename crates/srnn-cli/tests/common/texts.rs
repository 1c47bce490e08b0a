//! Small reviews in the form of IMDB, and a small corpus for language models.
#![allow(dead_code)] // Every test program uses a part of this.

use std::path::Path;

/// Writes 60 training and `tests` test reviews, lines `label \t id \t stars \t text`.
pub fn write_reviews(folder: &Path, tests: usize) {
    let line = |id: usize, label: usize| {
        let word = ["dull", "GRAND"][label];
        format!("{label}\t{id}\t7\tA {word} film, isn't it? Number {id}!\n")
    };
    let lines = |count: usize| (0..count).map(|n| line(n / 2, n % 2)).collect::<String>();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("train.tsv"), lines(60)).unwrap();
    std::fs::write(folder.join("test.tsv"), lines(tests)).unwrap();
}

/// Writes `train.txt`, `valid.txt` and `test.txt`: lines `the cat sat down` and `the dog sat down`.
pub fn write_corpus(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (set, count) in [("train", 80), ("valid", 8), ("test", 8)] {
        // The Thue–Morse sequence has no period.
        let animal = |n: usize| ["cat", "dog"][n.count_ones() as usize % 2];
        let text: String = (0..count).map(|n| format!("the {} sat down\n", animal(n))).collect();
        std::fs::write(folder.join(format!("{set}.txt")), text).unwrap();
    }
}
