//! Snapshots of the writer's states: which are worth writing, and when they go along with a commit.

use lacuna_store::{Snapshot, StoreError};

use super::Writer;

/// Events behind the last snapshot from which on a new one is worth writing when a state leaves.
const SNAPSHOT_ON_LEAVING: u64 = 4;
/// Bytes of snapshots that one commit takes along.
const SNAPSHOT_BYTES: usize = 4 << 20;

/// Bytes of snapshots that may wait for a commit; beyond that none are made for sessions that leave,
/// they are only shortcuts.
const SNAPSHOTS_WAITING: usize = 16 << 20;

impl Writer {
    /// The staged states are what the commit will make true, so their snapshots go along with it.
    pub(super) fn snapshot_busy(&mut self) -> Result<(), StoreError> {
        for key in std::mem::take(&mut self.busy) {
            if let Some(staged) = self.sessions.get_mut(&key) {
                self.snapshots.push(Snapshot::of(&staged.state)?);
                staged.snapshot = staged.state.version;
            }
        }
        Ok(())
    }

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
        let mut waiting: usize = self.snapshots.iter().map(Snapshot::len).sum();
        for staged in self.sessions.shrink() {
            let worth = staged.state.version - staged.snapshot >= SNAPSHOT_ON_LEAVING;
            if worth && waiting < SNAPSHOTS_WAITING {
                let snapshot = Snapshot::of(&staged.state)?;
                waiting += snapshot.len();
                self.snapshots.push(snapshot);
            }
        }
        Ok(())
    }

    /// Leaves the journal so that the next start is fast.
    pub(super) fn rest(&mut self) -> Result<(), StoreError> {
        let mut bytes = self.snapshots.iter().map(Snapshot::len).sum::<usize>();
        let states = self.sessions.iter().map(|staged| (&staged.state, staged.snapshot));
        let worth = states.filter(|(state, at)| state.version - at >= SNAPSHOT_ON_LEAVING);
        for (state, _) in worth {
            let snapshot = Snapshot::of(state)?;
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
