//! One trajectory: its steps in order.

use lacuna_core::{SessionName, Source, SpanId};

use super::find::{Item, Trajectory};
use crate::builder::Builder;
use crate::fields::{Fields, object, quoted};
use crate::lines::Shape;
use crate::names;
use crate::{Format, Session};

pub(super) struct Reader {
    pub(super) builder: Builder,
    /// Whether another agent's work or the harness started this one's, not a user.
    pub(super) sub_agent: bool,
    pub(super) by_harness: bool,
    /// Whether a user or the agent has spoken.
    pub(super) begun: bool,
    /// What stands up to the first user step.
    pub(super) opening: Vec<SpanId>,
    /// What entered the window behind that, since the latest summary.
    pub(super) since: Vec<SpanId>,
    /// Whether a user has spoken.
    pub(super) asked: bool,
    /// The step before was a boundary, whose handoff is expected in this one.
    pub(super) boundary: Option<Boundary>,
    /// Ids of copied steps.
    pub(super) copied: Vec<String>,
}

/// Where the window was summarised, without the words of the summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boundary {
    /// Whether any user step behind it is its handoff.
    pub(super) certain: bool,
    pub(super) step: String,
}

/// One step being read.
pub(super) struct Current<'r, 'a> {
    pub(super) bytes: &'a [u8],
    pub(super) fields: &'r Fields<'a>,
    /// What its spans' ids begin with.
    pub(super) wish: String,
    pub(super) source: Source,
}

pub(super) fn read(trajectory: Trajectory<'_>, name: SessionName) -> Session {
    let mut builder = Builder::new(Format::Atif);
    builder.report.source_session = trajectory.id.or(trajectory.trajectory);
    let sub_agent = trajectory.parent.is_some();
    builder.report.parent = trajectory.parent;
    if let Some(around) = &trajectory.around {
        let source = builder.source(None);
        let wish = names::of_bytes(around.as_bytes());
        builder.extra(around, "remainder:document", wish, None, &source);
    }
    let mut reader = Reader {
        builder,
        sub_agent,
        by_harness: trajectory.by_harness,
        begun: false,
        opening: Vec::new(),
        since: Vec::new(),
        asked: false,
        boundary: None,
        copied: Vec::new(),
    };
    for item in &trajectory.items {
        match item {
            Item::Step(value) => reader.record(value),
            Item::Stray(piece) => {
                reader.builder.record(piece.bytes.len());
                if matches!(piece.shape, Shape::Value(_)) {
                    let source = reader.builder.source(None);
                    let wish = names::of_bytes(piece.bytes);
                    reader.builder.keep_raw(piece.bytes, "not-a-step", wish, &source);
                } else {
                    reader.builder.keep_broken(piece);
                }
            }
        }
    }
    reader.finish(name)
}

impl Reader {
    fn record(&mut self, value: &serde_json::value::RawValue) {
        let bytes = value.get().as_bytes();
        self.builder.record(bytes.len());
        let Some(fields) = Fields::of(value) else {
            let source = self.builder.source(None);
            self.builder.keep_raw(bytes, "not-a-step", names::of_bytes(bytes), &source);
            return;
        };
        let id = fields.word("step_id").filter(|id| !id.is_empty());
        let wish = match &id {
            Some(id) if id.bytes().all(|b| b.is_ascii_digit()) => format!("step{id}"),
            Some(id) => id.clone(),
            None => names::of_bytes(bytes),
        };
        let source = Source { time: fields.word("timestamp"), ..self.builder.source(id) };
        let current = Current { bytes, fields: &fields, wish, source };
        if fields.flag("is_copied_context") {
            self.copied.push(current.wish.clone());
        }
        let speaker = fields.text("source").unwrap_or_default();
        let boundary = self.boundary.take();
        if speaker == "user" {
            self.user(&current, boundary);
            return;
        }
        if let Some(boundary) = boundary {
            self.no_handoff(&boundary);
        }
        match speaker.as_str() {
            "system" => self.system(&current),
            "agent" => self.agent(&current),
            speaker => {
                let speaker: String = speaker.chars().take(64).collect();
                self.keep_raw(&current, &format!("step:{speaker}"));
            }
        }
    }

    pub(super) fn no_handoff(&mut self, boundary: &Boundary) {
        self.builder.note(
            "summarisations whose words are not in this trajectory: the window is left as it was",
            &boundary.step,
        );
    }

    /// The id is of the bytes: agents mark steps as copied afterwards.
    pub(super) fn keep_raw(&mut self, current: &Current<'_, '_>, kind: &str) {
        let wish = names::of_bytes(current.bytes);
        self.builder.keep_raw(current.bytes, kind, wish, &current.source);
    }

    fn finish(mut self, name: SessionName) -> Session {
        if let Some(boundary) = self.boundary.take() {
            self.no_handoff(&boundary);
        }
        if !self.copied.is_empty() {
            let steps: Vec<_> = self.copied.iter().map(|step| quoted(step)).collect();
            let steps = format!("[{}]", steps.join(","));
            let json = object([("is_copied_context", steps.as_str())].into_iter());
            let wish = names::of_bytes(json.as_bytes());
            let source = self.builder.source(None);
            self.builder.extra(&json, "remainder:copied", wish, None, &source);
        }
        self.builder.finish(name)
    }
}
