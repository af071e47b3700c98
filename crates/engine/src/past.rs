//! Questions about moments of the past. What they say rests on events alone: nothing is read back to
//! answer how things stood then.

use std::sync::Arc;

use lacuna_core::retention::{RetentionState, held, outcome as standing, promised};
use lacuna_core::{
    Event, Outcome, Recorded, Refusal, SessionKey, SessionState, SpanId, SpanState, Storage,
    Tenant, Timestamp,
};
use lacuna_store::Moment;

use crate::answers::{self, CopyAt, SpanDurability};
use crate::retention::stream_of;
use crate::{EngineError, Journal};

/// A session at a moment of its past, and the retention that was in force.
#[derive(Debug, Clone)]
pub struct Then {
    /// The session's state.
    pub state: Arc<SessionState>,
    /// The tenant's retention.
    pub retention: Arc<RetentionState>,
    /// The moment's time: of the last event, or that was asked for.
    pub time: Timestamp,
}

impl Journal {
    /// A session's last state within a moment. Of what a fork shares with another session it is that
    /// session's.
    pub fn state_until(
        &self,
        key: &SessionKey,
        until: Moment,
    ) -> Result<Arc<SessionState>, EngineError> {
        let newest = self.state(key)?;
        let until = self.whole_commit(&newest, until)?;
        if until.holds(&newest) {
            return Ok(newest);
        }
        // What a fork shares with sessions that it was forked from is their past.
        let (holder, until) = self.store.holder(newest.number, until)?;
        let newest = match self.store.session_key(holder)? {
            Some(key) if holder != newest.number => self.state(&key)?,
            _ => newest,
        };
        if until.holds(&newest) {
            return Ok(newest);
        }
        let state = self.store.load_earlier(&newest, until)?;
        state.map(Arc::new).ok_or_else(|| {
            Refusal::BadRequest("the session was not open yet at that moment".into()).into()
        })
    }

    /// A fork begins with what had gone from its past already: between its first event and those losses there
    /// was no moment.
    fn whole_commit(
        &self,
        newest: &SessionState,
        mut until: Moment,
    ) -> Result<Moment, EngineError> {
        let Some(fork) = newest.forked_from() else { return Ok(until) };
        let first = fork.at.saturating_add(1);
        if until.version < first || until.version >= newest.version {
            return Ok(until);
        }
        let Some(commit) = self.store.walk(newest.number.0)? else { return Ok(until) };
        let Some((begun, behind)) = commit.events.split_first() else { return Ok(until) };
        let mut last = first;
        for recorded in behind {
            let with_it = recorded.session == newest.number
                && recorded.version == last + 1
                && recorded.principal == begun.principal
                && matches!(recorded.event, Event::LossyCommitted(_));
            if !with_it {
                break;
            }
            last = recorded.version;
        }
        until.version = until.version.max(last);
        Ok(until)
    }

    /// A session's state at a version or time of its past; at the version before it, where nothing
    /// happened just then.
    pub fn state_at(
        &self,
        key: &SessionKey,
        version: u64,
        time: Timestamp,
    ) -> Result<Arc<SessionState>, EngineError> {
        self.state_until(key, Moment { version, time, ..Moment::NOW })
    }

    /// A session and the tenant's retention at a moment. A moment that names no time ends with the
    /// last of the session's events within it.
    pub fn then(&self, key: &SessionKey, until: Moment) -> Result<Then, EngineError> {
        let state = self.state_until(key, until)?;
        let (time, rest) = match until.time {
            Timestamp(u64::MAX) => (state.at, Moment::seq(state.seq)),
            time => (time, Moment::time(time)),
        };
        let retention = self.retention_until(&key.tenant, rest)?;
        Ok(Then { state, retention, time })
    }

    /// The events of a session up to a state that name a span, and those that settle contradictions.
    pub fn naming(
        &self,
        state: &SessionState,
        span: &SpanId,
    ) -> Result<Vec<Recorded>, EngineError> {
        Ok(self.store.naming(state.number, span, state.version)?)
    }

    fn retention_until(
        &self,
        tenant: &Tenant,
        until: Moment,
    ) -> Result<Arc<RetentionState>, EngineError> {
        let Some(newest) = self.reader.state(&stream_of(tenant))? else {
            return Ok(Arc::default());
        };
        let then = match until.holds(&newest) {
            true => newest.retention().cloned(),
            false => {
                let earlier = self.store.load_earlier(&newest, until)?;
                earlier.and_then(|state| state.retention().cloned())
            }
        };
        Ok(then.unwrap_or_default())
    }
}

impl Then {
    /// What the durability index said of a span, as events tell: a copy was verified when an event last
    /// said so, whatever reading it now would show.
    pub fn durability(&self, id: &SpanId) -> SpanDurability {
        let Some(span) = self.state.find(id) else { return SpanDurability::never_recorded(id) };
        let retention = Some(&*self.retention);
        let kept = answers::is_kept(&self.state, span);
        let copy = kept.then(|| CopyAt {
            store: place(span),
            verified_at: span.verified_at,
            unanswered: None,
        });
        let until = copy.as_ref().and_then(|_| promised(&self.state, span, retention, self.time));
        SpanDurability {
            span: id.clone(),
            outcome: self.outcome(span).0,
            digest: Some(span.digest),
            durable_until: until,
            copy,
            holds: held(&self.state, span, retention).iter().map(|hold| hold.name()).collect(),
        }
    }

    /// The typed answer about a span, and when its removal was to come, if that was announced.
    pub fn outcome(&self, span: &SpanState) -> (Outcome, Option<Timestamp>) {
        standing(&self.state, span, Some(&self.retention))
    }
}

/// The external store that holds a span's copy; none for the journal itself.
pub(crate) fn place(span: &SpanState) -> Option<String> {
    match &span.storage {
        Storage::External { store, .. } => Some(store.clone()),
        Storage::Journal | Storage::Withheld { .. } => None,
    }
}
