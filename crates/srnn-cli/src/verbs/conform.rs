//! `srnn conform`: conformance testing of a program against an automaton.

mod child;
mod class_names;
mod report;
mod run_suite;
mod word_format;

use crate::automaton::{
    ACCEPT, AutomatonArg, AutomatonFlags, REJECT, alphabet_of_flag, complete, is_acceptor,
    symbols_of_expression, to_acceptor,
};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::{parse_count, parse_token_rule};
use clap::{Args, ValueEnum};
use class_names::ClassNames;
use srnn::format::grouped;
use srnn_automata::Word;
use srnn_automata::conformance::{
    Minimal, Quantity, SuiteConfig, SuiteMethod, SuiteTooLarge, suite,
};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use word_format::WordFormat;

/// Test a program against an automaton with a conformance test suite.
///
/// If the program is a deterministic machine with at most --extra more states than the minimal
/// automaton, and it gives every word of the suite the automaton's class, then the two are equal.
/// Nothing is claimed about other programs.
///
/// The program is started once for the whole suite. If it differs, it is started once more to find
/// a shorter word. It reads one word per line from stdin; an empty line is the empty word. It writes
/// one class per line to stdout, in the same order: the name of a class, or for two classes also 1
/// and 0, true and false, accept and reject. Each answer must depend on its own word only. Symbols
/// are written without spaces if all of them are single characters, and with spaces otherwise, as
/// `predict` reads them. All words are sent without waiting for answers, then stdin is closed. A
/// program may answer each line (and flush) or all lines at the end.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn conform tomita:1 -- sed 's/^1*$/accept/; t; s/.*/reject/'
  srnn conform 're:(0|10*1)*' --extra 2 -- awk '{ print (gsub(1, 0) % 2 == 0) }'",
    after_help = "Exit codes: 0 passed, 1 different, 2 an error, 130 interrupted"
)]
pub struct ConformArgs {
    /// An automaton file (JSON, DOT, AT&T text), a run folder, `re:EXPRESSION` or `tomita:1`…`7`.
    automaton: String,
    /// The program to test, and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    /// How many more states than the automaton the program may have. Each one multiplies the number
    /// of words by the number of symbols.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    extra: usize,
    /// How the words of the suite are chosen; both methods find the same faults.
    #[arg(long, value_enum, default_value = "wp")]
    method: SuiteMethodFlag,
    /// Stop if the suite needs more words than this.
    #[arg(long, value_name = "WORDS", default_value = "1000000", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    limit: u64,
    /// Stop if the program neither reads a word nor writes an answer for this long.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,
    /// How symbols are joined to a line: `characters`, `whitespace` or `separator:TEXT` [default: by
    /// their names].
    #[arg(long, value_name = "RULE")]
    tokens: Option<String>,
    #[command(flatten)]
    flags: AutomatonFlags,
}

/// The method of the test suite.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum SuiteMethodFlag {
    /// Fujiwara et al. 1991: fewer words.
    Wp,
    /// Chow 1978.
    W,
}

/// The automaton that the program should equal.
struct ConformSpec {
    name: String,
    minimal: Minimal<u32>,
    class_names: ClassNames,
}

/// A test suite and the program to run it on.
struct ConformanceTest {
    specification: ConformSpec,
    words: Arc<Vec<Word>>,
    word_format: Arc<WordFormat>,
    command: Vec<OsString>,
    timeout: Duration,
}

pub fn run(arguments: &ConformArgs, output: &Output) -> Result<Answer, Failure> {
    let specification = specification(arguments)?;
    let rule = arguments.tokens.as_deref().map(parse_token_rule).transpose()?;
    let word_format = WordFormat::new(specification.minimal.automaton().alphabet(), rule)?;
    let method = match arguments.method {
        SuiteMethodFlag::Wp => SuiteMethod::Wp,
        SuiteMethodFlag::W => SuiteMethod::W,
    };
    let (extra, most_words) = (arguments.extra, arguments.limit);
    let plan = SuiteConfig { method, extra, most_words, ..SuiteConfig::default() };
    let words = suite(&specification.minimal, &plan).map_err(|error| suite_too_large(&error))?;
    let test = ConformanceTest {
        specification,
        words: Arc::new(words),
        word_format: Arc::new(word_format),
        command: arguments.program.clone(),
        timeout: arguments.timeout,
    };
    let difference = run_suite::run_suite(&test, output)?;
    report::report(&test, arguments, difference.as_ref(), output)?;
    Ok(if difference.is_none() { Answer::Yes } else { Answer::No })
}

/// The minimal automaton and the names of its classes.
fn specification(arguments: &ConformArgs) -> Result<ConformSpec, Failure> {
    let operand = AutomatonArg::open(&arguments.automaton, None)?;
    let alphabet = match (&arguments.flags.alphabet, &operand) {
        (Some(text), _) => alphabet_of_flag(text)?,
        (None, AutomatonArg::Expression(text)) => symbols_of_expression(text),
        (None, AutomatonArg::Known { automaton, .. }) => automaton.automaton().alphabet().clone(),
    };
    let (name, automaton) = (operand.name(), operand.resolve(&alphabet)?);
    let moore = complete(&automaton, &name, arguments.flags.missing.as_deref())?;
    let accept = arguments.flags.accept.as_deref();
    if accept.is_none() && !is_acceptor(&automaton) {
        let class_names = ClassNames::new(automaton.classes().to_vec());
        return Ok(ConformSpec { name, minimal: Minimal::of(&moore), class_names });
    }
    let dfa = to_acceptor(&automaton, &moore, &name, accept)?;
    let minimal = Minimal::of(&dfa.map_outputs(|&yes| u32::from(yes)));
    let class_names = ClassNames::new([REJECT, ACCEPT].map(String::from).to_vec());
    Ok(ConformSpec { name, minimal, class_names })
}

fn suite_too_large(error: &SuiteTooLarge) -> Failure {
    let (states, extra) = (error.states, error.extra);
    let needed = u64::try_from(error.needed).map_or("more than 10^19".into(), grouped);
    let (what, remedy) = match error.quantity {
        Quantity::Words => ("words or more", "use a smaller --extra, or a larger --limit"),
        Quantity::Symbols => {
            ("symbols in its words", "use a smaller --extra, or a smaller automaton")
        }
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
    time.ok_or_else(|| "not a number of seconds above 0".into())
}
