//! `explain` for one sequence and an n-gram model: the n-grams that decide, and the edit that changes
//! the answer.

use super::ExplainArgs;
use super::answer::{ExplainedWord, flip_of_model, flip_text, flip_value, moved, probabilities};
use crate::failure::Failure;
use crate::output::Output;
use crate::reading::{parse_token_rule, split_tokens};
use crate::runs::SavedNgrams;
use serde_json::{Value, json};
use srnn::explain::influence::{ClassAnswer, answer, influence};
use srnn::format::aligned;
use srnn::learn::{NgramFile, NgramReader};
use srnn::task::Vocabulary;
use std::slice;

/// The number of n-grams that are shown.
const REASONS: usize = 10;

/// Prints the explanation of a sequence.
pub fn explain(
    arguments: &ExplainArgs,
    saved: &SavedNgrams,
    text: &str,
    output: &Output,
) -> Result<(), Failure> {
    let NgramFile { alphabet, unknown, classes, model, .. } = &saved.file;
    let rule = match &arguments.reading.tokens {
        Some(text) => parse_token_rule(text)?,
        None => saved.tokens()?,
    };
    let tokens = split_tokens(text, &rule, alphabet);
    let word = Vocabulary::new(alphabet.clone(), *unknown)?.encode(&tokens).map_err(|unseen| {
        let remedy = "leave it out, or split the sequence by another rule with --tokens";
        Failure::new(unseen, remedy)
    })?;
    let explained = ExplainedWord { symbols: alphabet, classes, tokens, word };
    let reader = model.reader();
    let mut logits = |words: &[Vec<u32>]| -> Vec<Vec<f64>> {
        words.iter().map(|word| reader.logits(word)).collect()
    };
    let given = answer(&logits(slice::from_ref(&explained.word))[0]);
    let influence = influence(&mut logits, &explained.word);
    let flip = flip_of_model(None, &mut logits, &explained, *unknown);
    let (moved, moved_value) = moved(&explained, given.class, influence.as_ref(), None);
    let reasons = reasons(saved, &reader, &explained, &given);
    let value = json!({
        "model": saved.folder.display().to_string(),
        "tokens": explained.tokens,
        "label": given.class.map(|class| explained.class(class)),
        "probabilities": probabilities(&explained, &given),
        "reasons": reasons.iter().map(|(feature, weight)| {
            json!({ "feature": feature, "weight": weight })
        }).collect::<Value>(),
        "moved": moved_value,
        "flip": flip_value(&explained, &flip),
    });
    let mut shown = headline(&explained, &given);
    let mut rows = vec![["n-gram", "weight"].map(String::from).to_vec()];
    let row = |(name, weight): &(String, f64)| vec![format!("{name:?}"), format!("{weight:+.3}")];
    rows.extend(reasons.iter().map(row));
    shown.push_str(&aligned(&rows));
    shown.push_str(&moved);
    shown.push_str(&flip_text(&explained, &flip));
    output.result(shown, &value)
}

/// The sequence, its class, and the probability of each class.
pub fn headline(explained: &ExplainedWord<'_>, given: &ClassAnswer) -> String {
    let listed = explained.classes.iter().zip(&given.probabilities);
    let listed: Vec<String> = listed.map(|(class, p)| format!("{class} {p:.4}")).collect();
    let label = given.class.map_or("-", |class| explained.class(class));
    format!("{}\t{label}\t{}\n", explained.text(&explained.tokens), listed.join(", "))
}

/// The n-grams that speak most for the class, with their weights.
fn reasons(
    saved: &SavedNgrams,
    reader: &NgramReader<'_>,
    explained: &ExplainedWord<'_>,
    given: &ClassAnswer,
) -> Vec<(String, f64)> {
    let Some(class) = given.class else { return vec![] };
    let found = reader.reasons(&explained.word, class as usize, REASONS);
    let positive = found.into_iter().filter(|(_, weight)| *weight > 0.0);
    positive.map(|(feature, weight)| (saved.file.feature_name(feature), weight)).collect()
}
