//! Condensations: the agent forgets events, and may keep a summary of them.

use super::session::{Current, Reader};
use crate::fields::{self, Fields, Remainder};

impl Reader {
    /// Carries out a condensation. `fields` are those that say what is forgotten: the event's own
    /// (V1) or its arguments (V0).
    pub(super) fn condense<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        fields: &Fields<'a>,
        mut rest: Remainder<'a>,
    ) {
        let listed = fields.list("forgotten_event_ids").unwrap_or_default();
        let mut forgotten: Vec<String> = listed
            .into_iter()
            .filter_map(|id| fields::text(id).or_else(|| Some(id.get().to_owned())))
            .collect();
        let bound = |name| fields.word(name).and_then(|id| id.parse::<u64>().ok());
        let range = (bound("forgotten_events_start_id"), bound("forgotten_events_end_id"));
        if let (Some(start), Some(end)) = range {
            // Over the events that there are, not over the range: it may be of any size.
            let events = self.spans.keys().filter_map(|id| Some((id, id.parse::<u64>().ok()?)));
            let within = events.filter(|(_, id)| (start..=end).contains(id));
            forgotten.extend(within.map(|(id, _)| id.clone()));
        }
        let mut spans: Vec<_> =
            forgotten.iter().filter_map(|id| self.spans.get(id)).flatten().cloned().collect();
        let missing = forgotten.iter().filter(|id| !self.known.contains(*id)).count();
        if missing > 0 {
            self.builder.notes.add_many(
                "forgotten events that are not in this transcript",
                missing as u64,
                &current.wish,
            );
        }
        let summary = fields.get("summary").filter(|value| !fields::says_nothing(value));
        let text = summary.and_then(fields::text);
        self.builder.understood();
        let (wish, source) = (&current.wish, &current.source);
        match text {
            Some(text) => {
                // Only the latest summary is shown.
                spans.extend(self.summary.take());
                spans.retain(|span| self.builder.window.holds(span));
                let reason = "condensation by the agent";
                let span = self.builder.summarize(wish, text, source.clone(), spans, reason);
                self.summary = Some(span.clone());
                self.builder.remainder(rest, "condensation", wish, Some(&span), source);
            }
            None => {
                if let Some(unreadable) = summary {
                    rest.add("", vec![("summary".to_owned(), unreadable)]);
                }
                self.builder.remainder(rest, "condensation", wish, None, source);
                self.builder.prune(&spans, "condensation by the agent");
            }
        }
    }
}
