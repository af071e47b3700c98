//! Commits as records of the log, and back into the database after a crash.

use std::cell::RefCell;

use lacuna_codec::{Block, LogRecord, block_hash};
use redb::{ReadableTable, WriteTransaction};

use crate::StoreError;
use crate::commit::{self, Commit};
use crate::database::Guarded;
use crate::forks::ForkRow;
use crate::ledger::Loss;
use crate::log::Log;
use crate::open::Head;
use crate::packing::Packs;
use crate::snapshots::Snapshot;
use crate::tables::EVENTS;

impl Commit {
    /// Whether it goes through the log. What removes anything does not: when it is durable nothing in
    /// the log may be needed any more. Nor does a large one: a sync of the database is worth it then.
    pub(crate) fn is_logged(&self, largest: usize) -> bool {
        let rows = 32 * self.sessions.len() + 192 * (self.opened.len() + self.losses.len());
        // They are not in the log, and wait in memory with the rest while the database is synced.
        let snapshots: usize = self.snapshots.iter().map(Snapshot::len).sum();
        let bytes = self.block.len() + self.payloads.len() + rows + snapshots / 4;
        self.removal.is_none() && self.residues.is_empty() && bytes <= largest
    }

    /// What the log holds of it.
    pub(crate) fn record(&self) -> LogRecord<'_> {
        let loss = |loss: &Loss| (loss.seq, loss.tenant.clone(), loss.session, loss.spans);
        LogRecord {
            first: self.first,
            block: &self.block,
            touched: self.sessions.clone(),
            opened: self.opened.clone(),
            forks: self.forks.iter().map(|fork| (fork.parent, fork.child, fork.at)).collect(),
            losses: self.losses.iter().map(loss).collect(),
            packs: self.payloads.packs().collect(),
            chunks: self.payloads.chunks().collect(),
        }
    }

    /// The commit that a record holds, and where the journal ends with it.
    fn recorded(record: &LogRecord<'_>) -> Result<(Self, Head), StoreError> {
        let block = Block::open(record.block)?;
        let last = block.events().last().transpose()?;
        let last = last.ok_or_else(|| StoreError::Damaged("a block in its log is empty".into()))?;
        let fork = |&(parent, child, at): &_| ForkRow { parent, child, at };
        let loss = |(seq, tenant, session, spans): &(u64, _, _, u64)| Loss {
            tenant: lacuna_core::Tenant::clone(tenant),
            seq: *seq,
            session: *session,
            spans: *spans,
        };
        let commit = Self {
            first: block.first,
            last: last.seq,
            at: last.at,
            block: record.block.to_vec(),
            sessions: record.touched.clone(),
            opened: record.opened.clone(),
            forks: record.forks.iter().map(fork).collect(),
            payloads: Packs::of(&record.packs, &record.chunks),
            losses: record.losses.iter().map(loss).collect(),
            ..Self::default()
        };
        let head = Head { seq: last.seq, block: block_hash(record.block), at: last.at };
        Ok((commit, head))
    }
}

/// Where the database ends.
pub(crate) fn head_of(events: &impl ReadableTable<u64, &'static [u8]>) -> Result<Head, StoreError> {
    let Some((_, value)) = events.last()? else { return Ok(Head::default()) };
    let block = Block::open(value.value())?;
    let last = block.events().last().transpose()?;
    let last = last.ok_or_else(|| StoreError::Damaged("its last block is empty".into()))?;
    Ok(Head { seq: last.seq, block: block_hash(value.value()), at: last.at })
}

/// Puts what only the log has into the database, durable. Gives the number of commits.
pub(crate) fn recover(db: &Guarded, log: &Log) -> Result<u64, StoreError> {
    if log.is_empty() {
        return Ok(0);
    }
    let head = head_of(&db.begin_read()?.open_table(EVENTS)?)?;
    let (head, commits) = (RefCell::new(head), RefCell::new(0));
    let mut write = None::<WriteTransaction>;
    let next = head.borrow().seq + 1;
    let recovered = log.records(next, |record| {
        let mut head = head.borrow_mut();
        let (commit, behind) = Commit::recorded(record)?;
        let previous = Block::open(record.block)?.previous;
        if commit.first != head.seq + 1 || previous != head.block {
            return Err(StoreError::LogDamaged(format!(
                "event {} in it does not follow what the database ends with",
                commit.first
            )));
        }
        if write.is_none() {
            write = Some(db.begin_write()?);
        }
        commit::put(write.as_ref().expect("it was begun just now"), &commit)?;
        *head = behind;
        *commits.borrow_mut() += 1;
        Ok(behind.seq + 1)
    });
    match recovered {
        // Most often a full disk, and the file tells of nothing else.
        Err(StoreError::Database(error)) => {
            return Err(StoreError::NotRecovered(error.to_string()));
        }
        other => other?,
    }
    if let Some(mut write) = write {
        write.set_quick_repair(true);
        write.commit().map_err(|error| StoreError::NotRecovered(error.to_string()))?;
    }
    Ok(commits.into_inner())
}
