//! The log in front of the database: one record for each commit, which is durable with one write and one
//! sync. The database has the same rows without a sync; it is synced now and then, beside the commits
//! that go on meanwhile. After a crash it gets from here what it has not kept.
//!
//! ```text
//!   append      record written and synced ─► rows in the database ─► acknowledged
//!   flush       the database synced; records that come meanwhile have their rows put in behind it
//!   open        records behind the database's last event are put in, and it is synced
//! ```
//!
//! Two pages at the front say whose log it is and how long it is at least. The database names the log
//! that belongs to it for as long as it needs one, so that a journal whose log is gone, cut off or another
//! one is not taken for whole.
//!
//! Behind them the file is a ring. Records stand one behind the other, each at the begin of a page, so that none
//! is touched again when the next is written, and none is overwritten that the database may need. Which of
//! them count is told by their seqs alone: those behind the database's last event. A record is
//! written only when the one before it is durable, so if one of them is missing and a later one is
//! whole, the log is damaged.

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lacuna_codec::{CodecError, LogFront, LogHeader, LogRecord};
use redb::StorageBackend;

use crate::StoreError;
use crate::commit::Commit;
use crate::keys::random;

/// No write touches a page that holds an earlier record.
pub(crate) const PAGE: u64 = 4_096;
/// The ring begins behind the pages that say whose it is.
pub(crate) const FRONTS: u64 = 2;
const RING: u64 = FRONTS * PAGE;
/// The file grows by this much, filled with zeros: syncs of what it has already change no metadata.
const STEP: u64 = 1 << 20;

/// The log's file, and what is in it that the database has not kept yet.
#[derive(Debug)]
pub(crate) struct Log {
    file: Box<dyn StorageBackend>,
    /// Where it lies, and is removed from at the end if the database has everything then.
    path: Option<(PathBuf, Identity)>,
    journal: String,
    /// What it says of itself, and in which of its pages, once it does.
    front: Option<(LogFront, u64)>,
    /// Whether the database names it as the log that it needs.
    pub(crate) named: bool,
    /// The ring's size, in bytes.
    capacity: u64,
    /// Bytes ever written, and those of them that the database can do without: places in the ring are
    /// these modulo its size.
    written: u64,
    safe: u64,
    length: u64,
    /// A record on its way, kept for its room.
    buffer: Vec<u8>,
    /// While the database is synced: commits whose rows are to be put in behind it.
    pub(crate) waiting: VecDeque<Commit>,
    pub(crate) flushing: bool,
    /// Set by a failure: from then on nothing is known of what stands in the file.
    failed: Option<String>,
}

impl Log {
    pub(crate) fn open(
        file: Box<dyn StorageBackend>,
        journal: &str,
        capacity: u64,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            length: file.len().map_err(unreadable)?,
            file,
            path: None,
            journal: journal.to_owned(),
            front: None,
            named: false,
            capacity: capacity.next_multiple_of(PAGE),
            written: 0,
            safe: 0,
            buffer: Vec::new(),
            waiting: VecDeque::new(),
            flushing: false,
            failed: None,
        })
    }

    /// Looks what it says of itself. If the database needs a log, this must be it, and all of it.
    pub(crate) fn needed(&mut self, needed: Option<LogId>) -> Result<(), StoreError> {
        self.front = self.read_front(needed)?;
        self.named = needed.is_some();
        let why = match self.front {
            _ if needed.is_none() => return Ok(()),
            _ if self.length == 0 => "`journal.log` is missing or empty".into(),
            None => "`journal.log` is not the one that was in use with it, or damaged".into(),
            Some((front, _)) if self.length < front.length => format!(
                "`journal.log` is cut off, it has {} of {} bytes",
                self.length, front.length
            ),
            Some(_) => return Ok(()),
        };
        let what =
            "and what was acknowledged since the database was last synced stands in it alone";
        Err(StoreError::LogDamaged(format!("{why}, {what}")))
    }

    /// That there is nothing in it which somebody may need, where the database needs no log and ends with
    /// this event: nothing of another journal, and of this one nothing behind that.
    pub(crate) fn is_spent(&self, last: u64) -> Result<(), StoreError> {
        for page in 0..FRONTS.min(self.length / PAGE) {
            let mut bytes = [0; LogFront::SIZE];
            self.file.read(page * PAGE, &mut bytes).map_err(unreadable)?;
            if let Some(other) = written_for(&bytes).filter(|other| *other != self.journal) {
                return Err(StoreError::LogDamaged(format!(
                    "`journal.log` is that of journal {other}, and this one was stopped and needs none: \
                     move it to where it belongs"
                )));
            }
        }
        let later = || {
            StoreError::LogDamaged(format!(
                "`journal.log` has events behind {last}, with which the database was stopped: they are of \
                 another time of this journal. If it is to go on from here, move the log away"
            ))
        };
        self.records(last + 1, |_| Err(later())).map_err(|error| match error {
            StoreError::LogDamaged(_) => later(),
            other => other,
        })
    }

    /// The last of the fronts that are whole; of those with this id, if one is needed.
    fn read_front(&self, needed: Option<LogId>) -> Result<Option<(LogFront, u64)>, StoreError> {
        let mut last = None::<(LogFront, u64)>;
        for page in 0..FRONTS {
            let mut bytes = [0; LogFront::SIZE];
            if (page + 1) * PAGE > self.length {
                break;
            }
            self.file.read(page * PAGE, &mut bytes).map_err(unreadable)?;
            if let Some(front) = LogFront::read(&bytes, &self.journal)
                && needed.is_none_or(|needed| front.id == needed)
                && last.is_none_or(|(last, _)| front.length > last.length)
            {
                last = Some((front, page));
            }
        }
        Ok(last)
    }

    /// Makes it one that the database can name; gives its id. As good as durable.
    pub(crate) fn begin(&mut self) -> Result<LogId, StoreError> {
        self.usable()?;
        self.looked_after()?;
        let id = match self.front {
            Some((front, _)) => front.id,
            None => {
                let mut id = LogId::default();
                random(&mut id)?;
                id
            }
        };
        self.front = Some((LogFront { id, length: 0 }, self.front.map_or(1, |(_, page)| page)));
        let begun = self.grow(RING + 1).and_then(|()| self.put_front());
        begun
            .and_then(|()| self.file.sync_data())
            .map_err(|error| self.fail(&error.to_string()))?;
        Ok(id)
    }

    /// It is this journal's own from now on: it is watched, and removed at the end if the database has
    /// everything then.
    pub(crate) fn lies_at(&mut self, path: PathBuf) {
        self.path = identity(&path).map(|identity| (path, identity));
    }

    /// Whether there is nothing in its file.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes that a record may take at most: several are to fit in.
    pub(crate) fn largest(&self) -> usize {
        usize::try_from(self.capacity / 8).unwrap_or(usize::MAX).min(1 << 20)
    }

    /// Whether the database should be synced, so that there is always room; sooner if nobody waits.
    pub(crate) fn is_due(&self, idle: bool) -> bool {
        let share = if idle { 16 } else { 2 };
        self.written - self.safe >= self.capacity / share
    }

    /// Whether the database has kept everything.
    pub(crate) fn is_kept(&self) -> bool {
        self.written == self.safe
    }

    /// Where it is now: once the database has kept everything up to here, see [`Log::kept`].
    pub(crate) fn mark(&self) -> u64 {
        self.written
    }

    /// The database has kept everything up to this mark.
    pub(crate) fn kept(&mut self, mark: u64) {
        self.safe = self.safe.max(mark);
    }

    /// Makes a record ready to be written; says whether there is room for it.
    pub(crate) fn prepare(&mut self, record: &LogRecord<'_>) -> Result<bool, StoreError> {
        self.usable()?;
        self.buffer.clear();
        record.encode(&self.journal, &mut self.buffer)?;
        self.buffer.resize(self.buffer.len().next_multiple_of(PAGE as usize), 0);
        Ok(self.place() + self.buffer.len() as u64 - self.safe <= self.capacity)
    }

    /// Where the record in the making begins: at the front again if it does not fit at the end.
    fn place(&self) -> u64 {
        let left = self.capacity - self.written % self.capacity;
        if self.buffer.len() as u64 > left { self.written + left } else { self.written }
    }

    /// Makes durable what was prepared. After an error it may or may not be, and nothing works any more.
    pub(crate) fn write(&mut self) -> Result<(), StoreError> {
        let (begin, size) = (self.place(), self.buffer.len() as u64);
        let at = RING + begin % self.capacity;
        let written = self.grow(at + size).and_then(|()| {
            self.file.write(at, &self.buffer)?;
            self.file.sync_data()
        });
        written.map_err(|error| self.fail(&error.to_string()))?;
        self.written = begin + size;
        Ok(())
    }

    /// Makes the file so long, and says so at its front: that is as good as the next sync.
    fn grow(&mut self, to: u64) -> std::io::Result<()> {
        if to <= self.length {
            return Ok(());
        }
        let length = to.next_multiple_of(STEP);
        self.file.set_len(length)?;
        let zeros = vec![0; STEP as usize];
        while self.length < length {
            let size = STEP.min(length - self.length);
            self.file.write(self.length, &zeros[..size as usize])?;
            self.length += size;
        }
        // It must not say so before it is.
        self.file.sync_data()?;
        self.put_front()
    }

    /// Writes what it is in place of the older of its fronts.
    fn put_front(&mut self) -> std::io::Result<()> {
        let (front, page) = self.front.as_mut().expect("it is made before the file grows");
        front.length = self.length;
        *page = (*page + 1) % FRONTS;
        self.file.write(*page * PAGE, &front.encode(&self.journal))
    }

    /// Whether its file is still there, and as long as it was made: else what is written to it is gone.
    pub(crate) fn looked_after(&self) -> Result<(), StoreError> {
        let Some((path, identity)) = &self.path else { return Ok(()) };
        let why = match std::fs::metadata(path) {
            Err(error) => error.to_string(),
            Ok(meta) if (meta.dev(), meta.ino()) != *identity => "another one lies there".into(),
            Ok(meta) if meta.len() < self.length => "it was cut off".into(),
            Ok(_) => return Ok(()),
        };
        Err(StoreError::LogGone { path: path.clone(), why })
    }

    pub(crate) fn usable(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), |why| Err(StoreError::Indeterminate(why)))
    }

    /// Refuses everything from now on.
    pub(crate) fn fail(&mut self, why: &str) -> StoreError {
        self.failed.get_or_insert_with(|| why.to_owned());
        StoreError::Indeterminate(why.to_owned())
    }

    /// Hands out the records from seq `next` on, in their order; `take` says which seq follows each. A log
    /// that lacks one and has a later one is damaged.
    pub(crate) fn records(
        &self,
        mut next: u64,
        mut take: impl FnMut(&LogRecord<'_>) -> Result<u64, StoreError>,
    ) -> Result<(), StoreError> {
        let (mut found, mut body, mut at) = (Vec::new(), Vec::new(), 0);
        while at < self.length {
            let size = match self.header(at)? {
                Some(header) if self.is_whole(at, &header, &mut body)? => {
                    if header.first >= next {
                        found.push((header.first, at, header));
                    }
                    (LogHeader::SIZE + header.length) as u64
                }
                _ => 1,
            };
            at += size.next_multiple_of(PAGE);
        }
        found.sort_unstable_by_key(|(first, at, _)| (*first, *at));
        for (first, at, header) in found {
            if first != next {
                return Err(StoreError::LogDamaged(format!(
                    "it goes on at event {first}, and event {next} is missing"
                )));
            }
            self.read(at, &header, &mut body)?;
            let record = header.open(&body);
            let why = |error: CodecError| StoreError::LogDamaged(format!("event {first}: {error}"));
            next = take(&record.map_err(why)?)?;
        }
        Ok(())
    }

    fn header(&self, at: u64) -> Result<Option<LogHeader>, StoreError> {
        if at + LogHeader::SIZE as u64 > self.length {
            return Ok(None);
        }
        let mut bytes = [0; LogHeader::SIZE];
        self.file.read(at, &mut bytes).map_err(unreadable)?;
        Ok(LogHeader::read(&bytes, &self.journal))
    }

    fn is_whole(
        &self,
        at: u64,
        header: &LogHeader,
        body: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        if self.length - at - (LogHeader::SIZE as u64) < header.length as u64 {
            return Ok(false);
        }
        self.read(at, header, body)?;
        Ok(header.fits(body))
    }

    fn read(&self, at: u64, header: &LogHeader, body: &mut Vec<u8>) -> Result<(), StoreError> {
        body.resize(header.length, 0);
        self.file.read(at + LogHeader::SIZE as u64, body).map_err(unreadable)
    }
}

/// The journal for which the front or the record that begins here was written.
pub(crate) fn written_for(bytes: &[u8]) -> Option<String> {
    let id = bytes.get(16..48).and_then(|id| std::str::from_utf8(id).ok())?;
    let ours = LogFront::read(bytes, id).is_some() || LogHeader::read(bytes, id).is_some();
    ours.then(|| id.to_owned())
}

/// What tells a log from every other one of its journal.
pub(crate) type LogId = [u8; 16];

/// What tells a file from every other: device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some((path, identity_then)) = self.path.take()
            && self.is_kept()
            && !self.named
            && self.usable().is_ok()
            // The folder may have been replaced meanwhile: what lies there then is another journal's.
            && identity(&path) == Some(identity_then)
            && let Err(error) = std::fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %path.display(), "the log is not needed any more, and stays");
        }
    }
}

fn unreadable(source: std::io::Error) -> StoreError {
    let doing =
        "reading the journal's log, `journal.log`; copy the folder elsewhere and open the copy";
    StoreError::Io { doing: doing.into(), source }
}
