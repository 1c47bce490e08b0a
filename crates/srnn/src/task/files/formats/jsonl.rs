//! One JSON object a line: `{"sequence": ["a", "b"], "label": "x"}`.
//!
//! Objects are read field by field and never as a tree, so that other fields cost no memory.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};

use super::FormatSpec;
use crate::task::files::collect::Collector;
use crate::task::files::columns::{self, ColumnRole, LABEL, SEQUENCE};
use crate::task::files::error::{Cause, CauseAtLine, quote};
use crate::task::files::lines::LineReader;
use crate::task::files::options::{ColumnChoice, ReadOptions};
use crate::task::files::write::{LineWriter, TokenLayout, no_header};

pub(super) const JSONL: FormatSpec = FormatSpec {
    name: "jsonl",
    title: "JSONL",
    about: "One JSON object a line",
    extensions: &["jsonl", "ndjson"],
    looks_like: |line| line.trim_ascii_start().starts_with('{'),
    read,
    write: Ok(LineWriter {
        header: no_header,
        tokens: TokenLayout::Listed,
        line: |label, tokens, _| {
            serde_json::json!({ "label": label, "sequence": tokens }).to_string()
        },
        obstacle: |_| None,
        label_obstacle: |_| None,
    }),
};

/// The fields of the first object decide which field names are used for the whole file.
fn read(
    lines: &mut LineReader,
    options: &ReadOptions,
    collector: &mut Collector,
) -> Result<(), CauseAtLine> {
    let mut text = String::new();
    let mut field_names: Option<Vec<String>> = None;
    while lines.next(&mut text)? {
        let line = lines.number();
        check_depth(&text, lines.limits().max_json_depth).map_err(|cause| cause.at(line))?;
        let names = match &field_names {
            Some(names) => names,
            None => field_names.insert(choose_fields(&text, options, line)?),
        };
        let record = parse_record(&text, names).map_err(|cause| cause.at(line))?;
        match record.sequence {
            JsonValue::Text(text) => collector.add_text(line, &text, &record.label)?,
            JsonValue::List(list) => {
                collector.add_tokens(line, list.iter().map(String::as_str), &record.label)?;
            }
            JsonValue::Null => {
                return Err(bad_field(&names[0], "null").at(line));
            }
        }
    }
    Ok(())
}

struct JsonRecord {
    sequence: JsonValue,
    label: String,
}

enum JsonValue {
    Text(String),
    List(Vec<String>),
    Null,
}

/// The names of the fields of the sequence and, unless it is absent, of the label.
fn choose_fields(text: &str, options: &ReadOptions, line: u64) -> Result<Vec<String>, CauseAtLine> {
    let present = parse(text, KeysVisitor).map_err(|cause| cause.at(line))?;
    let find = |wanted, role| {
        columns::find(&present, wanted, role)
            .map(|index| (index, role.name))
            .map_err(|cause| cause.at(line))
    };
    let mut found = vec![find(&options.sequence_column, &SEQUENCE)?];
    if options.label_column != ColumnChoice::Absent {
        found.push(find(&options.label_column, &LABEL)?);
    }
    columns::check_different(&present, &found, line)?;
    Ok(found.into_iter().map(|(index, _)| present[index].clone()).collect())
}

fn parse_record(text: &str, names: &[String]) -> Result<JsonRecord, Cause> {
    let [sequence, label] = parse(text, FieldsVisitor { names })?;
    let missing = |role: &ColumnRole, name: &String, present: Vec<String>| Cause::NoColumn {
        role: role.name,
        wanted: Some(name.clone()),
        present,
        events: false,
    };
    let sequence = match sequence {
        Some(value) => value,
        None => return Err(missing(&SEQUENCE, &names[0], parse(text, KeysVisitor)?)),
    };
    let label = match label {
        Some(JsonValue::Text(label)) => label,
        Some(JsonValue::Null) => String::new(),
        Some(JsonValue::List(_)) => {
            return Err(bad_field(&names[1], "a list"));
        }
        None if names.len() == 1 => String::new(),
        None => return Err(missing(&LABEL, &names[1], parse(text, KeysVisitor)?)),
    };
    Ok(JsonRecord { sequence, label })
}

fn parse<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Result<S::Value, Cause> {
    let bad = |error: serde_json::Error| {
        // The text is one line, and its number in the file is another one.
        let why = error.to_string().replace("line 1 column", "column");
        Cause::malformed(
            format!("not a JSON object as expected: {why}"),
            "write one object a line, as {\"sequence\": [\"a\", \"b\"], \"label\": \"x\"}",
        )
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut json).map_err(bad)?;
    json.end().map_err(bad)?;
    Ok(value)
}

fn bad_field(field: &str, found: &str) -> Cause {
    Cause::malformed(
        format!("field {} is {found}", quote(field)),
        format!("give {} a string or a number; a sequence may be a list of these", quote(field)),
    )
}

/// Checks the nesting depth before the recursive parser runs.
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
            let what = "levels of nested JSON brackets";
            return Err(Cause::limit_exceeded(what, limit as u64, "max-json-depth"));
        }
    }
    Ok(())
}

/// Reads the names of the fields of an object.
struct KeysVisitor;

impl<'de> DeserializeSeed<'de> for KeysVisitor {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Vec<String>, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KeysVisitor {
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

/// Reads the named fields of an object, and skips the others.
struct FieldsVisitor<'a> {
    names: &'a [String],
}

impl<'de> DeserializeSeed<'de> for FieldsVisitor<'_> {
    type Value = [Option<JsonValue>; 2];

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldsVisitor<'_> {
    type Value = [Option<JsonValue>; 2];

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
            if found[at].replace(map.next_value::<JsonValue>()?).is_some() {
                return Err(A::Error::custom(format_args!("there are two fields {key:?}")));
            }
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<JsonValue, D::Error> {
        json.deserialize_any(ValueVisitor { in_list: false })
    }
}

/// A token in a list.
struct ListToken(String);

impl<'de> Deserialize<'de> for ListToken {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<ListToken, D::Error> {
        match json.deserialize_any(ValueVisitor { in_list: true })? {
            JsonValue::Text(text) => Ok(ListToken(text)),
            _ => Err(D::Error::custom("a token must be a string or a number")),
        }
    }
}

/// Reads a string, a number or a boolean as its text; outside a list also a list of these.
struct ValueVisitor {
    in_list: bool,
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = JsonValue;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.in_list {
            "a string or a number"
        } else {
            "a string, a number or a list"
        })
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<JsonValue, E> {
        Ok(JsonValue::Text(value.to_string()))
    }

    /// An integer beyond 64 bits comes here too, without its last digits.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<JsonValue, E> {
        const LARGEST_INTEGER: f64 = (1u64 << 63) as f64;
        match value.abs() < LARGEST_INTEGER {
            true => Ok(JsonValue::Text(format!("{value:?}"))),
            false => Err(E::custom("a number beyond 64 bits loses digits: put it in quotes")),
        }
    }

    fn visit_unit<E>(self) -> Result<JsonValue, E> {
        Ok(JsonValue::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonValue, A::Error> {
        if self.in_list {
            return Err(A::Error::custom("a list within a list"));
        }
        let mut tokens = Vec::new();
        while let Some(ListToken(token)) = list.next_element()? {
            tokens.push(token);
        }
        Ok(JsonValue::List(tokens))
    }
}
