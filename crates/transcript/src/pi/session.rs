//! One session: its entries in file order, and where in the tree the agent stands.

use std::collections::{HashMap, HashSet};

use lacuna_core::{SessionName, Source, SpanId};

use super::summary::Of;
use super::tree::{Place, Record, Tree};
use crate::builder::Builder;
use crate::fields::Fields;
use crate::lines::{Piece, Shape};
use crate::names;
use crate::{Format, Session};

/// Steps that walks through the tree may take in all, beside one per entry: a file of entries that
/// jump between two long branches must not take forever.
const WALK: usize = 20_000_000;

pub(super) struct Reader<'a> {
    pub(super) builder: Builder,
    pub(super) tree: Tree<'a>,
    /// The entry being read.
    pub(super) place: Place,
    /// The spans that came from each entry.
    pub(super) spans: Vec<Vec<SpanId>>,
    /// The way to where the agent stands.
    pub(super) path: Vec<Place>,
    /// Where in the path each entry is; right only if the path says so too.
    position: Vec<usize>,
    /// How many entries at the start of its path each compaction and those before it took.
    pub(super) taken: HashMap<Place, usize>,
    /// Compactions on the path.
    pub(super) compactions: Vec<Place>,
    /// Calls that the latest compaction did not take, because their result is missing or kept.
    pub(super) stuck: Vec<(Place, SpanId)>,
    /// Entries that the latest move left behind.
    pub(super) behind: Vec<Place>,
    /// Calls that have a result somewhere in the session.
    answered: HashSet<String>,
    budget: usize,
}

/// One entry being read.
pub(super) struct Current<'r, 'a> {
    pub(super) bytes: &'a [u8],
    pub(super) fields: &'r Fields<'a>,
    pub(super) kind: String,
    /// What its spans' ids begin with.
    pub(super) wish: String,
    pub(super) source: Source,
}

pub(super) fn read(mut tree: Tree<'_>, name: SessionName) -> Session {
    let records = std::mem::take(&mut tree.records);
    let answered = records.iter().filter_map(|record| match record {
        Record::Entry(_, fields) => fields.object("message")?.text("toolCallId"),
        _ => None,
    });
    let mut reader = Reader {
        builder: Builder::new(Format::Pi),
        place: 0,
        spans: Vec::new(),
        path: Vec::new(),
        position: vec![0; tree.parents.len()],
        taken: HashMap::new(),
        compactions: Vec::new(),
        stuck: Vec::new(),
        behind: Vec::new(),
        answered: answered.collect(),
        budget: WALK,
        tree,
    };
    reader.builder.report.source_session.clone_from(&reader.tree.id);
    if let Some(first) = reader.tree.lost.first() {
        reader.builder.notes.add_many(
            "entries whose parent is not in this file before them, taken to follow the entry before",
            reader.tree.lost.len() as u64,
            first,
        );
    }
    for record in &records {
        reader.record(record);
    }
    reader.finish(name)
}

impl<'a> Reader<'a> {
    fn record(&mut self, record: &Record<'a>) {
        let (Record::Header(piece)
        | Record::Other(piece)
        | Record::Entry(piece, _)
        | Record::Again(piece, _)) = record;
        self.builder.record(piece.bytes.len());
        match record {
            Record::Entry(piece, fields) => {
                let current = self.current(piece, fields);
                self.step(&current);
                self.entry(&current);
                self.place += 1;
            }
            Record::Again(piece, fields) => {
                let current = self.current(piece, fields);
                self.builder.note("entries repeated under the same id, kept raw", &current.wish);
                self.keep_raw(&current, &format!("duplicate:{}", current.kind));
            }
            Record::Header(piece) => self.raw(piece, "session"),
            Record::Other(piece) if matches!(piece.shape, Shape::Value(_)) => {
                self.raw(piece, "not-an-entry");
            }
            Record::Other(piece) => self.builder.keep_broken(piece),
        }
    }

    fn raw(&mut self, piece: &Piece<'_>, kind: &str) {
        let source = self.builder.source(None);
        self.builder.keep_raw(piece.bytes, kind, names::of_bytes(piece.bytes), &source);
    }

    fn current<'r>(&self, piece: &Piece<'a>, fields: &'r Fields<'a>) -> Current<'r, 'a> {
        let id = fields.word("id").filter(|id| !id.is_empty());
        let source = Source {
            parent: fields.word("parentId"),
            time: fields.word("timestamp"),
            ..self.builder.source(id.clone())
        };
        Current {
            bytes: piece.bytes,
            fields,
            kind: fields.text("type").unwrap_or_else(|| "untyped".to_owned()),
            wish: id.unwrap_or_else(|| names::of_bytes(piece.bytes)),
            source,
        }
    }

    fn entry(&mut self, current: &Current<'_, 'a>) {
        match current.kind.as_str() {
            "message" => match current.fields.object("message") {
                Some(message) => self.message(current, &message),
                None => self.keep_raw(current, "malformed:message"),
            },
            "custom_message" => self.injected(current, current.fields, false),
            kind => match Of::named(kind, current.fields) {
                Some(of) => self.summary(current, current.fields, of),
                None => self.keep_raw(current, kind),
            },
        }
    }

    pub(super) fn keep_raw(&mut self, current: &Current<'_, '_>, kind: &str) {
        let wish = current.wish.clone();
        self.builder.keep_raw(current.bytes, kind, wish, &current.source);
    }

    /// Remembers what the entry being read became.
    pub(super) fn became(&mut self, spans: &[SpanId]) {
        self.spans[self.place].extend(spans.iter().cloned());
    }

    /// Whether a call is never answered on a branch that was left: it could not leave the window,
    /// because a provider wants a result for each call that it is shown.
    pub(super) fn abandoned(&self, call: Option<&str>) -> bool {
        !self.tree.active[self.place] && call.is_none_or(|id| !self.answered.contains(id))
    }

    /// Takes so many steps of the budget; false if it has none left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let enough = self.budget >= steps;
        self.budget = self.budget.saturating_sub(steps);
        enough
    }

    /// Where in the path an entry is.
    pub(super) fn on_path(&self, place: Place) -> Option<usize> {
        let position = self.position.get(place).copied()?;
        (self.path.get(position) == Some(&place)).then_some(position)
    }

    fn push_path(&mut self, place: Place) {
        self.position[place] = self.path.len();
        self.path.push(place);
    }

    /// The agent's place becomes the entry's parent, then the entry. What a summary does not
    /// stand for leaves the window at once.
    fn step(&mut self, current: &Current<'_, '_>) {
        self.spans.push(Vec::new());
        let parent = self.tree.parents[self.place];
        self.behind.clear();
        if parent != self.path.last().copied() {
            self.go_back(parent, current);
        }
        self.push_path(self.place);
        let role = current.fields.object("message").and_then(|message| message.text("role"));
        let kind = role.as_deref().unwrap_or(&current.kind);
        let of = Of::named(kind, current.fields);
        if of != Some(Of::Branch) && !self.behind.is_empty() {
            let leaving = self.leaving(&self.behind);
            self.builder.prune(&leaving, "the agent went back to an earlier entry");
        }
    }

    fn go_back(&mut self, parent: Option<Place>, current: &Current<'_, '_>) {
        let mut again = Vec::new();
        let mut next = parent;
        while let Some(place) = next
            && self.on_path(place).is_none()
        {
            if !self.spend(1) {
                self.builder
                    .note("moves between branches beyond all measure, not followed", &current.wish);
                return;
            }
            again.push(place);
            next = self.tree.parents[place];
        }
        let keep = next.and_then(|place| self.on_path(place)).map_or(0, |position| position + 1);
        self.behind = self.path.split_off(keep);
        let held = self.path.len();
        self.compactions.retain(|place| self.position[*place] < held);
        if self.behind.iter().any(|place| self.tree.last[*place] > self.place) {
            self.builder.note(
                "returns to an entry whose later entries come back: those stay in the window meanwhile",
                &current.wish,
            );
        }
        for place in again.into_iter().rev() {
            self.push_path(place);
            if self.taken.contains_key(&place) {
                self.compactions.push(place);
            }
        }
    }

    /// The spans of those entries that the agent does not come back to.
    pub(super) fn leaving(&self, places: &[Place]) -> Vec<SpanId> {
        let left = places.iter().filter(|place| self.tree.last[**place] < self.place);
        left.flat_map(|place| &self.spans[*place]).cloned().collect()
    }

    fn finish(mut self, name: SessionName) -> Session {
        // A call left behind open may have been answered on a later return.
        let off = (0..self.spans.len()).filter(|place| !self.tree.active[*place]);
        let late: Vec<_> = off.flat_map(|place| &self.spans[place]).cloned().collect();
        self.builder.prune(&late, "the agent went back to an earlier entry");
        self.builder.finish(name)
    }
}
