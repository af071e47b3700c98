//! Attachments: what Claude Code adds to the conversation beside the user's words.

use lacuna_core::{Origin, Role, SpanKind};

use super::origin;
use super::session::{Current, Reader};
use crate::content;
use crate::fields::{Fields, Remainder, says_nothing};
use crate::record::Draft;

/// Attachments that are rendered into the conversation.
const SHOWN: &[&str] = &[
    "agent_listing_delta",
    "agent_mention",
    "async_hook_response",
    "auto_mode",
    "auto_mode_exit",
    "batching_reminder_sent",
    "budget_usd",
    "compact_file_reference",
    "critical_system_reminder",
    "date_change",
    "deferred_tools_delta",
    "diagnostics",
    "directory",
    "edited_text_file",
    "file",
    "hook_additional_context",
    "hook_blocking_error",
    "hook_stopped_continuation",
    "invoked_skills",
    "lsp_diagnostics",
    "mcp_instructions_delta",
    "mcp_resource",
    "nested_memory",
    "opened_file_in_ide",
    "output_style",
    "pdf_reference",
    "plan_file_reference",
    "plan_mode",
    "plan_mode_exit",
    "plan_mode_reentry",
    "queued_command",
    "read_truncation_notice",
    "relevant_memories",
    "selected_lines_in_ide",
    "silent_turn_reminder",
    "skill_listing",
    "task_reminder",
    "task_status",
    "todo_reminder",
    "token_usage",
    "total_tokens_reminder",
    "ultra_effort_enter",
    "ultra_effort_exit",
];

/// Attachments that show a file.
const FILES: &[&str] =
    &["directory", "edited_text_file", "file", "mcp_resource", "nested_memory", "pdf_reference"];

impl Reader {
    pub(super) fn attachment(&mut self, current: &Current<'_, '_>) {
        let attachment = current.fields.object("attachment");
        let (Some(attachment), Some(value)) = (attachment, current.fields.get("attachment")) else {
            self.keep_raw(current, "attachment");
            return;
        };
        let kind = attachment.text("type").unwrap_or_default();
        if !shown(&kind, &attachment) {
            self.keep_raw(current, &format!("attachment:{kind}"));
            return;
        }
        self.envelope(current);
        self.builder.understood();
        let (wish, source) = (&current.wish, &current.source);
        let mut rest = Remainder::default();
        rest.add("", current.rest(&["attachment"]));
        let draft = if kind == "queued_command" {
            self.queued(current, &attachment, &mut rest)
        } else {
            let what = if FILES.contains(&kind.as_str()) { SpanKind::File } else { SpanKind::Note };
            Draft::json(wish, (Role::User, Origin::Harness, what), source, value.get())
        };
        let mut draft = draft.label("attachment", &kind);
        rest.lift("", "", &mut draft.labels);
        let span = self.builder.push(draft);
        if let Some(uuid) = &source.id {
            self.spans.entry(uuid.clone()).or_default().push(span.clone());
        }
        self.builder.remainder(rest, "attachment", wish, Some(&span), source);
    }

    /// A message that was queued while the agent worked: the user's words, unless it was queued
    /// by a background task.
    fn queued<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        attachment: &Fields<'a>,
        rest: &mut Remainder<'a>,
    ) -> Draft {
        let (wish, source) = (&current.wish, &current.source);
        let mode = attachment.text("commandMode");
        let by_person = matches!(mode.as_deref(), Some("prompt") | None);
        let prompt = attachment.get("prompt").filter(|value| value.get().starts_with('"'));
        let text = prompt.and_then(crate::fields::text).unwrap_or_default();
        let (said, _) = origin::of_prompt(&text, attachment, self.sub_agent);
        let origin = if by_person { said } else { Origin::Harness };
        if origin != Origin::Harness {
            self.builder.new_turn();
        }
        let who = (Role::User, origin, SpanKind::Message);
        match prompt {
            Some(prompt) => {
                rest.add("attachment", attachment.rest(&["type", "prompt"]));
                content::text(&mut self.builder, wish, who, source, prompt)
            }
            None => {
                let whole = current.fields.get("attachment").map_or("null", |value| value.get());
                Draft::json(wish, who, source, whole)
            }
        }
    }
}

fn shown(kind: &str, attachment: &Fields<'_>) -> bool {
    // A hook's output reaches the model at these two events only, and only if there is any.
    if kind == "hook_success" {
        let event = attachment.text("hookEvent");
        let reaches = matches!(event.as_deref(), Some("SessionStart" | "UserPromptSubmit"));
        return reaches && attachment.get("content").is_some_and(|value| !says_nothing(value));
    }
    SHOWN.contains(&kind)
}
