//! Where a checkpoint stands in the chain of blocks: whether the journal goes on from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lacuna_codec::{Block, Checkpoint, block_hash};
use lacuna_core::Digest;
use redb::backends::InMemoryBackend;
use redb::{Builder, ReadTransaction, ReadableTable, StorageBackend};

use crate::StoreError;
use crate::database::Guarded;
use crate::folder::log_of;
use crate::log::Log;
use crate::open::{Meta, Store, defensively};
use crate::recovery::recover;
use crate::tables::EVENTS;
use crate::untouched::Untouched;
use crate::verify::Fault;

/// What became of the journal since a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Everything up to it is as it was, and what follows is chained to it.
    Extends {
        /// Events behind it.
        events: u64,
    },
    /// Another block ends there, or none: what stood there, or before, was replaced, and the chain
    /// made to fit.
    Rewritten {
        /// The last seq up to which another checkpoint shows the journal to be as it was.
        good: Option<u64>,
    },
    /// The journal ends before it.
    Truncated {
        /// The last seq there is.
        ends: u64,
    },
    /// It is a checkpoint of another journal.
    OtherJournal,
    /// The chain does not hold, before it or behind it.
    Broken(Fault),
}

/// The chain of blocks of a journal's file, read without its keys and without changing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    /// The journal's id.
    pub journal: String,
    /// The seq of its last event.
    pub seq: u64,
    /// Blocks, each whole and chained to the one before it up to the fault, if there is one.
    pub blocks: u64,
    /// Where the chain does not hold.
    pub fault: Option<Fault>,
    /// Where the checkpoints stand, in their order.
    pub standings: Vec<Standing>,
}

impl Store {
    /// Where these checkpoints stand, in their order. Reads the whole chain.
    pub fn standings(&self, checkpoints: &[Checkpoint]) -> Result<Vec<Standing>, StoreError> {
        defensively(|| {
            let chain = Chain::read(&self.db.begin_read()?, checkpoints)?;
            Ok(chain.standings(self.journal(), checkpoints))
        })
    }
}

/// Reads the chain of blocks in a copy of a journal's file: `journal.redb`, from wherever it was taken.
/// A copy that was taken while the journal was in use is repaired in memory only; `journal.log` beside it
/// has what was not in the file yet.
pub fn read_copy(file: &Path, checkpoints: &[Checkpoint]) -> Result<CopyReport, StoreError> {
    let io = |source| StoreError::Io { doing: format!("reading {}", file.display()), source };
    let backend = Untouched::open(file).map_err(io)?;
    defensively(|| {
        let db = Builder::new()
            .create_with_backend(backend)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        let db = Guarded::new(db);
        let meta = Meta::read(&db)?;
        let journal = meta.journal.clone();
        let mut log = Log::open(log_beside(file)?, &journal, 0)?;
        let fits = match meta.needs_what_lies_there() {
            // What it has is taken all the same: this is to look at, and changes nothing.
            true => log.needed(meta.log).and(recover(&db, &log).map(drop)),
            false => Ok(()),
        };
        let damaged = match fits {
            Ok(()) => None,
            // Of the database itself that is told below.
            Err(error @ (StoreError::Damaged(_) | StoreError::LogDamaged(_))) => {
                Some(Fault { seq: None, what: error.to_string() })
            }
            Err(error) => return Err(error),
        };
        let chain = Chain::read(&db.begin_read()?, checkpoints)?;
        let standings = chain.standings(&journal, checkpoints);
        Ok(CopyReport {
            journal,
            seq: chain.last,
            blocks: chain.blocks,
            // The chain holds as far as it goes, whatever lies beside it.
            fault: chain.broken.or(damaged),
            standings,
        })
    })
}

/// What the journal in a file says about itself. The file is not changed.
pub(crate) fn meta_in(file: &Path) -> Result<Meta, StoreError> {
    let io = |source| StoreError::Io { doing: format!("reading {}", file.display()), source };
    let backend = Untouched::open(file).map_err(io)?;
    defensively(|| {
        let db = Builder::new().create_with_backend(backend);
        let db = db.map_err(|error| StoreError::Damaged(error.to_string()))?;
        Meta::read(&Guarded::new(db))
    })
}

/// The log that lies beside a journal's file; an empty one if there is none.
fn log_beside(file: &Path) -> Result<Box<dyn StorageBackend>, StoreError> {
    let path = log_of(file);
    match Untouched::open(&path) {
        Ok(log) => Ok(Box::new(log)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(Box::new(InMemoryBackend::new()))
        }
        Err(source) => Err(StoreError::Io { doing: format!("reading {}", path.display()), source }),
    }
}

/// What one pass over the blocks has found.
struct Chain {
    /// The hashes of the blocks that end where a checkpoint is.
    ends: BTreeMap<u64, Digest>,
    blocks: u64,
    /// The seq of the last event.
    last: u64,
    /// The first place where it does not hold.
    broken: Option<Fault>,
}

impl Chain {
    fn read(read: &ReadTransaction, checkpoints: &[Checkpoint]) -> Result<Self, StoreError> {
        let wanted: BTreeSet<u64> = checkpoints.iter().map(|checkpoint| checkpoint.seq).collect();
        let mut chain = Self { ends: BTreeMap::new(), blocks: 0, last: 0, broken: None };
        // An empty journal ends with nothing.
        chain.ends.insert(0, Digest::default());
        let (mut previous, mut expected) = (Digest::default(), 1);
        for row in read.open_table(EVENTS)?.iter()? {
            let (key, value) = row?;
            let (first, stored) = (key.value(), value.value());
            let hash = block_hash(stored);
            let mut end = first;
            match Block::open(stored) {
                Ok(block) => {
                    end = block.end().saturating_sub(1);
                    if first != expected || block.first != first {
                        chain.breaks(first, format!("events {expected} and on are not here"));
                    } else if block.previous != previous {
                        chain.breaks(first, "the block does not follow the one before it".into());
                    }
                }
                Err(error) => chain.breaks(first, error.to_string()),
            }
            if wanted.contains(&end) {
                chain.ends.insert(end, hash);
            }
            (previous, expected) = (hash, end.saturating_add(1));
            chain.last = end;
            chain.blocks += 1;
        }
        Ok(chain)
    }

    fn breaks(&mut self, seq: u64, what: String) {
        if self.broken.is_none() {
            self.broken = Some(Fault { seq: Some(seq), what });
        }
    }

    /// Whether the block that ends there is the one that was signed.
    fn holds(&self, checkpoint: &Checkpoint) -> bool {
        self.ends.get(&checkpoint.seq) == Some(&checkpoint.head)
    }

    fn standings(&self, journal: &str, checkpoints: &[Checkpoint]) -> Vec<Standing> {
        let ours = |checkpoint: &&Checkpoint| checkpoint.journal == journal;
        let stands = |checkpoint: &Checkpoint| {
            if !ours(&checkpoint) {
                return Standing::OtherJournal;
            }
            if checkpoint.seq > self.last {
                return Standing::Truncated { ends: self.last };
            }
            if let Some(fault) = &self.broken {
                return Standing::Broken(fault.clone());
            }
            if self.holds(checkpoint) {
                return Standing::Extends { events: self.last - checkpoint.seq };
            }
            let good = checkpoints.iter().filter(ours).filter(|other| self.holds(other));
            let good = good.map(|other| other.seq).filter(|seq| *seq < checkpoint.seq).max();
            Standing::Rewritten { good }
        };
        checkpoints.iter().map(stands).collect()
    }
}
