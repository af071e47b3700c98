//! Checkpoints of a journal: the text of a note that says where it ended at some time.
//!
//! ```text
//! lacuna/<journal id>
//! <seq of the last event, decimal>
//! <base64 of the hash of the block that ends with it>
//! at <time of signing, RFC 3339>
//! ```
//!
//! The form of C2SP's tlog checkpoints (`c2sp.org/tlog-checkpoint`): origin, size, root, extension
//! lines; the root here is that of a chain. Lines behind these that a later release writes are passed
//! over.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_core::{Digest, Timestamp};

use crate::NoteError;

const ORIGIN: &str = "lacuna/";
const AT: &str = "at ";
/// Length of a journal's id.
const ID: usize = 32;

/// Where a journal ended, as somebody saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The journal's id, 32 hex digits.
    pub journal: String,
    /// The seq of its last event; 0 of an empty one.
    pub seq: u64,
    /// The hash of the block that ends with it; zero of an empty one.
    pub head: Digest,
    /// When it was signed, by the clock of who did. The hash says nothing about it.
    pub at: Timestamp,
}

impl Checkpoint {
    /// The name that a journal signs with, which is also a checkpoint's first line.
    pub fn origin(journal: &str) -> String {
        format!("{ORIGIN}{journal}")
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Self::origin(&self.journal))?;
        writeln!(f, "{}", self.seq)?;
        writeln!(f, "{}", BASE64_STANDARD.encode(self.head.0))?;
        writeln!(f, "{AT}{}", self.at)
    }
}

impl FromStr for Checkpoint {
    type Err = NoteError;
    fn from_str(text: &str) -> Result<Self, NoteError> {
        let mut lines = text.lines();
        let journal = lines.next().and_then(|line| line.strip_prefix(ORIGIN));
        let hex = |id: &&str| id.len() == ID && id.bytes().all(|b| b.is_ascii_hexdigit());
        let journal = journal.filter(hex).ok_or(NoteError::Form("it is of no Lacuna journal"))?;
        let seq = lines.next().filter(|line| *line == "0" || !line.starts_with(['0', '+']));
        let seq = seq.and_then(|line| line.parse().ok());
        let seq = seq.ok_or(NoteError::Form("its second line is no seq"))?;
        let head = lines.next().and_then(|line| BASE64_STANDARD.decode(line).ok());
        let head = head.and_then(|bytes| bytes.try_into().ok()).map(Digest);
        let head = head.ok_or(NoteError::Form("its third line is no hash"))?;
        let at = lines.find_map(|line| line.strip_prefix(AT)).and_then(|at| at.parse().ok());
        let at = at.ok_or(NoteError::Form("it does not say when it was signed"))?;
        Ok(Self { journal: journal.to_owned(), seq, head, at })
    }
}
