//! Tables for people: on a terminal, and as Markdown.

use crate::words::{aligned, some};
use srnn::experiment::{Block, Column, Entry, Mark, Spread, Table, Tried};

/// What stands where there is no number.
const NONE: &str = "–";

/// For a terminal.
pub fn text(table: &Table) -> String {
    let mut text = format!("{}\n{}\n{}\n", table.title, table.about.trim(), effort(table));
    for block in &table.blocks {
        text.push('\n');
        text.push_str(&aligned(&grid(table, block)));
        for column in &block.columns {
            text.extend(remark(column).map(|remark| format!("{}: {remark}\n", column.model)));
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
        let grid = grid(table, block);
        let rule = vec!["---".to_string(); grid[0].len()];
        for line in [&grid[0], &rule].into_iter().chain(&grid[1..]) {
            let cells: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text.push('\n');
        for column in &block.columns {
            text.extend(remark(column).map(|remark| format!("- {}: {remark}\n", column.model)));
        }
    }
    let counts = counts(table);
    if !counts.is_empty() {
        text.push_str(&format!("\n{}", counts.replace('\n', "  \n")));
    }
    text
}

fn effort(table: &Table) -> String {
    let Table { settings, seeds, .. } = table;
    format!(
        "Error rates. Tried with every model: settings {settings} × seeds {seeds}. Of these runs \
         one is selected by its validation error alone (ours); mean, deviation and best are over \
         the seeds of its setting."
    )
}

/// Heading and lines of a data set.
fn grid(table: &Table, block: &Block) -> Vec<Vec<String>> {
    let heading = [format!("{} ({})", block.data, block.spec), String::new()];
    let mut lines = vec![heading.into_iter().chain(table.rows.iter().cloned()).collect()];
    for column in &block.columns {
        let line = |name: &str, what: &str, show: fn(&Entry) -> String| {
            let front = [name.to_string(), what.to_string()];
            front.into_iter().chain(column.entries.iter().map(show)).collect::<Vec<String>>()
        };
        lines.push(line(&column.model, "paper", |entry| number(entry.paper)));
        if column.selected.is_some() {
            lines.push(line("", "ours", ours));
        }
        // One seed has no spread.
        if column.entries.iter().any(|entry| entry.spread.is_some_and(|spread| spread.seeds > 1)) {
            lines.push(line("", "mean ± sd", |entry| entry.spread.map_or(NONE.into(), mean)));
            lines.push(line("", "best", |entry| number(entry.spread.map(|s| s.best))));
        }
        lines.extend(tried(column));
    }
    lines
}

/// The means of every setting, where there are several to compare.
fn tried(column: &Column) -> Vec<Vec<String>> {
    let has_result = |tried: &&Tried| tried.spreads.iter().any(Option::is_some);
    let tried: Vec<&Tried> = column.tried.iter().filter(has_result).collect();
    let line = |tried: &&Tried| {
        let seeds = tried.spreads.iter().flatten().map(|spread| spread.seeds).max().unwrap_or(0);
        let what = format!("{}, {}", tried.setting, some(seeds, "seed"));
        let spreads = tried.spreads.iter().map(|spread| spread.map_or(NONE.into(), mean));
        [String::new(), what].into_iter().chain(spreads).collect()
    };
    if tried.len() > 1 { tried.iter().map(line).collect() } else { vec![] }
}

fn number(error: Option<f64>) -> String {
    error.map_or(NONE.into(), |error| format!("{error:.3}"))
}

fn ours(entry: &Entry) -> String {
    let number = number(entry.ours);
    match entry.mark {
        Mark::Hit => format!("≤ {number}"),
        Mark::Miss => format!("{number} miss"),
        Mark::Open => number,
    }
}

fn mean(spread: Spread) -> String {
    format!("{:.3} ± {:.3}", spread.mean, spread.deviation)
}

fn remark(column: &Column) -> Option<String> {
    let Column { finished, cells, .. } = column;
    if *finished == 0 {
        return None;
    }
    let Some(selected) = &column.selected else {
        return Some(format!("no result from {}", some(*finished, "run")));
    };
    let (cell, error) = (&selected.cell, selected.valid.error);
    let runs = match finished == cells {
        true => some(*cells, "run"),
        false => format!("{} of {cells} so far", some(*finished, "run")),
    };
    Some(format!(
        "selected of {runs}: {}, seed {}, with validation error {error:.4}",
        cell.setting, cell.seed
    ))
}

/// How often each model is at or below the paper, where there is anything to compare.
fn counts(table: &Table) -> String {
    let models = table.blocks.first().map_or(&[][..], |block| &block.columns[..]);
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
            .then(|| format!("{model}: {hits} of {cells} cells at or below the paper ({each})\n"))
    };
    (0..models.len()).filter_map(line).collect()
}
