//! A step: one event, what it changed in the window, and why.

use std::collections::HashSet;

use lacuna_client::EventBody;
use lacuna_wire::session::{
    AtBody, CauseBody, ChangeBody, ChangeCounts, DiffReply, DiffRequest, EntryBody, WindowRequest,
};
use lacuna_wire::{BudgetBody, EvidenceBody};
use serde::Serialize;
use serde_json::Value;

use super::super::{Context, budget_line, cause, diff, forensics, look};
use crate::failure::Failure;
use crate::output::{count, excerpt, faint, heading, table};

/// The most changes that a step shows to people.
const CHANGES: usize = 12;
/// The entries of a compact window, and how many of them stand before the first one that changed.
const ENTRIES: usize = 8;
const BEFORE: usize = 2;
/// The widest that what somebody wrote is shown.
const WIDTH: usize = 160;

/// One event and what it did.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    event: EventBody,
    /// Each span that stands otherwise than just before the event; for people only the first of them.
    changes: Vec<ChangeBody>,
    counts: ChangeCounts,
    /// Entries of the window behind the event.
    entries: u64,
    budget: BudgetBody,
    /// The window behind the event, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Vec<EntryBody>>,
    pub(super) evidence: EvidenceBody,
}

impl Step {
    /// Looks at the moments before and behind an event; `all`: every change, however many there are.
    pub(super) fn look(
        context: &Context<'_>,
        event: EventBody,
        all: bool,
        window: bool,
    ) -> Result<Self, Failure> {
        let session = context.session()?;
        let at = |version| Some(AtBody { version: Some(version), ..AtBody::default() });
        let mut request = DiffRequest {
            // Nothing is before the first version.
            from: at(event.version.saturating_sub(1).max(1)),
            to: at(event.version),
            ..DiffRequest::default()
        };
        let mut found: DiffReply = context.backend.session(session, "diff", &request)?;
        while let Some(next) = found.next
            && (all || found.changes.len() < CHANGES)
        {
            request.skip = Some(next);
            let page: DiffReply = context.backend.session(session, "diff", &request)?;
            found.next = page.next;
            found.changes.extend(page.changes);
        }
        let mut step = Self {
            event,
            changes: found.changes,
            counts: found.counts,
            entries: found.to.entries,
            budget: found.to.budget,
            window: None,
            evidence: found.to.evidence,
        };
        if window {
            step.window(context)?;
        }
        Ok(step)
    }

    /// The window behind the event; read once.
    fn window(&mut self, context: &Context<'_>) -> Result<&[EntryBody], Failure> {
        if self.window.is_none() {
            let version = Some(self.event.version);
            let request = WindowRequest {
                at: Some(AtBody { version, ..AtBody::default() }),
                ..WindowRequest::default()
            };
            let reply = context.backend.window(context.session()?, &request)?;
            self.window = Some(reply.entries.unwrap_or_default());
        }
        Ok(self.window.as_deref().unwrap_or_default())
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> Result<String, Failure> {
        let line =
            serde_json::to_string(self).map_err(|error| Failure::Other(error.to_string()))?;
        Ok(line + "\n")
    }

    /// What happened, why, and what it changed, on a bounded number of lines; `last`: the last version.
    pub(super) fn text(&self, last: u64, context: &Context<'_>) -> String {
        let event = &self.event;
        let place = format!("version {} of {}", event.version, last);
        let who =
            format!("{}  {}  by {}  seq {}", event.kind, event.at, event.principal, event.seq);
        let mut text = format!("{}\n", heading(&format!("── {place}  {who}")));
        let mut line = |line: &str| {
            if !line.is_empty() {
                text += line;
                text += "\n";
            }
        };
        line(&excerpt(&forensics::gist(event), WIDTH));
        if let Some(why) = why(event) {
            line(&excerpt(&why, WIDTH));
        }
        if let Some(there) = &event.imported {
            let from = format!("recorded first at {} in journal {}", there.at, there.journal);
            let from = format!("{from}, seq {}; brought by {}", there.seq, there.by);
            line(&faint(&excerpt(&from, WIDTH)));
        }
        line(&self.changes_text(context));
        line(&format!("{} entries, {}", count(self.entries), budget_line(&self.budget)));
        text
    }

    fn changes_text(&self, context: &Context<'_>) -> String {
        let unchanged = self.counts.unchanged;
        if self.event.version == 1 {
            return "the window begins empty".into();
        }
        if self.changes.is_empty() {
            return format!("nothing stands otherwise: {} spans as before", count(unchanged));
        }
        let shown = self.changes.iter().take(CHANGES);
        let rows = shown.map(|change| {
            let [span, what, before, after, tokens, _, _, because] = diff::row(change);
            vec![span, what, before, after, tokens, excerpt(&because, WIDTH)]
        });
        let header = ["span", "what", "before", "after", "tokens", "because"];
        let mut text = diff::counted(&self.counts) + "\n" + &table(&header, &[4], rows.collect());
        let more = diff::changed(&self.counts).saturating_sub(CHANGES as u64);
        if more > 0 {
            let (from, to) = (self.event.version - 1, self.event.version);
            let session = context.global.session.as_deref().unwrap_or_default();
            text += &format!(
                "\n… and {} more: lacuna diff -s {session} --from v{from} --to v{to}",
                count(more)
            );
        }
        text
    }

    /// The whole window, if it was asked for.
    pub(super) fn window_text(&self) -> String {
        match &self.window {
            Some(entries) => self.entries_text(entries, 0..entries.len()),
            None => String::new(),
        }
    }

    /// The whole window, read if it was not yet.
    pub(super) fn whole_window(&mut self, context: &Context<'_>) -> Result<String, Failure> {
        self.window(context)?;
        Ok(self.window_text() + &budget_line(&self.budget) + "\n")
    }

    /// The entries around the first one that the event changed; around the last one if it changed none.
    pub(super) fn compact_window(&mut self, context: &Context<'_>) -> Result<String, Failure> {
        self.window(context)?;
        let entries = self.window.as_deref().unwrap_or_default();
        let changed = self.changed();
        let first = entries.iter().position(|entry| is_changed(entry, &changed));
        let begin = first.unwrap_or(entries.len()).saturating_sub(BEFORE);
        let begin = begin.min(entries.len().saturating_sub(ENTRIES));
        let end = entries.len().min(begin + ENTRIES);
        let mut text = self.entries_text(entries, begin..end);
        let (before, behind) = (begin, entries.len() - end);
        if before + behind > 0 {
            let left_out =
                format!("… {before} entries before these and {behind} behind: w shows all");
            text += &faint(&left_out);
            text.push('\n');
        }
        Ok(text)
    }

    fn changed(&self) -> HashSet<&str> {
        self.changes.iter().map(|change| change.span.as_str()).collect()
    }

    /// A table of some entries; those that the event changed are marked.
    fn entries_text(&self, entries: &[EntryBody], which: std::ops::Range<usize>) -> String {
        let shown = entries.get(which).unwrap_or_default();
        if shown.is_empty() {
            return "nothing stands in the window\n".into();
        }
        let changed = self.changed();
        let rows = shown.iter().map(|entry| {
            let mark = if is_changed(entry, &changed) { "•" } else { "" };
            let mut row = look::entry_row(entry);
            row.insert(0, mark.into());
            row
        });
        let header = ["", "handle", "entry", "role", "tokens", "content"];
        table(&header, &[4], rows.collect()) + "\n"
    }
}

fn is_changed(entry: &EntryBody, changed: &HashSet<&str>) -> bool {
    let spans = entry.spans.iter().flatten().chain(&entry.id);
    spans.map(String::as_str).any(|span| changed.contains(span))
}

/// What whoever acted gave as the reason, what was found, or what the event rests on; none where the gist
/// says all.
fn why(event: &EventBody) -> Option<String> {
    let text = |name: &str| {
        let text = event.fields.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let each = |list: &str, name: &str| {
        let items = event.fields.get(list).and_then(Value::as_array);
        let mut found: Vec<&str> =
            items.into_iter().flatten().filter_map(|item| item[name].as_str()).collect();
        found.sort_unstable();
        found.dedup();
        (!found.is_empty()).then(|| found.join(", "))
    };
    let because = |why: Option<String>| Some(format!("because: {}", why?));
    match event.kind.as_str() {
        "prune-executed" => because(text("reason")),
        "prune-rejected" => because(text("given_reason")),
        "contradiction-noted" | "contradiction-resolved" => because(text("note")),
        "summary-recorded" | "summary-audited" => {
            Some(format!("findings: {}", each("findings", "code")?))
        }
        "notice-given" => {
            Some(format!("because: rule {} of {}", each("spans", "rule")?, text("policy")?))
        }
        "lossy-committed" => {
            let cause = event.fields.get("cause").cloned()?;
            let cause: CauseBody = serde_json::from_value(cause).ok()?;
            Some(format!("because: {}", cause::sentence(&cause)))
        }
        _ => None,
    }
}
