//! `srnn conform`: does a program answer as an automaton does?

mod answers;
mod ask;
mod program;
mod report;
mod wire;

use crate::automaton::{
    ACCEPT, Flags, Operand, REJECT, accepting, alphabet_of_flag, complete, is_acceptor,
    symbols_of_expression,
};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{token_rule, whole};
use answers::Answers;
use clap::{Args, ValueEnum};
use srnn::format::grouped;
use srnn_automata::Word;
use srnn_automata::conformance::{
    Minimal, Quantity, SuiteConfig, SuiteMethod, SuiteTooLarge, suite,
};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use wire::Wire;

/// Whether a program answers as an automaton does, by asking it chosen words.
///
/// If the program is a deterministic machine with at most as many states as the minimal automaton
/// and --extra more, and answers every word asked as the automaton does, the two are equal; of
/// other programs nothing is claimed.
///
/// The program is started once for all words, each of which it answers by itself, and once more
/// where it differs, to ask for shorter words. It reads one word a line on its stdin (an empty line is the empty
/// word) and writes one answer a line to its stdout, in the same order: the name of a class; for
/// yes and no also 1 and 0, true and false, accept and reject. Symbols stand side by side where all
/// are single characters, and with blanks between them otherwise, as `predict` reads them. All
/// words are sent without waiting for answers, then stdin is closed: a program may answer each
/// line (and flush it) or all of them at the end.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn conform tomita:1 -- sed 's/^1*$/accept/; t; s/.*/reject/'
  srnn conform 're:(0|10*1)*' --extra 2 -- awk '{ print (gsub(1, 0) % 2 == 0) }'",
    after_help = "Exit codes: 0 passed, 1 different, 2 an error, 130 interrupted"
)]
pub struct Conform {
    /// An automaton file (JSON, DOT, AT&T text), a run folder, `re:EXPRESSION` or `tomita:1`…`7`.
    automaton: String,
    /// The program to ask, and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    /// How many states more than the automaton the program may have. Each one multiplies the words
    /// by the number of symbols.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<usize>, allow_negative_numbers = true)]
    extra: usize,
    /// How words are chosen; both find the same faults.
    #[arg(long, value_enum, default_value = "wp")]
    method: Choice,
    /// Give up where more words than this are needed.
    #[arg(long, value_name = "WORDS", default_value = "1000000", value_parser = whole::<u64>, allow_negative_numbers = true)]
    limit: u64,
    /// Give up after so many seconds in which the program neither takes a word nor gives an answer.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,
    /// How symbols become a line: `characters`, `whitespace` or `separator:TEXT`; by default their
    /// names tell.
    #[arg(long, value_name = "RULE")]
    tokens: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

/// A way to choose words.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Fujiwara et al. 1991: fewer words.
    Wp,
    /// Chow 1978.
    W,
}

/// What the program is held to.
struct Specification {
    name: String,
    minimal: Minimal<u32>,
    answers: Answers,
}

/// Everything to ask, and how.
struct Exam {
    specification: Specification,
    words: Arc<Vec<Word>>,
    wire: Arc<Wire>,
    command: Vec<OsString>,
    timeout: Duration,
}

/// Does it.
pub fn run(arguments: &Conform, output: &Output) -> Result<Answer, Failure> {
    let specification = specification(arguments)?;
    let rule = arguments.tokens.as_deref().map(token_rule).transpose()?;
    let wire = Wire::new(specification.minimal.automaton().alphabet(), rule)?;
    let method = match arguments.method {
        Choice::Wp => SuiteMethod::Wp,
        Choice::W => SuiteMethod::W,
    };
    let (extra, most_words) = (arguments.extra, arguments.limit);
    let plan = SuiteConfig { method, extra, most_words, ..SuiteConfig::default() };
    let words = suite(&specification.minimal, &plan).map_err(|error| refused(&error))?;
    let exam = Exam {
        specification,
        words: Arc::new(words),
        wire: Arc::new(wire),
        command: arguments.program.clone(),
        timeout: arguments.timeout,
    };
    let difference = ask::ask(&exam, output)?;
    report::report(&exam, arguments, difference.as_ref(), output)?;
    Ok(if difference.is_none() { Answer::Yes } else { Answer::No })
}

/// The minimal automaton, and how its classes are named in answers.
fn specification(arguments: &Conform) -> Result<Specification, Failure> {
    let operand = Operand::open(&arguments.automaton, None)?;
    let alphabet = match (&arguments.flags.alphabet, &operand) {
        (Some(text), _) => alphabet_of_flag(text)?,
        (None, Operand::Expression(text)) => symbols_of_expression(text),
        (None, Operand::Known { automaton, .. }) => automaton.automaton().alphabet().clone(),
    };
    let (name, automaton) = (operand.name(), operand.resolve(&alphabet)?);
    let moore = complete(&automaton, &name, arguments.flags.missing.as_deref())?;
    let accept = arguments.flags.accept.as_deref();
    if accept.is_none() && !is_acceptor(&automaton) {
        let answers = Answers::new(automaton.classes().to_vec());
        return Ok(Specification { name, minimal: Minimal::of(&moore), answers });
    }
    let dfa = accepting(&automaton, &moore, &name, accept)?;
    let minimal = Minimal::of(&dfa.map_outputs(|&yes| u32::from(yes)));
    let answers = Answers::new([REJECT, ACCEPT].map(String::from).to_vec());
    Ok(Specification { name, minimal, answers })
}

fn refused(error: &SuiteTooLarge) -> Failure {
    let (states, extra) = (error.states, error.extra);
    let needed = u64::try_from(error.needed).map_or("more than 10^19".into(), grouped);
    let (what, remedy) = match error.quantity {
        Quantity::Words => ("words or more", "a smaller --extra, or a larger --limit"),
        Quantity::Symbols => ("symbols in its words", "a smaller --extra, or a smaller automaton"),
    };
    let allowed = grouped(error.allowed);
    let message = format!(
        "a suite for {states} states and {extra} extra would have {needed} {what}, and {allowed} \
         are allowed"
    );
    Failure::new(message, remedy)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let time = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "this is no number of seconds above 0".into())
}
