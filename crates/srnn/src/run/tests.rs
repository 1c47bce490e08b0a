use super::*;
use std::fs;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn replace(path: &Path, config: &str) -> Result<RunFolder, UserError> {
    RunFolder::create(&RunLocation::Replace(path.into()), config, "{}")
}

#[test]
fn a_run_is_replaced_by_one_process_at_a_time() {
    const PAIRS: usize = 200;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let (holders, refused, start) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(2));
    let one = |name: &str, pair: usize| {
        let config = format!("{name} {pair}");
        start.wait();
        match replace(&path, &config) {
            Err(error) => {
                assert!(error.message.contains("another process"), "{error}");
                refused.fetch_add(1, Ordering::SeqCst);
            }
            Ok(run) => {
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two runs in one folder");
                std::thread::sleep(Duration::from_micros(200));
                assert_eq!(fs::read_to_string(run.config()).unwrap(), config);
                holders.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            scope.spawn(move || (0..PAIRS).for_each(|pair| one(name, pair)));
        }
    });
    assert!(refused.load(Ordering::SeqCst) > 0, "the two never met");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_new_run_is_locked_from_its_creation() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let run = RunFolder::create(&RunLocation::New(path.clone()), "", "{}").unwrap();
    for refused in [RunFolder::open(&path), replace(&path, "other")] {
        assert!(refused.unwrap_err().message.contains("another process"));
    }
    drop(run);
    RunFolder::open(&path).unwrap();
}

/// Makes a folder as a killed process leaves it.
fn leave(path: &Path, files: &[&str]) {
    fs::create_dir(path).unwrap();
    files.iter().for_each(|name| fs::write(path.join(name), "").unwrap());
}

#[test]
fn folders_of_killed_processes_are_removed_and_those_of_others_stay() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    leave(&at(".run.7.0.new"), &[CONFIG, LOCK]);
    leave(&at(".run.7.1.old"), &[CONFIG, LOCK, ".data.json.7.2.tmp"]);
    leave(&at(".run.7.3.new"), &[]);
    leave(&at(".run.7.4.new"), &[LOCK, "notes.txt"]);
    leave(&at(".other.7.0.new"), &[CONFIG, LOCK]);
    leave(&at("run"), &[CONFIG]);
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(at(".run.7.3.new")).unwrap().set_modified(long_ago).unwrap();
    leave(&at(".run.7.5.new"), &[]);
    let living = lock_folder(&at("run")).unwrap();
    leave(&at(".run.7.6.new"), &[]);
    let writing = lock_folder(&at(".run.7.6.new")).unwrap();
    drop(living);
    drop(replace(&at("run"), "new").unwrap());
    drop(writing);
    let mut left: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    // With foreign files, too new to be abandoned, in use.
    let kept = [".other.7.0.new", ".run.7.4.new", ".run.7.5.new", ".run.7.6.new", "run"];
    assert_eq!(left, kept);
}

#[test]
fn a_run_that_a_killed_process_has_moved_away_is_put_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let old = place.path().join(".run.7.0.old");
    leave(&old, &[LOCK]);
    fs::write(old.join(CONFIG), "old").unwrap();
    let error = RunFolder::create(&RunLocation::New(path.clone()), "new", "{}").unwrap_err();
    assert!(error.message.contains("exists already"), "{error}");
    assert_eq!(fs::read_to_string(path.join(CONFIG)).unwrap(), "old");
    drop(replace(&path, "new").unwrap());
    assert_eq!(fs::read_to_string(path.join(CONFIG)).unwrap(), "new");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}
