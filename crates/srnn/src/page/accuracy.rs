//! The accuracy on held-out data beside the baselines, with intervals.

use super::escape::html_text;
use super::headline::{conclusion, model_name};
use super::html::{Open, TableLine, details, name, paragraph, table};
use super::run_files::RunFiles;
use super::values::{count, grouped_count, items, percent_or_dash, text, texts};
use crate::format::{grouped, percent, plural};
use serde_json::Value;

/// More classes make a confusion matrix that is not readable.
const MAX_CLASSES: usize = 12;

/// Scores, baselines and confusion matrices.
pub(super) fn body(files: &RunFiles) -> String {
    let confusion = &files.result["confusion"];
    let scores = match items(&files.result["candidates"]) {
        [] => without_candidates(files),
        candidates => ladder(files, candidates),
    };
    let matrices: String = [("valid", "Validation set"), ("test", "Test set")]
        .map(|(key, title)| confusion_table(&confusion[key], title))
        .concat();
    format!("{scores}{matrices}")
}

/// The candidates from the most readable to the freest.
fn ladder(files: &RunFiles, candidates: &[Value]) -> String {
    let measure = measure_name(files);
    let has_test = candidates.iter().any(|candidate| !candidate["test"].is_null());
    // The majority class would make the axis too long to tell the others apart.
    let compared = candidates.iter().filter(|candidate| text(&candidate["kind"]) != "majority");
    let range = axis_start(compared.filter_map(|c| c["interval"][0].as_f64()).fold(1.0, f64::min));
    let rows = candidates.iter().map(|candidate| {
        // The score that decided; that of the validation set, if nothing else was measured.
        let score = candidate["score"].as_f64().or(candidate["valid"].as_f64());
        let ends = [0, 1].map(|end| candidate["interval"][end].as_f64().unwrap_or(0.0));
        let kept = candidate["kept"] == true;
        let title = html_text(text(&candidate["name"]));
        let title = if kept { format!("<strong>{title}</strong> (kept)") } else { title };
        let mut cells = vec![
            title,
            score.map_or(String::new(), |score| interval_picture(score, ends, range)),
            score.map_or("–".into(), |score| {
                format!("{} ± {:.2}", percent(score), 50.0 * (ends[1] - ends[0]))
            }),
        ];
        if has_test {
            cells.push(percent_or_dash(&candidate["test"]));
        }
        cells.push(candidate["states"].as_u64().map_or("–".into(), |states| states.to_string()));
        cells.push(if candidate["proved"] == true { "yes" } else { "–" }.into());
        let note = [&candidate["note"], &candidate["remark"]].map(text);
        cells.push(html_text(note.into_iter().find(|note| !note.is_empty()).unwrap_or_default()));
        let attributes = if kept { " class=\"kept\"" } else { "" };
        TableLine { cells, attributes: attributes.into() }
    });
    let rows: Vec<TableLine> = rows.collect();
    let measured = format!("#{}", html_text(&measure));
    let mut head = vec!["model", "interval", &measured];
    head.extend(has_test.then_some("#test"));
    head.extend(["#states", "proved", "note"]);
    let measured_on = match files.result["comparison"]["folds"].as_u64() {
        Some(folds) => {
            let sets = ["train", "valid"].map(|key| count(&files.data[key]["count"]));
            let all = plural(sets.iter().sum(), "labelled sequence");
            format!("in {folds} folds of {all} (cross-validation)")
        }
        None => {
            let valid = plural(count(&files.data["valid"]["count"]), "validation sequence");
            format!("on the {valid}")
        }
    };
    let caption =
        format!("Models by {} {measured_on}, the most readable first", html_text(&measure));
    format!(
        "{}{}{}",
        table(&caption, &head, &rows),
        paragraph(
            "± is one standard error. Two models whose intervals overlap are not told apart by these \
             data."
        ),
        conclusion(&files.result["comparison"]["text"])
    )
}

/// The kept model and the majority class.
fn without_candidates(files: &RunFiles) -> String {
    let confusion = &files.result["confusion"];
    let mut rows = vec![];
    for (key, title) in [("valid", "validation"), ("test", "test")] {
        let Some(counts) = Counts::of(&confusion[key]) else { continue };
        let model = model_name(files).replacen("a ", "", 1).replacen("an ", "", 1);
        let own = (format!("<strong>{model}</strong>"), counts.right);
        let baseline = format!("always {}", name(&counts.majority));
        for (who, right) in [own, (baseline, counts.largest)] {
            let [low, high] = wilson(right, counts.total);
            let value = right as f64 / counts.total.max(1) as f64;
            rows.push(TableLine::plain(vec![
                who,
                title.into(),
                interval_picture(value, [low, high], 0.0),
                percent(value),
                format!("{} to {}", percent(low), percent(high)),
                format!("{} of {}", grouped(right), grouped(counts.total)),
            ]));
        }
    }
    let head = ["model", "set", "interval", "#accuracy", "#95 % interval", "#right"];
    let explained = paragraph(
        "The interval is Wilson's, for sequences drawn as these were. <code>--valid</code> and \
         <code>--split</code> choose them.",
    );
    format!("{}{explained}", table("Accuracy beside the baseline", &head, &rows))
}

/// What a confusion matrix says about accuracy.
struct Counts {
    right: u64,
    total: u64,
    majority: String,
    largest: u64,
}

impl Counts {
    /// `None` if there is no matrix. Sequences that cannot be read count as errors.
    fn of(confusion: &Value) -> Option<Counts> {
        let classes = texts(&confusion["classes"]);
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let row = |class: usize| {
            let read: u64 = items(&confusion["counts"][class]).iter().map(number).sum();
            read + number(&confusion["unreadable"][class])
        };
        let right =
            (0..classes.len()).map(|class| number(&confusion["counts"][class][class])).sum();
        let largest = (0..classes.len()).rev().max_by_key(|&class| row(class))?;
        let total = (0..classes.len()).map(row).sum();
        Some(Counts { right, total, majority: classes[largest].clone(), largest: row(largest) })
    }
}

/// Wilson's interval of a fraction, at 95 %.
fn wilson(right: u64, total: u64) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (total.max(1) as f64, right as f64 / total.max(1) as f64);
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    // Exact at the ends, where rounding would show 99.99 %.
    let low = if right == 0 { 0.0 } else { centre - half };
    [low, if right == total { 1.0 } else { centre + half }]
}

/// The name of what the candidates are compared by.
fn measure_name(files: &RunFiles) -> String {
    let measure = &files.result["comparison"]["measure"];
    match text(&measure["kind"]) {
        "f1" => {
            let classes = texts(&files.data["classes"]);
            let class = classes.get(count(&measure["class"])).cloned().unwrap_or_default();
            format!("F1 of {class}")
        }
        "macro-f1" => "mean F1 of the classes".into(),
        _ => "accuracy".into(),
    }
}

/// Where the axis of intervals starts: the tenth below the lowest end.
fn axis_start(low: f64) -> f64 {
    ((10.0 * low).floor() / 10.0).clamp(0.0, 0.9)
}

/// A value with its interval on an axis from `start` to 1.
fn interval_picture(value: f64, [low, high]: [f64; 2], start: f64) -> String {
    let at = |value: f64| 8.0 + 144.0 * ((value - start) / (1.0 - start)).clamp(0.0, 1.0);
    let label = format!("{} to {}", percent(low.clamp(0.0, 1.0)), percent(high.clamp(0.0, 1.0)));
    let mark = match value < start {
        true => "<path class=\"beyond\" d=\"M8 14l9-5v10z\"/>".to_string(),
        false => format!(
            "<path class=\"range\" d=\"M{:.1} 14H{:.1}\"/><circle cx=\"{:.1}\" cy=\"14\" r=\"4\"/>",
            at(low),
            at(high),
            at(value)
        ),
    };
    format!(
        "<svg class=\"interval\" width=\"160\" height=\"30\" viewBox=\"0 0 160 30\" role=\"img\" \
         aria-label=\"{label}\"><path class=\"axis\" d=\"M8 14H152M8 11V17M152 11V17\"/>\
         {mark}<text x=\"8\" y=\"28\">{:.0} %</text><text x=\"152\" y=\"28\" text-anchor=\"end\">100 %\
         </text></svg>",
        100.0 * start
    )
}

fn confusion_table(confusion: &Value, title: &str) -> String {
    let classes = texts(&confusion["classes"]);
    if classes.is_empty() || classes.len() > MAX_CLASSES {
        return String::new();
    }
    let unreadable = items(&confusion["unreadable"]).iter().any(|n| count(n) > 0);
    let mut head = vec!["true class".to_string()];
    head.extend(classes.iter().map(|class| format!("#answer {}", name(class))));
    head.extend(unreadable.then(|| "#unknown tokens".to_string()));
    let row = |class: usize| {
        let mut cells = vec![name(&classes[class])];
        let counts = &confusion["counts"][class];
        cells.extend((0..classes.len()).map(|answer| {
            match (answer == class, count(&counts[answer])) {
                (false, 1..) => {
                    format!("<span class=\"error\">{}</span>", grouped_count(&counts[answer]))
                }
                _ => grouped_count(&counts[answer]),
            }
        }));
        cells.extend(unreadable.then(|| grouped_count(&confusion["unreadable"][class])));
        TableLine::plain(cells)
    };
    let rows: Vec<TableLine> = (0..classes.len()).map(row).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let body = table(&format!("{title}: answers by true class"), &head, &rows);
    details(&format!("{title}: which classes are confused"), &body, Open::up_to(classes.len(), 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        let [low, high] = wilson(8, 10);
        assert!((low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4, "{low} {high}");
        let [low, high] = wilson(10, 10);
        assert!((low - 0.7225).abs() < 1e-4 && high == 1.0, "{low} {high}");
    }
}
