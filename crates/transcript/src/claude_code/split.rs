//! Records grouped into context windows: by session id, and within it by sub-agent.

use std::collections::HashMap;

use crate::SourceFile;
use crate::fields::{self, Fields};
use crate::lines::{self, Piece, Shape};
use crate::names;

/// One context window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) session: String,
    pub(super) agent: Option<String>,
}

/// One record: its bytes, and its fields if it is an object.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) piece: Piece<'a>,
    pub(super) fields: Option<Fields<'a>>,
}

/// The records of one context window, in source order.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) key: Key,
    pub(super) records: Vec<Record<'a>>,
}

#[derive(Default)]
struct Splitter<'a> {
    groups: Vec<Group<'a>>,
    by_key: HashMap<Key, usize>,
    /// Per session: the sidechain each record with a uuid belongs to, none for the main thread.
    chains: HashMap<String, HashMap<String, Option<String>>>,
    /// Per session: sidechains without an agent id begun so far.
    sidechains: HashMap<String, u64>,
}

pub(super) fn split<'a>(files: &[&'a SourceFile]) -> Vec<Group<'a>> {
    let mut splitter = Splitter::default();
    for file in files {
        splitter.file(file);
    }
    splitter.groups
}

impl<'a> Splitter<'a> {
    fn file(&mut self, file: &'a SourceFile) {
        let records = records(&file.bytes);
        // Records without a session id (snapshots, titles, broken stretches) belong to the window
        // of the record before them; at the start of a file, to that of the first one that has it.
        let mut current = records
            .iter()
            .find_map(|record| self.key(record.fields.as_ref()?, false))
            .unwrap_or_else(|| Key { session: names::stem(&file.name).to_owned(), agent: None });
        for record in records {
            if let Some(key) = record.fields.as_ref().and_then(|fields| self.key(fields, true)) {
                current = key;
            }
            self.add(current.clone(), record);
        }
    }

    fn add(&mut self, key: Key, record: Record<'a>) {
        let at = *self.by_key.entry(key.clone()).or_insert_with(|| {
            self.groups.push(Group { key, records: Vec::new() });
            self.groups.len() - 1
        });
        self.groups[at].records.push(record);
    }

    /// The window that a record names. `keep` remembers it for the records that follow.
    fn key(&mut self, fields: &Fields<'_>, keep: bool) -> Option<Key> {
        let session = fields.word("sessionId").filter(|id| !id.is_empty())?;
        let agent = fields.flag("isSidechain").then(|| {
            fields
                .word("agentId")
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| self.sidechain(&session, fields, keep))
        });
        if let (true, Some(uuid)) = (keep, fields.word("uuid")) {
            self.chains.entry(session.clone()).or_default().insert(uuid, agent.clone());
        }
        Some(Key { session, agent })
    }

    /// Older files mark sidechains without saying which: a record without a parent, or with one
    /// on the main thread, begins a new one; a parent on a sidechain names it; a parent that was
    /// never seen leaves it with the latest.
    fn sidechain(&mut self, session: &str, fields: &Fields<'_>, keep: bool) -> String {
        let parent = fields.word("parentUuid");
        let known = parent.as_ref().and_then(|uuid| self.chains.get(session)?.get(uuid));
        let begun = self.sidechains.get(session).copied().unwrap_or(0);
        let number = match (parent, known) {
            (_, Some(Some(chain))) => return chain.clone(),
            (Some(_), None) if begun > 0 => begun,
            _ => begun + 1,
        };
        if keep {
            self.sidechains.insert(session.to_owned(), number);
        }
        format!("side{number}")
    }
}

/// The records of a file. A list at the top is as good as lines.
fn records(bytes: &[u8]) -> Vec<Record<'_>> {
    let mut records = Vec::new();
    for piece in lines::read(bytes, super::is_record) {
        let Shape::Value(value) = piece.shape else {
            records.push(Record { piece, fields: None });
            continue;
        };
        let objects = fields::list(value)
            .filter(|list| list.iter().any(|element| element.get().starts_with('{')));
        for value in objects.unwrap_or_else(|| vec![value]) {
            let piece = Piece { bytes: value.get().as_bytes(), shape: Shape::Value(value) };
            records.push(Record { piece, fields: Fields::of(value) });
        }
    }
    records
}
