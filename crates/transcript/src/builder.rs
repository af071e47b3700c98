//! Makes one session's steps: gives out ids, counts turns, tracks the window, batches.

use lacuna_core::{NewSpan, Origin, Role, SessionName, Source, SpanId, SpanKind};
use serde_json::value::RawValue;

use crate::fields::{self, Remainder};
use crate::lines::{Piece, Shape};
use crate::names::{self, SpanIds};
use crate::record::{BYTES, Draft, JSON, SPAN_MAX, TEXT};
use crate::report::Notes;
use crate::window::Window;
use crate::{Format, Report, Session, Step};

const BATCH_SPANS: usize = 200;
const BATCH_BYTES: u64 = 4 << 20;

/// Who is meant by a span of machinery outside the conversation.
const MACHINERY: (Role, Origin, SpanKind) = (Role::System, Origin::Harness, SpanKind::Note);

#[derive(Debug)]
pub(crate) struct Builder {
    format: Format,
    steps: Vec<Step>,
    batch: Vec<NewSpan>,
    batch_bytes: u64,
    ids: SpanIds,
    turn: u64,
    pub(crate) window: Window,
    pub(crate) report: Report,
    pub(crate) notes: Notes,
}

impl Builder {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            steps: Vec::new(),
            batch: Vec::new(),
            batch_bytes: 0,
            ids: SpanIds::default(),
            turn: 0,
            window: Window::default(),
            report: Report::new(format),
            notes: Notes::default(),
        }
    }

    /// A source that names this format and this id.
    pub(crate) fn source(&self, id: Option<String>) -> Source {
        Source { format: self.format.word().to_owned(), id, parent: None, time: None }
    }

    /// A source record is being read.
    pub(crate) fn record(&mut self, bytes: usize) {
        self.report.records += 1;
        self.report.bytes += bytes as u64;
    }

    pub(crate) fn understood(&mut self) {
        self.report.understood += 1;
    }

    pub(crate) fn new_turn(&mut self) {
        self.turn += 1;
    }

    pub(crate) fn note(&mut self, sentence: &'static str, example: &str) {
        self.notes.add(sentence, example);
    }

    /// Records a span.
    pub(crate) fn push(&mut self, draft: Draft) -> SpanId {
        let (id, taken) = self.ids.take(&draft.wish);
        if taken {
            self.note("span ids made unique, because the source repeats its ids", &draft.wish);
        }
        if draft.content.len() > SPAN_MAX {
            self.note("contents over 64 MiB, known by digest but not stored", id.as_str());
        }
        if let Some(call) = &draft.answers {
            self.window.answered(call, &id);
        }
        if draft.in_window {
            self.window.enter(&id);
            self.report.in_window += 1;
        }
        self.report.spans += 1;
        let span = draft.into_span(id.clone(), self.turn);
        let bytes = span.bytes();
        if self.batch.len() >= BATCH_SPANS || self.batch_bytes + bytes > BATCH_BYTES {
            self.flush();
        }
        self.batch_bytes += bytes;
        self.batch.push(span);
        id
    }

    /// Records a tool call. `id`, `name` and `arguments` are JSON, as the source has them.
    pub(crate) fn call(&mut self, call: Call<'_>, mut draft: Draft) -> SpanId {
        let arguments = call.arguments.map_or("null", RawValue::get);
        if let Some(text) = call.arguments.and_then(fields::text)
            && serde_json::from_str::<&RawValue>(&text).is_err()
        {
            self.note("tool arguments that are no JSON, kept as text", &draft.wish);
        }
        let content = fields::object(
            [
                ("id", call.id.map_or("null", RawValue::get)),
                ("name", call.name.map_or("null", RawValue::get)),
                ("arguments", arguments),
            ]
            .into_iter(),
        );
        draft.content = content.into_bytes();
        draft.media_type = JSON.to_owned();
        let span = self.push(draft);
        let provider_id = call.id.and_then(fields::text);
        if self.window.called(provider_id.as_deref().unwrap_or(span.as_str()), &span) {
            self.note("tool calls that stand behind their result", span.as_str());
        }
        span
    }

    /// The call that a result answers; notes an orphan.
    pub(crate) fn answer(&mut self, provider_id: Option<&str>, wish: &str) -> Option<SpanId> {
        let call = provider_id.and_then(|id| self.window.call_for(id)).cloned();
        match &call {
            None => {
                if let Some(id) = provider_id {
                    self.window.orphan(id);
                }
                self.note("tool results without an earlier call in this session", wish);
            }
            Some(call) if !self.window.is_open(call) => {
                self.note("further results for a call that already had one", wish);
            }
            Some(_) => {}
        }
        call
    }

    /// Keeps a whole record raw: its exact bytes, outside the window.
    pub(crate) fn keep_raw(&mut self, bytes: &[u8], kind: &str, wish: String, source: &Source) {
        self.report.kept_raw += 1;
        self.raw(bytes, kind, wish, source, JSON);
    }

    /// Keeps a piece of input that is no JSON value.
    pub(crate) fn keep_broken(&mut self, piece: &Piece<'_>) {
        let media = match piece.shape {
            Shape::NotUtf8 | Shape::NulRun => BYTES,
            _ => TEXT,
        };
        self.report.kept_raw += 1;
        let source = self.source(None);
        let wish = names::of_bytes(piece.bytes);
        self.note(
            match piece.shape {
                Shape::TornTail => "unfinished records at the end, kept as they are",
                Shape::NulRun => "runs of NUL bytes, kept as they are",
                Shape::NotUtf8 => "stretches that are not UTF-8, kept as they are",
                _ => "stretches that are no JSON, kept as they are",
            },
            &wish,
        );
        self.raw(piece.bytes, piece.shape.word(), wish, &source, media);
    }

    fn raw(&mut self, bytes: &[u8], kind: &str, wish: String, source: &Source, media: &str) {
        self.report.count_raw(kind);
        let draft = Draft::text(wish, MACHINERY, source, bytes).media(media).label("raw", kind);
        self.push(draft.hidden());
    }

    /// Keeps what remains of an understood record, if anything does.
    pub(crate) fn remainder(
        &mut self,
        rest: Remainder<'_>,
        kind: &str,
        wish: &str,
        first: Option<&SpanId>,
        source: &Source,
    ) {
        let Some(json) = rest.into_json() else { return };
        let kind = format!("remainder:{kind}");
        self.extra(&json, &kind, format!("{wish}.rest"), first, source);
    }

    /// Keeps fields of understood records as a raw span of its own.
    pub(crate) fn extra(
        &mut self,
        json: &str,
        kind: &str,
        wish: String,
        of: Option<&SpanId>,
        source: &Source,
    ) {
        self.report.count_raw(kind);
        let mut draft = Draft::json(wish, MACHINERY, source, json).label("raw", kind).hidden();
        if let Some(of) = of {
            draft = draft.label("of", of.as_str());
        }
        self.push(draft);
    }

    /// A summary by the source's agent. Covers those of `covers` that are in the window, and
    /// takes their place. With nothing to cover it is recorded as a note of the machinery.
    pub(crate) fn summarize(
        &mut self,
        wish: &str,
        text: String,
        source: Source,
        covers: Vec<SpanId>,
        reason: &str,
    ) -> SpanId {
        let leaving = covers.clone();
        self.summarize_over(wish, text, source, covers, &leaving, reason)
    }

    /// A summary of which only the `leaving` part of what it covers leaves the window: the source's
    /// agent had the rest back later. Where nothing leaves at all, it is recorded without a place.
    pub(crate) fn summarize_over(
        &mut self,
        wish: &str,
        text: String,
        source: Source,
        covers: Vec<SpanId>,
        leaving: &[SpanId],
        reason: &str,
    ) -> SpanId {
        let covers: Vec<_> = covers.into_iter().filter(|span| self.window.holds(span)).collect();
        let stays = leaving.len() < covers.len();
        let leaving = self.leave(leaving);
        if leaving.is_empty() && !stays {
            self.note(
                "summaries that take the place of no span in this transcript, kept as notes",
                wish,
            );
            let who = (Role::User, Origin::Harness, SpanKind::Note);
            return self.push(Draft::text(wish, who, &source, text).label("summary", reason));
        }
        let (id, _) = self.ids.take(wish);
        self.flush();
        self.report.spans += 1;
        self.report.summaries += 1;
        self.steps.push(Step::Summarize { id: id.clone(), covers, text, source: Some(source) });
        // A summary has a place in the window only by what it replaces.
        if !leaving.is_empty() {
            self.report.in_window += 1;
            self.pruned(leaving, Some(id.clone()), reason);
            self.window.enter(&id);
        }
        id
    }

    /// Spans leave the window, as far as they may.
    pub(crate) fn prune(&mut self, spans: &[SpanId], reason: &str) {
        let leaving = self.leave(spans);
        if !leaving.is_empty() {
            self.flush();
            self.pruned(leaving, None, reason);
        }
    }

    fn leave(&mut self, spans: &[SpanId]) -> Vec<SpanId> {
        let leaving = self.window.leave(spans);
        self.held_back(leaving.open_calls.iter().chain(&leaving.kept_with_results));
        leaving.spans
    }

    /// These calls stay when their surroundings leave; says why.
    pub(crate) fn held_back<'s>(&mut self, calls: impl Iterator<Item = &'s SpanId>) {
        for call in calls {
            let sentence = if self.window.is_open(call) {
                "tool calls without a result, left in the window when their surroundings were pruned"
            } else {
                "tool calls left in the window, because a result of theirs stays"
            };
            self.note(sentence, call.as_str());
        }
    }

    fn pruned(&mut self, spans: Vec<SpanId>, replace_with: Option<SpanId>, reason: &str) {
        self.report.pruned += spans.len() as u64;
        self.steps.push(Step::Prune { spans, replace_with, reason: reason.to_owned() });
    }

    fn flush(&mut self) {
        if !self.batch.is_empty() {
            self.steps.push(Step::Append(std::mem::take(&mut self.batch)));
            self.batch_bytes = 0;
        }
    }

    /// The finished session.
    pub(crate) fn finish(mut self, name: SessionName) -> Session {
        self.flush();
        self.report.notes = self.notes.sentences();
        Session { name, steps: self.steps, report: self.report }
    }
}

/// A tool call's parts, each as the JSON that the source has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) name: Option<&'a RawValue>,
    pub(crate) arguments: Option<&'a RawValue>,
}
