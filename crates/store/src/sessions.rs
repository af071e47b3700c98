//! Reading sessions: their numbers, their events, their states.

use std::sync::Arc;

use lacuna_codec::{Block, NameSeeker, decode_event, peek_session, peek_version};
use lacuna_core::{
    Digest, Event, Recorded, SessionKey, SessionNo, SessionState, SpanId, Timestamp,
};
use redb::{ReadTransaction, ReadableTable as _};

use crate::StoreError;
use crate::forks::{self, Part};
use crate::ledger;
use crate::open::{Store, defensively};
use crate::snapshots::{Anchors, nearest};
use crate::tables::{EVENTS, SESSION_BLOCKS, SESSIONS};

/// A moment of a session's past: everything that is within all three bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The last version.
    pub version: u64,
    /// The last journal position.
    pub seq: u64,
    /// The last record time.
    pub time: Timestamp,
}

impl Moment {
    /// Where nothing is left out.
    pub const NOW: Self = Self { version: u64::MAX, seq: u64::MAX, time: Timestamp(u64::MAX) };

    /// Just after this version.
    pub fn version(version: u64) -> Self {
        Self { version, ..Self::NOW }
    }

    /// Just after this journal position.
    pub fn seq(seq: u64) -> Self {
        Self { seq, ..Self::NOW }
    }

    /// At the end of this millisecond.
    pub fn time(time: Timestamp) -> Self {
        Self { time, ..Self::NOW }
    }

    /// Whether a state has nothing beyond it.
    pub fn holds(&self, state: &SessionState) -> bool {
        state.version <= self.version && state.seq <= self.seq && state.at <= self.time
    }
}

impl Store {
    /// The number of the session of this name, if one was ever opened.
    pub fn session(&self, key: &SessionKey) -> Result<Option<SessionNo>, StoreError> {
        defensively(|| {
            let names = self.db.begin_read()?.open_table(SESSIONS)?;
            Ok(names.get(key.to_string().as_str())?.map(|value| SessionNo(value.value())))
        })
    }

    /// The name of the session of this number. Where the event that opened it cannot be read, every name is
    /// looked through.
    pub fn session_key(&self, session: SessionNo) -> Result<Option<SessionKey>, StoreError> {
        match defensively(|| ledger::opened(&self.db.begin_read()?, session)) {
            Ok(Some(key)) => return Ok(Some(key)),
            Ok(None) | Err(StoreError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
        defensively(|| {
            let names = self.db.begin_read()?.open_table(SESSIONS)?;
            for entry in names.iter()? {
                let (name, number) = entry?;
                if number.value() == session.0 {
                    let (tenant, session) = name.value().split_once('/').unwrap_or_default();
                    let key = tenant.parse().ok().zip(session.parse().ok());
                    return Ok(key.map(|(tenant, session)| SessionKey { tenant, session }));
                }
            }
            Ok(None)
        })
    }

    /// The names of a tenant's sessions behind `after`, in order, at most `limit`.
    pub fn session_names(
        &self,
        tenant: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        defensively(|| {
            if limit == 0 {
                return Ok(Vec::new());
            }
            let names = self.db.begin_read()?.open_table(SESSIONS)?;
            let start = format!("{tenant}/{after}");
            let mut found = Vec::new();
            for entry in names.range(start.as_str()..)? {
                let (name, _) = entry?;
                let Some(session) =
                    name.value().strip_prefix(tenant).and_then(|n| n.strip_prefix('/'))
                else {
                    break;
                };
                if session != after {
                    found.push(session.to_owned());
                }
                if found.len() == limit {
                    break;
                }
            }
            Ok(found)
        })
    }

    /// The state of a session at its newest version, from its snapshots and the events behind them.
    pub fn load(&self, session: SessionNo) -> Result<Option<SessionState>, StoreError> {
        Ok(self.load_anchored(session)?.map(|(state, _)| state))
    }

    /// The same, and where its next snapshot belongs.
    pub fn load_anchored(
        &self,
        session: SessionNo,
    ) -> Result<Option<(SessionState, Anchors)>, StoreError> {
        self.fold_to(session, Moment::NOW, None)
    }

    /// The state of a session at a version or the last one before it, not later than a time. Costs
    /// reading what the session has gained up to the nearest snapshot, and folding from there.
    pub fn load_at(
        &self,
        session: SessionNo,
        version: u64,
        time: Timestamp,
    ) -> Result<Option<SessionState>, StoreError> {
        let until = Moment { version, time, ..Moment::NOW };
        Ok(self.fold_to(session, until, None)?.map(|(state, _)| state))
    }

    /// The last state within a moment, for who has a later one of the session: costs folding from the
    /// nearest snapshot.
    pub fn load_earlier(
        &self,
        later: &SessionState,
        until: Moment,
    ) -> Result<Option<SessionState>, StoreError> {
        let found = self.fold_to(later.number, until, Some(later))?;
        Ok(found.map(|(state, _)| state))
    }

    fn fold_to(
        &self,
        session: SessionNo,
        until: Moment,
        later: Option<&SessionState>,
    ) -> Result<Option<(SessionState, Anchors)>, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let (mut state, anchors) = nearest(&read, session, until, later)?;
            let from = state.as_ref().map_or(1, |state: &SessionState| state.version + 1);
            each_event(&read, session, from, |recorded| {
                let beyond = recorded.version > until.version
                    || recorded.seq > until.seq
                    || recorded.at > until.time;
                if beyond {
                    return Ok(false);
                }
                fold(&mut state, &recorded)?;
                Ok(recorded.version < until.version)
            })?;
            Ok(state.map(|state| (state, anchors)))
        })
    }

    /// Folds in what was committed to a session since this state. Returns whether anything was.
    pub fn catch_up(&self, state: &mut Arc<SessionState>) -> Result<bool, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            // A state that is caught up ends where a commit ended, so the next commit's row says it.
            if newest_indexed(&read, state.number)? <= state.version {
                return Ok(false);
            }
            let from = state.version + 1;
            let mut changed = false;
            let state = Arc::make_mut(state);
            each_event(&read, state.number, from, |recorded| {
                follows(&recorded, state.version, Some(state.head))?;
                state.evolve(&recorded);
                changed = true;
                Ok(true)
            })?;
            Ok(changed)
        })
    }

    /// The events of a session up to a version that may name a span, and those that settle
    /// contradictions. The others are passed over as they are stored, without being decoded.
    pub fn naming(
        &self,
        session: SessionNo,
        span: &SpanId,
        until: u64,
    ) -> Result<Vec<Recorded>, StoreError> {
        let seeker = NameSeeker::new(span);
        defensively(|| {
            let read = self.db.begin_read()?;
            let mut found = Vec::new();
            each_stored(&read, session, 1, |stored| {
                if seeker.may_be_in(stored) {
                    let recorded = decode_event(stored)?;
                    if recorded.version > until {
                        return Ok(false);
                    }
                    found.push(recorded);
                }
                Ok(true)
            })?;
            Ok(found)
        })
    }

    /// Up to `limit` of a session's events from a version on.
    pub fn history(
        &self,
        session: SessionNo,
        from_version: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let mut found = Vec::new();
            if limit == 0 {
                return Ok(found);
            }
            let from = from_version.max(1);
            each_event(&read, session, from, |recorded| {
                let (version, hash) = match found.last() {
                    Some(Recorded { version, hash, .. }) => (*version, Some(*hash)),
                    // What the first one follows was not read, unless it is that there is nothing.
                    None => (from - 1, (from == 1).then(Digest::default)),
                };
                follows(&recorded, version, hash)?;
                found.push(recorded);
                Ok(found.len() < limit)
            })?;
            Ok(found)
        })
    }
}

/// An event and its stored form.
type Kept = (Recorded, Arc<[u8]>);

impl Store {
    /// The stored forms of up to `limit` of a session's events from a version on, about as many as fit into
    /// `bytes`; at least one, if there is one.
    pub fn stored_history(
        &self,
        session: SessionNo,
        from_version: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<Kept>, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let (mut found, mut taken) = (Vec::new(), 0);
            each_stored(&read, session, from_version.max(1), |stored| {
                let recorded = decode_event(stored)?;
                if found.len() >= limit || (taken + stored.len() > bytes && !found.is_empty()) {
                    return Ok(false);
                }
                taken += stored.len();
                found.push((recorded, stored.into()));
                Ok(true)
            })?;
            Ok(found)
        })
    }
}

/// Folds one event into a state that may not exist yet.
pub(crate) fn fold(
    state: &mut Option<SessionState>,
    recorded: &Recorded,
) -> Result<(), StoreError> {
    match state {
        None if recorded.version == 1 && matches!(recorded.event, Event::SessionOpened(_)) => {
            follows(recorded, 0, Some(Digest::default()))?;
            *state = SessionState::open(recorded);
        }
        None => return Err(damaged(recorded, "its first event does not open it")),
        Some(state) if recorded.session != state.number => {
            let Event::SessionForked(event) = &recorded.event else {
                return Err(damaged(recorded, "it goes on from another session"));
            };
            if event.parent_number != state.number || event.at != state.version {
                return Err(damaged(recorded, "it is forked from somewhere else"));
            }
            follows(recorded, state.version, Some(state.head))?;
            state.evolve(recorded);
        }
        Some(state) => {
            follows(recorded, state.version, Some(state.head))?;
            state.evolve(recorded);
        }
    }
    Ok(())
}

/// Refuses an event that is not its session's next one behind this version and, where it is known,
/// behind the event of this hash.
fn follows(recorded: &Recorded, version: u64, hash: Option<Digest>) -> Result<(), StoreError> {
    if version.checked_add(1) != Some(recorded.version) {
        return Err(damaged(recorded, "its versions have a gap"));
    }
    if hash.is_some_and(|hash| recorded.previous != hash) {
        let why = format!("event {} does not follow the one before it", recorded.seq);
        return Err(damaged(recorded, &why));
    }
    Ok(())
}

fn damaged(recorded: &Recorded, why: &str) -> StoreError {
    StoreError::Damaged(format!("session {}: {why}", recorded.session.0))
}

/// The newest version at which a block of this session begins.
fn newest_indexed(read: &ReadTransaction, session: SessionNo) -> Result<u64, StoreError> {
    let index = read.open_table(SESSION_BLOCKS)?;
    let newest = index.range((session.0, 0)..=(session.0, u64::MAX))?.next_back().transpose()?;
    Ok(newest.map_or(0, |(key, _)| key.value().1))
}

/// Calls `each` with the events of a session's history from a version on, until it returns false: those of
/// the sessions that it was forked from first.
pub(crate) fn each_event(
    read: &ReadTransaction,
    session: SessionNo,
    from: u64,
    mut each: impl FnMut(Recorded) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    each_stored(read, session, from, |stored| each(decode_event(stored)?))
}

/// The same with the events as they are stored.
fn each_stored(
    read: &ReadTransaction,
    session: SessionNo,
    from: u64,
    mut each: impl FnMut(&[u8]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for part in forks::lineage(read, session, from)? {
        if !each_of(read, part, &mut each)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Calls `each` with the events of a part of a session's history, until it returns false; says whether it
/// never did.
fn each_of(
    read: &ReadTransaction,
    Part { session, from, to }: Part,
    each: &mut impl FnMut(&[u8]) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    let index = read.open_table(SESSION_BLOCKS)?;
    let events = read.open_table(EVENTS)?;
    let begin = index
        .range((session.0, 0)..=(session.0, from))?
        .next_back()
        .transpose()?
        .map_or(from, |(key, _)| key.value().1);
    for entry in index.range((session.0, begin)..=(session.0, u64::MAX))? {
        let first = entry?.1.value();
        let value = events
            .get(first)?
            .ok_or_else(|| StoreError::Damaged(format!("block {first} is missing")))?;
        let block = Block::open(value.value())?;
        for stored in block.stored_events() {
            let stored = stored?;
            if peek_session(stored) != Some(session) {
                continue;
            }
            let version = peek_version(stored).unwrap_or(0);
            if version > to {
                return Ok(true);
            }
            if version >= from && !each(stored)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
