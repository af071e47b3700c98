//! One OpenHands conversation: its events in order.

use std::collections::{HashMap, HashSet};

use lacuna_core::{Digest, Origin, SessionName, Source, SpanId};

use super::group::Group;
use crate::builder::Builder;
use crate::fields::Fields;
use crate::lines::{Piece, Shape};
use crate::names;
use crate::{Format, Session};

pub(super) struct Reader {
    pub(super) builder: Builder,
    /// The spans that came from each event.
    pub(super) spans: HashMap<String, Vec<SpanId>>,
    /// Every event id read so far.
    pub(super) known: HashSet<String>,
    /// The key under which the window knows the call that an event made.
    pub(super) calls: HashMap<String, String>,
    /// Model responses kept already: V0 repeats them on every event they led to.
    pub(super) responses: HashSet<Digest>,
    /// The latest condensation's summary.
    pub(super) summary: Option<SpanId>,
    seen: HashMap<String, Digest>,
}

/// One event being read.
pub(super) struct Current<'r, 'a> {
    pub(super) bytes: &'a [u8],
    pub(super) fields: &'r Fields<'a>,
    pub(super) id: Option<String>,
    /// What its spans' ids begin with.
    pub(super) wish: String,
    pub(super) source: Source,
}

pub(super) fn read(group: &Group<'_>, name: SessionName) -> Session {
    let mut reader = Reader {
        builder: Builder::new(Format::Openhands),
        spans: HashMap::new(),
        known: HashSet::new(),
        calls: HashMap::new(),
        responses: HashSet::new(),
        summary: None,
        seen: HashMap::new(),
    };
    reader.builder.report.source_session = group.id.clone();
    if let Some(around) = &group.around {
        let source = reader.builder.source(None);
        reader.builder.extra(around, "remainder:document", "around0".to_owned(), None, &source);
    }
    if group.missing > 0 {
        reader.builder.notes.add_many("event files that are missing", group.missing, &group.wish);
    }
    for piece in &group.pieces {
        reader.event(piece);
    }
    reader.builder.finish(name)
}

impl Reader {
    fn event(&mut self, piece: &Piece<'_>) {
        self.builder.record(piece.bytes.len());
        let Shape::Value(value) = piece.shape else {
            self.builder.keep_broken(piece);
            return;
        };
        let Some(fields) = Fields::of(value) else {
            let source = self.builder.source(None);
            self.builder.keep_raw(
                piece.bytes,
                "not-an-event",
                names::of_bytes(piece.bytes),
                &source,
            );
            return;
        };
        let id = fields.word("id").filter(|id| !id.is_empty());
        let parent = ["parent_id", "cause", "action_id"].iter().find_map(|name| fields.word(name));
        let numeric = id.as_ref().is_some_and(|id| id.bytes().all(|b| b.is_ascii_digit()));
        let wish = match &id {
            Some(id) if numeric => format!("e{id}"),
            Some(id) => id.clone(),
            None => names::of_bytes(piece.bytes),
        };
        let source =
            Source { parent, time: fields.word("timestamp"), ..self.builder.source(id.clone()) };
        let current = Current { bytes: piece.bytes, fields: &fields, id, wish, source };
        if self.repeats(&current) {
            self.keep_raw(&current, "duplicate");
            return;
        }
        self.known.extend(current.id.clone());
        // V0 names its action or observation in a word; V1 has an object there, and a kind.
        let (action, observation) = (fields.text("action"), fields.text("observation"));
        match (action, observation, fields.text("kind")) {
            (Some(action), _, _) => self.v0_action(&current, &action),
            (None, Some(observation), _) => self.v0_observation(&current, &observation),
            (None, None, Some(kind)) => self.v1_event(&current, &kind),
            (None, None, None) => {
                let state = fields.get("agent").is_some() && fields.get("workspace").is_some();
                self.keep_raw(&current, if state { "base_state" } else { "not-an-event" });
            }
        }
    }

    fn repeats(&mut self, current: &Current<'_, '_>) -> bool {
        let Some(id) = &current.id else { return false };
        let digest = Digest::of(current.bytes);
        match self.seen.get(id) {
            Some(before) if *before == digest => {
                self.builder.note("events repeated under the same id, kept raw", id);
                true
            }
            Some(_) => {
                self.builder.note("event ids that stand for two different events", id);
                false
            }
            None => {
                self.seen.insert(id.clone(), digest);
                false
            }
        }
    }

    pub(super) fn keep_raw(&mut self, current: &Current<'_, '_>, kind: &str) {
        let wish = current.wish.clone();
        self.builder.keep_raw(current.bytes, kind, wish, &current.source);
    }

    /// Remembers what an event became, so that it can be forgotten.
    pub(super) fn became(&mut self, current: &Current<'_, '_>, spans: &[SpanId]) {
        if let Some(id) = &current.id {
            self.spans.entry(id.clone()).or_default().extend(spans.iter().cloned());
        }
    }
}

/// Who speaks, by the event's `source`.
pub(super) fn speaker(fields: &Fields<'_>) -> Origin {
    match fields.text("source").as_deref() {
        Some("user") => Origin::User,
        Some("agent") => Origin::Model,
        _ => Origin::Harness,
    }
}
