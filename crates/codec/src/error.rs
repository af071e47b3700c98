//! Why stored bytes could not be read.

/// Stored bytes are not what they should be. Nothing was decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end too early, run on, or contradict themselves.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// What was being read.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The bytes come from a newer release.
    #[error("{what} has format {found}, this release reads up to {known}: use a newer release")]
    Newer {
        /// What was being read.
        what: &'static str,
        /// The format found.
        found: u32,
        /// The newest format known.
        known: u32,
    },
    /// A value is too large to be written.
    #[error("{what} is too large to store: {size} bytes, at most {limit}")]
    TooLarge {
        /// What was being written.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The most that fits.
        limit: usize,
    },
}

impl CodecError {
    pub(crate) fn damaged(what: &'static str, why: impl Into<String>) -> Self {
        Self::Damaged { what, why: why.into() }
    }
}
