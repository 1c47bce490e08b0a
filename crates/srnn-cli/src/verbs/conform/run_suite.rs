//! Runs a test suite on a program until an answer differs.

use super::ConformanceTest;
use super::child::{ChildEvent, ChildProgram};
use crate::failure::Failure;
use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use srnn::format::{grouped, plural, quoted, shell_word};
use srnn_automata::{Symbol, Word};
use std::cmp::Ordering;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long to wait for output after the last answer.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between lines of progress, if no bar is drawn.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// A word on which the program and the automaton differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The word.
    pub word: Word,
    /// The class that the program gave it.
    pub given: u32,
    /// The word of the suite on which the program failed first; equal to `word` if no shorter one
    /// fails.
    pub found_by: Word,
    /// Number of answers up to that word.
    pub answered: usize,
    /// The program's answer to the same word in a second run.
    pub repeat: Repeat,
}

/// A program's answer to the same word in a second run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The same class.
    Same,
    /// Another class, so the program is not deterministic.
    Changed,
    /// None.
    NoAnswer,
}

/// Runs the suite. Returns the first difference, on a shorter word if one is easily found; `None` if
/// all answers agree.
pub fn run_suite(test: &ConformanceTest, output: &Output) -> Result<Option<Difference>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let pressed = stop.clone();
    ctrlc::set_handler(move || pressed.store(true, Relaxed))?;
    let words = test.words.len();
    output.note(format!("testing {} …", plural(words, "word")));
    let mut progress = SuiteBar::new(words, output);
    let session = Session { test, words: test.words.clone(), stop: &stop };
    let found = session.first_difference(|answered| progress.show(answered))?;
    progress.end();
    match found {
        SuiteOutcome::Different { index, given } => Ok(Some(session.shortened(index, given))),
        SuiteOutcome::Equal { status } => {
            if let Some(status) = status.filter(|status| !status.success()) {
                output.note(format!("warning: the program ended after its last answer: {status}"));
            }
            Ok(None)
        }
    }
}

/// One run of the program, with the words it gets.
struct Session<'a> {
    test: &'a ConformanceTest,
    words: Arc<Vec<Word>>,
    stop: &'a AtomicBool,
}

enum SuiteOutcome {
    Equal { status: Option<ExitStatus> },
    Different { index: usize, given: u32 },
}

impl Session<'_> {
    fn first_difference(&self, mut show: impl FnMut(usize)) -> Result<SuiteOutcome, Failure> {
        let mut program = self.start()?;
        for (index, word) in self.words.iter().enumerate() {
            let given = self.answer(&mut program, index)?;
            if given != self.expected(word) {
                return Ok(SuiteOutcome::Different { index, given });
            }
            show(index + 1);
        }
        self.check_end(program)
    }

    /// Checks that nothing follows the last answer.
    fn check_end(&self, mut program: ChildProgram) -> Result<SuiteOutcome, Failure> {
        let next = program.next_within(END_TIMEOUT, self.stop);
        match next {
            ChildEvent::Line(line) => Err(self.extra_line(&format!("{line:?}"))),
            ChildEvent::Unreadable(what) => Err(self.extra_line(&what)),
            ChildEvent::Interrupted => Err(self.interrupted(self.words.len())),
            _ if program.closed_stdin() => Err(self.unread()),
            ChildEvent::End(status) => Ok(SuiteOutcome::Equal { status }),
            ChildEvent::TimedOut => Ok(SuiteOutcome::Equal { status: None }),
        }
    }

    fn start(&self) -> Result<ChildProgram, Failure> {
        let (words, word_format) = (self.words.clone(), self.test.word_format.clone());
        let lines = (0..words.len()).map(move |index| word_format.line(&words[index]));
        ChildProgram::start(&self.test.command, lines, self.test.timeout)
    }

    fn expected(&self, word: &[Symbol]) -> u32 {
        *self.test.specification.minimal.automaton().output_of(word)
    }

    fn answer(&self, program: &mut ChildProgram, index: usize) -> Result<u32, Failure> {
        let class_names = &self.test.specification.class_names;
        match program.next(self.stop) {
            ChildEvent::Line(line) => class_names.class(&line).ok_or_else(|| {
                let invalid_answer = self.invalid_answer(index, &format!("{line:?}"));
                match class_names.hint(&line) {
                    Some(remedy) => Failure { remedy, ..invalid_answer },
                    None => invalid_answer,
                }
            }),
            ChildEvent::Unreadable(what) => Err(self.invalid_answer(index, &what)),
            ChildEvent::Interrupted => Err(self.interrupted(index)),
            ChildEvent::End(status) => Err(self.ended(index, status)),
            ChildEvent::TimedOut if program.closed_stdin() => Err(self.ended(index, None)),
            ChildEvent::TimedOut => Err(self.silent(index)),
        }
    }

    /// Runs the program once more, on the failing word and on shorter ones. Errors are ignored here:
    /// the difference is already known.
    fn shortened(&self, index: usize, given: u32) -> Difference {
        let found_by = self.words[index].clone();
        let mut difference = Difference {
            word: found_by.clone(),
            given,
            found_by: found_by.clone(),
            answered: index + 1,
            repeat: Repeat::NoAnswer,
        };
        let mut words = vec![found_by.clone()];
        let passed = &self.words[..index];
        let new = |word: &Word| passed.binary_search_by(|other| by_length(other, word)).is_err();
        words.extend(shorter(&found_by).into_iter().filter(new));
        let session = Session { words: Arc::new(words), ..*self };
        let Ok(mut program) = session.start() else { return difference };
        let Ok(again) = session.answer(&mut program, 0) else { return difference };
        difference.repeat = if again == given { Repeat::Same } else { Repeat::Changed };
        for (index, word) in session.words.iter().enumerate().skip(1) {
            let Ok(given) = session.answer(&mut program, index) else { return difference };
            if difference.repeat == Repeat::Same && given != session.expected(word) {
                return Difference { word: word.clone(), given, ..difference };
            }
        }
        difference
    }

    /// A word of the suite, for messages.
    fn describe(&self, index: usize) -> String {
        let alphabet = self.test.specification.minimal.automaton().alphabet();
        let word = quoted(alphabet, &self.words[index]);
        format!("word {} of {} ({word})", grouped(index as u64 + 1), grouped(self.len()))
    }

    fn len(&self) -> u64 {
        self.words.len() as u64
    }

    fn invalid_answer(&self, index: usize, what: &str) -> Failure {
        let message = format!("the program's answer to {} is {what}", self.describe(index));
        let expected = self.test.specification.class_names.expected();
        let remedy = format!("it must write one line for every word and nothing else: {expected}");
        Failure::new(message, remedy)
    }

    fn ended(&self, index: usize, status: Option<ExitStatus>) -> Failure {
        let how = match status {
            Some(status) => format!("ended ({status})"),
            None => "closed its input or output".into(),
        };
        let message = format!("the program {how} without an answer to {}", self.describe(index));
        let remedy = format!(
            "it must answer every line until its input ends; by hand: printf '%s\\n' {} | {}",
            shell_word(&self.test.word_format.line(&self.words[index])),
            self.test.command_line()
        );
        Failure::new(message, remedy)
    }

    fn silent(&self, index: usize) -> Failure {
        let time = self.test.timeout.as_secs_f64();
        let message =
            format!("no answer to {} for {time} s; the program was ended", self.describe(index));
        let remedy = "it must write one line for every line it reads, and end or flush its output \
                      when its input ends; a slow one needs a longer --timeout";
        Failure::new(message, remedy)
    }

    fn extra_line(&self, line: &str) -> Failure {
        let message = format!(
            "the program wrote one more line after its {} answers: {line}",
            grouped(self.len())
        );
        Failure::new(message, "it must write one line for every word and nothing else")
    }

    fn unread(&self) -> Failure {
        let message = "the program answered, but closed its input before every word was sent";
        Failure::new(message, "it must read the words that it answers")
    }

    fn interrupted(&self, index: usize) -> Failure {
        let (done, all) = (grouped(index as u64), grouped(self.len()));
        let message = format!("{done} of {all} words agree; this proves nothing yet");
        Failure::interrupted(message, "run it again; the program was ended")
    }
}

/// Candidates for a shorter failing word: the prefixes, the suffixes, and the word without one
/// symbol; shortest first.
fn shorter(word: &[Symbol]) -> Vec<Word> {
    let without = |index: usize| [&word[..index], &word[index + 1..]].concat();
    let parts = |index: usize| [word[..index].to_vec(), word[index + 1..].to_vec(), without(index)];
    let mut words: Vec<Word> = (0..word.len()).flat_map(parts).collect();
    words.sort_unstable_by(by_length);
    words.dedup();
    words
}

/// The order of a suite: by length, then by symbols.
fn by_length(a: &Word, b: &Word) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

/// Progress through a suite.
enum SuiteBar {
    Bar(ProgressBar),
    Lines { output: Output, words: usize, last: Instant },
}

impl SuiteBar {
    fn new(words: usize, output: &Output) -> SuiteBar {
        match output.draws_bars() {
            true => {
                let template = format!("{} {{pos}}/{{len}} words {{eta:>4}}", output.bar(30));
                let style = ProgressStyle::with_template(&template).expect("a valid template");
                SuiteBar::Bar(ProgressBar::new(words as u64).with_style(style))
            }
            false => SuiteBar::Lines { output: *output, words, last: Instant::now() },
        }
    }

    fn show(&mut self, answered: usize) {
        match self {
            SuiteBar::Bar(bar) => bar.set_position(answered as u64),
            SuiteBar::Lines { output, words, last } if last.elapsed() >= PROGRESS_INTERVAL => {
                output.note(format!("{} of {}", grouped(answered as u64), plural(*words, "word")));
                *last = Instant::now();
            }
            SuiteBar::Lines { .. } => {}
        }
    }

    fn end(&self) {
        if let SuiteBar::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
