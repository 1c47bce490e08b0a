//! A CSV file that is filled row by row; existing rows are kept.

use crate::ExperimentOptions;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A row of a table, identified by its name in the first column.
pub trait CsvRow: Sync {
    fn name(&self) -> String;
    /// Computes the columns after the name.
    fn row(&self) -> String;
}

/// Computes the rows that `OUT/TABLE.csv` lacks, several at a time, and appends them.
pub fn fill_table<R: CsvRow>(options: &ExperimentOptions, table: &str, columns: &str, rows: &[R]) {
    fs::create_dir_all(&options.out).expect("OUT can be created");
    let path = options.out.join(format!("{table}.csv"));
    let done = row_names(&fs::read_to_string(&path).unwrap_or_default());
    let file =
        OpenOptions::new().create(true).append(true).open(&path).expect("the table can be written");
    let file = Mutex::new(file);
    if done.is_empty() {
        append(&file, &format!("name,{columns}"));
    }
    let left = rows.iter().filter(|row| !done.contains(&row.name()));
    let queue = Mutex::new(left);
    std::thread::scope(|scope| {
        for _ in 0..options.workers {
            scope.spawn(|| {
                while let Some(row) = next(&queue) {
                    append(&file, &format!("{},{}", row.name(), row.row()));
                }
            });
        }
    });
}

/// The subfolders of a folder, sorted.
pub fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

/// The last component of a path.
pub fn file_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn next<A>(queue: &Mutex<impl Iterator<Item = A>>) -> Option<A> {
    queue.lock().expect("no worker panicked").next()
}

/// The first column of every line, header included.
fn row_names(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| Some(line.split_once(',')?.0.to_string())).collect()
}

fn append(file: &Mutex<File>, line: &str) {
    println!("{line}");
    let mut file = file.lock().expect("no worker panicked");
    writeln!(file, "{line}").and_then(|()| file.flush()).expect("the table can be written");
}
