//! What is said when all words are answered.

use super::super::Predict;
use super::super::report::scores;
use super::answers::Counts;
use super::machine::Machine;
use super::out_file;
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Map, Value, json};
use srnn::format::{grouped, plural};
use srnn::stream::{Kernel, StreamProgress};
use srnn::task::Confusion;

/// All that is known then.
pub struct Summary<'a> {
    /// Who answered.
    pub machine: &'a Machine,
    /// What was read; bytes only where it was a stream.
    pub reading: StreamProgress,
    /// How often each class was the answer.
    pub counts: Counts,
    /// How long it took, reading and writing included.
    pub seconds: f64,
    /// How states were found, where bytes were symbols.
    pub kernel: Option<Kernel>,
    /// Single answers, where few were asked for.
    pub one_by_one: Vec<One>,
    /// Against the labels, where there are some.
    pub confusion: Option<&'a Confusion>,
}

/// One answer.
pub struct One {
    /// Where the sequence was.
    pub place: String,
    /// Its tokens.
    pub tokens: Vec<String>,
    /// The class.
    pub label: Option<String>,
}

/// Shows it. Where answers are on stdout, what else there is goes to people.
pub fn report(summary: &Summary, arguments: &Predict, output: &Output) -> Result<(), Failure> {
    let mut text = sentence(summary);
    text.extend(summary.confusion.map(|confusion| format!("\n{}", scores(confusion))));
    let out = out_file(arguments);
    if out.is_none() && !output.json {
        output.note(text.trim_end());
        return Ok(());
    }
    let Summary { machine, reading, counts, confusion, .. } = summary;
    let classes = machine.classes.iter().cloned().zip(counts.classes.iter().map(|&n| json!(n)));
    let value = json!({
        "automaton": machine.name,
        "states": machine.automaton.state_count(),
        "kernel": summary.kernel.map(|kernel| match kernel {
            Kernel::Shuffle => "shuffle",
            Kernel::Table => "walk",
        }),
        "words": reading.words,
        "bytes": Some(reading.bytes).filter(|&bytes| bytes > 0),
        "seconds": summary.seconds,
        "answers": classes.collect::<Map<_, _>>(),
        "not_known": counts.not_known,
        "out": out.map(|path| path.display().to_string()),
        "predictions": summary.one_by_one.iter().map(one).collect::<Vec<_>>(),
        "accuracy": confusion.and_then(Confusion::accuracy),
        "confusion": confusion,
        "per_class": confusion.map(Confusion::scores),
    });
    output.result(text, &value)
}

/// How many words there were, and what was answered.
fn sentence(summary: &Summary) -> String {
    let Summary { machine, reading, counts, seconds, .. } = summary;
    let bytes = match reading.bytes {
        0 => String::new(),
        bytes => format!(" ({} bytes)", grouped(bytes)),
    };
    let words = plural(reading.words as usize, "word");
    let answered = machine.classes.iter().zip(&counts.classes);
    let mut answers: Vec<String> =
        answered.map(|(class, &count)| format!("{class:?} {}", grouped(count))).collect();
    if counts.not_known > 0 {
        answers.push(format!("not known {}", grouped(counts.not_known)));
    }
    format!("{words}{bytes} in {seconds:.2} s: {}", answers.join(", "))
}

fn one(one: &One) -> Value {
    let One { place, tokens, label } = one;
    json!({ "place": place, "tokens": tokens, "label": label })
}
