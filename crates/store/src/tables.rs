//! Every table of the journal, in one place. `schemas/storage.md` describes the same.
//!
//! | table | key | value | written | changed |
//! |---|---|---|---|---|
//! | `meta` | name | see the constants | once | see the constants |
//! | `events` | first seq | block of events | each commit | never |
//! | `payloads` | seq of the first payload | pack of payloads | each commit | by retention only |
//! | `chunks` | (seq, part) | pack with one part of a large payload | each commit | by retention only |
//! | `sessions` | `tenant/session` | session number | at open | never |
//! | `session_blocks` | (session number, version) | first seq of the block that begins there | each commit | never |
//! | `ledger` | (tenant, seq) | session number of the lossy commitment there, spans that it names | each loss | never; a projection |
//! | `forks` | (session number, session number) | last version that the two share, the smaller number being the parent's; each pair both ways round | at fork | never; a projection |
//! | `punctures` | first leaf | last leaf of keys to destroy | by retention only | deleted once they are destroyed |
//! | `residues` | seq of a removed payload | filter of its identifiers | by retention, where a rule asks for it | never |
//! | `snapshots` | (session number, version) | folded state | now and then | replaced; a shortcut |

use redb::TableDefinition;

/// The format of the layout above. A newer one is refused by name.
pub const FORMAT: u32 = 4;
/// The first format in which the database names the log that it needs; with an earlier one every log
/// beside it is.
pub(crate) const FORMAT_NAMES_LOG: u32 = 4;
/// The first format: no pack is encrypted. The second had no log in front of the
/// database, the third did not name it.
pub(crate) const FORMAT_PLAIN: u32 = 1;

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
pub(crate) const LEDGER: TableDefinition<'static, (&'static str, u64), (u64, u64)> =
    TableDefinition::new("ledger");
pub(crate) const FORKS: TableDefinition<'static, (u64, u64), u64> = TableDefinition::new("forks");
pub(crate) const RESIDUES: TableDefinition<'static, u64, &'static [u8]> =
    TableDefinition::new("residues");
pub(crate) const PUNCTURES: TableDefinition<'static, u64, u64> = TableDefinition::new("punctures");

/// `meta`: [`FORMAT`] as u32, little endian.
pub(crate) const META_FORMAT: &str = "format";
/// `meta`: the journal's id, 32 hex digits.
pub(crate) const META_JOURNAL: &str = "journal";
/// `meta`: no leaf from this number on was ever given to a pack, u64. It runs ahead of those that
/// were, so that a commit that was cut off cannot have used one that is given again.
pub(crate) const META_LEAVES: &str = "leaves";
/// `meta`: the id of the log that the database needs, 16 bytes; none while it needs none.
pub(crate) const META_LOG: &str = "log";
/// `meta`: no pack that was rewritten has a leaf from this number on, u64. Missing is 0.
pub(crate) const META_REWRITTEN: &str = "rewritten";
