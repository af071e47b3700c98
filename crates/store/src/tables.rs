//! Every table of the journal, in one place. `schemas/storage.md` describes the same.
//!
//! | table | key | value | written | changed |
//! |---|---|---|---|---|
//! | `meta` | name | see the constants | once | never |
//! | `events` | first seq | block of events | each commit | never |
//! | `payloads` | seq of the first payload | pack of payloads | each commit | by retention only |
//! | `chunks` | (seq, part) | pack with one part of a large payload | each commit | by retention only |
//! | `sessions` | `tenant/session` | session number | at open | never |
//! | `session_blocks` | (session number, version) | first seq of the block that begins there | each commit | never |
//! | `snapshots` | (session number, version) | folded state | now and then | replaced; a shortcut |

use redb::TableDefinition;

/// The format of the layout above. A newer one is refused by name.
pub const FORMAT: u32 = 1;

pub(crate) const META: TableDefinition<'static, &'static str, &'static [u8]> =
    TableDefinition::new("meta");
pub(crate) const EVENTS: TableDefinition<'static, u64, &'static [u8]> =
    TableDefinition::new("events");
pub(crate) const PAYLOADS: TableDefinition<'static, u64, &'static [u8]> =
    TableDefinition::new("payloads");
pub(crate) const CHUNKS: TableDefinition<'static, (u64, u32), &'static [u8]> =
    TableDefinition::new("chunks");
pub(crate) const SESSIONS: TableDefinition<'static, &'static str, u64> =
    TableDefinition::new("sessions");
pub(crate) const SESSION_BLOCKS: TableDefinition<'static, (u64, u64), u64> =
    TableDefinition::new("session_blocks");
pub(crate) const SNAPSHOTS: TableDefinition<'static, (u64, u64), &'static [u8]> =
    TableDefinition::new("snapshots");

/// `meta`: [`FORMAT`] as u32, little endian.
pub(crate) const META_FORMAT: &str = "format";
/// `meta`: the journal's id, 32 hex digits.
pub(crate) const META_JOURNAL: &str = "journal";
