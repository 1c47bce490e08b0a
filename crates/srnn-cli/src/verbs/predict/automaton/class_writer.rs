//! Counts predicted classes and writes them, one class per line.

use super::super::PredictArgs;
use super::classifier::AutomatonClassifier;
use super::out_file;
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, escape_control};
use srnn::engine::atomic::{IfExists, PendingFile};
use srnn_automata::State;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// Written instead of a class after an unknown transition.
pub const NO_CLASS: &str = "?";

/// Writes classes to stdout or to the file of --out.
pub struct ClassWriter {
    /// For each state, the class of words that end there.
    class_of: Vec<usize>,
    /// The line to write for each class; the last one is [`NO_CLASS`].
    lines: Vec<Vec<u8>>,
    counts: Vec<u64>,
    sink: Sink,
    buffer: Vec<u8>,
}

/// How often each class was predicted.
pub struct ClassCounts {
    /// One count per class.
    pub classes: Vec<u64>,
    /// Words that took an unknown transition.
    pub not_known: u64,
}

impl ClassCounts {
    /// Number of words that got a class.
    pub fn classified(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// Why writing ended early.
pub enum StopReason {
    /// The reader of stdout closed the pipe.
    ReaderClosed,
    /// Ctrl-C was pressed.
    Interrupted,
    /// Writing failed.
    Failed(Failure),
}

enum Sink {
    /// Only counts, for --json.
    Discard,
    Stdout,
    File {
        pending: PendingFile,
        path: PathBuf,
    },
}

impl ClassWriter {
    /// Opens the file of --out, or stdout. With --json and without --out, classes are only counted.
    pub fn open(
        arguments: &PredictArgs,
        classifier: &AutomatonClassifier,
        output: &Output,
    ) -> Result<ClassWriter, Failure> {
        let sink = match out_file(arguments) {
            Some(path) => Sink::File {
                pending: create(path, files::if_exists(arguments.force))?,
                path: path.into(),
            },
            None if output.json => Sink::Discard,
            None => Sink::Stdout,
        };
        let names = classifier.classes.iter().map(String::as_str).chain([NO_CLASS]);
        let escaped = matches!(sink, Sink::Stdout) && io::stdout().is_terminal();
        let line = |name: &str| match escaped {
            true => (escape_control(&name.replace('\n', "\\n")) + "\n").into_bytes(),
            false => (name.replace('\n', "\\n") + "\n").into_bytes(),
        };
        let classes = classifier.classes.len();
        let class_of = classifier.automaton.outputs().iter().map(|&class| class as usize).collect();
        let (lines, counts) = (names.map(line).collect(), vec![0; classes + 1]);
        Ok(ClassWriter { class_of, lines, counts, sink, buffer: Vec::new() })
    }

    /// The temporary file that becomes the file of --out at the end.
    pub fn temporary_file(&self) -> Option<PathBuf> {
        match &self.sink {
            Sink::File { pending, .. } => Some(pending.temp_path().to_path_buf()),
            Sink::Discard | Sink::Stdout => None,
        }
    }

    /// Whether classes are printed to a terminal.
    pub fn is_on_terminal(&self) -> bool {
        matches!(self.sink, Sink::Stdout) && io::stdout().is_terminal()
    }

    /// Number of words written so far.
    pub fn words(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Writes the classes of words that ended in these states.
    pub fn write(&mut self, ends: &[State]) -> Result<(), StopReason> {
        for end in ends {
            self.counts[self.class_of[end.index()]] += 1;
        }
        if matches!(self.sink, Sink::Discard) {
            return Ok(());
        }
        self.buffer.clear();
        for end in ends {
            self.buffer.extend_from_slice(&self.lines[self.class_of[end.index()]]);
        }
        match &mut self.sink {
            Sink::Discard => Ok(()),
            Sink::File { pending, path } => pending
                .write_all(&self.buffer)
                .map_err(|error| StopReason::Failed(failed(path, error))),
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(&self.buffer).and_then(|()| stdout.flush());
                written.map_err(|error| match error.kind() {
                    ErrorKind::BrokenPipe => StopReason::ReaderClosed,
                    _ => {
                        StopReason::Failed(files::stdout_result(Err(error)).expect_err("an error"))
                    }
                })
            }
        }
    }

    /// Moves the temporary file to its final name. Returns the counts.
    pub fn finish(mut self) -> Result<ClassCounts, Failure> {
        if let Sink::File { pending, path } = self.sink {
            pending.commit().map_err(|error| failed(&path, error))?;
        }
        let not_known = self.counts.pop().unwrap_or(0);
        Ok(ClassCounts { classes: self.counts, not_known })
    }
}

fn create(path: &Path, if_exists: IfExists) -> Result<PendingFile, Failure> {
    files::check_target(path, if_exists)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| PendingFile::create(path, if_exists)).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> Failure {
    let remedy = "check that the folder may be written to and has space";
    Failure::new(format!("{}: cannot be written: {error}", files::display_path(path)), remedy)
}
