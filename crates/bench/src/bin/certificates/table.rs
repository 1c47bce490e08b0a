//! A CSV that goes on where it stopped.

use crate::Desk;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A piece of work whose row is known by its name, the first column.
pub trait Work: Sync {
    fn name(&self) -> String;
    /// The columns after the name.
    fn row(&self) -> String;
}

/// Makes the rows that `OUT/TABLE.csv` lacks, several at a time.
pub fn fill<W: Work>(desk: &Desk, table: &str, columns: &str, works: &[W]) {
    fs::create_dir_all(&desk.out).expect("a folder that can be made");
    let path = desk.out.join(format!("{table}.csv"));
    let done = names(&fs::read_to_string(&path).unwrap_or_default());
    let file = OpenOptions::new().create(true).append(true).open(&path).expect("a writable file");
    let file = Mutex::new(file);
    if done.is_empty() {
        append(&file, &format!("name,{columns}"));
    }
    let left = works.iter().filter(|work| !done.contains(&work.name()));
    let queue = Mutex::new(left);
    std::thread::scope(|scope| {
        for _ in 0..desk.workers {
            scope.spawn(|| {
                while let Some(work) = next(&queue) {
                    append(&file, &format!("{},{}", work.name(), work.row()));
                }
            });
        }
    });
}

/// The folders in a folder, in order.
pub fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

pub fn last_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn next<A>(queue: &Mutex<impl Iterator<Item = A>>) -> Option<A> {
    queue.lock().expect("no panic").next()
}

/// First columns of whole lines, the header's among them.
fn names(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| Some(line.split_once(',')?.0.to_string())).collect()
}

fn append(file: &Mutex<File>, line: &str) {
    println!("{line}");
    let mut file = file.lock().expect("no panic");
    writeln!(file, "{line}").and_then(|()| file.flush()).expect("a disk with room");
}
