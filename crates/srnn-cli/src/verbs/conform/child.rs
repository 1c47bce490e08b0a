//! A child process that is tested: words in, answers out, with a timeout.
//!
//! One thread writes all words and closes the child's stdin. Another thread reads its answers.
//! Neither waits for the other, however the child buffers. Both threads end with the child.

use crate::failure::Failure;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum bytes of an answer.
const MAX_LINE: u64 = 1 << 16;
/// How often to check for Ctrl-C while waiting.
const POLL: Duration = Duration::from_millis(50);
/// Maximum answers that are read ahead.
const QUEUED_LINES: usize = 1 << 12;

/// A running child process. Dropping it kills the process.
pub struct ChildProgram {
    child: Child,
    lines: Receiver<io::Result<String>>,
    writer: Arc<WriterState>,
    timeout: Duration,
}

/// What came next from the child.
#[derive(Debug)]
pub enum ChildEvent {
    /// A line, without its line end.
    Line(String),
    /// Stdout was closed; with the exit status if the process has ended.
    End(Option<ExitStatus>),
    /// The timeout passed without an answer and without a word being read.
    TimedOut,
    /// Ctrl-C was pressed.
    Interrupted,
    /// The output could not be read as a line; with the reason.
    Unreadable(String),
}

/// The state of the thread that writes to the child's stdin.
#[derive(Debug, Default)]
struct WriterState {
    /// Lines written so far.
    sent: AtomicU64,
    /// The child closed its stdin before all words were sent.
    closed: AtomicBool,
}

impl ChildProgram {
    /// Starts the program. One thread sends `lines`, another reads the answers.
    pub fn start(
        command: &[OsString],
        lines: impl Iterator<Item = String> + Send + 'static,
        timeout: Duration,
    ) -> Result<ChildProgram, Failure> {
        let (name, arguments) = command.split_first().expect("clap requires a program");
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(&name.to_string_lossy(), &error))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.expect("a pipe"), stdout.expect("a pipe"));
        let writer = Arc::new(WriterState::default());
        let (sender, receiver) = sync_channel(QUEUED_LINES);
        let state = writer.clone();
        thread::spawn(move || write(stdin, lines, &state));
        thread::spawn(move || read(stdout, &sender));
        Ok(ChildProgram { child, lines: receiver, writer, timeout })
    }

    /// Waits for the next line. Checks `stop` while waiting.
    pub fn next(&mut self, stop: &AtomicBool) -> ChildEvent {
        let (mut sent, mut since) = (self.sent(), Instant::now());
        loop {
            if stop.load(Ordering::Relaxed) {
                return ChildEvent::Interrupted;
            }
            match self.lines.recv_timeout(POLL.min(self.timeout)) {
                Ok(Ok(line)) => return ChildEvent::Line(line),
                Ok(Err(error)) => return ChildEvent::Unreadable(error.to_string()),
                Err(RecvTimeoutError::Disconnected) => return ChildEvent::End(self.status()),
                Err(RecvTimeoutError::Timeout) if self.sent() > sent => {
                    (sent, since) = (self.sent(), Instant::now());
                }
                Err(RecvTimeoutError::Timeout) if since.elapsed() >= self.timeout => {
                    return ChildEvent::TimedOut;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The same with a shorter timeout, for output after the last answer.
    pub fn next_within(&mut self, time: Duration, stop: &AtomicBool) -> ChildEvent {
        self.timeout = self.timeout.min(time);
        self.next(stop)
    }

    /// Whether the child closed its stdin before all words were sent.
    pub fn closed_stdin(&self) -> bool {
        self.writer.closed.load(Ordering::Acquire)
    }

    fn sent(&self) -> u64 {
        self.writer.sent.load(Ordering::Acquire)
    }

    /// The exit status. Waits for it at most a second, because a child may close stdout and live on.
    fn status(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + Duration::from_secs(1).min(self.timeout);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        // Killing fails only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(stdin: ChildStdin, lines: impl Iterator<Item = String>, writer: &WriterState) {
    let mut stdin = BufWriter::new(stdin);
    let send = || -> io::Result<()> {
        for line in lines {
            stdin.write_all(line.as_bytes())?;
            stdin.write_all(b"\n")?;
            writer.sent.fetch_add(1, Ordering::AcqRel);
        }
        stdin.flush()
    };
    if send().is_err() {
        writer.closed.store(true, Ordering::Release);
        // Drops the buffer without flushing it to the closed pipe.
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
    let read = stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
    if read as u64 == MAX_LINE && bytes.last() != Some(&b'\n') {
        return Err(io::Error::other(format!("a line of more than {MAX_LINE} bytes")));
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
            "check its name; a program in this folder is called ./NAME",
        ),
        ErrorKind::PermissionDenied => Failure::new(
            format!("{name}: this file is not executable"),
            "make it executable with chmod +x, or name its interpreter: -- python3 FILE",
        ),
        _ => Failure::new(format!("{name}: cannot be started: {error}"), "run it by hand"),
    }
}
