//! How the engine runs.

use std::path::PathBuf;

use lacuna_core::Limits;
use lacuna_store::StoreOptions;

use crate::{Clock, RunLimit, ScrubOptions, Stores, system_clock};

/// Settings of a journal. The defaults suit a small machine.
#[derive(Clone)]
pub struct Options {
    /// How the file is opened.
    pub store: StoreOptions,
    /// Bounds on commands.
    pub limits: Limits,
    /// Commands that may wait for the writer.
    pub queue_commands: usize,
    /// Bytes of commands that may wait for the writer.
    pub queue_bytes: usize,
    /// Commands decided in one commit, at most.
    pub batch_commands: usize,
    /// Bytes of payloads in one commit, about at most; one command may exceed it.
    pub batch_bytes: usize,
    /// What brings contents is refused while the journal's disk has fewer bytes left than these.
    pub keep_free: u64,
    /// Spans of sessions kept in memory by the writer; readers keep half as many.
    pub cached_spans: usize,
    /// How much one retention run may remove.
    pub run_limit: RunLimit,
    /// Where contents lie that the journal only points at.
    pub stores: Stores,
    /// How the scrub reads; none where there is none.
    pub scrub: Option<ScrubOptions>,
    /// The file of the key that checkpoints are signed with; in the journal's folder if none is named.
    pub signing_key: Option<PathBuf>,
    /// Where record time comes from.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            store: StoreOptions::default(),
            limits: Limits::default(),
            queue_commands: 16_384,
            queue_bytes: 128 << 20,
            batch_commands: 2_048,
            batch_bytes: 8 << 20,
            keep_free: 64 << 20,
            cached_spans: 120_000,
            run_limit: RunLimit::default(),
            stores: Stores::default(),
            scrub: None,
            signing_key: None,
            clock: system_clock(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("store", &self.store)
            .field("limits", &self.limits)
            .field("queue_commands", &self.queue_commands)
            .field("queue_bytes", &self.queue_bytes)
            .field("batch_commands", &self.batch_commands)
            .field("batch_bytes", &self.batch_bytes)
            .field("keep_free", &self.keep_free)
            .field("cached_spans", &self.cached_spans)
            .field("run_limit", &self.run_limit)
            .field("stores", &self.stores)
            .field("scrub", &self.scrub)
            .field("signing_key", &self.signing_key)
            .finish_non_exhaustive()
    }
}
