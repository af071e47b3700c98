//! Which events make up which session, and in which order.

use std::collections::BTreeMap;

use crate::SourceFile;
use crate::fields::{self, Fields, object};
use crate::lines::{self, Piece, Shape};
use crate::names;

/// One session's events.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) wish: String,
    pub(super) id: Option<String>,
    /// Records in order.
    pub(super) pieces: Vec<Piece<'a>>,
    /// Fields around a `history`, as a JSON object.
    pub(super) around: Option<String>,
    /// Event files that the indices say are missing.
    pub(super) missing: u64,
}

pub(super) fn groups<'a>(files: &[&'a SourceFile]) -> Vec<Group<'a>> {
    let mut folders: BTreeMap<&str, BTreeMap<(u64, &str), &'a SourceFile>> = BTreeMap::new();
    let mut others = Vec::new();
    for file in files {
        let (folder, base) = file.name.rsplit_once('/').unwrap_or(("", &file.name));
        match event_index(base) {
            Some(index) => {
                let folder = match folder.strip_suffix("events") {
                    Some("") => "",
                    Some(outer) => outer.strip_suffix('/').unwrap_or(folder),
                    None => folder,
                };
                folders.entry(folder).or_default().insert((index, base), file);
            }
            None => others.push(*file),
        }
    }
    let mut groups: Vec<_> = Vec::new();
    for (folder, events) in folders {
        let mut group = Group::new(names::stem(folder).to_owned());
        let state = |file: &&&SourceFile| {
            let (place, base) = file.name.rsplit_once('/').unwrap_or(("", &file.name));
            base == "base_state.json" && place == folder
        };
        if let Some(at) = others.iter().position(|file| state(&file)) {
            let file = others.remove(at);
            group.pieces.extend(lines::read(&file.bytes, super::is_record));
            group.id = Fields::of_bytes(&file.bytes).and_then(|fields| fields.text("id"));
        }
        let first = events.keys().next().map_or(0, |(index, _)| *index);
        let last = events.keys().last().map_or(0, |(index, _)| *index);
        group.missing = (last - first).saturating_add(1).saturating_sub(events.len() as u64);
        for file in events.values() {
            group.pieces.extend(flat(lines::read(&file.bytes, super::is_record)));
        }
        if group.wish.is_empty() {
            let id = group.id.clone().or_else(|| first_id(&group.pieces));
            group.wish = id.map_or("openhands".to_owned(), |id| format!("openhands-{id}"));
        }
        groups.push(group);
    }
    for file in others {
        groups.extend(of_file(file));
    }
    groups.retain(|group| !group.pieces.is_empty());
    groups
}

/// The index in the name of an event file. Five digits are usual, more are fine.
fn event_index(base: &str) -> Option<u64> {
    let stem = base.strip_suffix(".json")?;
    let digits = match stem.strip_prefix("event-") {
        Some(rest) => rest.split('-').next().unwrap_or(rest),
        None => stem,
    };
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn of_file(file: &SourceFile) -> Vec<Group<'_>> {
    let stem = names::stem(&file.name);
    let mut own = Group::new(stem.to_owned());
    let mut documents = Vec::new();
    for piece in flat(lines::read(&file.bytes, super::is_record)) {
        let fields = match piece.shape {
            Shape::Value(value) => Fields::of(value),
            _ => None,
        };
        let history = fields.as_ref().and_then(|fields| fields.list("history"));
        let (Some(fields), Some(history)) = (fields, history) else {
            own.pieces.push(piece);
            continue;
        };
        let id = ["instance_id", "conversation_id", "session_id", "id"];
        let id = id.iter().find_map(|name| fields.word(name)).filter(|id| !id.is_empty());
        let number = documents.len() + 1;
        let mut group = Group::new(id.clone().unwrap_or_else(|| format!("{stem}-{number}")));
        group.id = id;
        // Old trajectories list pairs of action and observation.
        group.pieces = flat(history.into_iter().map(piece_of).collect());
        let rest = fields.rest(&["history"]);
        if !rest.is_empty() {
            let rest = rest.iter().map(|(name, value)| (name.as_str(), value.get()));
            group.around = Some(object(rest));
        }
        documents.push(group);
    }
    // Stray records beside documents go with the first of them.
    match documents.first_mut() {
        Some(first) => first.pieces.append(&mut own.pieces),
        None => documents.push(own),
    }
    documents
}

/// Lists of objects, dissolved.
fn flat(pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    for piece in pieces {
        let list = match piece.shape {
            Shape::Value(value) => fields::list(value),
            _ => None,
        };
        match list.filter(|list| list.iter().any(|element| element.get().starts_with('{'))) {
            Some(list) => out.extend(list.into_iter().map(piece_of)),
            None => out.push(piece),
        }
    }
    out
}

fn piece_of(value: &serde_json::value::RawValue) -> Piece<'_> {
    Piece { bytes: value.get().as_bytes(), shape: Shape::Value(value) }
}

fn first_id(pieces: &[Piece<'_>]) -> Option<String> {
    pieces.iter().find_map(|piece| Fields::of_bytes(piece.bytes)?.word("id"))
}

impl Group<'_> {
    fn new(wish: String) -> Self {
        Self { wish, id: None, pieces: Vec::new(), around: None, missing: 0 }
    }
}
