//! One sequence, step by step.

use super::saving::Saving;
use super::{Explain, Subject, batch, brackets, measure_depth, pictures};
use crate::failure::Failure;
use crate::output::{Output, visible};
use crate::reading::divided;
use serde_json::{Map, Value, json};
use srnn::engine::Fields;
use srnn::engine::cpu::Cpu;
use srnn::engine::reference::log_softmax;
use srnn::explain::{Observation, Trajectory, Vector, counter, drift::norms, observe, trajectory};
use srnn::format::{aligned, plural};
use std::fmt::Write as _;

/// Shows it, and writes what --out asks for.
pub fn explain(
    arguments: &Explain,
    subject: &Subject,
    text: &str,
    output: &Output,
) -> Result<(), Failure> {
    let tokens = divided(text, &subject.rule, &subject.saved.file.alphabet);
    let word = subject.vocabulary.encode(&tokens).map_err(|unseen| {
        let remedy = "leave it out, or divide the sequence by another rule with --tokens";
        Failure::new(unseen, remedy)
    })?;
    let stand_ins = word.iter().zip(&tokens).filter(|&(&id, token)| subject.name(id) != **token);
    let stand_ins = stand_ins.count();
    if stand_ins > 0 {
        output.note(format!("warning: {} not seen in training", plural(stand_ins, "token")));
    }
    let model = &subject.saved.file.model;
    let mut engine = Cpu::new(model, 1);
    let fields = Fields { alpha: true, h: true, c: true, u: false };
    let mut seen = observe(&mut engine, &batch(&model.arch, &[word]), subject.layer, fields);
    if let Some(ids) = brackets(arguments, subject)? {
        measure_depth(&mut seen, ids);
    }
    let path = trajectory(&seen, 0, |id| subject.name(id));
    let files = match &arguments.out {
        Some(folder) => save(subject, &seen, &path, &Saving::new(folder, arguments.force, output))?,
        None => vec![],
    };
    let steps = steps(&seen, &path);
    let mut value = said(subject, &seen);
    value["model"] = json!(subject.saved.folder.display().to_string());
    value["tokens"] = json!(tokens);
    value["layer"] = json!(subject.layer);
    value["steps"] = steps.iter().map(Step::value).collect();
    value["files"] = json!(files);
    output.result(shown(&tokens, &value, &steps, &files), &value)
}

/// The label and the probability of each class.
fn said(subject: &Subject, seen: &Observation) -> Value {
    let classes = &subject.saved.file.classes;
    let Some(class) = seen.class(0) else {
        let reason = "the network gives no number: its weights are too large";
        return json!({ "label": null, "probabilities": null, "reason": reason });
    };
    let shares = log_softmax(&seen.logits[0]).into_iter().map(|log| json!(log.exp()));
    let shares: Map<String, Value> = classes.iter().cloned().zip(shares).collect();
    json!({ "label": classes[class as usize], "probabilities": shares, "reason": null })
}

/// What is shown of a step.
struct Step {
    token: String,
    /// The two most probable centroids; none for a vanilla layer.
    centroids: Vec<(usize, f64)>,
    h: f64,
    /// `None` for cells without a cell state.
    c: Option<f64>,
}

fn steps(seen: &Observation, path: &Trajectory) -> Vec<Step> {
    let h = norms(seen, Vector::H, 0);
    let c = if seen.c.is_empty() { vec![] } else { norms(seen, Vector::C, 0) };
    let step = |t: usize| Step {
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

impl Step {
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
        let mut cells = vec![number.to_string(), visible(&self.token).replace(['\n', '\t'], "␣")];
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

fn shown(tokens: &[String], value: &Value, steps: &[Step], files: &[String]) -> String {
    let single = tokens.iter().all(|token| token.chars().count() == 1);
    let word = match tokens.is_empty() {
        true => "ε".to_string(),
        false => tokens.join(if single { "" } else { " " }),
    };
    let shares = value["probabilities"].as_object().into_iter().flatten();
    let shares: Vec<String> =
        shares.map(|(class, p)| format!("{class} {:.4}", p.as_f64().unwrap_or(f64::NAN))).collect();
    let label = value["label"].as_str().unwrap_or("-");
    let what = value["reason"].as_str().map_or(shares.join(", "), String::from);
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

/// `trajectory.json` and the pictures.
fn save(
    subject: &Subject,
    seen: &Observation,
    path: &Trajectory,
    saving: &Saving,
) -> Result<Vec<String>, Failure> {
    let mut drawn = Vec::new();
    for (name, of) in [("hidden", Vector::H), ("cell", Vector::C)] {
        if !seen.vector(of).is_empty() {
            drawn.extend(pictures::units(name, of, path, &counting(seen, of)));
        }
    }
    if !path.alpha.is_empty() {
        drawn.push(("alpha.svg".into(), pictures::alpha(path)));
    }
    let mut value = serde_json::to_value(path)?;
    value["layer"] = json!(subject.layer);
    saving.save("trajectory.json", &value, drawn)
}

/// The unit that tells the depth best; none where depth was not measured.
fn counting(seen: &Observation, of: Vector) -> Vec<usize> {
    if seen.quantity.is_empty() {
        return vec![];
    }
    let config = counter::CounterConfig { of, best: 1, ..counter::CounterConfig::default() };
    let found = counter::counter(std::slice::from_ref(seen), &config);
    found.iter().map(|counter| counter.best[0].unit).collect()
}
