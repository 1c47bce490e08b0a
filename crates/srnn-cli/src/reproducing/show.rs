//! Tables for people: on a terminal, and as Markdown.

use srnn::experiment::{Block, Column, Entry, Mark, Measure, Shortcut, Spread, Table, Tried};
use srnn::format::{aligned, plural};

/// What stands where there is no number.
const NONE: &str = "–";

/// For a terminal.
pub fn text(table: &Table) -> String {
    let mut text = format!("{}\n{}\n{}\n", table.title, table.about.trim(), effort(table));
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

/// For a file.
pub fn markdown(table: &Table) -> String {
    let mut text = format!("# {}\n\n{}\n\n{}\n", table.title, table.about.trim(), effort(table));
    for block in &table.blocks {
        text.push('\n');
        text.push_str(&ruled(&grid(table, block)));
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

/// Heading and lines as a table of Markdown.
pub fn ruled(grid: &[Vec<String>]) -> String {
    let rule = vec!["---".to_string(); grid[0].len()];
    let line = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    [&grid[0], &rule].into_iter().chain(&grid[1..]).map(line).collect()
}

fn effort(table: &Table) -> String {
    let Table { measure, .. } = table;
    let name = measure.name();
    let (numbers, equals) = match measure {
        Measure::Error => ("Error rates", ", of equals by the loss there"),
        Measure::CrossEntropy => ("Cross-entropies of a target in nats", ""),
    };
    format!(
        "{numbers}. Tried with {}. Of these runs \
         one is selected by its validation {name}{equals} (ours); mean, deviation and best are over \
         the seeds of its setting that have a result.",
        tries(table)
    )
}

/// How many settings and seeds each model was given.
fn tries(table: &Table) -> String {
    let columns = table.blocks.first().map_or(&[][..], |block| &block.columns[..]);
    let settings: Vec<usize> = columns.iter().map(|column| column.tried.len()).collect();
    let seeds = table.seeds;
    match settings.iter().all(|count| *count == settings[0]) {
        true => {
            let settings = settings.first().copied().unwrap_or(0);
            format!("every model: settings {settings} × seeds {seeds}")
        }
        false => {
            let each = columns.iter().map(|c| format!("{}: settings {}", c.model, c.tried.len()));
            format!("{}, each × seeds {seeds}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Heading and lines of a data set.
fn grid(table: &Table, block: &Block) -> Vec<Vec<String>> {
    let heading = [format!("{} ({})", block.data, block.spec), String::new()];
    let mut lines = vec![heading.into_iter().chain(table.rows.iter().cloned()).collect()];
    for Shortcut { name, errors, .. } in &block.shortcuts {
        let errors = errors.iter().map(|&error| number(table.measure, Some(error)));
        lines.push([name.clone(), "expected".into()].into_iter().chain(errors).collect());
    }
    for column in &block.columns {
        lines.extend(model(table, block, column));
    }
    lines
}

/// The lines of a model; that of the paper only where it has numbers, or we have none.
fn model(table: &Table, block: &Block, column: &Column) -> Vec<Vec<String>> {
    let number = |score: Option<f64>| number(table.measure, score);
    let mean = |spread: Option<Spread>| spread.map_or(NONE.into(), |s| mean(table.measure, s));
    let line = |what: String, show: &dyn Fn(&Entry) -> String| {
        let front = [String::new(), what];
        front.into_iter().chain(column.entries.iter().map(show)).collect::<Vec<String>>()
    };
    let mut lines = Vec::new();
    if block.baseline.is_some() {
        lines.push(line("no memory".into(), &|_| number(block.baseline)));
    } else if column.selected.is_none() || column.entries.iter().any(|e| e.paper.is_some()) {
        lines.push(line("paper".into(), &|entry| number(entry.paper)));
    }
    if let Some(selected) = &column.selected {
        lines.push(line("ours".into(), &|entry| ours(number(entry.ours), entry, block)));
        let own = column.tried.iter().find(|tried| tried.setting == selected.cell.setting);
        // One seed has no spread.
        if column.entries.iter().any(|entry| entry.spread.is_some_and(|s| s.seeds > 1)) {
            let what = format!("mean ± sd{}", own.map_or(String::new(), diverged));
            lines.push(line(what, &|entry| mean(entry.spread)));
            lines.push(line("best".into(), &|entry| number(entry.spread.map(|s| s.best))));
        }
        lines.extend(tried(table, column));
    }
    lines[0][0].clone_from(&column.model);
    lines
}

/// The means of every setting, where there are several to compare.
fn tried(table: &Table, column: &Column) -> Vec<Vec<String>> {
    let was_run = |tried: &&Tried| tried.diverged > 0 || tried.spreads.iter().any(Option::is_some);
    let tried: Vec<&Tried> = column.tried.iter().filter(was_run).collect();
    let line = |tried: &&Tried| {
        let seeds = tried.spreads.iter().flatten().map(|spread| spread.seeds).max().unwrap_or(0);
        let what = format!("{}, {}{}", tried.setting, plural(seeds, "seed"), diverged(tried));
        let mean = |s: &Option<Spread>| s.map_or(NONE.into(), |s| mean(table.measure, s));
        [String::new(), what].into_iter().chain(tried.spreads.iter().map(mean)).collect()
    };
    if tried.len() > 1 { tried.iter().map(line).collect() } else { vec![] }
}

/// How many seeds the numbers are without.
fn diverged(tried: &Tried) -> String {
    match tried.diverged {
        0 => String::new(),
        count => format!(", without {count} that diverged"),
    }
}

/// A score as tables have it.
pub fn number(measure: Measure, score: Option<f64>) -> String {
    let digits = digits(measure);
    score.map_or(NONE.into(), |score| format!("{score:.digits$}"))
}

fn digits(measure: Measure) -> usize {
    match measure {
        Measure::Error => 3,
        Measure::CrossEntropy => 4,
    }
}

fn ours(number: String, entry: &Entry, block: &Block) -> String {
    let times = match (block.baseline, entry.ours) {
        (Some(baseline), Some(ours)) if ours < baseline => {
            format!(" ({} × below)", three_digits(baseline / ours))
        }
        _ => String::new(),
    };
    match entry.mark {
        Mark::Hit => format!("≤ {number}{times}"),
        Mark::Miss => format!("{number}{times} miss"),
        Mark::Open => number,
    }
}

/// 1.09, 10.9, 4100.
fn three_digits(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.2}"),
        ..100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

fn mean(measure: Measure, spread: Spread) -> String {
    let digits = digits(measure);
    format!("{:.digits$} ± {:.digits$}", spread.mean, spread.deviation)
}

fn remark(table: &Table, column: &Column) -> Option<String> {
    let Column { finished, cells, .. } = column;
    if *finished == 0 {
        return None;
    }
    let Some(selected) = &column.selected else {
        return Some(format!("no result from {}: all diverged", plural(*finished, "run")));
    };
    let (cell, measure) = (&selected.cell, table.measure);
    let (name, valid) = (measure.name(), measure.of(selected.valid.error, selected.valid.loss));
    let runs = match finished == cells {
        true => plural(*cells, "run"),
        false => format!("{} of {cells} so far", plural(*finished, "run")),
    };
    Some(format!(
        "selected of {runs}: {}, seed {}, with validation {name} {valid:.4}",
        cell.setting, cell.seed
    ))
}

/// How often each model is at or below the paper, or the baseline, where there is anything to
/// compare.
fn counts(table: &Table) -> String {
    let models = table.blocks.first().map_or(&[][..], |block| &block.columns[..]);
    let bar = match table.blocks.iter().any(|block| block.baseline.is_some()) {
        false => "the paper".to_string(),
        true => format!("1/{} of what has no memory", table.times_below),
    };
    let line = |place: usize| {
        let compared = |block: &Block| {
            let column = &block.columns[place];
            let (hits, misses) = (column.count(Mark::Hit), column.count(Mark::Miss));
            (hits + misses > 0).then(|| (block.data.clone(), hits, hits + misses))
        };
        let parts: Vec<(String, usize, usize)> = table.blocks.iter().filter_map(compared).collect();
        let hits: usize = parts.iter().map(|part| part.1).sum();
        let cells: usize = parts.iter().map(|part| part.2).sum();
        let each: Vec<String> =
            parts.iter().map(|(data, hits, cells)| format!("{data} {hits} of {cells}")).collect();
        let (model, each) = (&models[place].model, each.join(", "));
        (cells > 0)
            .then(|| format!("{model}: {hits} of {cells} cells at or below {bar} ({each})\n"))
    };
    (0..models.len()).filter_map(line).collect()
}
