//! `explain` for one sequence, step by step.

use super::output_folder::OutputFolder;
use super::{ExplainArgs, ExplainedModel, batch, brackets, measure_depth, pictures};
use crate::failure::Failure;
use crate::output::{Output, escape_control};
use crate::reading::split_tokens;
use serde_json::{Map, Value, json};
use srnn::engine::Fields;
use srnn::engine::cpu::Cpu;
use srnn::engine::reference::log_softmax;
use srnn::explain::{Observation, Trajectory, Vector, counter, drift::norms, observe, trajectory};
use srnn::format::{aligned, plural};
use std::fmt::Write as _;

/// Prints the explanation of a sequence, and writes the files of --out.
pub fn explain(
    arguments: &ExplainArgs,
    explained: &ExplainedModel,
    text: &str,
    output: &Output,
) -> Result<(), Failure> {
    let tokens = split_tokens(text, &explained.rule, &explained.saved.file.alphabet);
    let word = explained.vocabulary.encode(&tokens).map_err(|unseen| {
        let remedy = "leave it out, or split the sequence by another rule with --tokens";
        Failure::new(unseen, remedy)
    })?;
    let unseen = word.iter().zip(&tokens).filter(|&(&id, token)| explained.name(id) != **token);
    let unseen = unseen.count();
    if unseen > 0 {
        output.note(format!("warning: {} not seen in training", plural(unseen, "token")));
    }
    let model = &explained.saved.file.model;
    let mut engine = Cpu::new(model, 1);
    let fields = Fields { alpha: true, h: true, c: true, u: false };
    let mut seen = observe(&mut engine, &batch(&model.arch, &[word]), explained.layer, fields);
    if let Some(ids) = brackets(arguments, explained)? {
        measure_depth(&mut seen, ids);
    }
    let path = trajectory(&seen, 0, |id| explained.name(id));
    let files = match &arguments.out {
        Some(folder) => {
            save(explained, &seen, &path, &OutputFolder::new(folder, arguments.force, output))?
        }
        None => vec![],
    };
    let steps = steps(&seen, &path);
    let mut value = classification(explained, &seen);
    value["model"] = json!(explained.saved.folder.display().to_string());
    value["tokens"] = json!(tokens);
    value["layer"] = json!(explained.layer);
    value["steps"] = steps.iter().map(StepRow::value).collect();
    value["files"] = json!(files);
    output.result(result_text(&tokens, &value, &steps, &files), &value)
}

/// The label and the probability of each class.
fn classification(explained: &ExplainedModel, seen: &Observation) -> Value {
    let classes = &explained.saved.file.classes;
    let Some(class) = seen.class(0) else {
        let reason = "the network's output is not finite: its weights are too large";
        return json!({ "label": null, "probabilities": null, "reason": reason });
    };
    let probabilities = log_softmax(&seen.logits[0]).into_iter().map(|log| json!(log.exp()));
    let probabilities: Map<String, Value> = classes.iter().cloned().zip(probabilities).collect();
    json!({ "label": classes[class as usize], "probabilities": probabilities, "reason": null })
}

/// The row of the table for one step.
struct StepRow {
    token: String,
    /// The two most probable centroids with their α; empty for a plain layer.
    centroids: Vec<(usize, f64)>,
    /// ‖h‖.
    h: f64,
    /// ‖c‖; `None` for cells without a cell state.
    c: Option<f64>,
}

fn steps(seen: &Observation, path: &Trajectory) -> Vec<StepRow> {
    let h = norms(seen, Vector::H, 0);
    let c = if seen.c.is_empty() { vec![] } else { norms(seen, Vector::C, 0) };
    let step = |t: usize| StepRow {
        token: path.tokens[t].clone(),
        centroids: path.alpha.get(t).map_or(vec![], |alpha| two_largest(alpha)),
        h: h[t],
        c: c.get(t).copied(),
    };
    (0..h.len()).map(step).collect()
}

fn two_largest(alpha: &[f64]) -> Vec<(usize, f64)> {
    let mut ranked: Vec<(usize, f64)> = alpha.iter().copied().enumerate().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.truncate(2);
    ranked
}

impl StepRow {
    fn value(&self) -> Value {
        let alpha =
            |&(centroid, alpha): &(usize, f64)| json!({ "centroid": centroid, "alpha": alpha });
        json!({
            "token": self.token,
            "centroid": self.centroids.first().map(|first| first.0),
            "largest": self.centroids.iter().map(alpha).collect::<Vec<_>>(),
            "h_norm": self.h,
            "c_norm": self.c,
        })
    }

    fn cells(&self, number: usize) -> Vec<String> {
        let mut cells =
            vec![number.to_string(), escape_control(&self.token).replace(['\n', '\t'], "␣")];
        if let Some((first, _)) = self.centroids.first() {
            let alpha = |&(centroid, alpha): &(usize, f64)| format!("{centroid}: {alpha:.3}");
            let alphas: Vec<String> = self.centroids.iter().map(alpha).collect();
            cells.extend([first.to_string(), alphas.join("  ")]);
        }
        cells.push(format!("{:.3}", self.h));
        cells.extend(self.c.map(|c| format!("{c:.3}")));
        cells
    }
}

fn result_text(tokens: &[String], value: &Value, steps: &[StepRow], files: &[String]) -> String {
    let single = tokens.iter().all(|token| token.chars().count() == 1);
    let word = match tokens.is_empty() {
        true => "ε".to_string(),
        false => tokens.join(if single { "" } else { " " }),
    };
    let probabilities = value["probabilities"].as_object().into_iter().flatten();
    let probabilities: Vec<String> = probabilities
        .map(|(class, p)| format!("{class} {:.4}", p.as_f64().unwrap_or(f64::NAN)))
        .collect();
    let label = value["label"].as_str().unwrap_or("-");
    let what = value["reason"].as_str().map_or(probabilities.join(", "), String::from);
    let mut text = format!("{word}\t{label}\t{what}").replace('\n', "\\n") + "\n";
    let mut header = vec!["step", "token"];
    if steps.iter().any(|step| !step.centroids.is_empty()) {
        header.extend(["centroid", "α (two largest)"]);
    }
    header.push("‖h‖");
    header.extend(steps.iter().find_map(|step| step.c).map(|_| "‖c‖"));
    let mut rows = vec![header.into_iter().map(String::from).collect()];
    rows.extend(steps.iter().enumerate().map(|(number, step)| step.cells(number)));
    text.push_str(&aligned(&rows));
    files.iter().for_each(|file| writeln!(text, "written: {file}").expect("a string"));
    text
}

/// Writes `trajectory.json` and the pictures.
fn save(
    explained: &ExplainedModel,
    seen: &Observation,
    path: &Trajectory,
    output_folder: &OutputFolder,
) -> Result<Vec<String>, Failure> {
    let mut drawn = Vec::new();
    for (name, of) in [("hidden", Vector::H), ("cell", Vector::C)] {
        if !seen.vector(of).is_empty() {
            drawn.extend(pictures::units(name, of, path, &depth_units(seen, of)));
        }
    }
    if !path.alpha.is_empty() {
        drawn.push(("alpha.svg".into(), pictures::alpha(path)));
    }
    let mut value = serde_json::to_value(path)?;
    value["layer"] = json!(explained.layer);
    output_folder.save("trajectory.json", &value, drawn)
}

/// The unit that encodes the depth best; none if the depth was not measured.
fn depth_units(seen: &Observation, of: Vector) -> Vec<usize> {
    if seen.quantity.is_empty() {
        return vec![];
    }
    let config = counter::CounterConfig { of, best: 1, ..counter::CounterConfig::default() };
    let found = counter::counter(std::slice::from_ref(seen), &config);
    found.iter().map(|counter| counter.best[0].unit).collect()
}
