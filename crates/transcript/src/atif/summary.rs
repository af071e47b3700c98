//! User and system steps, and the summaries among them. The module's head says how they are
//! recognised.

use std::collections::VecDeque;

use lacuna_core::{Origin, Role, SpanId};

use super::find;
use super::openings::{self, BOUNDARY, HANDOFF, Opening};
use super::session::{Boundary, Current, Reader};
use crate::fields::{self, Fields, says_nothing};
use crate::names;

const REASON: &str = "summarisation by the agent";

impl Reader {
    pub(super) fn user<'a>(&mut self, current: &Current<'_, 'a>, boundary: Option<Boundary>) {
        let text = plain(current.fields, "message");
        let opening = text.as_deref().and_then(openings::of);
        let handoff = match (&boundary, &text) {
            (Some(boundary), Some(text)) => {
                boundary.certain || text.trim_start().starts_with(HANDOFF)
            }
            _ => false,
        };
        self.begun = true;
        if let (Some(text), true) = (&text, handoff || opening == Some(Opening::Summary)) {
            let covers = if handoff { std::mem::take(&mut self.since) } else { Vec::new() };
            if boundary.as_ref().is_some_and(|boundary| boundary.certain) {
                self.builder.note(
                    "handoffs after a summarisation: the summary and questions shown before them stand in sub-agents' trajectories",
                    &current.wish,
                );
            }
            self.summary(current, text.clone(), covers);
            return;
        }
        if let Some(boundary) = &boundary {
            self.no_handoff(boundary);
        }
        let copied = current.fields.flag("is_copied_context");
        let origin = match opening {
            Some(_) => Origin::Harness,
            // Copied steps were another window's: its user's words stay a user's.
            None if copied || !self.sub_agent => Origin::User,
            None if self.by_harness => Origin::Harness,
            None => Origin::Model,
        };
        if origin != Origin::Harness {
            self.builder.new_turn();
        }
        let mut parts = self.begin(current, &["message", "observation"]);
        if opening.is_some() {
            parts.labels.insert("injected".to_owned(), "handoff".to_owned());
        }
        self.words(current, (Role::User, origin), true, &mut parts);
        self.observed(current, &mut VecDeque::new(), &mut parts);
        self.end(current, "user", parts);
        if !self.asked {
            self.opening.append(&mut self.since);
            self.asked = true;
        }
    }

    pub(super) fn system(&mut self, current: &Current<'_, '_>) {
        let text = plain(current.fields, "message").unwrap_or_default();
        let management = current.fields.object("extra");
        let management = management.and_then(|extra| extra.object("context_management"));
        let word = |name| management.as_ref().and_then(|fields| fields.text(name));
        let (kind, boundary) = (word("type"), word("boundary"));
        let refers = find::results(current.fields).into_iter().any(|result| {
            Fields::of(result).is_some_and(|result| result.get("subagent_trajectory_ref").is_some())
        });
        let terminus = text.trim() == BOUNDARY && (refers || management.is_some());
        if terminus || boundary.as_deref() == Some("replace") {
            self.boundary(current, terminus);
            return;
        }
        let prompt = !self.begun;
        let trimmed = boundary.as_deref() == Some("truncate")
            || matches!(kind.as_deref(), Some("compaction" | "pruning"));
        if trimmed || (!prompt && openings::speaks_of_summaries(&text)) {
            self.builder.note(
                "system steps about a summarised or shortened window that do not say what left it: the window is left as it was",
                &current.wish,
            );
        }
        let mut parts = self.begin(current, &["message", "observation"]);
        let origin = if prompt { Origin::System } else { Origin::Harness };
        self.words(current, (Role::System, origin), true, &mut parts);
        self.observed(current, &mut VecDeque::new(), &mut parts);
        self.end(current, "system", parts);
    }

    /// The window gives way to the content of this step's observation, or to the next user step.
    fn boundary(&mut self, current: &Current<'_, '_>, terminus: bool) {
        self.begun = true;
        let texts: Vec<_> = find::results(current.fields)
            .into_iter()
            .filter_map(|result| plain(&Fields::of(result)?, "content"))
            .filter(|text| !text.is_empty())
            .collect();
        if texts.is_empty() {
            self.keep_raw(current, "step:boundary");
            let step = current.wish.clone();
            self.boundary = Some(Boundary { certain: terminus, step });
            return;
        }
        let mut covers = std::mem::take(&mut self.opening);
        covers.append(&mut self.since);
        self.builder.understood();
        let (wish, source) = (&current.wish, &current.source);
        let text = texts.join("\n");
        let open = covers.clone();
        let span = self.builder.summarize(wish, text, source.clone(), covers, REASON);
        self.stuck(open);
        self.since.push(span.clone());
        // The content is joined and its marks are many: the step is kept as it was written.
        let json = String::from_utf8_lossy(current.bytes);
        let wish = names::of_bytes(current.bytes);
        self.builder.extra(&json, "remainder:boundary", wish, Some(&span), source);
    }

    /// A user step that is a summary.
    fn summary(&mut self, current: &Current<'_, '_>, text: String, covers: Vec<SpanId>) {
        // Parts of a message may say more than their texts.
        let plain = current.fields.get("message").is_some_and(|v| fields::text(v).is_some());
        let known: &[&str] = if plain { &["message", "observation"] } else { &["observation"] };
        let mut parts = self.begin_bare(current, known);
        let (wish, source) = (&current.wish, &current.source);
        let open = covers.clone();
        let span = self.builder.summarize(wish, text, source.clone(), covers, REASON);
        self.stuck(open);
        parts.spans.push(span);
        self.observed(current, &mut VecDeque::new(), &mut parts);
        self.end(current, "user", parts);
    }

    /// What a summary should have taken and could not is there for the next one.
    fn stuck(&mut self, covers: Vec<SpanId>) {
        self.since.extend(covers.into_iter().filter(|span| self.builder.window.holds(span)));
    }
}

/// A field that is a text, or texts in parts.
fn plain(fields: &Fields<'_>, name: &str) -> Option<String> {
    let value = fields.get(name).filter(|value| !says_nothing(value))?;
    if let Some(text) = fields::text(value) {
        return Some(text);
    }
    let parts = fields::list(value)?;
    let texts: Option<Vec<String>> =
        parts.into_iter().map(|part| Fields::of(part)?.text("text")).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}
