//! The real program, run in a folder of its own.
#![allow(dead_code)] // Every test program uses a part of this.

pub mod images;
pub mod texts;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Settings that take a second.
pub const SMALL: [&str; 8] = ["--units", "8", "--k", "4", "--updates", "60", "--seeds", "2"];

/// A folder to run the program in.
pub struct TestFolder(TempDir);

/// How the program ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl TestFolder {
    pub fn new() -> TestFolder {
        TestFolder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_srnn"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }

    /// `learn` with small settings and one JSON object.
    pub fn learn(&self, args: &[&str]) -> Ended {
        self.run(&[&["learn", "--json"], &SMALL[..], args].concat())
    }
}

impl Ended {
    pub fn of(output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ended = Ended {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended
    }

    /// The one object on stdout.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{}\n{}", self.stdout, self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The object of a run that ended well.
    pub fn good(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        self.json()
    }
}

/// The digests of the weights of every seed.
pub fn digests(result: &Value) -> Vec<String> {
    let seeds = result["seeds"].as_array().unwrap();
    seeds.iter().map(|seed| seed["digest"].as_str().unwrap().to_string()).collect()
}

/// A result without what differs between equal runs: the clock and the folder.
pub fn timeless(mut result: Value) -> Value {
    let object = result.as_object_mut().unwrap();
    object.remove("seconds");
    object.remove("run");
    result
}

pub fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}
