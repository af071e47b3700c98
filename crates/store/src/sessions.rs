//! Reading sessions: their numbers, their events, their states.

use std::sync::Arc;

use lacuna_codec::{Block, decode_event, decode_snapshot, peek_session};
use lacuna_core::{Digest, Event, Recorded, SessionKey, SessionNo, SessionState, Timestamp};
use redb::{ReadTransaction, ReadableTable as _};

use crate::StoreError;
use crate::forks::{self, Part};
use crate::ledger;
use crate::open::{Store, defensively};
use crate::tables::{EVENTS, SESSION_BLOCKS, SESSIONS, SNAPSHOTS};

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

    /// The state of a session at its newest version, from its snapshot and the events behind it.
    pub fn load(&self, session: SessionNo) -> Result<Option<SessionState>, StoreError> {
        self.load_at(session, u64::MAX, Timestamp(u64::MAX))
    }

    /// The state of a session at a version or the last one before it, not later than a time.
    pub fn load_at(
        &self,
        session: SessionNo,
        version: u64,
        time: Timestamp,
    ) -> Result<Option<SessionState>, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let mut state = nearest_snapshot(&read, session, version)?.filter(|s| s.at <= time);
            let from = state.as_ref().map_or(1, |state| state.version + 1);
            each_event(&read, session, from, |recorded| {
                if recorded.version > version || recorded.at > time {
                    return Ok(false);
                }
                fold(&mut state, &recorded)?;
                Ok(recorded.version < version)
            })?;
            Ok(state)
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

impl Store {
    /// The stored forms of up to `limit` of a session's events from a version on, about as many as fit into
    /// `bytes`; at least one, if there is one.
    pub fn stored_history(
        &self,
        session: SessionNo,
        from_version: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<(Recorded, Arc<[u8]>)>, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let (mut found, mut taken) = (Vec::new(), 0);
            each_stored(&read, session, from_version.max(1), |recorded, stored| {
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

/// The newest snapshot that the session's history up to a version has, its own or an ancestor's.
fn nearest_snapshot(
    read: &ReadTransaction,
    session: SessionNo,
    version: u64,
) -> Result<Option<SessionState>, StoreError> {
    let (mut session, mut version) = (session, version);
    loop {
        if let Some(state) = latest_snapshot(read, session, version)? {
            return Ok(Some(state));
        }
        match forks::parent(read, session)? {
            Some((parent, at)) if parent < session => {
                (session, version) = (parent, version.min(at))
            }
            _ => return Ok(None),
        }
    }
}

fn latest_snapshot(
    read: &ReadTransaction,
    session: SessionNo,
    version: u64,
) -> Result<Option<SessionState>, StoreError> {
    let table = read.open_table(SNAPSHOTS)?;
    let newest = table.range((session.0, 0)..=(session.0, version))?.next_back().transpose()?;
    let Some((key, value)) = newest else { return Ok(None) };
    let (_, version) = key.value();
    match decode_snapshot(value.value()) {
        // One that is filed under another name than its own is no shortcut to anything.
        Ok(state) => Ok(state.filter(|s| s.number == session && s.version == version)),
        Err(error) => {
            tracing::warn!(session = session.0, %error, "a snapshot is damaged; folding instead");
            Ok(None)
        }
    }
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
    each_stored(read, session, from, |recorded, _| each(recorded))
}

/// The same with the stored form of each.
fn each_stored(
    read: &ReadTransaction,
    session: SessionNo,
    from: u64,
    mut each: impl FnMut(Recorded, &[u8]) -> Result<bool, StoreError>,
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
    each: &mut impl FnMut(Recorded, &[u8]) -> Result<bool, StoreError>,
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
            let recorded = decode_event(stored)?;
            if recorded.version > to {
                return Ok(true);
            }
            if recorded.version >= from && !each(recorded, stored)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
