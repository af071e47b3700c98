//! Settings of the verbs.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of the verbs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of uploads that may be open at a time.
    pub upload_bytes: u64,
    /// How long an upload may stay unused.
    pub upload_ttl: Duration,
    /// Bytes of one span's content: what an upload may announce.
    pub span_bytes: u64,
    /// Bytes of contents that one window read loads, at most.
    pub window_bytes: u64,
    /// The folder below which `backup` may write; none refuses it.
    pub backup_root: Option<PathBuf>,
    /// Whether `backup` may write anywhere: for the person at the machine, not for the network.
    pub backup_anywhere: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            upload_bytes: 256 << 20,
            upload_ttl: Duration::from_secs(600),
            span_bytes: 64 << 20,
            window_bytes: 64 << 20,
            backup_root: None,
            backup_anywhere: false,
        }
    }
}
