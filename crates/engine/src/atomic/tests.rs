use super::*;
use std::process::Command;

const LONG: usize = 250;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_is_replaced_whole_and_no_temporary_file_remains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, b"a first, longer text", IfExists::Refuse).unwrap();
    write(&path, b"second", IfExists::Replace).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(names(folder.path()), ["file"]);
    let missing = folder.path().join("missing").join("file");
    assert!(write(&missing, b"", IfExists::Replace).is_err());
    let mut pending = PendingFile::create(&path, IfExists::Replace).unwrap();
    pending.write_all(b"not committed").unwrap();
    drop(pending);
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_file_that_appears_while_another_is_written_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let pending = PendingFile::create(&path, IfExists::Refuse).unwrap();
    fs::write(&path, "of another program").unwrap();
    assert_eq!(pending.commit().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"of another program");
    let error = write(&path, b"new", IfExists::Refuse).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(names(folder.path()), ["file"]);
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_replaced_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "kept").unwrap();
    std::os::unix::fs::symlink(at("precious"), at("link")).unwrap();
    std::os::unix::fs::symlink(at("made"), at("dangling")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    fs::create_dir(at("folder")).unwrap();
    for (name, kind) in [
        ("link", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("pipe", "a pipe"),
        ("folder", "a folder"),
    ] {
        let mut options = File::options();
        let opened = open_regular(&at(name), options.create(true).append(true)).map(drop);
        for result in [write(&at(name), b"new", IfExists::Replace), opened] {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
            assert!(error.to_string().contains(kind), "{error}");
        }
    }
    assert_eq!(fs::read(at("precious")).unwrap(), b"kept");
    assert!(at("link").is_symlink() && !at("made").exists());
    assert!(write(Path::new("/dev/null"), b"new", IfExists::Replace).is_err());
}

#[test]
fn a_temporary_file_is_removed_if_its_process_has_ended_and_only_then() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let living = PendingFile::create(&path, IfExists::Replace).unwrap();
    let dead = folder.path().join(".a.json.7.0.tmp");
    let other = folder.path().join(".b.json.7.0.tmp");
    let users = folder.path().join(".a.json.mine.0.tmp");
    for file in [&dead, &other, &users] {
        fs::write(file, "half").unwrap();
    }
    write(&path, b"whole", IfExists::Replace).unwrap();
    assert!(!dead.exists() && other.exists() && users.exists());
    assert!(living.temp_path().exists());
    living.commit().unwrap();
}

#[test]
fn temporary_names_are_recognised_and_never_too_long() {
    for name in ["config.json", "no-dots", "a.b.c", &"n".repeat(LONG), &"ü".repeat(LONG / 2)] {
        let temporary = temporary_sibling(Path::new(name), temporary::FILE);
        let temporary = temporary.file_name().unwrap();
        assert!(is_temporary(temporary), "{temporary:?}");
        assert!(temporary.len() <= LONG, "{temporary:?}");
    }
    for name in ["config.json", ".config.json.tmp", ".config.json.7.tmp", ".x.7.y.tmp", "..7.7.tmp"]
    {
        assert!(!is_temporary(name.as_ref()), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("n".repeat(LONG)), b"", IfExists::Refuse).unwrap();
}
