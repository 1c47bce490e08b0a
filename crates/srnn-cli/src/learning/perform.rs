//! The job itself, from an open run folder to the answer.

use super::automata::write_automata;
use super::folder::{RunFolder, put};
use super::labels::{spoken_for, wrong_labels};
use super::material::Material;
use super::metrics::whole;
use super::report::report;
use super::result::{Account, result};
use super::settings::Resolved;
use super::watcher::{Stop, Watcher};
use crate::automaton::save_automaton;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::proof::confirmed;
use serde_json::json;
use srnn::certify::{Certificate, Search, Verdict};
use srnn::engine::Hardware;
use srnn::learn::{Labels, LearnError, Learned, Lesson, Trust, extraction_for, learn};
use srnn::model::ModelFile;
use srnn_automata::Partial;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What is to be done.
pub struct Order {
    /// Everything that decides the outcome.
    pub resolved: Resolved,
    /// The data.
    pub material: Material,
    /// Where it goes. A run that was begun there goes on.
    pub folder: RunFolder,
    /// What trains.
    pub hardware: Hardware,
    /// When the program began to work.
    pub began: Instant,
}

/// Trains, selects, extracts, writes, and says what came of it.
pub fn perform(order: &Order, output: &Output) -> Result<Answer, Failure> {
    let stop = Arc::new(Stop::default());
    listen(&stop, order.folder.path(), output)?;
    let watcher = Watcher::new(&order.folder, output, stop, order.began)?;
    let learned = learn(&lesson(order), &watcher);
    if let Some(trouble) = watcher.trouble() {
        return Err(trouble);
    }
    let learned = learned.map_err(|error| explain(error, order.folder.path()))?;
    watcher.mark("write");
    write(order, &learned)?;
    let account = Account { order, learned: &learned, seconds: watcher.seconds() };
    let value = result(&account);
    let text = report(&account)?;
    put(&order.folder.result(), &format!("{value:#}\n"))?;
    output.result(text, &value)?;
    Ok(answer(&account, output))
}

/// Ctrl-C while networks are trained: end with a checkpoint; twice: end at once, since checkpoints
/// are whole at any moment. Later there is nothing to save: what is not written yet follows from
/// the checkpoints.
fn listen(stop: &Arc<Stop>, run: &Path, output: &Output) -> Result<(), Failure> {
    let (stop, run, output) = (stop.clone(), run.display().to_string(), *output);
    ctrlc::set_handler(move || {
        if stop.trained.load(Ordering::Relaxed) {
            let message = format!("{run}: the training is kept, the automaton not read to the end");
            output.failure(&Failure::interrupted(message, format!("srnn resume {run}")));
            std::process::exit(130);
        }
        if stop.asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(())
}

fn lesson(order: &Order) -> Lesson<'_> {
    Lesson {
        split: &order.material.split,
        recipe: &order.resolved.recipe,
        seeds: &order.resolved.seeds,
        hardware: &order.hardware,
        truth: order.material.truth.as_ref(),
        extraction: extraction_for(order.material.split.train.alphabet.len()),
        trust: match order.resolved.data.trust_labels {
            Some(true) => Trust::Always,
            _ => Trust::WhileTheyFit,
        },
        proof: Search::default(),
    }
}

fn explain(error: LearnError, run: &Path) -> Failure {
    let run = run.display();
    match error {
        LearnError::Interrupted => Failure::interrupted(
            format!("{run}: a checkpoint of every seed is written"),
            format!("srnn resume {run}"),
        ),
        LearnError::NoResult { .. } => {
            let remedy = "lower learning_rate in [train] of a --config, or use --recipe default";
            Failure::new(error, remedy)
        }
        LearnError::Alphabet(_) | LearnError::Train(_) => Failure::from(error),
    }
}

fn write(order: &Order, learned: &Learned) -> Result<(), Failure> {
    let folder = &order.folder;
    let train = &order.material.split.train;
    let model = ModelFile {
        model: learned.kept().model.clone(),
        alphabet: train.alphabet.clone(),
        unknown: order.material.unknown,
        classes: train.classes.clone(),
    };
    model.save(&folder.model())?;
    if let Ok(extraction) = &learned.extraction {
        write_automata(&folder.automaton(), extraction, &train.classes, &order.resolved.source)?;
    }
    if let Some(proof) = learned.verdict.as_ref().and_then(Verdict::proof) {
        let certificate = Certificate::new(&model, proof).to_json();
        confirmed(&folder.model(), &certificate)?;
        put(&folder.certificate(), &certificate)?;
        // Where the cover fell short of it, the automaton that is proved takes its place.
        let kept = learned.extraction.as_ref().ok().and_then(|found| found.cover.kept.as_ref());
        if kept.is_none_or(|kept| kept.minimal != proof.automaton) {
            let (stem, title) =
                (folder.automaton().join("automaton"), order.resolved.source.title());
            save_automaton(&stem, Partial::from(&proof.automaton), &train.classes, &title)?;
        }
    }
    write_labels(order, learned)?;
    put(&folder.metrics(), &whole(learned))
}

/// What was made of labels that no network is right on.
fn write_labels(order: &Order, learned: &Learned) -> Result<(), Failure> {
    if let Labels::Corrected(correction) = &learned.labels {
        let lines = wrong_labels(&order.material, correction);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        put(&order.folder.wrong_labels(), &text)?;
    }
    if let Some((name, automaton)) = spoken_for(&learned.labels) {
        let title = format!("{}: {}", order.resolved.source.title(), name.replace('_', " "));
        let classes = &order.material.split.train.classes;
        let stem = order.folder.automaton().join(name);
        save_automaton(&stem, Partial::from(automaton), classes, &title)?;
    }
    Ok(())
}

fn answer(account: &Account, output: &Output) -> Answer {
    let must_certify = account.order.resolved.must_certify == Some(true);
    if must_certify && account.learned.verdict.as_ref().and_then(Verdict::proof).is_none() {
        output.reason("not certified, and --must-certify asks for it");
        return Answer::No;
    }
    let Some(least) = account.order.resolved.fail_under else { return Answer::Yes };
    let accuracy = account.validation().accuracy().unwrap_or(0.0);
    match accuracy < least {
        true => {
            output.reason(format!("validation accuracy {accuracy} is below --fail-under {least}"));
            Answer::No
        }
        false => Answer::Yes,
    }
}

/// What a finished run says when it is asked to go on.
pub fn finished(folder: &RunFolder, output: &Output) -> Result<Option<Answer>, Failure> {
    let path = folder.result();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| Failure::new(format!("{}: {error}", path.display()), ""))?,
    };
    let value = serde_json::from_str(&text).map_err(|error| {
        let remedy = format!("remove {} and resume: the checkpoints have it all", path.display());
        Failure::new(format!("{}: {error}", path.display()), remedy)
    })?;
    let run = folder.path().display();
    output.result(
        format!("{run}: this run is finished; {} says what came of it", path.display()),
        &value,
    )?;
    let passed = value.get("passed") != Some(&json!(false));
    Ok(Some(if passed { Answer::Yes } else { Answer::No }))
}
