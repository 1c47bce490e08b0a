//! Finding columns by name, by place, or by the names people usually give them.

use super::error::{Cause, Fault};
use super::options::Column;

/// What a column is for.
pub(super) struct Role {
    /// As in messages and options: `--{name}-column`.
    pub(super) name: &'static str,
    /// Usual names in lower case, the likeliest first.
    usual: &'static [&'static str],
}

pub(super) const SEQUENCE: Role = Role {
    name: "sequence",
    usual: &["sequence", "seq", "tokens", "text", "word", "string", "trace", "input"],
};
pub(super) const LABEL: Role = Role {
    name: "label",
    usual: &["label", "class", "target", "outcome", "case:label", "y", "output"],
};
pub(super) const CASE: Role = Role {
    name: "case",
    usual: &["case", "case id", "case_id", "caseid", "case:concept:name", "trace_id"],
};
pub(super) const ACTIVITY: Role = Role {
    name: "activity",
    usual: &["activity", "concept:name", "event", "event_type", "action"],
};
pub(super) const TIME: Role = Role {
    name: "time",
    usual: &["time", "timestamp", "complete timestamp", "time:timestamp", "complete_timestamp"],
};

/// The columns to look for, the label's last: without it where it is absent.
pub(super) fn present<'w, 'c>(
    wanted: &'w [(&'c Column, &'c Role)],
) -> &'w [(&'c Column, &'c Role)] {
    match wanted.split_last() {
        Some(((Column::Absent, _), others)) => others,
        _ => wanted,
    }
}

/// The index of the wanted column among these names.
pub(super) fn find(present: &[String], wanted: &Column, role: &Role) -> Result<usize, Cause> {
    match wanted {
        Column::Position(place) => {
            let index = place.checked_sub(1).filter(|&index| index < present.len());
            index.ok_or_else(|| missing(present, Some(place.to_string()), role))
        }
        Column::Named(name) => {
            let found = only(present, |column| column == name)?;
            found.ok_or_else(|| missing(present, Some(name.clone()), role))
        }
        Column::Absent => Err(missing(present, None, role)),
        Column::Usual => {
            for usual in role.usual {
                if let Some(index) = only(present, |column| column.eq_ignore_ascii_case(usual))? {
                    return Ok(index);
                }
            }
            Err(missing(present, None, role))
        }
    }
}

/// Refuses one column in two roles.
pub(super) fn check_different(
    present: &[String],
    chosen: &[(usize, &'static str)],
    line: u64,
) -> Result<(), Fault> {
    for (at, (index, second)) in chosen.iter().enumerate() {
        if let Some((_, first)) = chosen[..at].iter().find(|(other, _)| other == index) {
            let name = present[*index].clone();
            return Err(Cause::SameColumn { name, first, second }.at(line));
        }
    }
    Ok(())
}

/// The one that fits; two are an error, since either may be meant.
fn only(present: &[String], fits: impl Fn(&String) -> bool) -> Result<Option<usize>, Cause> {
    let mut found = (0..present.len()).filter(|&index| fits(&present[index]));
    let first = found.next();
    match found.next() {
        Some(second) => Err(Cause::TwiceColumn { name: present[second].clone() }),
        None => Ok(first),
    }
}

fn missing(present: &[String], wanted: Option<String>, role: &Role) -> Cause {
    let usual = |role: &Role| find_usual(present, role);
    let events = role.name == SEQUENCE.name && usual(&CASE) && usual(&ACTIVITY);
    Cause::NoColumn { role: role.name, wanted, present: present.to_vec(), events }
}

fn find_usual(present: &[String], role: &Role) -> bool {
    present.iter().any(|column| role.usual.contains(&column.to_ascii_lowercase().as_str()))
}
