//! What is said of the program: what follows, and no more.

use super::ask::{Again, Difference};
use super::{Choice, Conform, Exam};
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Value, json};
use srnn::format::{plural, quoted};
use srnn_automata::Symbol;

impl Exam {
    /// The program as it was typed.
    pub fn command_line(&self) -> String {
        let parts: Vec<_> = self.command.iter().map(|part| part.to_string_lossy()).collect();
        parts.join(" ")
    }

    fn states(&self) -> usize {
        self.specification.minimal.automaton().state_count()
    }

    fn spelled(&self, word: &[Symbol]) -> String {
        self.specification.minimal.automaton().alphabet().format_word(word)
    }

    /// A word within a sentence.
    fn quoted(&self, word: &[Symbol]) -> String {
        quoted(self.specification.minimal.automaton().alphabet(), word)
    }

    /// What the automaton says.
    fn right(&self, word: &[Symbol]) -> &str {
        let automaton = self.specification.minimal.automaton();
        self.specification.answers.name(*automaton.output_of(word))
    }
}

/// Shows the result.
pub fn report(
    exam: &Exam,
    arguments: &Conform,
    difference: Option<&Difference>,
    output: &Output,
) -> Result<(), Failure> {
    let text = match difference {
        None => passed(exam, arguments.extra),
        Some(difference) => different(exam, difference),
    };
    output.result(text, &value(exam, arguments, difference))
}

fn passed(exam: &Exam, extra: usize) -> String {
    let (words, name) = (plural(exam.words.len(), "word"), &exam.specification.name);
    let most = plural(exam.states().saturating_add(extra), "state");
    let states = plural(exam.states(), "state");
    format!(
        "passed {words}: if the program is a deterministic machine with at most {most}, it equals \
         {name} ({states} when minimal)"
    )
}

fn different(exam: &Exam, difference: &Difference) -> String {
    let Difference { word, said, found_by, again, .. } = difference;
    let (name, shown) = (&exam.specification.name, exam.quoted(word));
    let right = exam.right(word);
    let wrong = exam.specification.answers.name(*said);
    let mut text =
        format!("different: on {shown}\n  {name} says {right}\n  the program says {wrong}");
    if word != found_by {
        text += &format!("\nfound by asking {}", exam.quoted(found_by));
    }
    text += match again {
        Again::Same => "",
        Again::Otherwise => {
            "\nasked once more, the program answered otherwise: it is no deterministic machine"
        }
        Again::Nothing => "\nasked once more, the program did not answer",
    };
    text
}

fn value(exam: &Exam, arguments: &Conform, difference: Option<&Difference>) -> Value {
    let alphabet = exam.specification.minimal.automaton().alphabet();
    let names = |word: &[Symbol]| -> Vec<String> {
        word.iter().map(|&symbol| alphabet.name(symbol).to_string()).collect()
    };
    let method = match arguments.method {
        Choice::Wp => "wp",
        Choice::W => "w",
    };
    json!({
        "passed": difference.is_none(),
        "automaton": exam.specification.name,
        "program": exam.command_line(),
        "method": method,
        "minimal_states": exam.states(),
        "extra": arguments.extra,
        "equal_up_to_states":
            difference.is_none().then(|| exam.states().saturating_add(arguments.extra)),
        "words": exam.words.len(),
        "asked": difference.map_or(exam.words.len(), |difference| difference.asked),
        "word": difference.map(|difference| names(&difference.word)),
        "spelled": difference.map(|difference| exam.spelled(&difference.word)),
        "automaton_says": difference.map(|difference| exam.right(&difference.word)),
        "program_says":
            difference.map(|difference| exam.specification.answers.name(difference.said)),
        "found_by": difference.map(|difference| names(&difference.found_by)),
        "repeats": difference.and_then(|difference| match difference.again {
            Again::Same => Some(true),
            Again::Otherwise => Some(false),
            Again::Nothing => None,
        }),
    })
}
