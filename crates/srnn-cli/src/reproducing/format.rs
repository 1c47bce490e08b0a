//! Tables as text for a terminal, and as Markdown.

use srnn::experiment::{
    DatasetBlock, Mark, Measure, ModelColumn, ResultTable, SeedStatistics, SettingResult, Shortcut,
    TableEntry,
};
use srnn::format::{aligned, plural};

/// Shown where there is no number.
const NONE: &str = "–";

/// The table for a terminal.
pub fn table_text(table: &ResultTable) -> String {
    let mut text = format!("{}\n{}\n{}\n", table.title, table.about.trim(), summary(table));
    for block in &table.blocks {
        text.push('\n');
        text.push_str(&aligned(&grid(table, block)));
        for column in &block.columns {
            text.extend(
                remark(table, column).map(|remark| format!("{}: {remark}\n", column.model)),
            );
        }
    }
    let counts = counts(table);
    if !counts.is_empty() {
        text.push('\n');
        text.push_str(&counts);
    }
    text
}

/// The table in Markdown.
pub fn table_markdown(table: &ResultTable) -> String {
    let mut text = format!("# {}\n\n{}\n\n{}\n", table.title, table.about.trim(), summary(table));
    for block in &table.blocks {
        text.push('\n');
        text.push_str(&markdown_grid(&grid(table, block)));
        text.push('\n');
        for column in &block.columns {
            text.extend(
                remark(table, column).map(|remark| format!("- {}: {remark}\n", column.model)),
            );
        }
    }
    let counts = counts(table);
    if !counts.is_empty() {
        text.push_str(&format!("\n{}", counts.replace('\n', "  \n")));
    }
    text
}

/// A Markdown table; the first line of `grid` is the heading.
pub fn markdown_grid(grid: &[Vec<String>]) -> String {
    let rule = vec!["---".to_string(); grid[0].len()];
    let line = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    [&grid[0], &rule].into_iter().chain(&grid[1..]).map(line).collect()
}

fn summary(table: &ResultTable) -> String {
    let ResultTable { measure, .. } = table;
    let name = measure.name();
    let (numbers, ties) = match measure {
        Measure::Error => ("Error rates", ", then by its validation loss"),
        Measure::CrossEntropy => ("Cross-entropies per target in nats", ""),
        Measure::Perplexity => ("Perplexities", ""),
    };
    format!(
        "{numbers}. Trials: {}. One of them is selected by its validation {name}{ties} (ours); mean, \
         standard deviation and best are over the seeds of its setting that have a result.",
        trial_counts(table)
    )
}

/// The number of settings and seeds of each model.
fn trial_counts(table: &ResultTable) -> String {
    let columns = table.blocks.first().map_or(&[][..], |block| &block.columns[..]);
    let settings: Vec<usize> = columns.iter().map(|column| column.settings.len()).collect();
    let seeds = table.seeds;
    match settings.iter().all(|count| *count == settings[0]) {
        true => {
            let settings = settings.first().copied().unwrap_or(0);
            format!("every model: settings {settings} × seeds {seeds}")
        }
        false => {
            let each =
                columns.iter().map(|c| format!("{}: settings {}", c.model, c.settings.len()));
            format!("{}, each × seeds {seeds}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The heading and the lines of a data set.
fn grid(table: &ResultTable, block: &DatasetBlock) -> Vec<Vec<String>> {
    let heading = [format!("{} ({})", block.data, block.spec), String::new()];
    let mut lines = vec![heading.into_iter().chain(table.rows.iter().cloned()).collect()];
    for Shortcut { name, errors, .. } in &block.shortcuts {
        let errors = errors.iter().map(|&error| number(table.measure, Some(error)));
        lines.push([name.clone(), "expected".into()].into_iter().chain(errors).collect());
    }
    for column in &block.columns {
        lines.extend(model_lines(table, block, column));
    }
    lines
}

/// The lines of a model. The paper's line is shown where it has numbers, or where we have none.
fn model_lines(
    table: &ResultTable,
    block: &DatasetBlock,
    column: &ModelColumn,
) -> Vec<Vec<String>> {
    let number = |score: Option<f64>| number(table.measure, score);
    let mean =
        |spread: Option<SeedStatistics>| spread.map_or(NONE.into(), |s| mean(table.measure, s));
    let line = |what: String, show: &dyn Fn(&TableEntry) -> String| {
        let front = [String::new(), what];
        front.into_iter().chain(column.entries.iter().map(show)).collect::<Vec<String>>()
    };
    let mut lines = Vec::new();
    if block.baseline.is_some() {
        lines.push(line("baseline".into(), &|_| number(block.baseline)));
    } else if column.selected.is_none() || column.entries.iter().any(|e| e.paper.is_some()) {
        lines.push(line("paper".into(), &|entry| number(entry.paper)));
    }
    if let Some(selected) = &column.selected {
        lines.push(line("ours".into(), &|entry| ours(number(entry.ours), entry, block)));
        let own = column.settings.iter().find(|result| result.setting == selected.trial.setting);
        // One seed has no deviation.
        if column.entries.iter().any(|entry| entry.spread.is_some_and(|s| s.seeds > 1)) {
            let what = format!("mean ± sd{}", own.map_or(String::new(), without_diverged));
            lines.push(line(what, &|entry| mean(entry.spread)));
            lines.push(line("best".into(), &|entry| number(entry.spread.map(|s| s.best))));
        }
        lines.extend(setting_lines(table, column));
    }
    lines[0][0].clone_from(&column.model);
    lines
}

/// The means of every setting, if there are several.
fn setting_lines(table: &ResultTable, column: &ModelColumn) -> Vec<Vec<String>> {
    let was_run =
        |result: &&SettingResult| result.diverged > 0 || result.spreads.iter().any(Option::is_some);
    let results: Vec<&SettingResult> = column.settings.iter().filter(was_run).collect();
    let line = |result: &&SettingResult| {
        let seeds = result.spreads.iter().flatten().map(|spread| spread.seeds).max().unwrap_or(0);
        let what =
            format!("{}, {}{}", result.setting, plural(seeds, "seed"), without_diverged(result));
        let mean = |s: &Option<SeedStatistics>| s.map_or(NONE.into(), |s| mean(table.measure, s));
        [String::new(), what].into_iter().chain(result.spreads.iter().map(mean)).collect()
    };
    if results.len() > 1 { results.iter().map(line).collect() } else { vec![] }
}

/// A note on the seeds that the statistics omit.
fn without_diverged(result: &SettingResult) -> String {
    match result.diverged {
        0 => String::new(),
        count => format!(", without {count} that diverged"),
    }
}

/// A score with the digits of the table.
pub fn number(measure: Measure, score: Option<f64>) -> String {
    let digits = digits(measure);
    score.map_or(NONE.into(), |score| format!("{score:.digits$}"))
}

fn digits(measure: Measure) -> usize {
    match measure {
        Measure::Error => 3,
        Measure::CrossEntropy => 4,
        Measure::Perplexity => 1,
    }
}

fn ours(number: String, entry: &TableEntry, block: &DatasetBlock) -> String {
    let factor = match (block.baseline, entry.ours) {
        (Some(baseline), Some(ours)) if ours < baseline => {
            format!(" ({} × lower)", three_digits(baseline / ours))
        }
        _ => String::new(),
    };
    match entry.mark {
        Mark::Hit => format!("≤ {number}{factor}"),
        Mark::Miss => format!("{number}{factor} miss"),
        Mark::Open => number,
    }
}

/// Three significant digits, and all digits before the point: 1.09, 10.9, 4100.
fn three_digits(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn mean(measure: Measure, spread: SeedStatistics) -> String {
    let digits = digits(measure);
    format!("{:.digits$} ± {:.digits$}", spread.mean, spread.deviation)
}

fn remark(table: &ResultTable, column: &ModelColumn) -> Option<String> {
    let ModelColumn { finished, trials, .. } = column;
    if *finished == 0 {
        return None;
    }
    let Some(selected) = &column.selected else {
        return Some(format!("no result from {}: all diverged", plural(*finished, "trial")));
    };
    let (trial, measure) = (&selected.trial, table.measure);
    let (name, valid) = (measure.name(), measure.of(selected.valid.error, selected.valid.loss));
    let finished_trials = match finished == trials {
        true => plural(*trials, "trial"),
        false => format!("{finished} of {} so far", plural(*trials, "trial")),
    };
    Some(format!(
        "selected from {finished_trials}: {}, seed {}, with validation {name} {valid:.4}",
        trial.setting, trial.seed
    ))
}

/// The number of tests where each model is at or below the paper or the baseline; empty where there
/// is nothing to compare.
fn counts(table: &ResultTable) -> String {
    let models = table.blocks.first().map_or(&[][..], |block| &block.columns[..]);
    let target = match table.blocks.iter().any(|block| block.baseline.is_some()) {
        false => "the paper".to_string(),
        true => format!("1/{} of the memoryless baseline", table.times_below),
    };
    let line = |index: usize| {
        let compared = |block: &DatasetBlock| {
            let column = &block.columns[index];
            let (hits, misses) = (column.count(Mark::Hit), column.count(Mark::Miss));
            (hits + misses > 0).then(|| (block.data.clone(), hits, hits + misses))
        };
        let parts: Vec<(String, usize, usize)> = table.blocks.iter().filter_map(compared).collect();
        let hits: usize = parts.iter().map(|part| part.1).sum();
        let tests: usize = parts.iter().map(|part| part.2).sum();
        let each: Vec<String> =
            parts.iter().map(|(data, hits, tests)| format!("{data} {hits} of {tests}")).collect();
        let (model, each) = (&models[index].model, each.join(", "));
        (tests > 0)
            .then(|| format!("{model}: {hits} of {tests} tests at or below {target} ({each})\n"))
    };
    (0..models.len()).filter_map(line).collect()
}
