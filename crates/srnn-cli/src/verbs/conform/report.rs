//! The output of `conform`: what the test implies, and no more.

use super::run_suite::{Difference, Repeat};
use super::{ConformArgs, ConformanceTest, SuiteMethodFlag};
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Value, json};
use srnn::format::{plural, quoted, shell_word};
use srnn_automata::Symbol;

impl ConformanceTest {
    /// The program with its arguments, as typed in a shell.
    pub fn command_line(&self) -> String {
        let parts = self.command.iter().map(|part| shell_word(&part.to_string_lossy()));
        let parts: Vec<String> = parts.collect();
        parts.join(" ")
    }

    fn states(&self) -> usize {
        self.specification.minimal.automaton().state_count()
    }

    fn spelled(&self, word: &[Symbol]) -> String {
        self.specification.minimal.automaton().alphabet().format_word(word)
    }

    fn quoted(&self, word: &[Symbol]) -> String {
        quoted(self.specification.minimal.automaton().alphabet(), word)
    }

    /// The automaton's class of a word.
    fn expected_class(&self, word: &[Symbol]) -> &str {
        let automaton = self.specification.minimal.automaton();
        self.specification.class_names.name(*automaton.output_of(word))
    }
}

/// Prints the result.
pub fn report(
    test: &ConformanceTest,
    arguments: &ConformArgs,
    difference: Option<&Difference>,
    output: &Output,
) -> Result<(), Failure> {
    let text = match difference {
        None => passed(test, arguments.extra),
        Some(difference) => different(test, difference),
    };
    output.result(text, &value(test, arguments, difference))
}

fn passed(test: &ConformanceTest, extra: usize) -> String {
    let (words, name) = (plural(test.words.len(), "word"), &test.specification.name);
    let most = plural(test.states().saturating_add(extra), "state");
    let states = plural(test.states(), "state");
    format!(
        "passed {words}: if the program is a deterministic machine with at most {most}, it equals \
         {name} ({states} when minimal)"
    )
}

fn different(test: &ConformanceTest, difference: &Difference) -> String {
    let Difference { word, given, found_by, repeat, .. } = difference;
    let (name, shown) = (&test.specification.name, test.quoted(word));
    let expected = test.expected_class(word);
    let wrong = test.specification.class_names.name(*given);
    let mut text =
        format!("different: on {shown}\n  {name} gives {expected}\n  the program gives {wrong}");
    if word != found_by {
        text += &format!("\nfound with {}", test.quoted(found_by));
    }
    text += match repeat {
        Repeat::Same => "",
        Repeat::Changed => {
            "\nin a second run the program gave another answer: it is not deterministic"
        }
        Repeat::NoAnswer => "\nin a second run the program did not answer",
    };
    text
}

fn value(
    test: &ConformanceTest,
    arguments: &ConformArgs,
    difference: Option<&Difference>,
) -> Value {
    let alphabet = test.specification.minimal.automaton().alphabet();
    let names = |word: &[Symbol]| -> Vec<String> {
        word.iter().map(|&symbol| alphabet.name(symbol).to_string()).collect()
    };
    let method = match arguments.method {
        SuiteMethodFlag::Wp => "wp",
        SuiteMethodFlag::W => "w",
    };
    json!({
        "passed": difference.is_none(),
        "automaton": test.specification.name,
        "program": test.command_line(),
        "method": method,
        "minimal_states": test.states(),
        "extra": arguments.extra,
        "equal_up_to_states":
            difference.is_none().then(|| test.states().saturating_add(arguments.extra)),
        "words": test.words.len(),
        "asked": difference.map_or(test.words.len(), |difference| difference.answered),
        "word": difference.map(|difference| names(&difference.word)),
        "spelled": difference.map(|difference| test.spelled(&difference.word)),
        "automaton_says": difference.map(|difference| test.expected_class(&difference.word)),
        "program_says":
            difference.map(|difference| test.specification.class_names.name(difference.given)),
        "found_by": difference.map(|difference| names(&difference.found_by)),
        "repeats": difference.and_then(|difference| match difference.repeat {
            Repeat::Same => Some(true),
            Repeat::Changed => Some(false),
            Repeat::NoAnswer => None,
        }),
    })
}
