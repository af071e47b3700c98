//! Summaries: compactions, and what a branch left behind leaves.

use std::collections::HashSet;

use lacuna_core::SpanId;

use super::session::{Current, Reader};
use super::tree::Place;
use crate::fields::{Fields, Remainder};

/// Entry fields that spans express in their source or their order.
pub(super) const EXPRESSED: &[&str] = &["type", "id", "parentId", "timestamp"];

/// What a summary is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// What stood before an entry of the path.
    Window,
    /// The branch that the agent went back from.
    Branch,
    /// It does not say.
    Unsaid,
}

impl Of {
    /// By an entry's type or a message's role; none if it is no summary.
    pub(super) fn named(kind: &str, fields: &Fields<'_>) -> Option<Self> {
        let says = |name| fields.get(name).is_some_and(|value| value.get() != "null");
        match kind {
            "compaction" => Some(Self::Window),
            "compactionSummary" if says("firstKeptEntryId") || says("firstKeptEntryIndex") => {
                Some(Self::Window)
            }
            "compactionSummary" => Some(Self::Unsaid),
            "branch_summary" | "branchSummary" => Some(Self::Branch),
            _ => None,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Window => "compaction by the agent",
            Self::Branch => "branch summary by the agent",
            Self::Unsaid => "compaction by the agent, without saying of what",
        }
    }
}

impl<'a> Reader<'a> {
    /// Carries out a summary. `fields` are those that say what it is: the entry's own, or its
    /// message's.
    pub(super) fn summary(&mut self, current: &Current<'_, 'a>, fields: &Fields<'a>, of: Of) {
        let Some(text) = fields.text("summary").filter(|text| !text.is_empty()) else {
            let leaving = self.leaving(&self.behind);
            self.keep_raw(current, &format!("malformed:{}", current.kind));
            self.builder.note("summaries without a readable text", &current.wish);
            self.builder.prune(&leaving, "the agent went back to an earlier entry");
            return;
        };
        let mut covers = match of {
            Of::Window => self.compacted(current, fields),
            Of::Branch => self.spans_of(&self.behind),
            Of::Unsaid => Vec::new(),
        };
        // A call whose result is missing or kept stays where it is, and is there for the next
        // summary. It is not covered either: on a branch that turns out to be left an open call is
        // not in the window, and what a summary covers must not depend on what comes later.
        let mut going = HashSet::new();
        covers.retain(|(_, span)| self.builder.window.holds(span) && going.insert(span.clone()));
        let (held_back, covers): (Vec<_>, Vec<_>) =
            covers.into_iter().partition(|(_, span)| self.builder.window.held_back(span, &going));
        self.builder.held_back(held_back.iter().map(|(_, span)| span));
        // What comes back when the agent has left this summary must not leave: no step of
        // an import brings it back.
        let until = self.tree.last[self.place];
        let stays = |place: &Place| self.tree.last[*place] > until;
        let leaving: Vec<SpanId> = covers
            .iter()
            .filter(|(place, _)| !stays(place))
            .map(|(_, span)| span.clone())
            .collect();
        if leaving.len() < covers.len() {
            self.builder.note(
                "summaries on a branch that is left: what comes back to the window stays in it",
                &current.wish,
            );
        }
        self.builder.understood();
        let (wish, source) = (&current.wish, &current.source);
        let ids = covers.iter().map(|(_, span)| span.clone()).collect();
        let span =
            self.builder.summarize_over(wish, text, source.clone(), ids, &leaving, of.reason());
        if of == Of::Window {
            self.stuck = held_back;
            self.compactions.push(self.place);
        }
        self.became(std::slice::from_ref(&span));
        let mut rest = Remainder::default();
        if std::ptr::eq(fields, current.fields) {
            rest.add("", fields.rest_but(EXPRESSED, &["summary"]));
        } else {
            rest.add("", current.fields.rest_but(EXPRESSED, &["message"]));
            rest.add("message", fields.rest(&["summary"]));
        }
        self.builder.remainder(rest, &current.kind, wish, Some(&span), source);
    }

    fn spans_of(&self, places: &[Place]) -> Vec<(Place, SpanId)> {
        let spans = |place: &Place| {
            let place = *place;
            self.spans[place].iter().map(move |span| (place, span.clone()))
        };
        places.iter().flat_map(spans).collect()
    }

    /// What a compaction stands for: the path before the first entry kept, and the summary before.
    fn compacted(
        &mut self,
        current: &Current<'_, '_>,
        fields: &Fields<'_>,
    ) -> Vec<(Place, SpanId)> {
        let own = self.path.len() - 1;
        let kept = match fields.word("firstKeptEntryId") {
            Some(id) => self.tree.by_id.get(&id).copied(),
            None => {
                let number = fields.word("firstKeptEntryIndex");
                let number = number.and_then(|number| number.parse::<usize>().ok());
                number.and_then(|number| self.tree.by_number.get(number).copied().flatten())
            }
        };
        let kept = kept.and_then(|place| self.on_path(place)).filter(|position| *position < own);
        if kept.is_none() {
            self.builder.note(
                "compactions whose first kept entry is not on their path: nothing before them is kept",
                &current.wish,
            );
        }
        let end = kept.unwrap_or(own);
        let taken = self.compactions.last().and_then(|place| self.taken.get(place));
        let taken = taken.copied().unwrap_or(0);
        if end < taken {
            self.builder.note(
                "compactions that keep again what an earlier one took: that stays outside the window",
                &current.wish,
            );
        }
        let mut covers = std::mem::take(&mut self.stuck);
        if !self.spend(covers.len()) {
            covers.clear();
        }
        // What was stuck on another branch, or is kept now, is not meant.
        covers.retain(|(place, _)| self.on_path(*place).is_some_and(|position| position < end));
        // Only the latest summary is shown, wherever the one before it stands.
        let between = self.path[taken.min(end)..end].iter().copied();
        let entries = between.filter(|place| !self.taken.contains_key(place));
        let entries: Vec<_> = self.compactions.last().copied().into_iter().chain(entries).collect();
        covers.extend(self.spans_of(&entries));
        self.taken.insert(self.place, taken.max(end));
        covers
    }
}
