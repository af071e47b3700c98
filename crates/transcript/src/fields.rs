//! JSON objects as named slices of the source text: nothing is converted before it is asked for,
//! so what is kept is what was written, key order and number spelling included, and neither deep
//! nesting nor an unpaired surrogate somewhere inside can make the whole record unreadable.

use std::collections::{BTreeMap, HashMap};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Labels hold scalars of at most this many bytes.
const LABEL_MAX: usize = 128;
/// Labels taken from one record's fields.
const LABELS_MAX: usize = 24;
/// Labels with a meaning of ours; a source field of such a name stays in the remainder.
const OWN_LABELS: &[&str] = &[
    "raw",
    "of",
    "summary",
    "is_error",
    "injected",
    "undecoded",
    "attachment",
    "block",
    "refusal",
    "paired",
    "observation",
    "call",
];

/// One JSON object, its fields in source order.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl<'a> Fields<'a> {
    /// The object's fields, or none if the value is no object.
    pub(crate) fn of(value: &'a RawValue) -> Option<Self> {
        value.get().starts_with('{').then(|| serde_json::from_str(value.get()).ok()).flatten()
    }

    /// The fields of an object that is all there is in these bytes.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The field's value; of equal names the last one counts, as JSON readers do.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The field as text, if it is a valid string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        text(self.get(name)?)
    }

    /// The field as text, if it is a valid string or a number.
    pub(crate) fn word(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        text(value).or_else(|| number(value))
    }

    /// Whether the field is literally `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// The field as an object.
    pub(crate) fn object(&self, name: &str) -> Option<Fields<'a>> {
        Fields::of(self.get(name)?)
    }

    /// The field as a list.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        list(self.get(name)?)
    }

    /// All fields in source order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The fields that say something and are neither among the `known` ones nor, as single words,
    /// among the `words`, which become parts of a span's source.
    pub(crate) fn rest_but(&self, words: &[&str], known: &[&str]) -> Vec<(String, &'a RawValue)> {
        let mut rest = self.rest(&[words, known].concat());
        for name in words {
            let odd = self.get(name).filter(|value| !is_scalar(value) && !says_nothing(value));
            rest.extend(odd.map(|value| ((*name).to_owned(), value)));
        }
        rest
    }

    /// The fields that say something and are not among the `known` ones. A value hidden behind a
    /// later field of the same name is among them.
    pub(crate) fn rest(&self, known: &[&str]) -> Vec<(String, &'a RawValue)> {
        let mut last = HashMap::new();
        for (at, (name, _)) in self.0.iter().enumerate() {
            last.insert(name.as_str(), at);
        }
        let fields = self.0.iter().enumerate().filter(|(at, (name, value))| {
            let hidden = last.get(name.as_str()) != Some(at);
            !says_nothing(value) && (hidden || !known.contains(&name.as_str()))
        });
        fields.map(|(_, (name, value))| (name.clone(), *value)).collect()
    }
}

/// Whether a value is a single word: text, a number, a truth value or null.
fn is_scalar(value: &RawValue) -> bool {
    text(value).is_some()
        || number(value).is_some()
        || matches!(value.get(), "true" | "false" | "null")
}

/// Whether a value is expressed as well by its absence.
pub(crate) fn says_nothing(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "false" | "\"\"" | "[]" | "{}")
}

/// The string's text; none if it is no string or not valid Unicode.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    value.get().starts_with('"').then(|| serde_json::from_str(value.get()).ok()).flatten()
}

fn number(value: &RawValue) -> Option<String> {
    let written = value.get();
    written.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then(|| written.to_owned())
}

/// The elements of a list.
pub(crate) fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok()).flatten()
}

/// The text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // Serialising a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// What is left of an understood record: fields that its spans do not express.
#[derive(Debug, Default)]
pub(crate) struct Remainder<'a> {
    groups: BTreeMap<String, Vec<(String, &'a RawValue)>>,
}

impl<'a> Remainder<'a> {
    /// Adds fields under a path within the record (`""` is the record itself).
    pub(crate) fn add(&mut self, path: &str, fields: Vec<(String, &'a RawValue)>) {
        if !fields.is_empty() {
            self.groups.entry(path.to_owned()).or_default().extend(fields);
        }
    }

    /// Adds one of the record's own fields, if it says something and is not there already.
    pub(crate) fn keep(&mut self, fields: &Fields<'a>, name: &str) {
        let Some(value) = fields.get(name).filter(|value| !says_nothing(value)) else { return };
        let own = self.groups.entry(String::new()).or_default();
        if own.iter().all(|(kept, _)| kept != name) {
            own.push((name.to_owned(), value));
        }
    }

    /// Adds another remainder under a path.
    pub(crate) fn merge(&mut self, path: &str, inner: Remainder<'a>) {
        for (below, fields) in inner.groups {
            self.add(&format!("{path}.{below}"), fields);
        }
    }

    /// Takes a field out that a span expresses after all.
    pub(crate) fn remove(&mut self, path: &str, name: &str) {
        if let Some(fields) = self.groups.get_mut(path) {
            fields.retain(|(own, _)| own != name);
            if fields.is_empty() {
                self.groups.remove(path);
            }
        }
    }

    /// Moves short scalars into labels, under `prefix` + their name. Labels that are there
    /// already are never overwritten.
    pub(crate) fn lift(&mut self, path: &str, prefix: &str, labels: &mut BTreeMap<String, String>) {
        let Some(fields) = self.groups.get_mut(path) else { return };
        fields.retain(|(name, value)| {
            let label = format!("{prefix}{name}");
            let scalar = text(value)
                .or_else(|| number(value))
                .or_else(|| (value.get() == "true").then(|| "true".to_owned()));
            match scalar {
                Some(scalar)
                    if scalar.len() <= LABEL_MAX
                        && label.len() <= LABEL_MAX
                        && !OWN_LABELS.contains(&label.as_str())
                        && labels.len() < LABELS_MAX
                        && !labels.contains_key(&label) =>
                {
                    labels.insert(label, scalar);
                    false
                }
                _ => true,
            }
        });
        if fields.is_empty() {
            self.groups.remove(path);
        }
    }

    /// The remainder as one JSON object, values as written; none if nothing remains. Fields of
    /// inner objects stand under their path.
    pub(crate) fn into_json(self) -> Option<String> {
        if self.groups.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        for (path, fields) in &self.groups {
            let inner = object(fields.iter().map(|(name, value)| (name.as_str(), value.get())));
            match path.as_str() {
                "" => parts.push(inner[1..inner.len() - 1].to_owned()),
                path => parts.push(format!("{}:{inner}", quoted(path))),
            }
        }
        Some(format!("{{{}}}", parts.join(",")))
    }
}

/// A JSON object of values that are JSON already.
pub(crate) fn object<'t>(fields: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    let parts: Vec<_> = fields.map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", parts.join(","))
}
