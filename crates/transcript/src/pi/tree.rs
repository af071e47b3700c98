//! The entries of a session and the tree that they form.

use std::collections::HashMap;

use lacuna_core::Digest;

use crate::SourceFile;
use crate::fields::{self, Fields};
use crate::lines::{self, Piece, Shape};

/// An entry's place among the entries of its session, in file order.
pub(super) type Place = usize;

/// One record of the file.
#[derive(Debug)]
pub(super) enum Record<'a> {
    /// The session's header, or another one.
    Header(Piece<'a>),
    /// An entry, which has a place in the tree.
    Entry(Piece<'a>, Fields<'a>),
    /// The same entry once more.
    Again(Piece<'a>, Fields<'a>),
    /// A value that is no entry, or no value at all.
    Other(Piece<'a>),
}

/// One session: its records in file order, and the tree of its entries. Parents come before their
/// children, so there are no cycles.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    /// The header's id.
    pub(super) id: Option<String>,
    pub(super) records: Vec<Record<'a>>,
    /// The parent of each entry; none for a root.
    pub(super) parents: Vec<Option<Place>>,
    /// Whether each entry is on the way to the last one.
    pub(super) active: Vec<bool>,
    /// The last entry under each entry, itself if it has none: until then it may come back.
    pub(super) last: Vec<Place>,
    /// Entries by id; of equal ids the last.
    pub(super) by_id: HashMap<String, Place>,
    /// Entries by their number among the values of the file, as version 1 counts.
    pub(super) by_number: Vec<Option<Place>>,
    /// Ids of entries whose parent is not in the file, or stands behind them.
    pub(super) lost: Vec<String>,
    seen: HashMap<String, Digest>,
}

/// The sessions of a file: each header begins one.
pub(super) fn read(file: &SourceFile) -> Vec<Tree<'_>> {
    let mut trees: Vec<Tree<'_>> = Vec::new();
    for piece in pieces(&file.bytes) {
        let fields = match piece.shape {
            Shape::Value(value) => Fields::of(value),
            _ => None,
        };
        let header = fields.as_ref().is_some_and(is_header);
        let begun = trees.last().is_some_and(|tree| tree.id.is_some() || !tree.parents.is_empty());
        if trees.is_empty() || (header && begun) {
            trees.push(Tree::default());
        }
        if let Some(tree) = trees.last_mut() {
            tree.add(piece, fields.filter(|fields| fields.get("type").is_some()));
        }
    }
    trees.iter_mut().for_each(Tree::walk);
    trees
}

fn is_header(fields: &Fields<'_>) -> bool {
    fields.text("type").as_deref() == Some("session") && fields.get("parentId").is_none()
}

/// The values of a file. A list at the top is as good as lines.
fn pieces(bytes: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for piece in lines::read(bytes, super::is_record) {
        let list = match piece.shape {
            Shape::Value(value) => fields::list(value),
            _ => None,
        };
        match list.filter(|list| list.iter().any(|element| element.get().starts_with('{'))) {
            Some(list) => {
                pieces.extend(list.into_iter().map(|value| Piece {
                    bytes: value.get().as_bytes(),
                    shape: Shape::Value(value),
                }))
            }
            None => pieces.push(piece),
        }
    }
    pieces
}

impl<'a> Tree<'a> {
    fn add(&mut self, piece: Piece<'a>, fields: Option<Fields<'a>>) {
        if !matches!(piece.shape, Shape::Value(_)) {
            self.records.push(Record::Other(piece));
            return;
        }
        let Some(fields) = fields else {
            self.by_number.push(None);
            self.records.push(Record::Other(piece));
            return;
        };
        if is_header(&fields) {
            if self.id.is_none() {
                self.id = fields.word("id").filter(|id| !id.is_empty());
            }
            self.by_number.push(None);
            self.records.push(Record::Header(piece));
            return;
        }
        let id = fields.word("id").filter(|id| !id.is_empty());
        let digest = Digest::of(piece.bytes);
        if let Some(id) = &id
            && self.seen.insert(id.clone(), digest) == Some(digest)
        {
            self.by_number.push(None);
            self.records.push(Record::Again(piece, fields));
            return;
        }
        let place = self.parents.len();
        let before = place.checked_sub(1);
        let parent = match fields.get("parentId") {
            None => before,
            Some(value) if value.get() == "null" => None,
            Some(_) => {
                let parent = fields.word("parentId").and_then(|id| self.by_id.get(&id).copied());
                if parent.is_none() {
                    self.lost.push(id.clone().unwrap_or_default());
                }
                parent.or(before)
            }
        };
        self.parents.push(parent);
        self.by_number.push(Some(place));
        if let Some(id) = id {
            self.by_id.insert(id, place);
        }
        self.records.push(Record::Entry(piece, fields));
    }

    /// Marks the way to the last entry, and how long each entry is of use.
    fn walk(&mut self) {
        self.last = (0..self.parents.len()).collect();
        // Children stand behind their parents.
        for place in (0..self.parents.len()).rev() {
            if let Some(parent) = self.parents[place] {
                self.last[parent] = self.last[parent].max(self.last[place]);
            }
        }
        self.active = vec![false; self.parents.len()];
        let mut next = self.parents.len().checked_sub(1);
        while let Some(place) = next {
            self.active[place] = true;
            next = self.parents[place];
        }
    }
}
