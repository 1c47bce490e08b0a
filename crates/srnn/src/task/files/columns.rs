//! Finds columns by name, by position, or by the names they usually have.

use super::error::{Cause, CauseAtLine};
use super::options::ColumnChoice;

/// What a column is for.
pub(super) struct ColumnRole {
    /// The name in messages and in the option `--{name}-column`.
    pub(super) name: &'static str,
    /// Usual column names in lower case, the most likely first.
    usual: &'static [&'static str],
}

pub(super) const SEQUENCE: ColumnRole = ColumnRole {
    name: "sequence",
    usual: &["sequence", "seq", "tokens", "text", "word", "string", "trace", "input"],
};
pub(super) const LABEL: ColumnRole = ColumnRole {
    name: "label",
    usual: &["label", "class", "target", "outcome", "case:label", "y", "output"],
};
pub(super) const CASE: ColumnRole = ColumnRole {
    name: "case",
    usual: &["case", "case id", "case_id", "caseid", "case:concept:name", "trace_id"],
};
pub(super) const ACTIVITY: ColumnRole = ColumnRole {
    name: "activity",
    usual: &["activity", "concept:name", "event", "event_type", "action"],
};
pub(super) const TIME: ColumnRole = ColumnRole {
    name: "time",
    usual: &["time", "timestamp", "complete timestamp", "time:timestamp", "complete_timestamp"],
};

/// `wanted` without its last entry, the label, if that is absent.
pub(super) fn without_absent_label<'w, 'c>(
    wanted: &'w [(&'c ColumnChoice, &'c ColumnRole)],
) -> &'w [(&'c ColumnChoice, &'c ColumnRole)] {
    match wanted.split_last() {
        Some(((ColumnChoice::Absent, _), others)) => others,
        _ => wanted,
    }
}

/// The index of the chosen column among the columns `present`.
pub(super) fn find(
    present: &[String],
    choice: &ColumnChoice,
    role: &ColumnRole,
) -> Result<usize, Cause> {
    match choice {
        ColumnChoice::Position(position) => {
            let index = position.checked_sub(1).filter(|&index| index < present.len());
            index.ok_or_else(|| missing(present, Some(position.to_string()), role))
        }
        ColumnChoice::Named(name) => {
            let found = find_unique(present, |column| column == name)?;
            found.ok_or_else(|| missing(present, Some(name.clone()), role))
        }
        ColumnChoice::Absent => Err(missing(present, None, role)),
        ColumnChoice::Usual => {
            for usual in role.usual {
                if let Some(index) =
                    find_unique(present, |column| column.eq_ignore_ascii_case(usual))?
                {
                    return Ok(index);
                }
            }
            Err(missing(present, None, role))
        }
    }
}

/// Fails if one column has two roles.
pub(super) fn check_different(
    present: &[String],
    chosen: &[(usize, &'static str)],
    line: u64,
) -> Result<(), CauseAtLine> {
    for (at, (index, second)) in chosen.iter().enumerate() {
        if let Some((_, first)) = chosen[..at].iter().find(|(other, _)| other == index) {
            let name = present[*index].clone();
            return Err(Cause::SameColumn { name, first, second }.at(line));
        }
    }
    Ok(())
}

/// The index of the only column that fits; `None` if none does. Two are an error.
fn find_unique(present: &[String], fits: impl Fn(&String) -> bool) -> Result<Option<usize>, Cause> {
    let mut found = (0..present.len()).filter(|&index| fits(&present[index]));
    let first = found.next();
    match found.next() {
        Some(second) => Err(Cause::DuplicateColumn { name: present[second].clone() }),
        None => Ok(first),
    }
}

fn missing(present: &[String], wanted: Option<String>, role: &ColumnRole) -> Cause {
    let names = present.iter().map(String::as_str);
    let events = role.name == SEQUENCE.name && have_usual_names(names, &[&CASE, &ACTIVITY]);
    Cause::NoColumn { role: role.name, wanted, present: present.to_vec(), events }
}

/// Whether each role has a column with one of its usual names.
pub(super) fn have_usual_names<'c>(
    columns: impl Iterator<Item = &'c str>,
    roles: &[&ColumnRole],
) -> bool {
    let columns: Vec<String> = columns.map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
    let is_there = |role: &&ColumnRole| columns.iter().any(|c| role.usual.contains(&c.as_str()));
    roles.iter().all(is_there)
}
