//! Classifies sequences with an n-gram model, and shows the n-grams that decide.

use super::classify::{Classified, network_output, separator_hint, unseen_tokens};
use super::inputs::{self, InputSequence};
use super::report::{ReportedModel, report};
use super::{PredictArgs, check_labels, confusion, token_rule, verdict, warn_of_file_names};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::runs::SavedNgrams;
use serde_json::Value;
use srnn::learn::{NgramFile, NgramReader};
use srnn::task::Vocabulary;

/// The number of n-grams that are shown for a sequence.
const REASONS: usize = 3;

pub fn run(
    arguments: &PredictArgs,
    saved: &SavedNgrams,
    output: &Output,
) -> Result<Answer, Failure> {
    let NgramFile { alphabet, unknown, classes, .. } = &saved.file;
    let rule = token_rule(arguments, || saved.tokens())?;
    let inputs = inputs::collect(arguments, &rule, alphabet)?;
    warn_of_file_names(&arguments.inputs, output);
    let vocabulary = Vocabulary::new(alphabet.clone(), *unknown)?;
    let reader = saved.file.model.reader();
    let results: Vec<Classified> =
        inputs.iter().map(|input| classified(&saved.file, &reader, &vocabulary, input)).collect();
    let predicted = || results.iter().map(Classified::class);
    let labelled = predicted().flatten().count() as u64;
    let confusion = confusion(classes, &inputs, predicted())?;
    check_labels(arguments, confusion.as_ref())?;
    let model = ReportedModel { folder: &saved.folder, classes, vocabulary: &vocabulary };
    report(&model, &inputs, &results, confusion.as_ref(), Value::Null, output)?;
    Ok(verdict(arguments, labelled, confusion.as_ref(), output))
}

fn classified(
    file: &NgramFile,
    reader: &NgramReader<'_>,
    vocabulary: &Vocabulary,
    input: &InputSequence,
) -> Classified {
    let unseen = unseen_tokens(vocabulary, &input.tokens);
    let word = match vocabulary.encode(&input.tokens) {
        Ok(word) => word,
        Err(token) => {
            let network = Err(format!("{token}{}", separator_hint(vocabulary)));
            return Classified { network, unseen, automaton: None, reasons: vec![] };
        }
    };
    let logits = reader.logits(&word);
    let network = network_output(&logits);
    let reasons = network.as_ref().map_or(vec![], |network| {
        let found = reader.reasons(&word, network.class as usize, REASONS);
        let positive = found.into_iter().filter(|(_, weight)| *weight > 0.0);
        positive.map(|(feature, weight)| (file.feature_name(feature), weight)).collect()
    });
    Classified { network, unseen, automaton: None, reasons }
}
