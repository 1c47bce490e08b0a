//! Asking every word, until one is answered otherwise.

use super::Exam;
use super::program::{Next, Program};
use crate::failure::Failure;
use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use srnn::format::{grouped, plural, quoted};
use srnn_automata::{Symbol, Word};
use std::cmp::Ordering;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long to wait for what may come after the last answer.
const AFTERMATH: Duration = Duration::from_secs(2);
/// How often to say how far it is where no bar is drawn.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// A word on which the program and the automaton differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The word.
    pub word: Word,
    /// The program's class.
    pub said: u32,
    /// The word of the suite that led to it; the same where no shorter one was found.
    pub found_by: Word,
    /// Answers up to that word.
    pub asked: usize,
    /// What the program did when it was asked once more.
    pub again: Again,
}

/// What a program did when it was asked a word once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It answered the same.
    Same,
    /// It answered otherwise, so it is no deterministic machine.
    Otherwise,
    /// It did not answer.
    Nothing,
}

/// Asks all words; the first difference, in a word as short as is cheaply found.
pub fn ask(exam: &Exam, output: &Output) -> Result<Option<Difference>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let pressed = stop.clone();
    ctrlc::set_handler(move || pressed.store(true, Relaxed))?;
    let words = exam.words.len();
    output.note(format!("asking {} …", plural(words, "word")));
    let mut progress = Progress::new(words, output);
    let session = Session { exam, words: exam.words.clone(), stop: &stop };
    let found = session.first_difference(|asked| progress.show(asked))?;
    progress.end();
    match found {
        Outcome::Different { place, said } => Ok(Some(session.shortened(place, said))),
        Outcome::Equal { status } => {
            if let Some(status) = status.filter(|status| !status.success()) {
                output.note(format!("warning: after its last answer the program ended: {status}"));
            }
            Ok(None)
        }
    }
}

/// One start of the program, and the words it is asked.
struct Session<'a> {
    exam: &'a Exam,
    words: Arc<Vec<Word>>,
    stop: &'a AtomicBool,
}

enum Outcome {
    Equal { status: Option<ExitStatus> },
    Different { place: usize, said: u32 },
}

impl Session<'_> {
    fn first_difference(&self, mut show: impl FnMut(usize)) -> Result<Outcome, Failure> {
        let mut program = self.start()?;
        for (place, word) in self.words.iter().enumerate() {
            let said = self.answer(&mut program, place)?;
            if said != self.expected(word) {
                return Ok(Outcome::Different { place, said });
            }
            show(place + 1);
        }
        self.aftermath(program)
    }

    /// What comes after the last answer: at best nothing but the end.
    fn aftermath(&self, mut program: Program) -> Result<Outcome, Failure> {
        let next = program.next_within(AFTERMATH, self.stop);
        match next {
            Next::Line(line) => Err(self.one_too_many(&format!("{line:?}"))),
            Next::NoLine(what) => Err(self.one_too_many(&what)),
            Next::Interrupted => Err(self.interrupted(self.words.len())),
            _ if program.refused_words() => Err(self.unread()),
            Next::End(status) => Ok(Outcome::Equal { status }),
            Next::Silence => Ok(Outcome::Equal { status: None }),
        }
    }

    fn start(&self) -> Result<Program, Failure> {
        let (words, wire) = (self.words.clone(), self.exam.wire.clone());
        let lines = (0..words.len()).map(move |place| wire.line(&words[place]));
        Program::start(&self.exam.command, lines, self.exam.timeout)
    }

    fn expected(&self, word: &[Symbol]) -> u32 {
        *self.exam.specification.minimal.automaton().output_of(word)
    }

    fn answer(&self, program: &mut Program, place: usize) -> Result<u32, Failure> {
        let answers = &self.exam.specification.answers;
        match program.next(self.stop) {
            Next::Line(line) => answers.class(&line).ok_or_else(|| {
                let garbage = self.garbage(place, &format!("{line:?}"));
                match answers.hint(&line) {
                    Some(remedy) => Failure { remedy, ..garbage },
                    None => garbage,
                }
            }),
            Next::NoLine(what) => Err(self.garbage(place, &what)),
            Next::Interrupted => Err(self.interrupted(place)),
            Next::End(status) => Err(self.ended(place, status)),
            Next::Silence if program.refused_words() => Err(self.ended(place, None)),
            Next::Silence => Err(self.silent(place)),
        }
    }

    /// Asks for shorter words, and for the word itself once more, in one more start of the
    /// program. Whatever goes wrong now, the difference stands.
    fn shortened(&self, place: usize, said: u32) -> Difference {
        let found_by = self.words[place].clone();
        let mut difference = Difference {
            word: found_by.clone(),
            said,
            found_by: found_by.clone(),
            asked: place + 1,
            again: Again::Nothing,
        };
        let mut words = vec![found_by.clone()];
        let passed = &self.words[..place];
        let new = |word: &Word| passed.binary_search_by(|other| by_length(other, word)).is_err();
        words.extend(shorter(&found_by).into_iter().filter(new));
        let session = Session { words: Arc::new(words), ..*self };
        let Ok(mut program) = session.start() else { return difference };
        let Ok(again) = session.answer(&mut program, 0) else { return difference };
        difference.again = if again == said { Again::Same } else { Again::Otherwise };
        for (place, word) in session.words.iter().enumerate().skip(1) {
            let Ok(said) = session.answer(&mut program, place) else { return difference };
            if difference.again == Again::Same && said != session.expected(word) {
                return Difference { word: word.clone(), said, ..difference };
            }
        }
        difference
    }

    /// A word in a message.
    fn at(&self, place: usize) -> String {
        let alphabet = self.exam.specification.minimal.automaton().alphabet();
        let word = quoted(alphabet, &self.words[place]);
        format!("word {} of {} ({word})", grouped(place as u64 + 1), grouped(self.len()))
    }

    fn len(&self) -> u64 {
        self.words.len() as u64
    }

    fn garbage(&self, place: usize, what: &str) -> Failure {
        let message = format!("the program's answer to {} is {what}", self.at(place));
        let expected = self.exam.specification.answers.expected();
        let remedy = format!("it must write one line for every word and nothing else: {expected}");
        Failure::new(message, remedy)
    }

    fn ended(&self, place: usize, status: Option<ExitStatus>) -> Failure {
        let how = match status {
            Some(status) => format!("ended ({status})"),
            None => "closed its input or output".into(),
        };
        let message = format!("the program {how} without an answer to {}", self.at(place));
        let remedy = format!(
            "it must answer every line until its input ends; by hand: printf '{}\\n' | {}",
            self.exam.wire.line(&self.words[place]),
            self.exam.command_line()
        );
        Failure::new(message, remedy)
    }

    fn silent(&self, place: usize) -> Failure {
        let time = self.exam.timeout.as_secs_f64();
        let message =
            format!("no answer to {} for {time} s; the program was ended", self.at(place));
        let remedy = "it must write one line for every line it reads, and end or flush its output \
                      when its input ends; a slow one needs a longer --timeout";
        Failure::new(message, remedy)
    }

    fn one_too_many(&self, line: &str) -> Failure {
        let message = format!(
            "the program wrote one more line after its {} answers: {line}",
            grouped(self.len())
        );
        Failure::new(message, "it must write one line for every word and nothing else")
    }

    fn unread(&self) -> Failure {
        let message = "the program closed its input before it was sent every word, and answered";
        Failure::new(message, "it must read the words that it answers")
    }

    fn interrupted(&self, place: usize) -> Failure {
        let (done, all) = (grouped(place as u64), grouped(self.len()));
        let message = format!("{done} of {all} words agree, which shows nothing yet");
        Failure::interrupted(message, "run it again; the program was ended")
    }
}

/// Words that a failing one may owe its failure to: its beginnings, its ends, and it without one
/// symbol; shortest first.
fn shorter(word: &[Symbol]) -> Vec<Word> {
    let without = |place: usize| [&word[..place], &word[place + 1..]].concat();
    let parts = |place: usize| [word[..place].to_vec(), word[place + 1..].to_vec(), without(place)];
    let mut words: Vec<Word> = (0..word.len()).flat_map(parts).collect();
    words.sort_unstable_by(by_length);
    words.dedup();
    words
}

/// The order of a suite: shorter words first.
fn by_length(a: &Word, b: &Word) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

/// How far it is.
enum Progress {
    Bar(ProgressBar),
    Lines { output: Output, words: usize, said: Instant },
}

impl Progress {
    fn new(words: usize, output: &Output) -> Progress {
        match output.draws_bars() {
            true => {
                let style = ProgressStyle::with_template("{bar:30} {pos}/{len} words {eta:>4}");
                let style = style.expect("a template that parses");
                Progress::Bar(ProgressBar::new(words as u64).with_style(style))
            }
            false => Progress::Lines { output: *output, words, said: Instant::now() },
        }
    }

    fn show(&mut self, asked: usize) {
        match self {
            Progress::Bar(bar) => bar.set_position(asked as u64),
            Progress::Lines { output, words, said } if said.elapsed() >= BETWEEN_LINES => {
                output.note(format!("{} of {}", grouped(asked as u64), plural(*words, "word")));
                *said = Instant::now();
            }
            Progress::Lines { .. } => {}
        }
    }

    fn end(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
