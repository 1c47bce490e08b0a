//! One JSON object a line: `{"sequence": ["a", "b"], "label": "x"}`.
//!
//! Objects are read field by field, never as a tree: other fields cost no memory.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};

use super::collect::{Collector, too_much};
use super::columns::{self, LABEL, SEQUENCE};
use super::error::{Cause, Fault};
use super::options::{Column, ReadOptions};
use super::source::Lines;

/// Reads one sequence a line. The first object tells which fields are meant.
pub(super) fn read(
    lines: &mut Lines,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), Fault> {
    let mut text = String::new();
    let mut chosen: Option<Vec<String>> = None;
    while lines.next(&mut text)? {
        let line = lines.number();
        check_depth(&text, lines.limits().max_json_depth).map_err(|cause| cause.at(line))?;
        let names = match &chosen {
            Some(names) => names,
            None => chosen.insert(choose(&text, options, line)?),
        };
        let record = record(&text, names).map_err(|cause| cause.at(line))?;
        match record.sequence {
            Value::Text(text) => collector.text(line, &text, &record.label)?,
            Value::List(list) => {
                collector.list(line, list.iter().map(String::as_str), &record.label)?;
            }
            Value::Null => {
                return Err(Cause::JsonField { field: names[0].clone(), found: "null" }.at(line));
            }
        }
    }
    Ok(())
}

struct Record {
    sequence: Value,
    label: String,
}

enum Value {
    Text(String),
    List(Vec<String>),
    Null,
}

/// The names of the fields for sequence and, unless it is absent, label.
fn choose(text: &str, options: &ReadOptions, line: u64) -> Result<Vec<String>, Fault> {
    let present = parse(text, Keys).map_err(|cause| cause.at(line))?;
    let find = |wanted, role| {
        columns::find(&present, wanted, role)
            .map(|index| (index, role.name))
            .map_err(|cause| cause.at(line))
    };
    let mut found = vec![find(&options.sequence_column, &SEQUENCE)?];
    if options.label_column != Column::Absent {
        found.push(find(&options.label_column, &LABEL)?);
    }
    columns::check_different(&present, &found, line)?;
    Ok(found.into_iter().map(|(index, _)| present[index].clone()).collect())
}

fn record(text: &str, names: &[String]) -> Result<Record, Cause> {
    let [sequence, label] = parse(text, Fields { names })?;
    let missing = |role: &columns::Role, name: &String, present: Vec<String>| Cause::NoColumn {
        role: role.name,
        wanted: Some(name.clone()),
        present,
        events: false,
    };
    let sequence = match sequence {
        Some(value) => value,
        None => return Err(missing(&SEQUENCE, &names[0], parse(text, Keys)?)),
    };
    let label = match label {
        Some(Value::Text(label)) => label,
        Some(Value::Null) => String::new(),
        Some(Value::List(_)) => {
            return Err(Cause::JsonField { field: names[1].clone(), found: "a list" });
        }
        None if names.len() == 1 => String::new(),
        None => return Err(missing(&LABEL, &names[1], parse(text, Keys)?)),
    };
    Ok(Record { sequence, label })
}

fn parse<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Result<S::Value, Cause> {
    // The text is one line, so that only the column tells something.
    let bad = |error: serde_json::Error| Cause::BadJson {
        why: error.to_string().replace("line 1 column", "column"),
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut json).map_err(bad)?;
    json.end().map_err(bad)?;
    Ok(value)
}

/// Refuses brackets within brackets before anything follows them.
fn check_depth(text: &str, limit: usize) -> Result<(), Cause> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return Err(too_much("brackets within brackets", limit, "max-json-depth"));
        }
    }
    Ok(())
}

/// Reads the names of an object's fields.
struct Keys;

impl<'de> DeserializeSeed<'de> for Keys {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Vec<String>, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
            keys.push(key);
        }
        Ok(keys)
    }
}

/// Reads two fields of an object, and passes over the others.
struct Fields<'a> {
    names: &'a [String],
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = [Option<Value>; 2];

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = [Option<Value>; 2];

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None, None];
        while let Some(key) = map.next_key::<String>()? {
            let Some(at) = self.names.iter().position(|name| *name == key) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if found[at].replace(map.next_value::<Value>()?).is_some() {
                return Err(A::Error::custom(format_args!("field {key:?} is there twice")));
            }
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Value, D::Error> {
        json.deserialize_any(AnyValue { inside: false })
    }
}

/// A token within a list.
struct Token(String);

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Token, D::Error> {
        match json.deserialize_any(AnyValue { inside: true })? {
            Value::Text(text) => Ok(Token(text)),
            _ => Err(D::Error::custom("a token must be a text or a number")),
        }
    }
}

/// A text, a number or a truth value, as its text; outside a list also a list of these.
struct AnyValue {
    inside: bool,
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.inside { "a text or a number" } else { "a text, a number or a list" })
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Text(format!("{value:?}")))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        if self.inside {
            return Err(A::Error::custom("a list within a list"));
        }
        let mut tokens = Vec::new();
        while let Some(Token(token)) = list.next_element()? {
            tokens.push(token);
        }
        Ok(Value::List(tokens))
    }
}
