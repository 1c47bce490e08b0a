//! Event logs: one event a row; a sequence is the activities of a case in the order of time.

use super::collect::{Collector, Names, check_name, too_much};
use super::columns::{self, ACTIVITY, CASE, LABEL, TIME};
use super::error::{Cause, Fault};
use super::options::{Format, ReadOptions};
use super::source::Lines;
use super::table::Rows;
use super::time::{self, Kind};

/// Reads an event log. Sequences come in the order in which their cases first appear; events
/// at the same time stay in the order of the file.
pub(super) fn read(
    lines: &mut Lines,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), Fault> {
    let mut rows = Rows::new(lines, Format::Events, options);
    let wanted = [
        (&options.case_column, &CASE),
        (&options.activity_column, &ACTIVITY),
        (&options.time_column, &TIME),
        (&options.label_column, &LABEL),
    ];
    let wanted = columns::present(&wanted);
    let Some(columns) = rows.columns(wanted, options.header)? else { return Ok(()) };
    let mut log = Log::default();
    while let Some((line, fields)) = rows.next()? {
        let field = |role: usize| columns.get(role).map_or("", |&at| fields[at].trim_ascii());
        let row = [0, 1, 2, 3].map(field);
        log.add(line, row, options)?;
    }
    log.give(collector)
}

#[derive(Default)]
struct Log {
    cases: Names,
    activities: Names,
    events: Vec<Event>,
    /// `[cases]`: the label and where it was first given.
    labels: Vec<Option<(String, u64)>>,
    /// The kind of all times, and where it was first met.
    kind: Option<(Kind, u64)>,
}

struct Event {
    case: u32,
    activity: u32,
    line: u64,
    nanos: i128,
}

impl Log {
    fn add(&mut self, line: u64, row: [&str; 4], options: &ReadOptions) -> Result<(), Fault> {
        let [case, activity, time, label] = row;
        for (text, role) in [(case, CASE.name), (activity, ACTIVITY.name)] {
            if text.is_empty() {
                return Err(Cause::EmptyField { role }.at(line));
            }
        }
        let nanos = self.time(line, time)?;
        let limits = options.limits;
        let number = self.cases.id(case, limits.max_sequences);
        let number = number
            .ok_or_else(|| too_much("sequences", limits.max_sequences, "max-sequences").at(line))?;
        check_name(activity).map_err(|cause| cause.at(line))?;
        let activity = self.activities.id(activity, limits.max_alphabet);
        let activity = activity.ok_or_else(|| {
            too_much("different tokens", limits.max_alphabet, "max-alphabet").at(line)
        })?;
        self.events.push(Event { case: number, activity, line, nanos });
        self.labels.resize(self.cases.len(), None);
        self.label(line, case, number, label)
    }

    fn time(&mut self, line: u64, text: &str) -> Result<i128, Fault> {
        let bad = || Cause::BadTime { text: text.into() }.at(line);
        let time = time::parse(text).ok_or_else(bad)?;
        let (kind, first_line) = *self.kind.get_or_insert((time.kind, line));
        if kind != time.kind {
            return Err(Cause::MixedTimes { text: text.into(), first_line }.at(line));
        }
        Ok(time.nanos)
    }

    /// Many logs give the label in one row of a case only.
    fn label(&mut self, line: u64, case: &str, number: u32, label: &str) -> Result<(), Fault> {
        if label.is_empty() {
            return Ok(());
        }
        let known = &mut self.labels[number as usize];
        let (first, first_line) = known.get_or_insert_with(|| (label.into(), line));
        if first == label {
            return Ok(());
        }
        let (first, first_line) = (first.clone(), *first_line);
        Err(Cause::CaseLabels { case: case.into(), first, first_line, second: label.into() }
            .at(line))
    }

    fn give(mut self, collector: &mut Collector) -> Result<(), Fault> {
        self.events.sort_unstable_by_key(|event| (event.case, event.nanos, event.line));
        let names = self.activities.in_order();
        for case in self.events.chunk_by(|a, b| a.case == b.case) {
            let line = case.iter().map(|event| event.line).min().unwrap_or(0);
            let label = self.labels[case[0].case as usize].as_ref();
            let label = label.map_or("", |(label, _)| label.as_str());
            let tokens = case.iter().map(|event| names[event.activity as usize].as_str());
            collector.list(line, tokens, label)?;
        }
        Ok(())
    }
}
