//! Figures about a running journal.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use lacuna_store::StoreStats;

use crate::ScrubStats;

/// Who wants to know that something was committed.
pub(crate) type Told = Box<dyn Fn() + Send + Sync>;

/// What is counted commit by commit, and who is told.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) told: OnceLock<Told>,
    commits: AtomicU64,
    commands: AtomicU64,
    events: AtomicU64,
}

impl Counters {
    pub(crate) fn committed(&self, events: u64, commands: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.commands.fetch_add(commands as u64, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        if let Some(told) = self.told.get() {
            told();
        }
    }

    pub(crate) fn read(&self) -> (u64, u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (load(&self.commits), load(&self.commands), load(&self.events))
    }
}

/// Figures about a journal: the file as of the last commit, the rest since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// The seq of the last event.
    pub seq: u64,
    /// Rows and bytes of the file.
    pub store: StoreStats,
    /// Commits since the start.
    pub commits: u64,
    /// Commands that shared those commits.
    pub commands: u64,
    /// Events that they wrote.
    pub events: u64,
    /// Commands waiting for the writer now.
    pub waiting: u64,
    /// Sessions whose state readers hold in memory.
    pub cached_sessions: u64,
    /// What the scrub does; none where there is none.
    pub scrub: Option<ScrubStats>,
}
