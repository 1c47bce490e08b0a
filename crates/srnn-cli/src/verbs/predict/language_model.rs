//! The words that a language model expects after a sentence, and its perplexity on the sentence.
//!
//! A language model reads words and gives every word a probability at every step. Other models with a
//! read-out at every step, as those of the copying task, are not language models.

use super::PredictArgs;
use super::classify::unseen_tokens;
use super::engine::EngineName;
use super::inputs::{self, InputSequence};
use super::report::{and_more, note_warnings, unseen_tokens_value};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::runs::SavedModel;
use serde_json::{Value, json};
use srnn::engine::cpu::Cpu;
use srnn::engine::model::{Input, ModelFile, When};
use srnn::engine::reference::{Reference, log_softmax};
use srnn::engine::{Batch, Fields, Inputs, LayerState, Mode, Real, Runner, Targets};
use srnn::task::Vocabulary;
use srnn::task::files::TokenRule;
use srnn::task::text::corpus::END_OF_LINE;
use std::convert::Infallible;

/// Steps per batch. Bounds the memory for long sentences: every step has a logit per word.
const WINDOW: usize = 64;

/// Next words that are shown.
const SHOWN: usize = 5;

/// What the model expects in a sentence, or why there is no prediction.
type Prediction = Result<WordPredictions, String>;

/// What the model expects in a sentence.
struct WordPredictions {
    /// ln p of each word, given the words before it.
    log_probabilities: Vec<f64>,
    /// The most probable words after the sentence: ids and probabilities.
    next: Vec<(u32, f64)>,
}

impl WordPredictions {
    /// The exponential of the mean of -ln p; `None` for an empty sentence.
    fn perplexity(&self) -> Option<f64> {
        let words = self.log_probabilities.len();
        (words > 0).then(|| (-self.log_probabilities.iter().sum::<f64>() / words as f64).exp())
    }
}

/// Whether a model predicts the next word at every step.
pub fn is_language_model(file: &ModelFile) -> bool {
    let arch = &file.model.arch;
    let plain_words = matches!(arch.input, Input::Tokens { start: false, end: false, .. });
    let every_step = arch.readout.when == When::EveryStep;
    plain_words && every_step && file.classes == file.alphabet && end_of_line(file).is_some()
}

/// The id of the word that a sentence is read after.
fn end_of_line(file: &ModelFile) -> Option<u32> {
    file.alphabet.iter().position(|word| word == END_OF_LINE).map(|id| id as u32)
}

/// Prints the next words and the perplexity of every sentence.
///
/// # Panics
/// If the model is not a language model.
pub fn run(
    arguments: &PredictArgs,
    saved: &SavedModel,
    rule: &TokenRule,
    output: &Output,
) -> Result<Answer, Failure> {
    if arguments.fail_under.is_some() {
        let message = format!("--fail-under: {} is a language model", saved.folder.display());
        return Err(Failure::new(message, "leave it out: there are no labels to compare with"));
    }
    let inputs = inputs::collect(arguments, rule, &saved.file.alphabet)?;
    super::warn_of_file_names(&arguments.inputs, output);
    let vocabulary = Vocabulary::new(saved.file.alphabet.clone(), saved.file.unknown)?;
    let predictions = predict(saved, &vocabulary, &inputs, arguments.engine);
    report(saved, &vocabulary, &inputs, &predictions, output)?;
    match predictions.iter().any(Result::is_ok) {
        true => Ok(Answer::Yes),
        false => {
            output.reason("no sentence got a prediction");
            Ok(Answer::No)
        }
    }
}

fn predict(
    saved: &SavedModel,
    vocabulary: &Vocabulary,
    inputs: &[InputSequence],
    engine: EngineName,
) -> Vec<Prediction> {
    let before = end_of_line(&saved.file).expect("a language model has an end of line");
    let model = &saved.file.model;
    match engine {
        EngineName::Cpu => predict_all(&mut Cpu::new(model, 1), vocabulary, before, inputs),
        EngineName::Reference => {
            predict_all(&mut Reference::new(&model.to_f64()), vocabulary, before, inputs)
        }
    }
}

fn predict_all<F: Real>(
    engine: &mut impl Runner<F, Error = Infallible>,
    vocabulary: &Vocabulary,
    before: u32,
    inputs: &[InputSequence],
) -> Vec<Prediction> {
    let prediction = |input: &InputSequence| {
        let words = vocabulary.encode(&input.tokens).map_err(|unseen| unseen.to_string())?;
        predict_words(engine, before, &words)
    };
    inputs.iter().map(prediction).collect()
}

/// Runs one sentence, which starts from the initial state and is read after the word `before`.
fn predict_words<F: Real>(
    engine: &mut impl Runner<F, Error = Infallible>,
    before: u32,
    words: &[u32],
) -> Prediction {
    let read: Vec<u32> = std::iter::once(before).chain(words.iter().copied()).collect();
    let classes = engine.arch().classes;
    let mut state = LayerState::zeros(engine.arch(), 1);
    let mut targets = words.iter();
    let (mut log_probabilities, mut next) = (Vec::with_capacity(words.len()), vec![]);
    for window in read.chunks(WINDOW) {
        let Ok(trace) = engine.trace(&batch(window, state), Mode::default(), Fields::default());
        for logits in trace.logits.chunks_exact(classes) {
            let logs = finite_log_softmax(logits)?;
            match targets.next() {
                Some(&word) => log_probabilities.push(logs[word as usize]),
                None => next = most_probable(&logs),
            }
        }
        state = trace.last;
    }
    Ok(WordPredictions { log_probabilities, next })
}

/// One row that starts in `initial`.
fn batch(words: &[u32], initial: Vec<LayerState>) -> Batch {
    Batch {
        offsets: vec![0, words.len()],
        input: Inputs::Tokens(words.to_vec()),
        targets: Targets::None,
        class_weights: vec![],
        initial,
    }
}

fn finite_log_softmax<F: Real>(logits: &[F]) -> Result<Vec<f64>, String> {
    let logits: Vec<f64> = logits.iter().map(|&x| x.to()).collect();
    match logits.iter().all(|x| x.is_finite()) {
        true => Ok(log_softmax(&logits)),
        false => Err("the network's output is not finite: its weights are too large".into()),
    }
}

/// The words with the largest probabilities; of equal ones the first.
fn most_probable(log_probabilities: &[f64]) -> Vec<(u32, f64)> {
    let mut words: Vec<(u32, f64)> = (0..).zip(log_probabilities.iter().copied()).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    words.truncate(SHOWN);
    words.into_iter().map(|(word, log)| (word, log.exp())).collect()
}

fn report(
    saved: &SavedModel,
    vocabulary: &Vocabulary,
    inputs: &[InputSequence],
    predictions: &[Prediction],
    output: &Output,
) -> Result<(), Failure> {
    let named = || inputs.iter().zip(predictions);
    let unknown = |(input, _): (&InputSequence, _)| unseen_warning(vocabulary, input);
    note_warnings(&named().filter_map(unknown).collect::<Vec<_>>(), output);
    if inputs.iter().any(|input| input.label.is_some()) {
        output.note("note: the labels of the file are not used: the model predicts words");
    }
    let lines: Vec<String> = named().map(|(i, p)| line(vocabulary, i, p)).collect();
    let values: Vec<Value> = named().map(|(i, p)| value(vocabulary, i, p)).collect();
    let result = json!({ "model": saved.folder.display().to_string(), "predictions": values });
    output.result(lines.join("\n"), &result)
}

fn unseen_warning(vocabulary: &Vocabulary, input: &InputSequence) -> Option<String> {
    let unseen = unseen_tokens(vocabulary, &input.tokens);
    let (position, token) = unseen.first()?;
    let unknown = &vocabulary.symbols()[vocabulary.unknown()? as usize];
    let more = and_more(unseen.len());
    let word = position + 1;
    Some(format!("{}: {token:?}, word {word}, is read as {unknown:?}{more}", input.place))
}

/// One line: sentence, perplexity, next words.
fn line(vocabulary: &Vocabulary, input: &InputSequence, prediction: &Prediction) -> String {
    let sentence = match input.tokens.is_empty() {
        true => "ε".to_string(),
        false => input.tokens.join(" "),
    };
    let found = match prediction {
        Ok(words) => {
            let perplexity = match words.perplexity() {
                Some(perplexity) => format!("perplexity: {perplexity:.2}"),
                None => "perplexity: -".into(),
            };
            let name = |id: u32| &vocabulary.symbols()[id as usize];
            let next = words.next.iter().map(|&(id, p)| format!("{} {p:.4}", name(id)));
            format!("{perplexity}\tnext words: {}", next.collect::<Vec<_>>().join(", "))
        }
        Err(reason) => format!("-\t{reason}"),
    };
    format!("{sentence}\t{found}").replace('\n', "\\n")
}

fn value(vocabulary: &Vocabulary, input: &InputSequence, prediction: &Prediction) -> Value {
    let found = prediction.as_ref().ok();
    let name = |id: u32| &vocabulary.symbols()[id as usize];
    let words = found.map(|found| {
        let word = |(token, log): (&String, &f64)| {
            json!({
                "word": token,
                "probability": log.exp(),
                "surprise": -log / std::f64::consts::LN_2,
            })
        };
        input.tokens.iter().zip(&found.log_probabilities).map(word).collect::<Vec<_>>()
    });
    let next = found.map(|found| {
        let word = |&(id, p): &(u32, f64)| json!({ "word": name(id), "probability": p });
        found.next.iter().map(word).collect::<Vec<_>>()
    });
    json!({
        "place": input.place,
        "tokens": input.tokens,
        "perplexity": found.and_then(WordPredictions::perplexity),
        "words": words,
        "next": next,
        "reason": prediction.as_ref().err(),
        "unseen": unseen_tokens_value(&unseen_tokens(vocabulary, &input.tokens)),
    })
}
