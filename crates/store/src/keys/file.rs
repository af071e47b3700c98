//! The file that holds a journal's keys.
//!
//! ```text
//! offset size
//!      0    4  "LCKF"
//!      4    4  version, 1
//!      8    8  generation: grows with each change; the highest one is in force
//!     16   32  the journal's id, 32 hex digits
//!     48    8  number of nodes
//!     56   41  node: first leaf (8), depth (1), key (32); ascending; and again
//!      …   32  BLAKE3 of everything in front of it
//! ```
//!
//! Magic and version stand in front, and the checksum behind, in every version there will be.

use zeroize::{Zeroize, Zeroizing};

use super::tree::{DEPTH, KEY, Key, KeyTree, Node};

const MAGIC: [u8; 4] = *b"LCKF";
/// The newest layout of a key file that this release reads, and the one that it writes.
pub(crate) const KEY_FILE_VERSION: u32 = 1;
const CONTEXT: &str = "lacuna 2026-11 key file v1";
const HEADER: usize = 56;
const NODE: usize = 8 + 1 + KEY;
const SUM: usize = 32;
/// Length of a journal's id.
pub(crate) const ID: usize = 32;

/// What a key file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyFile {
    pub(crate) generation: u64,
    pub(crate) journal: String,
    pub(crate) tree: KeyTree,
}

/// Why a key file could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// A newer release has written it.
    Newer(u32),
    /// It is not what was written.
    Damaged(&'static str),
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    blake3::derive_key(CONTEXT, bytes)
}

impl KeyFile {
    /// The bytes of the file, zeroed when they are let go.
    pub(crate) fn encode(generation: u64, journal: &str, tree: &KeyTree) -> Zeroizing<Vec<u8>> {
        assert_eq!(journal.len(), ID, "a journal's id has 32 digits");
        let cover = tree.cover();
        // All at once: what grows leaves its old bytes behind.
        let mut out = Zeroizing::new(Vec::with_capacity(HEADER + NODE * cover.len() + SUM));
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&KEY_FILE_VERSION.to_le_bytes());
        out.extend_from_slice(&generation.to_le_bytes());
        out.extend_from_slice(journal.as_bytes());
        out.extend_from_slice(&(cover.len() as u64).to_le_bytes());
        for node in cover {
            out.extend_from_slice(&node.first.to_le_bytes());
            out.push(node.depth);
            out.extend_from_slice(node.key.bytes());
        }
        let sum = sum(&out);
        out.extend_from_slice(&sum);
        out
    }

    /// Reads such bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Unread> {
        let short = Unread::Damaged("it is too short");
        let (content, says) = bytes.split_last_chunk::<SUM>().ok_or(short)?;
        if content.len() < 8 || content[..4] != MAGIC {
            return Err(Unread::Damaged("it does not begin as one"));
        }
        if sum(content) != *says {
            return Err(Unread::Damaged("its checksum does not match"));
        }
        let version = u32::from_le_bytes(array(&content[4..8]));
        if version != KEY_FILE_VERSION {
            return Err(Unread::Newer(version));
        }
        let misfit = || Unread::Damaged("its parts do not fit together");
        let header = content.get(..HEADER).ok_or_else(misfit)?;
        let generation = u64::from_le_bytes(array(&header[8..16]));
        let journal = std::str::from_utf8(&header[16..48]).map_err(|_| misfit())?;
        let count = u64::from_le_bytes(array(&header[48..56]));
        let nodes = &content[HEADER..];
        if nodes.len() % NODE != 0 || (nodes.len() / NODE) as u64 != count {
            return Err(misfit());
        }
        let mut cover = Vec::with_capacity(nodes.len() / NODE);
        for node in nodes.chunks_exact(NODE) {
            let mut key: [u8; KEY] = array(&node[9..]);
            let (first, depth) = (u64::from_le_bytes(array(&node[..8])), node[8]);
            if depth > DEPTH {
                return Err(misfit());
            }
            cover.push(Node { first, depth, key: Key::new(key) });
            key.zeroize();
        }
        let tree = KeyTree::of(cover).ok_or_else(misfit)?;
        Ok(Self { generation, journal: journal.to_owned(), tree })
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}
