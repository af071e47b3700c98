//! One Claude Code context window: what each record type does to it.

use std::collections::HashMap;

use lacuna_core::{Digest, Origin, Role, SessionName, Source, SpanId, SpanKind};

use super::split::Record;
use serde_json::value::RawValue;

use crate::builder::Builder;
use crate::content;
use crate::fields::{Fields, object, says_nothing};
use crate::lines::Shape;
use crate::names;
use crate::{Format, Session};

/// Fields that repeat on every record of a session; kept when they change.
const ENVELOPE: &[&str] =
    &["cwd", "version", "gitBranch", "slug", "userType", "entrypoint", "sessionKind", "session_id"];

/// Fields that spans express: in their source, their session, their origin or their order.
const EXPRESSED: &[&str] = &["type", "uuid", "parentUuid", "timestamp", "sessionId"];

pub(super) struct Reader {
    pub(super) builder: Builder,
    pub(super) sub_agent: bool,
    envelope: String,
    /// The content seen under each uuid.
    seen: HashMap<String, Digest>,
    /// The spans that came from each uuid.
    pub(super) spans: HashMap<String, Vec<SpanId>>,
    /// A compaction boundary that has not met its summary yet: the uuids that survive it.
    boundary: Option<Vec<String>>,
}

/// Fields that say which agent wrote the record.
const AGENT: &[&str] = &["agentId", "isSidechain"];

/// One record being read.
pub(super) struct Current<'r, 'a> {
    pub(super) bytes: &'a [u8],
    pub(super) fields: &'r Fields<'a>,
    pub(super) kind: String,
    /// What its spans' ids begin with: its uuid, or its number in the session.
    pub(super) wish: String,
    pub(super) source: Source,
}

impl<'a> Current<'_, 'a> {
    /// What of the record's own fields its spans do not express.
    pub(super) fn rest(&self, known: &[&str]) -> Vec<(String, &'a RawValue)> {
        // On the main thread an agent's id is not part of the session's name.
        let agent = if self.fields.flag("isSidechain") { AGENT } else { &[] };
        self.fields.rest_but(&[EXPRESSED, agent].concat(), &[ENVELOPE, known].concat())
    }
}

impl Reader {
    pub(super) fn new(format: Format, sub_agent: bool) -> Self {
        Self {
            builder: Builder::new(format),
            sub_agent,
            envelope: String::new(),
            seen: HashMap::new(),
            spans: HashMap::new(),
            boundary: None,
        }
    }

    pub(super) fn record(&mut self, record: &Record<'_>) {
        self.builder.record(record.piece.bytes.len());
        if !matches!(record.piece.shape, Shape::Value(_)) {
            self.builder.keep_broken(&record.piece);
            return;
        }
        let bytes = record.piece.bytes;
        let Some(fields) = &record.fields else {
            let source = self.builder.source(None);
            self.builder.keep_raw(bytes, "not-a-record", names::of_bytes(bytes), &source);
            return;
        };
        let uuid = fields.word("uuid").filter(|uuid| !uuid.is_empty());
        let source = Source {
            parent: fields.word("parentUuid").or_else(|| fields.word("logicalParentUuid")),
            time: fields.word("timestamp"),
            ..self.builder.source(uuid.clone())
        };
        let current = Current {
            bytes,
            fields,
            kind: fields.text("type").unwrap_or_else(|| "untyped".to_owned()),
            wish: uuid.unwrap_or_else(|| names::of_bytes(bytes)),
            source,
        };
        self.dispatch(&current);
    }

    fn dispatch(&mut self, current: &Current<'_, '_>) {
        match current.kind.as_str() {
            "user" | "assistant" => self.message_record(current),
            "attachment" => self.attachment(current),
            "system" => self.system(current),
            "content-replacement" => {
                let replaced = current.fields.list("replacements").unwrap_or_default();
                let ids = replaced.into_iter().filter_map(Fields::of);
                let ids: Vec<_> = ids.filter_map(|item| item.text("toolUseId")).collect();
                self.keep_raw(current, "content-replacement");
                self.clear_results(&ids, "content replacement by the agent");
            }
            kind => self.keep_raw(current, kind),
        }
    }

    pub(super) fn keep_raw(&mut self, current: &Current<'_, '_>, kind: &str) {
        let wish = current.wish.clone();
        self.builder.keep_raw(current.bytes, kind, wish, &current.source);
    }

    /// Whether this record repeats one that was read before, as resumed sessions do.
    fn repeats(&mut self, current: &Current<'_, '_>) -> bool {
        let (Some(uuid), Some(message)) = (&current.source.id, current.fields.get("message"))
        else {
            return false;
        };
        let digest = Digest::of(message.get().as_bytes());
        match self.seen.get(uuid) {
            Some(before) if *before == digest => {
                self.builder.note("records repeated under the same uuid, kept raw", uuid);
                true
            }
            Some(_) => {
                self.builder.note("uuids that stand for two different records", uuid);
                false
            }
            None => {
                self.seen.insert(uuid.clone(), digest);
                false
            }
        }
    }

    fn message_record(&mut self, current: &Current<'_, '_>) {
        if self.repeats(current) {
            self.keep_raw(current, &format!("duplicate:{}", current.kind));
            return;
        }
        let Some(message) = current.fields.object("message") else {
            self.keep_raw(current, &format!("malformed:{}", current.kind));
            return;
        };
        if current.fields.flag("isCompactSummary") {
            self.compaction(current, &message);
            return;
        }
        if self.boundary.take().is_some() {
            self.builder.note(
                "compaction boundaries without a summary: the window is left as it was",
                &current.wish,
            );
        }
        self.message(current, &message);
    }

    /// Keeps the record's surroundings if they differ from the last record's.
    pub(super) fn envelope(&mut self, current: &Current<'_, '_>) {
        let fields = ENVELOPE.iter().filter_map(|name| {
            let value = current.fields.get(name).filter(|value| !says_nothing(value))?;
            Some((*name, value.get()))
        });
        let envelope = object(fields);
        if envelope != self.envelope && envelope != "{}" {
            let wish = format!("{}.env", current.wish);
            self.builder.extra(&envelope, "envelope", wish, None, &current.source);
            self.envelope = envelope;
        }
    }

    fn system(&mut self, current: &Current<'_, '_>) {
        let subtype = current.fields.text("subtype");
        let kind = subtype.as_ref().map_or("system".to_owned(), |word| format!("system:{word}"));
        match subtype.as_deref() {
            Some("compact_boundary") => {
                let survivors = current
                    .fields
                    .object("compactMetadata")
                    .and_then(|metadata| metadata.object("preservedMessages"))
                    .and_then(|kept| kept.list("uuids"))
                    .unwrap_or_default();
                self.keep_raw(current, &kind);
                let uuids = survivors.into_iter().filter_map(crate::fields::text).collect();
                if self.boundary.replace(uuids).is_some() {
                    self.builder.note(
                        "compaction boundaries without a summary: the window is left as it was",
                        &current.wish,
                    );
                }
            }
            Some("microcompact_boundary") => {
                let metadata = current.fields.object("microcompactMetadata");
                let listed = |name| {
                    let list = metadata.as_ref().and_then(|fields| fields.list(name));
                    let list = list.unwrap_or_default().into_iter();
                    list.filter_map(crate::fields::text).collect::<Vec<String>>()
                };
                let (results, attachments) =
                    (listed("compactedToolIds"), listed("clearedAttachmentUUIDs"));
                self.keep_raw(current, &kind);
                self.clear_results(&results, "microcompaction by the agent");
                let spans = attachments.iter().filter_map(|uuid| self.spans.get(uuid));
                let spans: Vec<_> = spans.flatten().cloned().collect();
                self.builder.prune(&spans, "microcompaction by the agent");
            }
            // Slash commands answered locally; the conversation shows them to the model.
            Some("local_command") if current.fields.text("content").is_some() => {
                let Some(value) = current.fields.get("content") else { return };
                self.envelope(current);
                let who = (Role::User, Origin::Harness, SpanKind::Note);
                let (wish, source) = (&current.wish, &current.source);
                let draft = content::text(&mut self.builder, wish, who, source, value);
                self.builder.understood();
                let mut rest = crate::fields::Remainder::default();
                rest.add("", current.rest(&["content", "subtype"]));
                let mut draft = draft.label("injected", "local_command");
                rest.lift("", "", &mut draft.labels);
                let span = self.builder.push(draft);
                self.builder.remainder(rest, &kind, wish, Some(&span), source);
            }
            _ => self.keep_raw(current, &kind),
        }
    }

    fn clear_results(&mut self, tool_use_ids: &[String], reason: &str) {
        let spans = tool_use_ids.iter().flat_map(|id| self.builder.window.results_for(id));
        let spans: Vec<_> = spans.collect();
        self.builder.prune(&spans, reason);
    }

    /// Everything in the window, except what the boundary preserves, gives way to the summary.
    fn compaction(&mut self, current: &Current<'_, '_>, message: &Fields<'_>) {
        let survivors = self.boundary.take().unwrap_or_default();
        let kept: Vec<_> =
            survivors.iter().filter_map(|uuid| self.spans.get(uuid)).flatten().collect();
        let mut covers = self.builder.window.live();
        covers.retain(|span| !kept.contains(&span));
        let Some(text) = super::message::plain_text(message) else {
            self.keep_raw(current, "malformed:summary");
            self.builder.note("compaction summaries without a readable text", &current.wish);
            return;
        };
        self.envelope(current);
        self.builder.understood();
        let (wish, source) = (&current.wish, &current.source);
        let span =
            self.builder.summarize(wish, text, source.clone(), covers, "compaction by the agent");
        let mut rest = crate::fields::Remainder::default();
        rest.add("", current.rest(&["message"]));
        rest.add("message", super::message::beside_content(message, "user"));
        self.builder.remainder(rest, "summary", wish, Some(&span), source);
    }

    pub(super) fn finish(mut self, name: SessionName) -> Session {
        if self.boundary.is_some() {
            self.builder.note(
                "compaction boundaries without a summary: the window is left as it was",
                "at the end",
            );
        }
        self.builder.finish(name)
    }
}
