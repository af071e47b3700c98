//! The log in front of the database: one record for each commit, which is durable with one write and one
//! sync. The database has the same rows at once and is synced now and then; after a crash it gets
//! those that it has not kept from here.
//!
//! ```text
//!   append      record written and synced ─► rows in the database, not synced ─► acknowledged
//!   flush       the database synced, with all that it needs to open fast ─► the log begins anew
//!   open        records behind the database's last event are put in again ─► flush
//! ```
//!
//! Records stand one behind the other, each at the begin of a page, so that none is touched again
//! when the next is written. What earlier rounds have left behind them is told by its seq. A record is
//! written only when the one before it is durable: the first that is not whole is where the log ends,
//! and if a whole one stands behind it the log is damaged.

use lacuna_codec::{LogHeader, LogRecord};
use redb::StorageBackend;

use crate::StoreError;

/// No write touches a page that holds an earlier record.
const PAGE: usize = 4_096;
/// The file grows by this much, filled with zeros: syncs of what it has already change no metadata.
const STEP: usize = 1 << 20;

/// The log's file, and where the next record goes.
#[derive(Debug)]
pub(crate) struct Log {
    file: Box<dyn StorageBackend>,
    journal: String,
    end: u64,
    length: u64,
    /// A record in the making, kept for its room.
    buffer: Vec<u8>,
    /// Set by a failure: from then on nothing is known of what stands in the file.
    failed: Option<String>,
}

impl Log {
    pub(crate) fn open(file: Box<dyn StorageBackend>, journal: &str) -> std::io::Result<Self> {
        let length = file.len()?;
        let journal = journal.to_owned();
        Ok(Self { file, journal, end: 0, length, buffer: Vec::new(), failed: None })
    }

    /// Bytes of records since it began anew.
    pub(crate) fn size(&self) -> u64 {
        self.end
    }

    /// Whether there is nothing in its file.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Makes a record durable. After an error it may or may not be, and nothing works any more.
    pub(crate) fn append(&mut self, record: &LogRecord<'_>) -> Result<(), StoreError> {
        self.usable()?;
        self.buffer.clear();
        record.encode(&self.journal, &mut self.buffer)?;
        self.buffer.resize(self.buffer.len().next_multiple_of(PAGE), 0);
        let written = self.write();
        written.map_err(|error| self.fail(&error.to_string()))?;
        self.end += self.buffer.len() as u64;
        Ok(())
    }

    fn write(&mut self) -> std::io::Result<()> {
        let end = self.end + self.buffer.len() as u64;
        if end > self.length {
            let length = end.next_multiple_of(STEP as u64);
            self.file.set_len(length)?;
            let zeros = vec![0; STEP];
            let mut at = self.length.max(end);
            while at < length {
                let size = (STEP as u64).min(length - at);
                self.file.write(at, &zeros[..size as usize])?;
                at += size;
            }
            self.length = length;
        }
        self.file.write(self.end, &self.buffer)?;
        self.file.sync_data()
    }

    /// Begins anew: the database has made everything durable that stands here.
    pub(crate) fn begin_anew(&mut self) {
        self.end = 0;
    }

    pub(crate) fn usable(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), |why| Err(StoreError::Indeterminate(why)))
    }

    /// Refuses everything from now on.
    pub(crate) fn fail(&mut self, why: &str) -> StoreError {
        self.failed.get_or_insert_with(|| why.to_owned());
        StoreError::Indeterminate(why.to_owned())
    }

    /// Hands out the records from seq `next` on, in their order; `take` says which seq follows each. Gives
    /// the seq behind the last. A log that has lost a record in the middle is damaged.
    pub(crate) fn records(
        &self,
        mut next: u64,
        mut take: impl FnMut(&LogRecord<'_>) -> Result<u64, StoreError>,
    ) -> Result<u64, StoreError> {
        let (mut at, mut body) = (0, Vec::new());
        let mut begun = false;
        while let Some(header) = self.header(at)? {
            if !self.body(at, &header, &mut body)? {
                break;
            }
            let Ok(record) = header.open(&body) else { break };
            let known = header.first < next && !begun;
            if !known && header.first != next {
                break;
            }
            if !known {
                next = take(&record)?;
                begun = true;
            }
            at += size_of_record(&header);
        }
        self.nothing_behind(at, next)?;
        Ok(next)
    }

    /// A whole record of what comes later says that the one in front of it was lost.
    fn nothing_behind(&self, mut at: u64, next: u64) -> Result<(), StoreError> {
        let mut body = Vec::new();
        while at < self.length {
            if let Some(header) = self.header(at)?
                && header.first >= next
                && self.body(at, &header, &mut body)?
                && header.open(&body).is_ok()
            {
                return Err(StoreError::Damaged(format!(
                    "its log goes on at event {}, and event {next} is missing: `journal.redb` and \
                     `journal.log` are not of the same moment, or the log is damaged; put both \
                     back from one copy, or move the log away to go on without its events",
                    header.first
                )));
            }
            at += PAGE as u64;
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

    /// Reads what should be the body; says whether the file goes so far.
    fn body(&self, at: u64, header: &LogHeader, body: &mut Vec<u8>) -> Result<bool, StoreError> {
        let begin = at + LogHeader::SIZE as u64;
        if self.length - begin < header.length as u64 {
            return Ok(false);
        }
        body.resize(header.length, 0);
        self.file.read(begin, body).map_err(unreadable)?;
        Ok(true)
    }
}

/// Bytes that a record takes.
fn size_of_record(header: &LogHeader) -> u64 {
    (LogHeader::SIZE + header.length).next_multiple_of(PAGE) as u64
}

fn unreadable(source: std::io::Error) -> StoreError {
    StoreError::Io { doing: "reading the journal's log".into(), source }
}
