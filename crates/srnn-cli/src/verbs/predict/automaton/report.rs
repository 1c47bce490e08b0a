//! The output of `predict --automaton`.

use super::super::PredictArgs;
use super::super::report::scores;
use super::class_writer::ClassCounts;
use super::classifier::AutomatonClassifier;
use super::out_file;
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Map, Value, json};
use srnn::format::{grouped, plural};
use srnn::stream::{Kernel, StreamProgress};
use srnn::task::Confusion;

/// The result of classifying a stream or a list.
pub struct StreamSummary<'a> {
    pub classifier: &'a AutomatonClassifier,
    /// Words and bytes read; 0 bytes unless it was a stream.
    pub reading: StreamProgress,
    pub counts: ClassCounts,
    /// Elapsed time, including reading and writing.
    pub seconds: f64,
    /// The kernel of the compiled automaton, if one was used.
    pub kernel: Option<Kernel>,
    /// Single predictions, for sequences given as arguments.
    pub predictions: Vec<ListedPrediction>,
    /// The comparison with labels, if there are any.
    pub confusion: Option<&'a Confusion>,
}

/// The prediction for a sequence given as an argument.
pub struct ListedPrediction {
    /// Where the sequence comes from.
    pub place: String,
    /// Its tokens.
    pub tokens: Vec<String>,
    /// The class; `None` after an unknown transition.
    pub label: Option<String>,
}

/// Prints the result. If the classes are on stdout, the summary goes to stderr.
pub fn report(
    summary: &StreamSummary,
    arguments: &PredictArgs,
    output: &Output,
) -> Result<(), Failure> {
    let mut text = sentence(summary);
    text.extend(summary.confusion.map(|confusion| format!("\n{}", scores(confusion))));
    let out = out_file(arguments);
    if out.is_none() && !output.json {
        output.note(text.trim_end());
        return Ok(());
    }
    let StreamSummary { classifier, reading, counts, confusion, .. } = summary;
    let classes = classifier.classes.iter().cloned().zip(counts.classes.iter().map(|&n| json!(n)));
    let value = json!({
        "automaton": classifier.name,
        "states": classifier.automaton.state_count(),
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
        "predictions": summary.predictions.iter().map(prediction).collect::<Vec<_>>(),
        "accuracy": confusion.and_then(Confusion::accuracy),
        "confusion": confusion,
        "per_class": confusion.map(Confusion::scores),
    });
    output.result(text, &value)
}

/// The counts in one line.
fn sentence(summary: &StreamSummary) -> String {
    let StreamSummary { classifier, reading, counts, seconds, .. } = summary;
    let bytes = match reading.bytes {
        0 => String::new(),
        bytes => format!(" ({} bytes)", grouped(bytes)),
    };
    let words = plural(reading.words as usize, "word");
    let counted = classifier.classes.iter().zip(&counts.classes);
    let mut listed: Vec<String> =
        counted.map(|(class, &count)| format!("{class:?} {}", grouped(count))).collect();
    if counts.not_known > 0 {
        listed.push(format!("unknown {}", grouped(counts.not_known)));
    }
    format!("{words}{bytes} in {seconds:.2} s: {}", listed.join(", "))
}

fn prediction(prediction: &ListedPrediction) -> Value {
    let ListedPrediction { place, tokens, label } = prediction;
    json!({ "place": place, "tokens": tokens, "label": label })
}
