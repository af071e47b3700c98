//! Snapshots: shortcuts to a session's state at some of its versions.
//!
//! Each stands on one before it and holds what the session has gained since. Some are kept for good,
//! thousands of events apart, so that any moment of the past is near one; the newest that is not far
//! enough from the last kept one is replaced by the next.
//!
//! ```text
//!   kept ◄── kept ◄── kept ◄── newest, replaced by the next one
//! ```

use lacuna_codec::{CodecError, StoredSnapshot, encode_snapshot};
use lacuna_core::{Extent, Grown, SessionNo, SessionState};
use redb::{ReadOnlyTable, ReadTransaction, WriteTransaction};

use crate::StoreError;
use crate::forks;
use crate::open::{Store, defensively};
use crate::sessions::Moment;
use crate::tables::SNAPSHOTS;

/// Events between two snapshots that are kept: the least, and the most.
const NEAREST: u64 = 1_024;
const FURTHEST: u64 = 4_096;
/// Bytes that keeping a snapshot may cost for each event since the last one.
const BYTES_PER_EVENT: u64 = 64;

/// A session's state, encoded to be stored.
#[derive(Debug, Clone)]
pub struct Snapshot {
    session: SessionNo,
    since: u64,
    version: u64,
    stored: Vec<u8>,
}

impl Snapshot {
    /// Encodes a state to stand alone; it replaces every snapshot of the session before it.
    pub fn of(state: &SessionState) -> Result<Self, StoreError> {
        Self::on(state, Extent::default())
    }

    fn on(state: &SessionState, since: Extent) -> Result<Self, StoreError> {
        let stored = encode_snapshot(state, since)?;
        let (session, version) = (state.number, state.version);
        Ok(Self { session, since: since.version, version, stored })
    }

    /// Its size, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a header stands in the smallest of them")]
    pub fn len(&self) -> usize {
        self.stored.len()
    }
}

/// Where a session's next snapshot belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchors {
    /// The last one that is kept; of version 0 if there is none.
    kept: Extent,
    /// The version of the newest.
    newest: u64,
    /// Versions that need no snapshot of this session.
    shared: u64,
    /// Events behind the kept one from which on another is kept.
    spacing: u64,
}

impl Store {
    /// Where a session's next snapshot belongs, for who has its state without having loaded it.
    pub fn anchors(&self, session: SessionNo) -> Result<Anchors, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let table = read.open_table(SNAPSHOTS)?;
            let newest = table.range((session.0, 0)..=(session.0, u64::MAX))?.next_back();
            let Some((_, value)) = newest.transpose()? else {
                let shared = forks::parent(&read, session)?.map_or(0, |(_, at)| at);
                return Ok(Anchors::begun(shared));
            };
            let Ok(Some(newest)) = StoredSnapshot::read(value.value()) else {
                return Ok(Anchors::default());
            };
            // If what it stands on cannot be used, the next one stands alone.
            let whole = matches!(chain(&table, &newest), Ok(Some(_)));
            Ok(if whole { Anchors::behind(&newest) } else { Anchors::default() })
        })
    }
}

impl Default for Anchors {
    fn default() -> Self {
        Self::begun(0)
    }
}

impl Anchors {
    /// Of a session without snapshots that has this many versions from elsewhere: a fork shares them with
    /// the session that it was forked from.
    pub fn begun(shared: u64) -> Self {
        Self { kept: Extent::default(), newest: shared, shared, spacing: NEAREST }
    }

    fn behind(snapshot: &StoredSnapshot<'_>) -> Self {
        let spacing = spacing(snapshot);
        let far = snapshot.extent.version - snapshot.since.version.min(snapshot.extent.version);
        let kept = if far >= spacing { snapshot.extent } else { snapshot.since };
        Self { kept, newest: snapshot.extent.version, shared: 0, spacing }
    }

    /// How many events a state has that no snapshot holds.
    pub fn distance(&self, state: &SessionState) -> u64 {
        state.version.saturating_sub(self.newest)
    }

    /// Whether a state is so far from the last kept snapshot that another one is to be kept.
    pub fn is_due(&self, state: &SessionState) -> bool {
        state.version.saturating_sub(self.kept.version.max(self.shared)) >= self.spacing
    }

    /// Encodes a state as the session's next snapshot. Those made from one set of anchors must be
    /// stored in the order in which they were made.
    pub fn snapshot(&mut self, state: &SessionState) -> Result<Snapshot, StoreError> {
        let snapshot = Snapshot::on(state, self.kept)?;
        self.newest = state.version;
        if self.is_due(state) {
            self.kept = state.extent();
            if let Some(read) = StoredSnapshot::read(&snapshot.stored)? {
                self.spacing = spacing(&read);
            }
        }
        Ok(snapshot)
    }
}

/// The more a snapshot costs, the further apart they are.
fn spacing(snapshot: &StoredSnapshot<'_>) -> u64 {
    (snapshot.rest_bytes() as u64 / BYTES_PER_EVENT).clamp(NEAREST, FURTHEST)
}

/// Stores snapshots. Between each and the one that it stands on no other is left.
pub(crate) fn put(write: &WriteTransaction, snapshots: &[Snapshot]) -> Result<(), StoreError> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let mut table = write.open_table(SNAPSHOTS)?;
    for Snapshot { session, since, version, stored } in snapshots {
        table.retain_in((session.0, since + 1)..=(session.0, *version), |_, _| false)?;
        table.insert((session.0, *version), stored.as_slice())?;
    }
    Ok(())
}

/// The state of the nearest snapshot within a moment of a session's history, its own or an ancestor's,
/// and where its own next one belongs. What only grows is taken from a later state of the session where
/// one is given.
pub(crate) fn nearest(
    read: &ReadTransaction,
    session: SessionNo,
    mut until: Moment,
    later: Option<&SessionState>,
) -> Result<(Option<SessionState>, Anchors), StoreError> {
    let (found, own) = nearest_of(read, session, until, later)?.unzip();
    if found.is_some() {
        return Ok((found, own.unwrap_or_default()));
    }
    let mut begun = None;
    let mut session = session;
    // A parent is older: the way up ends.
    while let Some((parent, at)) = forks::parent(read, session)?.filter(|(p, _)| *p < session) {
        begun.get_or_insert(at);
        until.version = until.version.min(at);
        session = parent;
        if let Some((state, _)) = nearest_of(read, session, until, later)? {
            return Ok((Some(state), Anchors::begun(begun.unwrap_or(0))));
        }
    }
    Ok((None, Anchors::begun(begun.unwrap_or(0))))
}

fn nearest_of(
    read: &ReadTransaction,
    session: SessionNo,
    until: Moment,
    later: Option<&SessionState>,
) -> Result<Option<(SessionState, Anchors)>, StoreError> {
    let table = read.open_table(SNAPSHOTS)?;
    for row in table.range((session.0, 0)..=(session.0, until.version))?.rev() {
        let (key, value) = row?;
        let filed = key.value().1;
        let found = StoredSnapshot::read(value.value()).and_then(|snapshot| match snapshot {
            // One that is filed under another name than its own is no shortcut to anything.
            Some(s) if s.session != session || s.extent.version != filed => Ok(None),
            Some(s) if s.at > until.time => Ok(None),
            Some(s) => Ok(open(&table, &s, later)?.map(|state| (state, Anchors::behind(&s)))),
            // Of another format.
            None => Ok(None),
        });
        match found {
            Ok(Some(found)) if until.holds(&found.0) => return Ok(Some(found)),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(session = session.0, version = filed, %error, "a snapshot is damaged; an older one is used, or none");
            }
        }
    }
    Ok(None)
}

fn open(
    table: &ReadOnlyTable<(u64, u64), &'static [u8]>,
    snapshot: &StoredSnapshot<'_>,
    later: Option<&SessionState>,
) -> Result<Option<SessionState>, CodecError> {
    let rest = snapshot.rest()?;
    if let Some(later) =
        later.filter(|l| l.number == snapshot.session && l.version >= snapshot.extent.version)
    {
        return Ok(later.earlier(rest));
    }
    let Some(grown) = chain(table, snapshot)? else { return Ok(None) };
    Ok(SessionState::assembled(grown, rest))
}

/// What a session has gained up to a snapshot, from its beginning; none if one is missing on the way.
pub(crate) fn chain(
    table: &ReadOnlyTable<(u64, u64), &'static [u8]>,
    snapshot: &StoredSnapshot<'_>,
) -> Result<Option<Vec<Grown>>, CodecError> {
    let mut grown = vec![snapshot.grown()?];
    let mut since = snapshot.since;
    while since.version > 0 {
        let row = table.get((snapshot.session.0, since.version));
        let Ok(Some(row)) = row else { return Ok(None) };
        let Some(before) = StoredSnapshot::read(row.value())? else { return Ok(None) };
        // Each is before the one that stands on it, so this ends.
        if before.session != snapshot.session
            || before.extent != since
            || before.since.version >= since.version
        {
            return Ok(None);
        }
        grown.push(before.grown()?);
        since = before.since;
    }
    grown.reverse();
    Ok(Some(grown))
}
