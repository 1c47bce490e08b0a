//! How surprising each step of a sequence is to a model of `learn --next`.

use super::PredictArgs;
use super::engine::EngineName;
use super::inputs::{self, InputSequence};
use super::report::note_warnings;
use crate::failure::{Answer, Failure};
use crate::files::STDIO_PATH;
use crate::output::Output;
use crate::reading::parse_token_rule;
use crate::runs;
use crate::verbs::learn::threads;
use serde_json::{Value, json};
use srnn::format::{aligned, grouped, percent, plural};
use srnn::next::{AnomalyFlags, AnomalyThresholds, NextFile, SequenceSurprise, StepSurprise};
use srnn::task::files::{ReadOptions, TokenRule, read_unlabelled};
use std::path::{Path, PathBuf};

/// Expected tokens that are shown for a step.
const SHOWN: usize = 3;

/// The folder of the model in a run folder or a model folder, if it predicts the next token.
pub fn model_folder(path: &Path) -> Option<PathBuf> {
    [path.to_path_buf(), path.join("model")]
        .into_iter()
        .find(|folder| folder.join(NextFile::NAME).is_file())
}

/// A sequence with its surprises.
struct Surprised<'a> {
    input: &'a InputSequence,
    ids: Vec<u32>,
    surprise: SequenceSurprise,
    flags: AnomalyFlags,
}

/// Prints the surprises of every sequence.
pub fn run(arguments: &PredictArgs, folder: &Path, output: &Output) -> Result<Answer, Failure> {
    refuse_other_options(arguments, folder)?;
    let file = runs::load_next(folder)?;
    let inputs = collect(arguments, &file)?;
    super::warn_of_file_names(&arguments.inputs, output);
    let ids: Vec<Vec<u32>> =
        inputs.iter().map(|input| file.vocabulary.encode(&input.tokens)).collect();
    let surprises = file.model.surprises(&ids, &file.vocabulary, threads(None)?);
    let found: Vec<Surprised<'_>> = inputs
        .iter()
        .zip(ids)
        .zip(surprises)
        .map(|((input, ids), surprise)| {
            let flags = file.thresholds.flags(&surprise);
            Surprised { input, ids, surprise, flags }
        })
        .collect();
    note_warnings(&found.iter().filter_map(|s| unseen(&file, s)).collect::<Vec<_>>(), output);
    let text = match arguments.inputs.is_empty() {
        true => lines(&file, &found),
        false => found.iter().map(|s| steps_text(&file, s)).collect::<Vec<_>>().join("\n\n"),
    };
    output.note(summary_line(&file.thresholds, &found));
    output.result(text, &value(&file, folder, &found))?;
    Ok(Answer::Yes)
}

fn refuse_other_options(arguments: &PredictArgs, folder: &Path) -> Result<(), Failure> {
    let refuse = |what: &str, remedy: &str| {
        let message = format!("{what}: {} predicts the next token", folder.display());
        Err(Failure::new(message, remedy))
    };
    match arguments {
        PredictArgs { fail_under: Some(_), .. } => {
            refuse("--fail-under", "leave it out: there are no labels to compare with")
        }
        PredictArgs { engine: EngineName::Reference, .. } => {
            refuse("--engine reference", "leave it out: the engine is cpu")
        }
        _ => Ok(()),
    }
}

/// Sequences of arguments, of a data file or of lines. A file is read as `learn --next` reads it.
fn collect(arguments: &PredictArgs, file: &NextFile) -> Result<Vec<InputSequence>, Failure> {
    let rule = match &arguments.reading.tokens {
        Some(text) => parse_token_rule(text)?,
        None => file.tokens.clone(),
    };
    match &arguments.file {
        Some(path) if !arguments.lines && path.as_os_str() != STDIO_PATH => {
            table(arguments, path, rule)
        }
        _ => inputs::collect(arguments, &rule, &file.vocabulary.alphabet),
    }
}

fn table(
    arguments: &PredictArgs,
    path: &Path,
    tokens: TokenRule,
) -> Result<Vec<InputSequence>, Failure> {
    inputs::check_rule(&tokens)?;
    let options = ReadOptions { tokens, ..arguments.reading.options()? };
    Ok(inputs::sequences(&read_unlabelled(path, &options)?))
}

/// A warning about tokens that training did not show.
fn unseen(file: &NextFile, found: &Surprised<'_>) -> Option<String> {
    let at = found.ids.iter().position(|&id| Some(id) == file.vocabulary.unseen())?;
    let (place, token) = (&found.input.place, &found.input.tokens[at]);
    Some(format!("{place}: {token:?}, token {}, did not occur in training", at + 1))
}

/// The token of a step as it was given, or the end.
fn name<'s>(file: &'s NextFile, found: &'s Surprised<'_>, step: usize) -> &'s str {
    match found.input.tokens.get(step) {
        Some(token) => token,
        None => &file.vocabulary.alphabet[file.vocabulary.end() as usize],
    }
}

/// A table of the steps, the most surprising step, and the verdict.
fn steps_text(file: &NextFile, found: &Surprised<'_>) -> String {
    let expected = file.model.expected(&found.ids, &file.vocabulary, SHOWN);
    let expected_text = |step: usize| {
        let token = |&(id, p): &(u32, f64)| {
            format!("{} {}", file.vocabulary.alphabet[id as usize], percent(p))
        };
        expected[step].iter().map(token).collect::<Vec<_>>().join(", ")
    };
    let mut rows =
        vec![["step", "token", "bits", "rank", "", "expected"].map(String::from).to_vec()];
    for (step, StepSurprise { bits, rank, .. }) in found.surprise.steps.iter().enumerate() {
        let surprising = file.thresholds.is_surprising(&found.surprise.steps[step]);
        rows.push(vec![
            (step + 1).to_string(),
            name(file, found, step).into(),
            format!("{bits:.2}"),
            rank.to_string(),
            if surprising { "!".into() } else { String::new() },
            expected_text(step),
        ]);
    }
    let worst = found.surprise.most_surprising();
    format!(
        "{}most surprising: step {}, {:?}: {:.2} bits; expected: {}\n{}",
        aligned(&rows),
        worst + 1,
        name(file, found, worst),
        found.surprise.max_bits(),
        expected_text(worst),
        verdict_text(&file.thresholds, found)
    )
    .replace('\r', "\\r")
}

fn verdict_text(thresholds: &AnomalyThresholds, found: &Surprised<'_>) -> String {
    let AnomalyThresholds { top_g, max_bits, mean_bits, .. } = thresholds;
    let Surprised { surprise, flags, .. } = found;
    format!(
        "{}: largest surprise {:.2} bits, threshold {max_bits:.2} (by rank: {}, {} of top \
         {top_g}; by mean: {}, {:.3} of {mean_bits:.3} bits)",
        verdict(flags.max),
        surprise.max_bits(),
        verdict(flags.top_g),
        surprise.worst_rank(),
        verdict(flags.mean),
        surprise.mean_bits()
    )
}

fn verdict(anomalous: bool) -> &'static str {
    if anomalous { "anomalous" } else { "normal" }
}

/// One line per sequence, between tabs: place, verdict, bits, step and token of the most surprising
/// step, mean bits.
fn lines(file: &NextFile, found: &[Surprised<'_>]) -> String {
    let line = |found: &Surprised<'_>| {
        let worst = found.surprise.most_surprising();
        let text = format!(
            "{}\t{}\t{:.2} bits at step {}\t{}\tmean {:.3}",
            found.input.place,
            verdict(found.flags.max),
            found.surprise.max_bits(),
            worst + 1,
            name(file, found, worst),
            found.surprise.mean_bits()
        );
        text.replace('\n', "\\n")
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn summary_line(thresholds: &AnomalyThresholds, found: &[Surprised<'_>]) -> String {
    let AnomalyThresholds { top_g, max_bits, mean_bits, .. } = thresholds;
    let [by_max, by_rank, by_mean] = counts(found).map(|count| grouped(count as u64));
    format!(
        "anomalous: {by_max} of {} (a step above {max_bits:.2} bits); by rank, top {top_g}: \
         {by_rank}; by a mean above {mean_bits:.3} bits: {by_mean}",
        plural(found.len(), "sequence")
    )
}

/// The numbers of anomalous sequences by the largest surprise, by rank and by the mean.
fn counts(found: &[Surprised<'_>]) -> [usize; 3] {
    let count = |flag: fn(&AnomalyFlags) -> bool| found.iter().filter(|s| flag(&s.flags)).count();
    [count(|f| f.max), count(|f| f.top_g), count(|f| f.mean)]
}

fn value(file: &NextFile, folder: &Path, found: &[Surprised<'_>]) -> Value {
    let [max, top_g, mean] = counts(found);
    json!({
        "model": folder.display().to_string(),
        "kind": file.kind,
        "thresholds": file.thresholds,
        "sequences": found.len(),
        "anomalous": { "max": max, "top_g": top_g, "mean": mean },
        "predictions": found.iter().map(|s| sequence_value(file, s)).collect::<Vec<_>>(),
    })
}

fn sequence_value(file: &NextFile, found: &Surprised<'_>) -> Value {
    let Surprised { input, surprise, flags, .. } = found;
    let step = |(number, step): (usize, &StepSurprise)| {
        let StepSurprise { bits, rank, .. } = step;
        json!({ "token": name(file, found, number), "bits": bits, "rank": rank })
    };
    let worst = surprise.most_surprising();
    json!({
        "place": input.place,
        "tokens": input.tokens,
        "steps": surprise.steps.iter().enumerate().map(step).collect::<Vec<_>>(),
        "most_surprising": {
            "step": worst + 1,
            "token": name(file, found, worst),
            "bits": surprise.max_bits(),
        },
        "mean_bits": surprise.mean_bits(),
        "worst_rank": surprise.worst_rank(),
        "anomalous": flags.max,
        "flags": flags,
        "unseen": unseen(file, found).is_some(),
    })
}
