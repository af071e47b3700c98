//! Forks: which sessions share a past, and reading a session's events from that on.
//!
//! A fork's versions go on from its parent's, and its first row in the index of blocks is that of its
//! first own event; what stands before is read where the parent keeps it.

use std::sync::atomic::Ordering;

use lacuna_codec::{Block, decode_event, peek_session, peek_version};
use lacuna_core::{Event, Recorded, SessionNo};
use redb::{ReadTransaction, ReadableTableMetadata, WriteTransaction};

use crate::StoreError;
use crate::database::Guarded;
use crate::open::{Store, defensively};
use crate::sessions::Moment;
use crate::tables::{EVENTS, FORKS, SESSION_BLOCKS};

/// That a session was forked from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkRow {
    /// The session that it was forked from.
    pub parent: SessionNo,
    /// The fork.
    pub child: SessionNo,
    /// The last version that they share.
    pub at: u64,
}

/// A part of a session's history that one session recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) session: SessionNo,
    /// The first version.
    pub(crate) from: u64,
    /// The last version.
    pub(crate) to: u64,
}

impl Store {
    /// The sessions that share a past with this one, other than itself, in the order of opening.
    pub fn relatives(&self, session: SessionNo) -> Result<Vec<SessionNo>, StoreError> {
        if !self.has_forks() {
            return Ok(Vec::new());
        }
        defensively(|| {
            let forks = self.db.begin_read()?.open_table(FORKS)?;
            let mut found = std::collections::BTreeSet::from([session.0]);
            let mut open = vec![session.0];
            while let Some(number) = open.pop() {
                for row in forks.range((number, 0)..=(number, u64::MAX))? {
                    let other = row?.0.value().1;
                    if found.insert(other) {
                        open.push(other);
                    }
                }
            }
            found.remove(&session.0);
            Ok(found.into_iter().map(SessionNo).collect())
        })
    }

    /// The session that recorded what stands at a moment of this one's history: itself, or one that it was
    /// forked from; and the moment there.
    pub fn holder(
        &self,
        session: SessionNo,
        until: Moment,
    ) -> Result<(SessionNo, Moment), StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let (mut session, mut until) = (session, until);
            while let Some((first, block)) = beginning(&read, session)?.filter(|(v, _)| *v > 1) {
                let Some(begun) = event_at(&read, session, first, block)? else { break };
                let Event::SessionForked(fork) = begun.event else { break };
                let before =
                    until.version <= fork.at || until.seq < begun.seq || until.time < begun.at;
                if !before || fork.parent_number >= session {
                    break;
                }
                (session, until.version) = (fork.parent_number, until.version.min(fork.at));
            }
            Ok((session, until))
        })
    }

    /// Whether any session of the journal is a fork.
    pub fn has_forks(&self) -> bool {
        self.forked.load(Ordering::Relaxed)
    }
}

/// Writes which sessions were forked.
pub(crate) fn put(write: &WriteTransaction, rows: &[ForkRow]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut forks = write.open_table(FORKS)?;
    for ForkRow { parent, child, at } in rows {
        forks.insert((parent.0, child.0), *at)?;
        forks.insert((child.0, parent.0), *at)?;
    }
    Ok(())
}

/// Whether there are forks; makes the table where there is none: the release that wrote such a journal
/// knew of no forks.
pub(crate) fn prepare(db: &Guarded) -> Result<bool, StoreError> {
    match db.begin_read()?.open_table(FORKS) {
        Ok(forks) => return Ok(!forks.is_empty()?),
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut write = db.begin_write()?;
    write.set_quick_repair(true);
    write.open_table(FORKS)?;
    write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))?;
    Ok(false)
}

/// The parts of a session's history from a version on, oldest first: that of the session itself is the
/// last.
pub(crate) fn lineage(
    read: &ReadTransaction,
    session: SessionNo,
    from: u64,
) -> Result<Vec<Part>, StoreError> {
    let mut parts = vec![Part { session, from, to: u64::MAX }];
    while let Some(part) = parts.last_mut() {
        let Some((first, block)) = beginning(read, part.session)? else { break };
        if part.from >= first || first <= 1 {
            break;
        }
        let (number, own) = (part.session, part.from);
        part.from = first;
        let forked = forked_at(read, number, first, block)?;
        let wrong = || StoreError::Damaged(format!("session {}: it begins nowhere", number.0));
        let (parent, at) = forked.ok_or_else(wrong)?;
        // A parent is older: the way up ends.
        if parent >= number || at.checked_add(1) != Some(first) {
            return Err(wrong());
        }
        parts.push(Part { session: parent, from: own, to: at });
    }
    parts.reverse();
    Ok(parts)
}

/// The session that this one was forked from, and the last version that they share; none for others.
pub(crate) fn parent(
    read: &ReadTransaction,
    session: SessionNo,
) -> Result<Option<(SessionNo, u64)>, StoreError> {
    match beginning(read, session)? {
        Some((first, block)) if first > 1 => forked_at(read, session, first, block),
        _ => Ok(None),
    }
}

/// The version of a session's first own event, and the block in which that stands.
fn beginning(read: &ReadTransaction, session: SessionNo) -> Result<Option<(u64, u64)>, StoreError> {
    let index = read.open_table(SESSION_BLOCKS)?;
    let first = index.range((session.0, 0)..=(session.0, u64::MAX))?.next().transpose()?;
    Ok(first.map(|(key, block)| (key.value().1, block.value())))
}

fn forked_at(
    read: &ReadTransaction,
    session: SessionNo,
    first: u64,
    block: u64,
) -> Result<Option<(SessionNo, u64)>, StoreError> {
    Ok(match event_at(read, session, first, block)?.map(|recorded| recorded.event) {
        Some(Event::SessionForked(event)) => Some((event.parent_number, event.at)),
        _ => None,
    })
}

/// The event of a session at this version, which stands in this block.
fn event_at(
    read: &ReadTransaction,
    session: SessionNo,
    version: u64,
    block: u64,
) -> Result<Option<Recorded>, StoreError> {
    let events = read.open_table(EVENTS)?;
    let stored = events.get(block)?;
    let stored = stored.ok_or_else(|| StoreError::Damaged(format!("block {block} is missing")))?;
    let block = Block::open(stored.value())?;
    for stored in block.stored_events() {
        let stored = stored?;
        if peek_session(stored) == Some(session) && peek_version(stored) == Some(version) {
            return Ok(Some(decode_event(stored)?));
        }
    }
    Ok(None)
}
