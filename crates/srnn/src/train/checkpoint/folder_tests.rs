use super::*;
use crate::engine::Snapshot;
use crate::train::progress::{EvalScore, Record};
use crate::train::schedule::Phase;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex};

fn identity() -> RunIdentity {
    RunIdentity {
        config: "c0ffee".into(),
        data: "da7a".into(),
        parameters: 3,
        moments: 2,
        carried: 2,
    }
}

/// A checkpoint with numbers that need exact conversion.
fn checkpoint(update: u64) -> Checkpoint<f64> {
    let x = update as f64;
    let score = EvalScore { accuracy: 1.0 / 3.0, loss: 0.1 + 0.2 };
    let record = Record {
        update,
        phase: Phase::Harden,
        lambda: 1.0,
        learning_rate: 1e-3,
        loss: x.sqrt(),
        task: 1.0 / 7.0,
        commitment: 5e-324,
        entropy: f64::MAX,
        saturation: 0.25,
        writing: 0.5,
        gradient_norm: 1e-17,
        train: score,
        valid: score,
    };
    let progress = Progress {
        update,
        history: vec![record],
        best: Some(update),
        phase_best: vec![update],
        ..Default::default()
    };
    let phases = vec![vec![-x, 0.1, x]];
    let moments = vec![vec![x, -0.0, 0.1], vec![0.3, x / 3.0, 1e-300]];
    let snapshot = Snapshot { params: vec![x, 1.0 / x, -x], moments, updates: update };
    let (best, average) = (Some(vec![x, 2.0, 3.0]), Some(vec![3.0, x, 0.5]));
    Checkpoint { progress, snapshot, best, average, phases, carried: vec![0.25, -x] }
}

fn save(folder: &mut CheckpointFolder, update: u64) -> Result<(), CheckpointError> {
    folder.save(&identity(), &checkpoint(update))
}

fn latest(path: &Path) -> Result<LatestCheckpoint<f64>, CheckpointError> {
    CheckpointFolder::new(path).latest(&identity())
}

/// A folder with valid checkpoints of updates 10 and 20.
fn folder_of_two() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run/checkpoints");
    let mut folder = CheckpointFolder::new(&path);
    save(&mut folder, 10).unwrap();
    save(&mut folder, 20).unwrap();
    (root, path)
}

fn names(path: &Path) -> Vec<String> {
    let mut names = CheckpointFolder::new(path).names().unwrap();
    names.sort();
    names
}

#[test]
fn a_checkpoint_reads_back_to_the_same_bits() {
    let (_root, path) = folder_of_two();
    let found = latest(&path).unwrap();
    assert_eq!(found.checkpoint, Some(checkpoint(20)));
    assert!(found.skipped.is_empty());
    let back = CheckpointFolder::new(&path).load::<f64>(&identity(), 10).unwrap();
    assert_eq!(back.snapshot.moments[0][1].to_bits(), (-0.0f64).to_bits());
}

#[test]
fn only_the_two_newest_are_kept() {
    let (_root, path) = folder_of_two();
    let mut folder = CheckpointFolder::new(&path);
    for update in [30, 1_000, 12_345_678] {
        save(&mut folder, update).unwrap();
    }
    assert_eq!(names(&path), ["update-0001000", "update-12345678"]);
    assert_eq!(latest(&path).unwrap().checkpoint, Some(checkpoint(12_345_678)));
}

#[test]
fn no_folder_is_no_checkpoint_and_no_error() {
    let root = tempfile::tempdir().unwrap();
    let found = latest(&root.path().join("nothing")).unwrap();
    assert_eq!(found.checkpoint, None);
}

/// Writes `bytes` and updates the manifest: tampering that digests do not detect.
fn replace_with_digest(checkpoint: &Path, name: &str, bytes: &[u8]) {
    fs::write(checkpoint.join(name), bytes).unwrap();
    let path = checkpoint.join(MANIFEST);
    let mut manifest = Manifest::read(&path).unwrap();
    let digest = manifest.files.get_mut(name).unwrap();
    digest.bytes = bytes.len() as u64;
    digest.sha256 = super::super::hex(&Sha256::digest(bytes));
    fs::write(path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

fn edit_manifest(checkpoint: &Path, edit: fn(&mut serde_json::Value)) {
    let path = checkpoint.join(MANIFEST);
    let mut json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

fn edit_file(checkpoint: &Path, name: &str, edit: impl Fn(&mut Vec<u8>)) {
    let path = checkpoint.join(name);
    let mut bytes = fs::read(&path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

type Damage = fn(&Path);

/// The file that the error must name, the words it must contain, and the damage.
const DAMAGES: &[(&str, &str, Damage)] = &[
    (STATE, "instead of", |c| edit_file(c, STATE, |b| b.truncate(b.len() - 1))),
    (STATE, "0 bytes instead of", |c| edit_file(c, STATE, Vec::clear)),
    (STATE, "instead of", |c| edit_file(c, STATE, |b| b.push(0))),
    (STATE, "sha-256", |c| edit_file(c, STATE, |b| *b.last_mut().unwrap() ^= 1)),
    (STATE, "sha-256", |c| edit_file(c, STATE, |b| b[0] ^= 0x80)),
    (STATE, "missing", |c| fs::remove_file(c.join(STATE)).unwrap()),
    (STATE, "not a regular file", |c| {
        fs::remove_file(c.join(STATE)).unwrap();
        fs::create_dir(c.join(STATE)).unwrap();
    }),
    (STATE, "header too large", |c| {
        replace_with_digest(c, STATE, b"\xff\xff\xff\xff\xff\xff\xff\x7f{}")
    }),
    (STATE, "header", |c| replace_with_digest(c, STATE, b"")),
    (STATE, "F64[2]", |c| {
        let mut other = checkpoint(20);
        other.snapshot.params.pop();
        replace_with_digest(c, STATE, &state::encode(&other));
    }),
    (STATE, "no tensor \"moment.1\"", |c| {
        let mut other = checkpoint(20);
        other.snapshot.moments.pop();
        replace_with_digest(c, STATE, &state::encode(&other));
    }),
    (STATE, "no tensor \"best.params\"", |c| {
        replace_with_digest(c, STATE, &state::encode(&Checkpoint { best: None, ..checkpoint(20) }));
    }),
    (STATE, "8 tensors instead of 7", |c| {
        let mut other = checkpoint(20);
        other.snapshot.moments.push(vec![0.0; 3]);
        replace_with_digest(c, STATE, &state::encode(&other));
    }),
    (STATE, "no tensor \"carried\"", |c| {
        let other = Checkpoint { carried: vec![], ..checkpoint(20) };
        replace_with_digest(c, STATE, &state::encode(&other));
    }),
    (STATE, "F64[3]", |c| {
        let other = Checkpoint { carried: vec![0.0; 3], ..checkpoint(20) };
        replace_with_digest(c, STATE, &state::encode(&other));
    }),
    (STATE, "at most", |c| replace_with_digest(c, STATE, &vec![b' '; 1 << 17])),
    (PROGRESS, "instead of", |c| edit_file(c, PROGRESS, |b| b.truncate(b.len() / 2))),
    (PROGRESS, "sha-256", |c| edit_file(c, PROGRESS, |b| b[2] ^= 1)),
    (PROGRESS, "missing", |c| fs::remove_file(c.join(PROGRESS)).unwrap()),
    (PROGRESS, "update 21, not 20", |c| {
        let other = Progress { update: 21, ..checkpoint(20).progress };
        replace_with_digest(c, PROGRESS, &serde_json::to_vec(&other).unwrap());
    }),
    (PROGRESS, "expected", |c| replace_with_digest(c, PROGRESS, b"[1, 2")),
    (PROGRESS, "expected", |c| {
        let deep = format!("{{\"update\": {}", "[".repeat(100_000));
        replace_with_digest(c, PROGRESS, deep.as_bytes());
    }),
    (MANIFEST, "missing", |c| fs::remove_file(c.join(MANIFEST)).unwrap()),
    (MANIFEST, "missing", |c| {
        fs::remove_dir_all(c).unwrap();
        fs::create_dir(c).unwrap();
    }),
    (MANIFEST, "EOF", |c| edit_file(c, MANIFEST, Vec::clear)),
    (MANIFEST, "EOF", |c| edit_file(c, MANIFEST, |b| b.truncate(b.len() / 2))),
    (MANIFEST, "expected", |c| edit_file(c, MANIFEST, |b| b.fill(0xff))),
    (MANIFEST, "at most", |c| edit_file(c, MANIFEST, |b| b.resize(1 << 20, b' '))),
    (MANIFEST, "of update 7", |c| edit_manifest(c, |m| m["update"] = 7.into())),
    (MANIFEST, "unknown field", |c| edit_manifest(c, |m| m["extra"] = 1.into())),
    (MANIFEST, "unknown format 2", |c| edit_manifest(c, |m| m["format"] = 2.into())),
    (STATE, "sha-256", |c| {
        edit_manifest(c, |m| m["files"][STATE]["sha256"] = "00".repeat(32).into())
    }),
    (STATE, "instead of 999", |c| edit_manifest(c, |m| m["files"][STATE]["bytes"] = 999.into())),
    (STATE, "does not list it", |c| {
        edit_manifest(c, |m| drop(m["files"].as_object_mut().unwrap().remove(STATE)))
    }),
];

#[test]
fn every_damage_is_reported_and_the_previous_checkpoint_is_used() {
    for (i, (file, words, damage)) in DAMAGES.iter().enumerate() {
        let (_root, path) = folder_of_two();
        damage(&path.join("update-0000020"));
        let found = latest(&path).unwrap();
        assert_eq!(found.checkpoint, Some(checkpoint(10)), "case {i}");
        let [error] = &found.skipped[..] else { panic!("case {i}: {:?}", found.skipped) };
        let error = error.to_string();
        assert!(error.contains(words), "case {i}: {error}");
        assert!(error.contains(&format!("update-0000020/{file}")), "case {i}: {error}");
    }
}

#[test]
fn a_checkpoint_under_another_name_is_damaged() {
    let (_root, path) = folder_of_two();
    fs::rename(path.join("update-0000020"), path.join("update-0000030")).unwrap();
    let found = latest(&path).unwrap();
    assert_eq!(found.checkpoint, Some(checkpoint(10)));
    assert!(found.skipped[0].to_string().contains("but the folder of 30"), "{:?}", found.skipped);
}

#[test]
fn folders_with_other_names_are_ignored() {
    let (_root, path) = folder_of_two();
    for name in ["update-99", "update--000001", "update-0000040.bak", "notes", "update-"] {
        fs::create_dir(path.join(name)).unwrap();
    }
    assert_eq!(CheckpointFolder::new(&path).list().unwrap(), [20, 10]);
    save(&mut CheckpointFolder::new(&path), 30).unwrap();
    assert_eq!(names(&path).len(), 7);
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_is_refused() {
    let (_root, path) = folder_of_two();
    let state = path.join("update-0000020").join(STATE);
    fs::remove_file(&state).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &state).unwrap();
    let found = latest(&path).unwrap();
    assert!(found.skipped[0].to_string().contains("not a regular file"));
}

#[test]
fn when_all_are_damaged_the_run_does_not_restart_silently() {
    let (_root, path) = folder_of_two();
    for name in ["update-0000010", "update-0000020"] {
        edit_file(&path.join(name), STATE, Vec::clear);
    }
    let error = latest(&path).unwrap_err();
    let words = error.to_string();
    assert!(matches!(error, CheckpointError::NoneValid { .. }));
    assert!(words.contains("none of the 2") && words.contains("update-0000020"), "{words}");
}

#[test]
fn a_checkpoint_of_another_run_is_an_error_and_not_skipped() {
    let (_root, path) = folder_of_two();
    for (what, other) in [
        ("configuration or seed", RunIdentity { config: "beef".into(), ..identity() }),
        ("data", RunIdentity { data: "beef".into(), ..identity() }),
    ] {
        let error =
            CheckpointStore::<f64>::latest(&mut CheckpointFolder::new(&path), &other).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn single_precision_is_not_read_as_double() {
    let (_root, path) = folder_of_two();
    let error =
        CheckpointStore::<f32>::latest(&mut CheckpointFolder::new(&path), &identity()).unwrap_err();
    assert!(error.to_string().contains("F64[3] instead of F32[3]"), "{error}");
}

#[test]
fn damaged_checkpoints_do_not_displace_the_last_valid_one() {
    let (_root, path) = folder_of_two();
    edit_file(&path.join("update-0000020"), STATE, Vec::clear);
    save(&mut CheckpointFolder::new(&path), 30).unwrap();
    assert_eq!(CheckpointFolder::new(&path).list().unwrap(), [30, 20, 10]);
    save(&mut CheckpointFolder::new(&path), 40).unwrap();
    assert_eq!(CheckpointFolder::new(&path).list().unwrap(), [40, 30]);
}

#[test]
fn a_damaged_checkpoint_is_replaced_when_its_update_is_saved_again() {
    let (_root, path) = folder_of_two();
    edit_file(&path.join("update-0000020"), STATE, Vec::clear);
    save(&mut CheckpointFolder::new(&path), 20).unwrap();
    assert_eq!(latest(&path).unwrap().checkpoint, Some(checkpoint(20)));
}

/// A file system that fails at one operation, does part of it, and fails from then on.
struct FailingFileSystem {
    inner: OsFileSystem,
    /// Operations left before the failure.
    left: Arc<Mutex<usize>>,
    /// The failing write leaves no file for 0, otherwise `part − 1` thirds of the bytes.
    part: usize,
    /// Only writes fail, with ENOSPC.
    full: bool,
}

impl FailingFileSystem {
    /// Counts an operation; whether it fails.
    fn fails(&mut self) -> bool {
        let mut left = self.left.lock().unwrap();
        let failing = *left == 0;
        *left = left.saturating_sub(1);
        failing
    }

    fn error(&self) -> io::Error {
        io::Error::from(if self.full { io::ErrorKind::StorageFull } else { io::ErrorKind::Other })
    }

    fn unless_failing(
        &mut self,
        act: impl FnOnce(&mut OsFileSystem) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.full && self.fails() { Err(self.error()) } else { act(&mut self.inner) }
    }
}

impl FileSystem for FailingFileSystem {
    fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        self.unless_failing(|inner| inner.create_dir_all(path))
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let first = *self.left.lock().unwrap() == 0;
        let failing = self.fails();
        if failing && (first && self.part > 0) {
            fs::write(path, &bytes[..bytes.len() * (self.part - 1) / 3])?;
        }
        if failing { Err(self.error()) } else { self.inner.write(path, bytes) }
    }

    fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        self.unless_failing(|inner| inner.sync_dir(path))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.unless_failing(|inner| inner.rename(from, to))
    }

    fn remove_dir_all(&mut self, path: &Path) -> io::Result<()> {
        if !self.full && self.fails() {
            if self.part > 0 {
                let _ = fs::remove_file(path.join(MANIFEST));
            }
            return Err(self.error());
        }
        self.inner.remove_dir_all(path)
    }
}

/// Saves update 30 in addition to 10 and 20, on a file system that fails after `alive` operations.
fn save_on_failing(
    path: &Path,
    alive: usize,
    part: usize,
    full: bool,
) -> Result<(), CheckpointError> {
    let left = Arc::new(Mutex::new(alive));
    let file_system = Box::new(FailingFileSystem { inner: OsFileSystem, left, part, full });
    save(&mut CheckpointFolder { path: path.to_path_buf(), file_system }, 30)
}

#[test]
fn a_crash_at_any_operation_leaves_a_valid_checkpoint_and_the_next_save_works() {
    for part in 0..4 {
        let mut alive = 0;
        loop {
            let (_root, path) = folder_of_two();
            // Leftovers of an earlier crash, so that their removal fails in some cases too.
            fs::create_dir(path.join(".new-update-0000015")).unwrap();
            fs::write(path.join(".new-update-0000015").join(MANIFEST), "half").unwrap();
            let outcome = save_on_failing(&path, alive, part, false);
            let found = latest(&path).unwrap();
            assert!(found.skipped.is_empty(), "{alive} operations: {:?}", found.skipped);
            let checkpoint_found = found.checkpoint.unwrap();
            let update = checkpoint_found.progress.update;
            assert!(update == 20 || update == 30, "{alive} operations: update {update}");
            assert_eq!(checkpoint_found, checkpoint(update), "{alive} operations");
            save(&mut CheckpointFolder::new(&path), 40).unwrap();
            assert_eq!(latest(&path).unwrap().checkpoint, Some(checkpoint(40)));
            assert_eq!(names(&path).len(), 2, "{alive} operations: {:?}", names(&path));
            if outcome.is_ok() {
                assert!(alive > 8, "only {alive} operations could fail");
                break;
            }
            alive += 1;
        }
    }
}

#[test]
fn a_full_disk_is_an_error_with_a_remedy_and_leaves_the_last_valid_checkpoint() {
    for writes in 0..3 {
        for part in 0..4 {
            let (_root, path) = folder_of_two();
            let error = save_on_failing(&path, writes, part, true).unwrap_err().to_string();
            assert!(
                error.contains("update-0000030") && error.contains("Free some space"),
                "{error}"
            );
            assert_eq!(latest(&path).unwrap().checkpoint, Some(checkpoint(20)));
            assert_eq!(names(&path), ["update-0000010", "update-0000020"], "nothing half written");
        }
    }
}

#[test]
fn an_error_names_the_folder_that_cannot_be_created() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let error =
        save(&mut CheckpointFolder::new(file.join("checkpoints")), 10).unwrap_err().to_string();
    assert!(error.contains("checkpoints"), "{error}");
}
