use super::*;
use crate::engine::Snapshot;
use crate::train::progress::{Record, Score};
use crate::train::schedule::Phase;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex};

fn identity() -> Identity {
    Identity { config: "c0ffee".into(), data: "da7a".into(), parameters: 3, moments: 2 }
}

/// A checkpoint with numbers that are hard to print.
fn checkpoint(update: u64) -> Checkpoint<f64> {
    let x = update as f64;
    let score = Score { accuracy: 1.0 / 3.0, loss: 0.1 + 0.2 };
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
    let progress =
        Progress { update, history: vec![record], best: Some(update), ..Default::default() };
    let moments = vec![vec![x, -0.0, 0.1], vec![0.3, x / 3.0, 1e-300]];
    let snapshot = Snapshot { params: vec![x, 1.0 / x, -x], moments, updates: update };
    Checkpoint { progress, snapshot, best: Some(vec![x, 2.0, 3.0]) }
}

fn save(folder: &mut Folder, update: u64) -> Result<(), CheckpointError> {
    folder.save(&identity(), &checkpoint(update))
}

fn latest(path: &Path) -> Result<Latest<f64>, CheckpointError> {
    Folder::new(path).latest(&identity())
}

/// A folder with good checkpoints of updates 10 and 20.
fn two() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run/checkpoints");
    let mut folder = Folder::new(&path);
    save(&mut folder, 10).unwrap();
    save(&mut folder, 20).unwrap();
    (root, path)
}

fn names(path: &Path) -> Vec<String> {
    let mut names = Folder::new(path).names().unwrap();
    names.sort();
    names
}

#[test]
fn a_checkpoint_reads_back_to_the_same_bits() {
    let (_root, path) = two();
    let found = latest(&path).unwrap();
    assert_eq!(found.checkpoint, Some(checkpoint(20)));
    assert!(found.skipped.is_empty());
    let back = Folder::new(&path).load::<f64>(&identity(), 10).unwrap();
    assert_eq!(back.snapshot.moments[0][1].to_bits(), (-0.0f64).to_bits());
}

#[test]
fn the_two_newest_stay_and_nothing_else() {
    let (_root, path) = two();
    let mut folder = Folder::new(&path);
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

/// Writes `bytes` and makes the manifest agree: tampering that digests do not show.
fn reseal(checkpoint: &Path, name: &str, bytes: &[u8]) {
    fs::write(checkpoint.join(name), bytes).unwrap();
    let path = checkpoint.join(MANIFEST);
    let mut manifest = Manifest::read(&path).unwrap();
    let seal = manifest.files.get_mut(name).unwrap();
    seal.bytes = bytes.len() as u64;
    seal.sha256 = super::super::hex(&Sha256::digest(bytes));
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

/// What is done to the newest checkpoint, the file the error must name, and words it must have.
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
    (STATE, "header too large", |c| reseal(c, STATE, b"\xff\xff\xff\xff\xff\xff\xff\x7f{}")),
    (STATE, "header", |c| reseal(c, STATE, b"")),
    (STATE, "F64[2]", |c| {
        let mut other = checkpoint(20);
        other.snapshot.params.pop();
        reseal(c, STATE, &state::encode(&other));
    }),
    (STATE, "no tensor \"moment.1\"", |c| {
        let mut other = checkpoint(20);
        other.snapshot.moments.pop();
        reseal(c, STATE, &state::encode(&other));
    }),
    (STATE, "no tensor \"best.params\"", |c| {
        reseal(c, STATE, &state::encode(&Checkpoint { best: None, ..checkpoint(20) }));
    }),
    (STATE, "5 tensors instead of 4", |c| {
        let mut other = checkpoint(20);
        other.snapshot.moments.push(vec![0.0; 3]);
        reseal(c, STATE, &state::encode(&other));
    }),
    (STATE, "at most", |c| reseal(c, STATE, &vec![b' '; 1 << 17])),
    (PROGRESS, "instead of", |c| edit_file(c, PROGRESS, |b| b.truncate(b.len() / 2))),
    (PROGRESS, "sha-256", |c| edit_file(c, PROGRESS, |b| b[2] ^= 1)),
    (PROGRESS, "missing", |c| fs::remove_file(c.join(PROGRESS)).unwrap()),
    (PROGRESS, "update 21, not 20", |c| {
        let other = Progress { update: 21, ..checkpoint(20).progress };
        reseal(c, PROGRESS, &serde_json::to_vec(&other).unwrap());
    }),
    (PROGRESS, "expected", |c| reseal(c, PROGRESS, b"[1, 2")),
    (PROGRESS, "expected", |c| {
        let deep = format!("{{\"update\": {}", "[".repeat(100_000));
        reseal(c, PROGRESS, deep.as_bytes());
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
    (MANIFEST, "format 2 is not known", |c| edit_manifest(c, |m| m["format"] = 2.into())),
    (STATE, "sha-256", |c| {
        edit_manifest(c, |m| m["files"][STATE]["sha256"] = "00".repeat(32).into())
    }),
    (STATE, "instead of 999", |c| edit_manifest(c, |m| m["files"][STATE]["bytes"] = 999.into())),
    (STATE, "does not list it", |c| {
        edit_manifest(c, |m| drop(m["files"].as_object_mut().unwrap().remove(STATE)))
    }),
];

#[test]
fn every_damage_is_named_and_the_checkpoint_before_it_is_used() {
    for (i, (file, words, damage)) in DAMAGES.iter().enumerate() {
        let (_root, path) = two();
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
    let (_root, path) = two();
    fs::rename(path.join("update-0000020"), path.join("update-0000030")).unwrap();
    let found = latest(&path).unwrap();
    assert_eq!(found.checkpoint, Some(checkpoint(10)));
    assert!(found.skipped[0].to_string().contains("the folder of 30"), "{:?}", found.skipped);
}

#[test]
fn names_that_are_not_checkpoints_are_left_alone() {
    let (_root, path) = two();
    for name in ["update-99", "update--000001", "update-0000040.bak", "notes", "update-"] {
        fs::create_dir(path.join(name)).unwrap();
    }
    assert_eq!(Folder::new(&path).list().unwrap(), [20, 10]);
    save(&mut Folder::new(&path), 30).unwrap();
    assert_eq!(names(&path).len(), 7);
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_is_refused() {
    let (_root, path) = two();
    let state = path.join("update-0000020").join(STATE);
    fs::remove_file(&state).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &state).unwrap();
    let found = latest(&path).unwrap();
    assert!(found.skipped[0].to_string().contains("not a regular file"));
}

#[test]
fn when_all_are_damaged_nothing_starts_over_quietly() {
    let (_root, path) = two();
    for name in ["update-0000010", "update-0000020"] {
        edit_file(&path.join(name), STATE, Vec::clear);
    }
    let error = latest(&path).unwrap_err();
    let words = error.to_string();
    assert!(matches!(error, CheckpointError::NoneGood { .. }));
    assert!(words.contains("none of the 2") && words.contains("update-0000020"), "{words}");
}

#[test]
fn another_runs_checkpoint_is_refused_not_skipped() {
    let (_root, path) = two();
    for (what, other) in [
        ("configuration or seed", Identity { config: "beef".into(), ..identity() }),
        ("data", Identity { data: "beef".into(), ..identity() }),
    ] {
        let error = Keeper::<f64>::latest(&mut Folder::new(&path), &other).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn single_precision_is_not_read_as_double() {
    let (_root, path) = two();
    let error = Keeper::<f32>::latest(&mut Folder::new(&path), &identity()).unwrap_err();
    assert!(error.to_string().contains("F64[3] instead of F32[3]"), "{error}");
}

#[test]
fn damaged_ones_do_not_push_out_the_last_good_one() {
    let (_root, path) = two();
    edit_file(&path.join("update-0000020"), STATE, Vec::clear);
    save(&mut Folder::new(&path), 30).unwrap();
    assert_eq!(Folder::new(&path).list().unwrap(), [30, 20, 10]);
    save(&mut Folder::new(&path), 40).unwrap();
    assert_eq!(Folder::new(&path).list().unwrap(), [40, 30]);
}

#[test]
fn a_damaged_checkpoint_is_replaced_when_its_update_is_saved_again() {
    let (_root, path) = two();
    edit_file(&path.join("update-0000020"), STATE, Vec::clear);
    save(&mut Folder::new(&path), 20).unwrap();
    assert_eq!(latest(&path).unwrap().checkpoint, Some(checkpoint(20)));
}

/// A disk that dies at an operation: it does part of it, and nothing after it.
struct Dying {
    disk: disk::Real,
    /// Operations before the one it dies at.
    left: Arc<Mutex<usize>>,
    /// How much of a dying write arrives: of 4 parts.
    part: usize,
    /// ENOSPC on writes only, instead of death.
    full: bool,
}

impl Dying {
    /// Whether this operation is the one, or after it.
    fn dies(&mut self) -> bool {
        let mut left = self.left.lock().unwrap();
        let dead = *left == 0;
        *left = left.saturating_sub(1);
        dead
    }

    fn error(&self) -> io::Error {
        io::Error::from(if self.full { io::ErrorKind::StorageFull } else { io::ErrorKind::Other })
    }

    fn unless_dead(
        &mut self,
        act: impl FnOnce(&mut disk::Real) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.full && self.dies() { Err(self.error()) } else { act(&mut self.disk) }
    }
}

impl Disk for Dying {
    fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        self.unless_dead(|disk| disk.create_dir_all(path))
    }

    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let first = *self.left.lock().unwrap() == 0;
        let dead = self.dies();
        if dead && (first && self.part > 0) {
            fs::write(path, &bytes[..bytes.len() * (self.part - 1) / 3])?;
        }
        if dead { Err(self.error()) } else { self.disk.write(path, bytes) }
    }

    fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        self.unless_dead(|disk| disk.sync_dir(path))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.unless_dead(|disk| disk.rename(from, to))
    }

    fn remove_dir_all(&mut self, path: &Path) -> io::Result<()> {
        if !self.full && self.dies() {
            if self.part > 0 {
                let _ = fs::remove_file(path.join(MANIFEST));
            }
            return Err(self.error());
        }
        self.disk.remove_dir_all(path)
    }
}

/// Saves update 30 beside 10 and 20 on a disk that dies after `alive` operations; whether the
/// save came through.
fn save_on_dying(
    path: &Path,
    alive: usize,
    part: usize,
    full: bool,
) -> Result<(), CheckpointError> {
    let left = Arc::new(Mutex::new(alive));
    let disk = Box::new(Dying { disk: disk::Real, left, part, full });
    save(&mut Folder { path: path.to_path_buf(), disk }, 30)
}

#[test]
fn a_crash_at_any_operation_leaves_a_good_checkpoint_and_the_next_save_works() {
    for part in 0..4 {
        let mut alive = 0;
        loop {
            let (_root, path) = two();
            // Leftovers of an earlier crash, so that sweeping them is crashed into as well.
            fs::create_dir(path.join(".new-update-0000015")).unwrap();
            fs::write(path.join(".new-update-0000015").join(MANIFEST), "half").unwrap();
            let outcome = save_on_dying(&path, alive, part, false);
            let found = latest(&path).unwrap();
            assert!(found.skipped.is_empty(), "{alive} operations: {:?}", found.skipped);
            let checkpoint_found = found.checkpoint.unwrap();
            let update = checkpoint_found.progress.update;
            assert!(update == 20 || update == 30, "{alive} operations: update {update}");
            assert_eq!(checkpoint_found, checkpoint(update), "{alive} operations");
            save(&mut Folder::new(&path), 40).unwrap();
            assert_eq!(latest(&path).unwrap().checkpoint, Some(checkpoint(40)));
            assert_eq!(names(&path).len(), 2, "{alive} operations: {:?}", names(&path));
            if outcome.is_ok() {
                assert!(alive > 8, "only {alive} operations were failed");
                break;
            }
            alive += 1;
        }
    }
}

#[test]
fn a_full_disk_is_an_error_with_a_remedy_and_leaves_the_last_good_checkpoint() {
    for writes in 0..3 {
        for part in 0..4 {
            let (_root, path) = two();
            let error = save_on_dying(&path, writes, part, true).unwrap_err().to_string();
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
fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let error = save(&mut Folder::new(file.join("checkpoints")), 10).unwrap_err().to_string();
    assert!(error.contains("checkpoints"), "{error}");
}
