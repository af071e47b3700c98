//! Snapshots of the writer's states: when they go along with a commit, and those of states that leave.

use lacuna_store::{Snapshot, StoreError};

use super::{Staged, Writer};

/// Events behind the last snapshot, or blocks that they stand in, from which on a new one is worth writing
/// when a state leaves. Reading it again from fewer is quick, and a snapshot says what the events say.
const EVENTS_ON_LEAVING: u64 = 1_024;
const BLOCKS_ON_LEAVING: u64 = 12;
/// Bytes of snapshots that one commit takes along.
const SNAPSHOT_BYTES: usize = 4 << 20;

/// Bytes of snapshots that may wait for a commit; beyond that none are made for sessions that leave,
/// they are only shortcuts.
const SNAPSHOTS_WAITING: usize = 16 << 20;

impl Staged {
    /// Whether it should leave a snapshot behind.
    fn leaves_one(&self) -> bool {
        self.blocks >= BLOCKS_ON_LEAVING || self.anchors.distance(&self.state) >= EVENTS_ON_LEAVING
    }

    /// Its next snapshot.
    pub(super) fn snapshot(&mut self) -> Result<Snapshot, StoreError> {
        self.blocks = 0;
        self.anchors.snapshot(&self.state)
    }
}

impl Writer {
    pub(super) fn due_snapshots(&mut self) -> Vec<Snapshot> {
        let mut bytes = 0;
        let within = self.snapshots.iter().take_while(|snapshot| {
            bytes += snapshot.len();
            bytes <= SNAPSHOT_BYTES
        });
        let count = within.count().max(1).min(self.snapshots.len());
        self.snapshots.drain(..count).collect()
    }

    pub(super) fn evict(&mut self) -> Result<(), StoreError> {
        self.left.retain(|_, number| self.committing.touches(*number));
        let mut waiting: usize = self.snapshots.iter().map(Snapshot::len).sum();
        for mut staged in self.sessions.shrink() {
            let number = staged.state.number;
            if self.committing.touches(number) {
                self.left.insert(staged.state.key.clone(), number);
            }
            if staged.leaves_one() && waiting < SNAPSHOTS_WAITING {
                let snapshot = staged.snapshot()?;
                waiting += snapshot.len();
                self.snapshots.push(snapshot);
            }
        }
        Ok(())
    }

    /// Leaves the journal so that the next start is fast.
    pub(super) fn rest(&mut self) -> Result<(), StoreError> {
        let mut bytes = self.snapshots.iter().map(Snapshot::len).sum::<usize>();
        for staged in self.sessions.iter_mut().filter(|staged| staged.leaves_one()) {
            let snapshot = staged.snapshot()?;
            bytes += snapshot.len();
            self.snapshots.push(snapshot);
            if bytes > SNAPSHOT_BYTES {
                self.store.write_snapshots(&std::mem::take(&mut self.snapshots))?;
                bytes = 0;
            }
        }
        if !self.snapshots.is_empty() {
            self.store.write_snapshots(&std::mem::take(&mut self.snapshots))?;
        }
        self.store.checkpoint()
    }
}
