//! Event logs: one event a row. A sequence is the activities of one case in the order of time.

use super::FormatSpec;
use crate::task::files::collect::{Collector, Interner, check_name};
use crate::task::files::columns::{self, ACTIVITY, CASE, LABEL, TIME};
use crate::task::files::error::{Cause, CauseAtLine, quote};
use crate::task::files::event_time::{self, TimeKind};
use crate::task::files::lines::LineReader;
use crate::task::files::options::ReadOptions;
use crate::task::files::table::{TableReader, TableSyntax, most_frequent};

pub(super) const EVENTS: FormatSpec = FormatSpec {
    name: "events",
    title: "an event log",
    about: "A table with one event a row",
    extensions: &[],
    looks_like: |line| {
        let fields = |delimiter: char| line.split(delimiter);
        let is_log =
            |&delimiter: &char| columns::have_usual_names(fields(delimiter), &[&CASE, &ACTIVITY]);
        [',', ';', '\t'].iter().any(is_log)
    },
    read,
    write: Err("there are no times; use CSV or JSONL"),
};

/// Sequences are in the order in which their cases first appear. Events at the same time stay in
/// the order of the file.
fn read(
    lines: &mut LineReader,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), CauseAtLine> {
    let syntax = TableSyntax { quotes: true, delimiter: None, guess: most_frequent };
    let mut rows = TableReader::new(lines, syntax, options);
    let wanted = [
        (&options.case_column, &CASE),
        (&options.activity_column, &ACTIVITY),
        (&options.time_column, &TIME),
        (&options.label_column, &LABEL),
    ];
    let wanted = columns::without_absent_label(&wanted);
    let Some(columns) = rows.find_columns(wanted, options.header)? else { return Ok(()) };
    let mut log = EventLog::default();
    while let Some((line, fields)) = rows.next()? {
        let field = |role: usize| columns.get(role).map_or("", |&at| fields[at].trim_ascii());
        let row = [0, 1, 2, 3].map(field);
        log.add(line, row, options)?;
    }
    log.collect(collector)
}

#[derive(Default)]
struct EventLog {
    cases: Interner,
    activities: Interner,
    events: Vec<LogEvent>,
    /// `[cases]`: the label and the first line that has it.
    labels: Vec<Option<(String, u64)>>,
    /// The kind of all times, and the first line.
    time_kind: Option<(TimeKind, u64)>,
}

struct LogEvent {
    case: u32,
    activity: u32,
    line: u64,
    nanos: i128,
}

impl EventLog {
    fn add(&mut self, line: u64, row: [&str; 4], options: &ReadOptions) -> Result<(), CauseAtLine> {
        let [case, activity, time, label] = row;
        for (text, role) in [(case, CASE.name), (activity, ACTIVITY.name)] {
            if text.is_empty() {
                return Err(Cause::EmptyField { role }.at(line));
            }
        }
        let nanos = self.parse_time(line, time)?;
        let limits = options.limits;
        let case_id = self.cases.id(case, limits.max_sequences);
        let case_id = case_id.ok_or_else(|| {
            let limit = limits.max_sequences as u64;
            Cause::limit_exceeded("sequences", limit, "max-sequences").at(line)
        })?;
        check_name(activity).map_err(|cause| cause.at(line))?;
        let activity = self.activities.id(activity, limits.max_alphabet);
        let activity = activity.ok_or_else(|| {
            let limit = limits.max_alphabet as u64;
            Cause::limit_exceeded("different tokens", limit, "max-alphabet").at(line)
        })?;
        self.events.push(LogEvent { case: case_id, activity, line, nanos });
        self.labels.resize(self.cases.len(), None);
        self.set_label(line, case, case_id, label)
    }

    fn parse_time(&mut self, line: u64, text: &str) -> Result<i128, CauseAtLine> {
        let bad = || {
            let remedy = "write the year first, as 2024-05-31T23:59:59, or a number";
            Cause::malformed(format!("{} is no time", quote(text)), remedy).at(line)
        };
        let time = event_time::parse(text).ok_or_else(bad)?;
        let (kind, first_line) = *self.time_kind.get_or_insert((time.kind, line));
        if kind != time.kind {
            return Err(Cause::malformed(
                format!("time {} cannot be ordered against that of line {first_line}", quote(text)),
                "write all times as numbers, all without an offset from UTC, or all with one",
            )
            .at(line));
        }
        Ok(time.nanos)
    }

    /// Many logs have the label in only one row of a case.
    fn set_label(
        &mut self,
        line: u64,
        case: &str,
        case_id: u32,
        label: &str,
    ) -> Result<(), CauseAtLine> {
        if label.is_empty() {
            return Ok(());
        }
        let known = &mut self.labels[case_id as usize];
        let (first, first_line) = known.get_or_insert_with(|| (label.into(), line));
        if first == label {
            return Ok(());
        }
        let (case, first, second) = (quote(case), quote(first), quote(label));
        Err(Cause::malformed(
            format!("case {case} has label {second} here and {first} in line {first_line}"),
            "a case has one label: correct it, or set --label-column",
        )
        .at(line))
    }

    fn collect(mut self, collector: &mut Collector) -> Result<(), CauseAtLine> {
        self.events.sort_unstable_by_key(|event| (event.case, event.nanos, event.line));
        let names = self.activities.into_names();
        for case in self.events.chunk_by(|a, b| a.case == b.case) {
            let line = case.iter().map(|event| event.line).min().unwrap_or(0);
            let label = self.labels[case[0].case as usize].as_ref();
            let label = label.map_or("", |(label, _)| label.as_str());
            let tokens = case.iter().map(|event| names[event.activity as usize].as_str());
            collector.add_tokens(line, tokens, label)?;
        }
        Ok(())
    }
}
