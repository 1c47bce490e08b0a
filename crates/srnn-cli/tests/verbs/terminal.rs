//! Colours, completion scripts and man pages.

use super::program::{ProgramOutput, srnn};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the program with an environment variable set.
fn srnn_with(folder: &Path, arguments: &[&str], variable: (&str, &str)) -> ProgramOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_srnn"))
        .args(arguments)
        .current_dir(folder)
        .env(variable.0, variable.1)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    ProgramOutput {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

const ESCAPE: char = '\u{1b}';

#[test]
fn messages_are_coloured_on_demand_and_never_without_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let failing = ["inspect", "nowhere"];
    let colored = |more: &[&str]| srnn(folder.path(), &[&failing[..], more].concat()).stderr;
    assert!(colored(&["--color", "always"]).starts_with("\u{1b}[1;31merror:\u{1b}[0m nowhere"));
    for more in [&[][..], &["--color", "auto"], &["--color=never"]] {
        let stderr = colored(more);
        assert!(stderr.starts_with("error: nowhere"), "{more:?}: {stderr:?}");
        assert!(!stderr.contains(ESCAPE), "{more:?}: {stderr:?}");
    }
    // NO_COLOR turns `auto` off; a flag is stronger than the variable.
    let stderr = srnn_with(folder.path(), &failing, ("NO_COLOR", "1")).stderr;
    assert!(!stderr.contains(ESCAPE), "{stderr:?}");
    let always = ["--color", "always", "inspect", "nowhere"];
    assert!(srnn_with(folder.path(), &always, ("NO_COLOR", "1")).stderr.contains(ESCAPE));
    // Names are still escaped.
    let ran = srnn(folder.path(), &["--color", "always", "inspect", "\u{1b}[2J"]);
    assert!(!ran.stderr.contains("\u{1b}[2J"), "{:?}", ran.stderr);
}

#[test]
fn usage_errors_and_notes_are_coloured_too_but_results_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let usage = |color: &str| srnn(folder.path(), &["frobnicate", "--color", color]);
    assert!(usage("always").stderr.contains(ESCAPE), "{:?}", usage("always").stderr);
    assert!(!usage("never").stderr.contains(ESCAPE), "{:?}", usage("never").stderr);
    assert_eq!(usage("sometimes").code, 2);
    let table = srnn(folder.path(), &["table", "bp", "--color", "always"]).yes();
    assert!(table.stderr.contains("\u{1b}[1;36mnote:\u{1b}[0m no outcomes"), "{:?}", table.stderr);
    assert!(!table.stdout.contains(ESCAPE), "{:?}", table.stdout);
}

#[test]
fn the_arguments_of_a_tested_program_do_not_set_the_colour() {
    let folder = tempfile::tempdir().unwrap();
    let ran = srnn(folder.path(), &["conform", "nowhere", "--", "cat", "--color=always"]);
    assert!(ran.code == 2 && !ran.stderr.contains(ESCAPE), "{:?}", ran.stderr);
}

#[test]
fn every_shell_gets_a_completion_script_with_all_verbs() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = srnn(folder.path(), &["completions", shell]).yes().stdout;
        for word in ["learn", "certify", "label-column", "manpages"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let value = srnn(folder.path(), &["completions", shell, "--json"]).yes().json();
        assert_eq!((&value["shell"], &value["script"]), (&shell.into(), &script.into()));
    }
    assert_eq!(srnn(folder.path(), &["completions", "tcsh"]).code, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn the_script_for_bash_completes_a_verb() {
    let folder = tempfile::tempdir().unwrap();
    let script = srnn(folder.path(), &["completions", "bash"]).yes().stdout;
    let test = "\nCOMP_WORDS=(srnn cert) COMP_CWORD=1; _srnn srnn cert srnn; echo ${COMPREPLY[@]}";
    let ran = Command::new("bash").args(["-c", &(script + test)]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "certify\n");
}

#[test]
fn man_pages_are_written_for_the_program_and_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let value = srnn(folder.path(), &["manpages", "man", "--json"]).yes().json();
    let files = value["files"].as_array().unwrap();
    assert_eq!(files.len(), fs::read_dir(folder.path().join("man")).unwrap().count());
    for (name, parts) in [
        ("srnn.1", &[".TH srnn 1", "srnn\\-learn(1)", "srnn learn tomita:3"][..]),
        ("srnn-learn.1", &["srnn learn tomita:3", "Exit codes: 0"]),
        ("srnn-data-check.1", &["srnn data check traces.csv", "max\\-json\\-depth"]),
        ("srnn-predict.1", &["no input got a label"]),
    ] {
        let page = fs::read_to_string(folder.path().join("man").join(name)).unwrap();
        for part in parts {
            let plain = page.replace("\\-", "-");
            assert!(plain.contains(&part.replace("\\-", "-")), "{name}: {part}: {page}");
        }
    }
    // A second run replaces the pages; a file in the place of the folder is an error.
    srnn(folder.path(), &["manpages", "man"]).yes();
    let ran = srnn(folder.path(), &["manpages", "man/srnn.1"]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot be written"), "{}", ran.stderr);
}
