//! What is different between two moments of a session, and which event made it so.

use std::collections::HashMap;
use std::sync::Arc;

use lacuna_core::{
    DirectiveNo, Event, Form, Outcome, Recorded, SessionKey, SessionState, SpanId, SpanIndex,
};

use crate::past::Then;
use crate::{EngineError, Journal};

/// Events read at a time.
const PAGE: usize = 4_096;

/// How a span stood at a moment: how the window showed it, and the typed answer about it.
pub type Stood = (Form, Outcome);

/// A span that stood otherwise at one moment than at the other.
#[derive(Debug, Clone)]
pub struct Change {
    /// The span, in the later state.
    pub span: SpanIndex,
    /// How it stood at the earlier moment; none if it was not recorded then.
    pub before: Option<Stood>,
    /// How it stood at the later one.
    pub after: Stood,
    /// The last event of the session between the two that made it so; none where the tenant's retention
    /// alone did, which has events of its own.
    pub made_by: Option<Arc<Recorded>>,
}

impl Journal {
    /// What is different between two moments, in the order of recording. The earlier one comes first.
    pub fn diff(
        &self,
        key: &SessionKey,
        from: &Then,
        to: &Then,
    ) -> Result<Vec<Change>, EngineError> {
        let mut changes = Vec::new();
        for (span, index) in to.state.spans().iter().zip(0..) {
            let before = from.state.spans().get(index as usize);
            let before = before.map(|span| (from.state.form(index), from.outcome(span).0));
            let after = (to.state.form(index), to.outcome(span).0);
            if before != Some(after) {
                changes.push(Change { span: index, before, after, made_by: None });
            }
        }
        let mut makers = self.makers(key, &from.state, &to.state)?;
        for change in &mut changes {
            change.made_by = makers.remove(&change.span);
        }
        Ok(changes)
    }

    /// For every span the last event behind one state, up to another, that may have changed how it stands.
    fn makers(
        &self,
        key: &SessionKey,
        from: &SessionState,
        to: &SessionState,
    ) -> Result<HashMap<SpanIndex, Arc<Recorded>>, EngineError> {
        let mut makers = HashMap::new();
        let behind = behind(to);
        let mut next = from.version + 1;
        while next <= to.version {
            let events = self.history(key, next, PAGE)?;
            let Some(last) = events.last() else { break };
            next = last.version + 1;
            for recorded in events.into_iter().take_while(|e| e.version <= to.version) {
                let concerned = concerned(to, &behind, &recorded.event);
                if concerned.is_empty() {
                    continue;
                }
                let recorded = Arc::new(recorded);
                for span in concerned {
                    makers.insert(span, Arc::clone(&recorded));
                }
            }
        }
        Ok(makers)
    }
}

/// The summaries that ever stood in the place of a span.
fn behind(state: &SessionState) -> HashMap<SpanIndex, Vec<SpanIndex>> {
    let mut behind = HashMap::<SpanIndex, Vec<SpanIndex>>::new();
    let directives = (1..).map_while(|number| state.directive(DirectiveNo(number)));
    for directive in directives {
        if let Some(summary) = directive.replace_with {
            for &span in &directive.spans {
                behind.entry(span).or_default().push(summary);
            }
        }
    }
    behind
}

/// The spans that an event may make stand otherwise. A summary stands otherwise with those behind it, and
/// they with it.
fn concerned(
    state: &SessionState,
    behind: &HashMap<SpanIndex, Vec<SpanIndex>>,
    event: &Event,
) -> Vec<SpanIndex> {
    let index = |id: &SpanId| state.index(id);
    let mut named: Vec<SpanIndex> = match event {
        Event::SpanRecorded(e) => index(&e.span).into_iter().collect(),
        Event::SummaryRecorded(e) => index(&e.span).into_iter().collect(),
        Event::SummaryAudited(e) => index(&e.summary).into_iter().collect(),
        Event::PruneExecuted(e) => {
            let spans = e.spans.iter().map(|pruned| &pruned.span).chain(&e.replace_with);
            spans.filter_map(index).collect()
        }
        Event::LossyCommitted(e) => e.spans.iter().filter_map(|lost| index(&lost.span)).collect(),
        Event::NoticeGiven(e) => e.spans.iter().filter_map(|told| index(&told.span)).collect(),
        Event::SpanRestored(e) => index(&e.span).into_iter().collect(),
        _ => Vec::new(),
    };
    if matches!(event, Event::LossyCommitted(_) | Event::SpanRestored(_)) {
        for at in 0..named.len() {
            let span = named[at];
            named.extend(behind.get(&span).into_iter().flatten());
            let own = state.stands_for(state.span(span)).into_iter();
            let own = own.filter_map(|number| state.directive(number));
            named.extend(own.flat_map(|directive| &directive.spans));
        }
    }
    named
}
