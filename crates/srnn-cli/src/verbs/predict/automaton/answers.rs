//! Where answers go: counted, and written one class a line.

use super::super::Predict;
use super::machine::Machine;
use super::out_file;
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, visible};
use srnn::atomic::PendingFile;
use srnn_automata::State;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// What is written where a transition is not known.
pub const NOT_KNOWN: &str = "?";

/// Answers on their way.
pub struct Answers {
    /// For every state, the class of words that end there.
    class_of: Vec<usize>,
    /// For every class the line to write, and at last that for none.
    lines: Vec<Vec<u8>>,
    counts: Vec<u64>,
    sink: Sink,
    buffer: Vec<u8>,
}

/// How often each class was answered.
pub struct Counts {
    /// In the order of the classes.
    pub classes: Vec<u64>,
    /// Words that took a transition that is not known.
    pub not_known: u64,
}

/// Why no more answers are wanted.
pub enum Stop {
    /// Whoever read them went away.
    Gone,
    /// Ctrl-C.
    Interrupted,
    /// They cannot be written.
    Failed(Failure),
}

enum Sink {
    Nowhere,
    Stdout,
    File { pending: PendingFile, path: PathBuf },
}

impl Answers {
    /// Answers go to the file of --out, or to stdout unless that is for an object.
    pub fn open(
        arguments: &Predict,
        machine: &Machine,
        output: &Output,
    ) -> Result<Answers, Failure> {
        let sink = match out_file(arguments) {
            Some(path) => Sink::File { pending: create(path)?, path: path.into() },
            None if output.json => Sink::Nowhere,
            None => Sink::Stdout,
        };
        let names = machine.classes.iter().map(String::as_str).chain([NOT_KNOWN]);
        let spelled = matches!(sink, Sink::Stdout) && io::stdout().is_terminal();
        let line = |name: &str| match spelled {
            true => (visible(&name.replace('\n', "\\n")) + "\n").into_bytes(),
            false => (name.replace('\n', "\\n") + "\n").into_bytes(),
        };
        let classes = machine.classes.len();
        let class_of = machine.automaton.outputs().iter().map(|&class| class as usize).collect();
        let (lines, counts) = (names.map(line).collect(), vec![0; classes + 1]);
        Ok(Answers { class_of, lines, counts, sink, buffer: Vec::new() })
    }

    /// The file that is there until the answers are whole.
    pub fn beside(&self) -> Option<PathBuf> {
        match &self.sink {
            Sink::File { pending, .. } => Some(pending.temp_path().to_path_buf()),
            Sink::Nowhere | Sink::Stdout => None,
        }
    }

    /// Whether a person sees them come.
    pub fn are_on_a_terminal(&self) -> bool {
        matches!(self.sink, Sink::Stdout) && io::stdout().is_terminal()
    }

    /// How many words are answered.
    pub fn words(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Answers the words that ended in these states.
    pub fn tell(&mut self, ends: &[State]) -> Result<(), Stop> {
        for end in ends {
            self.counts[self.class_of[end.index()]] += 1;
        }
        if matches!(self.sink, Sink::Nowhere) {
            return Ok(());
        }
        self.buffer.clear();
        for end in ends {
            self.buffer.extend_from_slice(&self.lines[self.class_of[end.index()]]);
        }
        match &mut self.sink {
            Sink::Nowhere => Ok(()),
            Sink::File { pending, path } => {
                pending.write_all(&self.buffer).map_err(|error| Stop::Failed(failed(path, error)))
            }
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(&self.buffer).and_then(|()| stdout.flush());
                written.map_err(|error| match error.kind() {
                    ErrorKind::BrokenPipe => Stop::Gone,
                    _ => Stop::Failed(files::printed(Err(error)).expect_err("an error")),
                })
            }
        }
    }

    /// All is told: a file comes to its place.
    pub fn close(mut self) -> Result<Counts, Failure> {
        if let Sink::File { pending, path } = self.sink {
            pending.commit().map_err(|error| failed(&path, error))?;
        }
        let not_known = self.counts.pop().unwrap_or(0);
        Ok(Counts { classes: self.counts, not_known })
    }
}

fn create(path: &Path) -> Result<PendingFile, Failure> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(Failure::new(format!("{}: names no file", files::shown(path)), "name a file"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| PendingFile::create(path)).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> Failure {
    let remedy = "check that the folder may be written to and has space";
    Failure::new(format!("{}: cannot be written: {error}", files::shown(path)), remedy)
}
