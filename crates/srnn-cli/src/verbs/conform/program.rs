//! A program that is asked: lines in, lines out, and an end on every path.
//!
//! One thread writes all words and closes the program's stdin, another reads its answers, so that
//! neither waits for the other whatever the program buffers. The threads end with the program.

use crate::failure::Failure;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// No answer is longer.
const MOST_LINE: u64 = 1 << 16;
/// How often to look whether somebody wants to end.
const LOOK: Duration = Duration::from_millis(50);
/// Answers that may wait to be looked at.
const WAITING: usize = 1 << 12;

/// A running program; it is ended with the value.
pub struct Program {
    child: Child,
    lines: Receiver<io::Result<String>>,
    words: Arc<Words>,
    timeout: Duration,
}

/// What came next.
#[derive(Debug)]
pub enum Next {
    /// A line, without its end.
    Line(String),
    /// No more lines: how the program ended, where it did.
    End(Option<ExitStatus>),
    /// Neither an answer nor a word taken for too long.
    Silence,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// What it wrote is no line of text.
    NoLine(String),
}

/// How far the writer is.
#[derive(Debug, Default)]
struct Words {
    taken: AtomicU64,
    /// The program closed its stdin before it was sent all words.
    refused: AtomicBool,
}

impl Program {
    /// Starts a program and sends it lines.
    pub fn start(
        command: &[OsString],
        lines: impl Iterator<Item = String> + Send + 'static,
        timeout: Duration,
    ) -> Result<Program, Failure> {
        let (name, arguments) = command.split_first().expect("clap asks for a program");
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&name.to_string_lossy(), &error))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.expect("a pipe"), stdout.expect("a pipe"));
        let words = Arc::new(Words::default());
        let (sender, receiver) = sync_channel(WAITING);
        let writer = words.clone();
        thread::spawn(move || write(stdin, lines, &writer));
        thread::spawn(move || read(stdout, &sender));
        Ok(Program { child, lines: receiver, words, timeout })
    }

    /// The next line. `stop` is looked at while waiting.
    pub fn next(&mut self, stop: &AtomicBool) -> Next {
        let (mut taken, mut since) = (self.taken(), Instant::now());
        loop {
            if stop.load(Ordering::Relaxed) {
                return Next::Interrupted;
            }
            match self.lines.recv_timeout(LOOK.min(self.timeout)) {
                Ok(Ok(line)) => return Next::Line(line),
                Ok(Err(error)) => return Next::NoLine(error.to_string()),
                Err(RecvTimeoutError::Disconnected) => return Next::End(self.status()),
                Err(RecvTimeoutError::Timeout) if self.taken() > taken => {
                    (taken, since) = (self.taken(), Instant::now());
                }
                Err(RecvTimeoutError::Timeout) if since.elapsed() >= self.timeout => {
                    return Next::Silence;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The same, with less patience: for what may come after the last answer.
    pub fn next_within(&mut self, time: Duration, stop: &AtomicBool) -> Next {
        self.timeout = self.timeout.min(time);
        self.next(stop)
    }

    /// Whether it closed its stdin before it was sent all words.
    pub fn refused_words(&self) -> bool {
        self.words.refused.load(Ordering::Acquire)
    }

    fn taken(&self) -> u64 {
        self.words.taken.load(Ordering::Acquire)
    }

    /// How it ended. Who closes stdout is about to; some never do.
    fn status(&mut self) -> Option<ExitStatus> {
        let patience = Instant::now() + Duration::from_secs(1).min(self.timeout);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < patience => thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and that is all that can go wrong here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(stdin: ChildStdin, lines: impl Iterator<Item = String>, words: &Words) {
    let mut stdin = BufWriter::new(stdin);
    let send = || -> io::Result<()> {
        for line in lines {
            stdin.write_all(line.as_bytes())?;
            stdin.write_all(b"\n")?;
            words.taken.fetch_add(1, Ordering::AcqRel);
        }
        stdin.flush()
    };
    if send().is_err() {
        words.refused.store(true, Ordering::Release);
        // What is still buffered has nowhere to go.
        let _ = stdin.into_parts();
    }
}

fn read(stdout: ChildStdout, sender: &SyncSender<io::Result<String>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let line = line(&mut stdout).transpose();
        let Some(line) = line else { return };
        let broken = line.is_err();
        if sender.send(line).is_err() || broken {
            return;
        }
    }
}

fn line(stdout: &mut BufReader<ChildStdout>) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = stdout.by_ref().take(MOST_LINE).read_until(b'\n', &mut bytes)?;
    if read as u64 == MOST_LINE && bytes.last() != Some(&b'\n') {
        return Err(io::Error::other(format!("a line of more than {MOST_LINE} bytes")));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((read > 0).then_some(text))
}

fn not_started(name: &str, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::new(
            format!("{name}: no such program"),
            "check its name; one in this folder is called ./NAME",
        ),
        ErrorKind::PermissionDenied => Failure::new(
            format!("{name}: this file is not a program that may be run"),
            "chmod +x makes it one; a script can be given to its interpreter: -- python3 FILE",
        ),
        _ => Failure::new(format!("{name}: cannot be started: {error}"), "run it by hand"),
    }
}
