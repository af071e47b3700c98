//! Verifying the journal: chain, digests, payloads, index, projections.

use std::collections::{HashMap, HashSet};

use lacuna_codec::{Block, StoredSnapshot, block_hash};
use lacuna_core::{Digest, Event, Extent, Recorded, SessionNo, SpanId, Storage};
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata};

use crate::StoreError;
use crate::forks::ForkRow;
use crate::open::{Head, Store, defensively};
use crate::payloads::{PayloadReader, Stored};
use crate::sessions::{each_event, fold};
use crate::tables::{EVENTS, FORKS, SESSION_BLOCKS, SESSIONS, SNAPSHOTS};

/// What to verify.
#[derive(Debug, Clone, Copy)]
pub struct VerifyOptions {
    /// The first seq.
    pub from: u64,
    /// The last seq.
    pub to: u64,
    /// Faults to list before giving up.
    pub max_faults: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { from: 1, to: u64::MAX, max_faults: 1_000 }
    }
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The seq that it was found at, where it has one.
    pub seq: Option<u64>,
    /// What was found.
    pub what: String,
}

/// What was verified and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// Events decoded, chained and counted.
    pub events: u64,
    /// Blocks whose hash the next one confirms.
    pub blocks: u64,
    /// Payloads read back whole.
    pub payloads: u64,
    /// Bytes of them.
    pub payload_bytes: u64,
    /// Snapshots compared with the fold of their events.
    pub snapshots: u64,
    /// Bytes of them.
    pub snapshot_bytes: u64,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Store {
    /// Reads everything in the range back and checks that it fits together. `progress` gets the
    /// seq reached.
    pub fn verify(
        &self,
        options: &VerifyOptions,
        mut progress: impl FnMut(u64),
    ) -> Result<VerifyReport, StoreError> {
        // Taken first: what is committed from here on is in neither or only in the transaction.
        let head = self.head();
        let read = defensively(|| self.db.begin_read())?;
        let mut check = Check::new(options);
        check.part(|check| check.blocks(head, &read, self.payloads_at(&read)?, &mut progress))?;
        check.part(|check| check.unexplained(&read))?;
        check.part(|check| check.beginnings(&read))?;
        let whole =
            options.from <= 1 && defensively(|| reaches_the_end(&read, options.to)).unwrap_or(true);
        if whole {
            check.part(|check| check.index(&read))?;
            check.part(|check| check.names(&read))?;
            check.part(|check| check.rows_of_forks(&read))?;
            check.part(|check| check.snapshots(&read))?;
        }
        Ok(check.report)
    }
}

/// Whether no block begins behind this seq.
fn reaches_the_end(read: &ReadTransaction, to: u64) -> Result<bool, StoreError> {
    let last = read.open_table(EVENTS)?.last()?.map(|(key, _)| key.value());
    Ok(last.is_none_or(|last| last <= to))
}

struct Check<'a> {
    options: &'a VerifyOptions,
    report: VerifyReport,
    /// Version and hash of each session's last event seen.
    sessions: HashMap<SessionNo, (u64, Digest)>,
    opened: HashMap<String, SessionNo>,
    /// The sessions that begin as forks, which each must go on from what its parent says.
    forks: Vec<Forked>,
    lost: HashSet<(SessionNo, SpanId)>,
    /// Rows of the sessions' index that lead to the event that they name.
    indexed: u64,
    /// Payloads not found whole: a lossy commitment must name each.
    missing: Vec<(u64, SessionNo, SpanId, String)>,
}

/// What the first event of a fork says.
#[derive(Clone, Copy)]
struct Forked {
    row: ForkRow,
    version: u64,
    previous: Digest,
}

impl<'a> Check<'a> {
    fn new(options: &'a VerifyOptions) -> Self {
        Self {
            options,
            report: VerifyReport::default(),
            sessions: HashMap::new(),
            opened: HashMap::new(),
            forks: Vec::new(),
            lost: HashSet::new(),
            indexed: 0,
            missing: Vec::new(),
        }
    }

    fn fault(&mut self, seq: Option<u64>, what: impl Into<String>) {
        if self.report.faults.len() < self.options.max_faults {
            self.report.faults.push(Fault { seq, what: what.into() });
        }
    }

    /// Does one part. Where the database itself cannot go on, that is a fault, and the next part
    /// has its turn.
    fn part(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match defensively(|| work(self)) {
            Err(StoreError::Damaged(why)) => {
                self.fault(None, why);
                Ok(())
            }
            other => other,
        }
    }

    fn blocks(
        &mut self,
        head: Head,
        read: &ReadTransaction,
        mut payloads: PayloadReader,
        progress: &mut impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let events = read.open_table(EVENTS)?;
        let index = read.open_table(SESSION_BLOCKS)?;
        let begin = events.range(..=self.options.from)?.next_back().transpose()?;
        let begin = begin.map_or(self.options.from, |(key, _)| key.value());
        let mut chain: Option<(Digest, u64)> = (begin <= 1).then(|| (Digest::default(), 1));
        for entry in events.range(begin..=self.options.to.max(begin))? {
            let (key, value) = entry?;
            let (first, stored) = (key.value(), value.value());
            let block = match Block::open(stored) {
                Ok(block) => block,
                Err(error) => {
                    self.fault(Some(first), error.to_string());
                    chain = None;
                    continue;
                }
            };
            if block.first != first {
                self.fault(Some(first), format!("the block here begins at {}", block.first));
            }
            if let Some((previous, expected)) = chain {
                if first > expected {
                    let what = format!("events {expected} to {} are missing", first - 1);
                    self.fault(Some(expected), what);
                }
                if first < expected {
                    self.fault(Some(first), "the block overlaps the one before it");
                }
                if previous != block.previous {
                    self.fault(Some(first), "the block does not follow the one before it");
                }
            }
            chain = Some((block_hash(stored), block.end()));
            self.report.blocks += 1;
            let mut begun = HashSet::new();
            for recorded in block.events() {
                let recorded = match recorded {
                    Ok(recorded) => recorded,
                    Err(error) => {
                        self.fault(Some(first), error.to_string());
                        break;
                    }
                };
                if begun.insert(recorded.session) {
                    let row = index.get((recorded.session.0, recorded.version))?;
                    if row.map(|row| row.value()) == Some(first) {
                        self.indexed += 1;
                    } else {
                        self.fault(Some(recorded.seq), "the session's index misses this block");
                    }
                }
                self.event(&recorded);
                self.payload(&recorded, &mut payloads)?;
            }
            progress(block.end() - 1);
        }
        if let Some((hash, end)) = chain
            && self.options.to == u64::MAX
            && (head.seq >= end || (head.seq + 1 == end && head.block != hash))
        {
            self.fault(Some(head.seq), "the journal ends before its head");
        }
        Ok(())
    }

    fn event(&mut self, recorded: &Recorded) {
        self.report.events += 1;
        let last = self.sessions.insert(recorded.session, (recorded.version, recorded.hash));
        let at = Some(recorded.seq);
        match (last, &recorded.event) {
            (None, Event::SessionOpened(opened)) => {
                if recorded.session.0 != recorded.seq || recorded.version != 1 {
                    self.fault(at, "a session opens under another number than its seq");
                }
                if recorded.previous != Digest::default() {
                    self.fault(at, "a session's first event follows another one");
                }
                self.opened.insert(opened.key.to_string(), recorded.session);
            }
            (None, Event::SessionForked(forked)) => {
                if recorded.session.0 != recorded.seq {
                    self.fault(at, "a session begins under another number than its seq");
                }
                self.opened.insert(forked.key.to_string(), recorded.session);
                self.forks.push(Forked {
                    row: ForkRow {
                        parent: forked.parent_number,
                        child: recorded.session,
                        at: forked.at,
                    },
                    version: recorded.version,
                    previous: recorded.previous,
                });
            }
            (None, _) if self.options.from <= 1 => {
                self.fault(at, "an event of a session that was never opened");
            }
            (None, _) => {}
            (Some((version, hash)), _) => {
                if recorded.version != version + 1 {
                    self.fault(at, format!("version {} follows {version}", recorded.version));
                }
                if recorded.previous != hash {
                    self.fault(at, "the event does not follow the session's one before it");
                }
            }
        }
        self.commitments(recorded);
    }

    fn payload(
        &mut self,
        recorded: &Recorded,
        payloads: &mut PayloadReader,
    ) -> Result<(), StoreError> {
        let (span, digest, bytes, behind) = match &recorded.event {
            Event::SpanRecorded(e) if e.storage == Storage::Journal => {
                (&e.span, &e.digest, e.bytes, 0)
            }
            Event::SummaryRecorded(e) => (&e.span, &e.digest, e.bytes, e.claims.bytes),
            _ => return Ok(()),
        };
        let found = match payloads.read_text(recorded.seq, digest, bytes, behind)? {
            Stored::Whole(payload) => {
                self.report.payloads += 1;
                self.report.payload_bytes += payload.len() as u64;
                let Event::SummaryRecorded(e) = &recorded.event else { return Ok(()) };
                match payloads.read_claims(recorded.seq, bytes, &e.claims)? {
                    None | Some(Stored::Whole(_)) => return Ok(()),
                    Some(Stored::Missing) => "its claims are missing".to_owned(),
                    Some(Stored::Damaged(why)) => format!("its claims: {why}"),
                }
            }
            Stored::Missing => "its payload is missing".to_owned(),
            Stored::Damaged(why) => why,
        };
        self.missing.push((recorded.seq, recorded.session, span.clone(), found));
        Ok(())
    }

    /// Every payload that is not whole must be named by a lossy commitment (I3).
    fn unexplained(&mut self, read: &ReadTransaction) -> Result<(), StoreError> {
        let mut followed = HashSet::new();
        for (seq, session, span, found) in std::mem::take(&mut self.missing) {
            if followed.insert(session) {
                self.follow(read, session)?;
            }
            if !self.lost.contains(&(session, span.clone())) {
                self.fault(Some(seq), format!("{span}: {found}, and no event says so"));
            }
        }
        Ok(())
    }

    /// Looks for lossy commitments of a session behind the range: they come later than the loss.
    fn follow(&mut self, read: &ReadTransaction, session: SessionNo) -> Result<(), StoreError> {
        let last = self.sessions.get(&session).map_or(0, |(version, _)| *version);
        let followed = each_event(read, session, last.saturating_add(1), |recorded| {
            self.commitments(&recorded);
            Ok(true)
        });
        match followed {
            // What is damaged behind the range is not asked for, and explains nothing.
            Ok(()) | Err(StoreError::Damaged(_) | StoreError::Newer { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn commitments(&mut self, recorded: &Recorded) {
        if let Event::LossyCommitted(event) = &recorded.event {
            for lost in &event.spans {
                self.lost.insert((recorded.session, lost.span.clone()));
            }
        }
    }

    /// A fork goes on from the event of its parent that it names: the chain of hashes leads there.
    fn beginnings(&mut self, read: &ReadTransaction) -> Result<(), StoreError> {
        for at in 0..self.forks.len() {
            let Forked { row: ForkRow { parent, child, at: shared }, version, previous } =
                self.forks[at];
            let mut last = None;
            let found = each_event(read, parent, shared, |recorded| {
                last = Some((recorded.version, recorded.hash));
                Ok(false)
            });
            let follows = matches!(found, Ok(()))
                && last == Some((shared, previous))
                && shared.checked_add(1) == Some(version);
            if !follows {
                let what = "a fork does not go on from its parent's event".to_owned();
                self.fault(Some(child.0), what);
            }
        }
        Ok(())
    }

    /// The table of forks says what their first events say.
    fn rows_of_forks(&mut self, read: &ReadTransaction) -> Result<(), StoreError> {
        let table = match read.open_table(FORKS) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) if self.forks.is_empty() => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for at in 0..self.forks.len() {
            let ForkRow { parent, child, at } = self.forks[at].row;
            for key in [(parent.0, child.0), (child.0, parent.0)] {
                if table.get(key)?.map(|row| row.value()) != Some(at) {
                    self.fault(Some(child.0), "the table of forks misses this one");
                }
            }
        }
        let rows = 2 * self.forks.len() as u64;
        if table.len()? > rows {
            self.fault(
                None,
                format!("{} rows of the table of forks lead nowhere", table.len()? - rows),
            );
        }
        Ok(())
    }

    /// Every event was found by its row; rows beyond those lead nowhere.
    fn index(&mut self, read: &ReadTransaction) -> Result<(), StoreError> {
        let rows = read.open_table(SESSION_BLOCKS)?.len()?;
        if rows > self.indexed {
            let what = format!("{} rows of the sessions' index lead nowhere", rows - self.indexed);
            self.fault(None, what);
        }
        Ok(())
    }

    fn names(&mut self, read: &ReadTransaction) -> Result<(), StoreError> {
        let names = read.open_table(SESSIONS)?;
        let opened = std::mem::take(&mut self.opened);
        for (name, number) in &opened {
            let row = names.get(name.as_str())?.map(|row| row.value());
            if row != Some(number.0) {
                self.fault(Some(number.0), format!("session {name} is not found by its name"));
            }
        }
        for entry in names.iter()? {
            let (name, _) = entry?;
            if !opened.contains_key(name.value()) {
                self.fault(None, format!("session {} was never opened", name.value()));
            }
        }
        Ok(())
    }

    /// Projections are folds (I4): each snapshot must say what its events give. Each session with
    /// snapshots is folded once.
    fn snapshots(&mut self, read: &ReadTransaction) -> Result<(), StoreError> {
        let table = read.open_table(SNAPSHOTS)?;
        let mut rows = table.iter()?.peekable();
        while let Some(row) = rows.next() {
            let (session, version) = row?.0.value();
            let mut versions = vec![version];
            while let Some(next) =
                rows.next_if(|next| next.as_ref().is_ok_and(|(key, _)| key.value().0 == session))
            {
                versions.push(next?.0.value().1);
            }
            self.snapshots_of(read, &table, SessionNo(session), &versions)?;
        }
        Ok(())
    }

    fn snapshots_of(
        &mut self,
        read: &ReadTransaction,
        table: &ReadOnlyTable<(u64, u64), &'static [u8]>,
        session: SessionNo,
        versions: &[u64],
    ) -> Result<(), StoreError> {
        let mut extents = HashMap::from([(0, Extent::default())]);
        let mut left = versions;
        let mut state = None;
        let folded = each_event(read, session, 1, |recorded| {
            fold(&mut state, &recorded)?;
            if let (Some(state), Some((version, rest))) = (&state, left.split_first())
                && state.version == *version
            {
                left = rest;
                extents.insert(*version, state.extent());
                let row = table.get((session.0, *version))?;
                self.snapshot(session, *version, row.as_ref().map(|row| row.value()), |stored| {
                    let since = extents.get(&stored.since.version).copied();
                    since == Some(stored.since)
                        && stored.grown().is_ok_and(|grown| grown == state.grown(stored.since))
                        && stored.rest().is_ok_and(|rest| rest == state.rest())
                });
            }
            // Not further: what is wrong behind the last one is no fault of a snapshot.
            Ok(!left.is_empty())
        });
        match folded {
            Ok(()) | Err(StoreError::Damaged(_) | StoreError::Newer { .. }) => {}
            Err(error) => return Err(error),
        }
        for version in left {
            let row = table.get((session.0, *version))?;
            self.snapshot(session, *version, row.as_ref().map(|row| row.value()), |_| false);
        }
        Ok(())
    }

    /// Counts a snapshot, and faults it unless it is what it should be. One of another format is passed
    /// over when loading, too.
    fn snapshot(
        &mut self,
        session: SessionNo,
        version: u64,
        stored: Option<&[u8]>,
        same: impl FnOnce(&StoredSnapshot<'_>) -> bool,
    ) {
        let read = stored.map(StoredSnapshot::read);
        let same = match &read {
            Some(Ok(None)) => return,
            Some(Ok(Some(stored))) => {
                stored.session == session && stored.extent.version == version && same(stored)
            }
            Some(Err(_)) | None => false,
        };
        self.report.snapshots += 1;
        self.report.snapshot_bytes += stored.map_or(0, |stored| stored.len() as u64);
        if !same {
            let what =
                format!("the snapshot of session {} at {version} is not its fold", session.0);
            self.fault(None, what);
        }
    }
}
