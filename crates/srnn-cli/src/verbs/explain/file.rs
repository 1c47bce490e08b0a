//! `explain` for all sequences of a file.

use super::centroids::{self, ExplainedCentroids};
use super::output_folder::OutputFolder;
use super::{
    ExplainArgs, ExplainedModel, accepting_class, batch, brackets, measure_depth, pictures,
};
use crate::failure::Failure;
use crate::output::Output;
use crate::reading::read_optional_labels;
use serde_json::{Value, json};
use srnn::engine::cpu::Cpu;
use srnn::engine::{Batch, Fields};
use srnn::explain::counter::{self, Counter};
use srnn::explain::drift::{Drift, Slope, drift};
use srnn::explain::pushdown::{self, Pushdown, PushdownNames};
use srnn::explain::usage::{CARRIED_FRACTION, Usage, usage};
use srnn::explain::{Observation, Vector, observe};
use srnn::format::{aligned, grouped, percent, plural};
use srnn::render::dfa::{self, DfaPicture};
use srnn::render::pushdown::{DepthWindow, condensed, unrolled};
use srnn::task::Dataset;
use srnn::task::files::ReadOptions;
use std::fmt::Write as _;
use std::path::Path;

/// Maximum steps of a batch, to bound the memory.
const STEPS: usize = 1 << 14;
/// Maximum steps for the analysis of depth, which keeps all of them in memory.
const DEPTH_STEPS: usize = 1 << 16;

/// The explanation of a file.
struct FileExplanation {
    sequences: usize,
    unreadable: usize,
    usage: Option<Usage>,
    centroids: Option<ExplainedCentroids>,
    drift: Drift,
    depth: Option<DepthExplanation>,
    /// The class whose states are drawn as accepting.
    accepting: Option<u32>,
}

/// How the network encodes the nesting depth.
struct DepthExplanation {
    /// The depth decoded from c, if the cell has one, and from h.
    counters: Vec<Counter>,
    machine: Option<Pushdown>,
    /// Number of sequences analysed.
    sequences: usize,
}

/// Prints the explanation of a file, and writes the files of --out.
pub fn explain(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    file: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let (words, unreadable) = words(arguments, explained, file)?;
    let batches = batches(explained, &words);
    let usage = explained.centroids().map(|_| usage(observations(explained, &batches, ALPHA)));
    let centroids = usage.as_ref().map(|usage| {
        centroids::explain(arguments, explained, observations(explained, &batches, ALPHA), usage)
    });
    let explanation = FileExplanation {
        sequences: words.len(),
        unreadable,
        usage,
        centroids,
        drift: drift(observations(explained, &batches, VECTORS), arguments.shortest),
        depth: depth(arguments, explained, &batches)?,
        accepting: accepting_class(arguments, &explained.saved.file.classes)?,
    };
    let mut value = explanation.value(explained);
    let files = match &arguments.out {
        Some(folder) => {
            let output_folder = OutputFolder::new(folder, arguments.force, output);
            output_folder.save(
                "explanation.json",
                &value,
                explanation.pictures(explained, output),
            )?
        }
        None => vec![],
    };
    let mut text = explanation.text(explained);
    files.iter().for_each(|file| writeln!(text, "written: {file}").expect("a string"));
    value["files"] = json!(files);
    output.result(text, &value)
}

const ALPHA: Fields = Fields { alpha: true, u: false, h: false, c: false };
const VECTORS: Fields = Fields { alpha: false, u: false, h: true, c: true };

/// Refuses a plain file of words without labels: they would be read as unknown labels of empty
/// sequences.
fn refuse_words_as_labels(data: &Dataset, known: &[String], file: &Path) -> Result<(), Failure> {
    let empty = data.sequences.iter().all(|sequence| sequence.tokens.is_empty());
    if !empty || data.classes.is_empty() || data.classes.iter().any(|label| known.contains(label)) {
        return Ok(());
    }
    let message = format!(
        "{}: every sequence is empty, and no label is a class of the model: the first is {:?}",
        file.display(),
        data.classes[0]
    );
    let remedy = "words without labels need a .csv file whose first line is `sequence`";
    Err(Failure::new(message, remedy))
}

/// The encoded sequences, and the number of those with unknown tokens.
fn words(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    file: &Path,
) -> Result<(Vec<Vec<u32>>, usize), Failure> {
    let options = ReadOptions { tokens: explained.rule.clone(), ..arguments.reading.options()? };
    let data = read_optional_labels(file, &options)?.data;
    refuse_words_as_labels(&data, &explained.saved.file.classes, file)?;
    let encode = |tokens: &[u32]| {
        let names: Vec<String> =
            tokens.iter().map(|&id| data.alphabet[id as usize].clone()).collect();
        explained.vocabulary.encode(&names).ok()
    };
    let all = data.sequences.len();
    let words: Vec<Vec<u32>> =
        data.sequences.iter().filter_map(|sequence| encode(&sequence.tokens)).collect();
    match words.is_empty() {
        true => Err(Failure::new(
            format!(
                "{}: none of {} has only tokens of the model",
                file.display(),
                plural(all, "sequence")
            ),
            "check that the tokens are those of the training data, or set --tokens",
        )),
        false => Ok((words.clone(), all - words.len())),
    }
}

fn batches(explained: &ExplainedModel, words: &[Vec<u32>]) -> Vec<Batch> {
    let (mut batches, mut first, mut steps) = (Vec::new(), 0, 0);
    for (at, word) in words.iter().enumerate() {
        steps += word.len() + 2;
        if steps > STEPS && at > first {
            batches.push(batch(explained.arch(), &words[first..at]));
            (first, steps) = (at, word.len() + 2);
        }
    }
    batches.push(batch(explained.arch(), &words[first..]));
    batches
}

/// The observations of all batches, computed one at a time.
fn observations<'a>(
    explained: &'a ExplainedModel,
    batches: &'a [Batch],
    fields: Fields,
) -> impl Iterator<Item = Observation> + 'a {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = Cpu::new(&explained.saved.file.model, threads);
    batches.iter().map(move |batch| observe(&mut engine, batch, explained.layer, fields))
}

/// How the depth is encoded; `None` without --open.
fn depth(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    batches: &[Batch],
) -> Result<Option<DepthExplanation>, Failure> {
    let Some(ids) = brackets(arguments, explained)? else { return Ok(None) };
    let vectors: &[Vector] = match explained.arch().layers[explained.layer].cell.has_memory() {
        true => &[Vector::C, Vector::H],
        false => &[Vector::H],
    };
    let fields = Fields { alpha: true, h: true, c: true, u: false };
    let mut seen: Vec<Observation> =
        observations(explained, &spread_out(batches), fields).collect();
    seen.iter_mut().for_each(|seen| measure_depth(seen, ids));
    let counter = |&of: &Vector| {
        counter::counter(&seen, &counter::CounterConfig { of, ..counter::CounterConfig::default() })
    };
    let counters: Option<Vec<Counter>> = vectors.iter().map(counter).collect();
    let counters = counters.ok_or_else(|| {
        let message = "no step has a depth from 0 to 5, or the states are not finite";
        Failure::new(message, "check --open and --close, and the model")
    })?;
    let [open, close] = ids.map(|id| explained.name(id));
    let names = PushdownNames {
        classes: &[&open, &close, "other"],
        class_of: &|id| ids.iter().position(|&one| one == id).unwrap_or(ids.len()),
        answers: &explained.saved.file.classes,
    };
    let machine = explained.centroids().and_then(|_| pushdown::pushdown(&seen, &names));
    let sequences = seen.iter().map(|seen| seen.offsets.len() - 1).sum();
    Ok(Some(DepthExplanation { counters, machine, sequences }))
}

/// Every n-th batch, so that at most about [`DEPTH_STEPS`] steps are kept. A prefix of the file
/// would not do: files are often sorted by class.
fn spread_out(batches: &[Batch]) -> Vec<Batch> {
    let steps: usize = batches.iter().map(Batch::steps).sum();
    let stride = steps.div_ceil(DEPTH_STEPS).max(1);
    batches.iter().step_by(stride).cloned().collect()
}

impl ExplainedModel {
    /// K, if the layer has centroids.
    fn centroids(&self) -> Option<usize> {
        self.arch().layers[self.layer].centroids.map(|centroids| centroids.k)
    }
}

impl FileExplanation {
    fn value(&self, explained: &ExplainedModel) -> Value {
        json!({
            "model": explained.saved.folder.display().to_string(),
            "layer": explained.layer,
            "sequences": self.sequences,
            "unreadable": self.unreadable,
            "usage": self.usage,
            "prototypes": self.centroids.as_ref().map(|centroids| centroids.value(explained)),
            "drift": self.drift,
            "counters": self.depth.as_ref().map(|depth| &depth.counters),
            "machine": self.depth.as_ref().map(|depth| &depth.machine),
            "depth_sequences": self.depth.as_ref().map(|depth| depth.sequences),
        })
    }

    fn text(&self, explained: &ExplainedModel) -> String {
        let mut text = format!("{} read", plural(self.sequences, "sequence"));
        if self.unreadable > 0 {
            let _ = write!(text, ", {} with unknown tokens left out", self.unreadable);
        }
        let _ = writeln!(text, "; layer {}", explained.layer);
        text.extend(self.usage.as_ref().map(usage_text));
        text.extend(self.centroids.as_ref().map(|centroids| centroids.text(explained)));
        text.push_str(&drift_text("h", self.drift.h));
        text.push_str(&drift_text("c", self.drift.c));
        if let Some(DepthExplanation { counters, sequences, .. }) = &self.depth {
            let all = self.sequences;
            text.push_str(&format!(
                "depth, on {sequences} of {all} sequences spread over the file; fitted on depths 0 to 5:\n"
            ));
            text.push_str(&counters_text(counters));
        }
        text
    }

    fn pictures(
        &self,
        explained: &ExplainedModel,
        output: &Output,
    ) -> Vec<(&str, pictures::SvgResult)> {
        let mut drawn = Vec::new();
        if let Some(usage) = &self.usage {
            drawn.push(("ranked.svg", pictures::ranked(usage)));
            drawn.push(("visits.svg", pictures::visits(usage)));
            let visited: Vec<usize> =
                (0..usage.visits.len()).filter(|&centroid| usage.visits[centroid] > 0).collect();
            drawn.push(("centroids.svg", pictures::centroids(&centroid_rows(explained), &visited)));
        }
        if let Some(centroids) = &self.centroids {
            drawn.push(("prototypes.svg", centroids.picture(explained)));
        }
        let Some(depth) = &self.depth else { return drawn };
        drawn.push(("counter.svg", pictures::counter(&depth.counters[0])));
        let Some(machine) = &depth.machine else { return drawn };
        // If no class is named like "accept", no state is drawn as accepting.
        let accepting = self.accepting.map_or(usize::MAX, |at| at as usize);
        let window = DepthWindow { accepting, ..DepthWindow::default() };
        // At rarely seen depths, every transition has a large share.
        let whole = DepthWindow { deepest: i64::MAX, min_fraction: 0.1, ..window.clone() };
        let title = |title: &str, window: &DepthWindow, picture| {
            let least = 100.0 * window.min_fraction;
            let title =
                format!("{title}; without transitions under {least} % of their depth and token");
            DfaPicture { title, ..picture }
        };
        let machines = [
            ("machine.svg", title("Token / change of depth", &whole, condensed(machine, &whole))),
            ("unrolled.svg", title("Centroid and depth", &window, unrolled(machine, &window))),
        ];
        for (name, picture) in machines {
            match dfa::svg(&picture) {
                Ok(picture) => drawn.push((name, Ok(picture))),
                Err(why) => output.note(format!("warning: no {name}: {why}")),
            }
        }
        drawn
    }
}

/// The rows of S, one per centroid.
fn centroid_rows(explained: &ExplainedModel) -> Vec<Vec<f64>> {
    let model = &explained.saved.file.model;
    let units = model.arch.layers[explained.layer].units;
    let values = &model.params[model.layout().layers[explained.layer].centroids.clone()];
    values.chunks(units).map(|row| row.iter().map(|&value| value.into()).collect()).collect()
}

fn usage_text(usage: &Usage) -> String {
    let row = |(centroid, (&visits, &mean)): (usize, (&u64, &f64))| {
        let part = visits as f64 / usage.steps.max(1) as f64;
        (visits, vec![centroid.to_string(), percent(part), format!("{mean:.3}")])
    };
    let each = usage.visits.iter().zip(&usage.mean);
    let mut rows: Vec<(u64, Vec<String>)> = each.enumerate().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    rows.truncate(usage.carrying.max(10));
    rows.retain(|row| row.0 > 0);
    let mut table = vec![["centroid", "most probable", "mean α"].map(String::from).to_vec()];
    table.extend(rows.into_iter().map(|row| row.1));
    let ranked: Vec<String> =
        usage.ranked.iter().take(5).map(|mean| format!("{mean:.3}")).collect();
    format!(
        "{}{} of {} centroids cover {:.0} % of {} steps\nmean α by rank: {}; mean entropy {:.3} nats\n",
        aligned(&table),
        usage.carrying,
        usage.visits.len(),
        100.0 * CARRIED_FRACTION,
        grouped(usage.steps),
        ranked.join(" "),
        usage.entropy
    )
}

fn drift_text(name: &str, slope: Option<Slope>) -> String {
    slope.map_or(String::new(), |slope| {
        let Slope { mean, spread, norm, rows } = slope;
        let rows = plural(rows, "long sequence");
        format!("drift of ‖{name}‖: {mean:+.5} per step (spread {spread:.5}, mean norm {norm:.3}, {rows})\n")
    })
}

/// How well each vector encodes the depth, and the errors of the first vector at every depth.
fn counters_text(counters: &[Counter]) -> String {
    let mut text = String::new();
    for counter in counters {
        let (best, v) = (&counter.best[0], pictures::letter(counter.of));
        let (slope, unit, intercept) = (best.slope, best.unit, best.intercept);
        let (one, all) = (best.fit.r2, counter.readout.fit.r2);
        let _ = writeln!(
            text,
            "depth ≈ {slope:.3}·{v}[{unit}] {intercept:+.3}: R² {one:.4}; from all of {v}: R² {all:.4}"
        );
    }
    let header = ["depth", "steps", "one unit: error", "missed", "all units: error", "missed"];
    let mut rows = vec![header.map(String::from).to_vec()];
    let (best, readout) = (&counters[0].best[0].fit, &counters[0].readout.fit);
    let each = best.by_quantity.iter().zip(&readout.by_quantity);
    // Depth −1 means one closing token too many; the string has no depth from there on.
    for (one, all) in each.filter(|(one, _)| one.quantity >= 0) {
        let mut row = vec![one.quantity.to_string(), grouped(one.steps)];
        for at in [one, all] {
            row.extend([format!("{:.3}", at.error), percent(at.missed)]);
        }
        rows.push(row);
    }
    text + &aligned(&rows)
}
