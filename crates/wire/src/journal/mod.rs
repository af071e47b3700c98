//! The journal verbs.

mod adopt;
mod checkpoint;

pub use adopt::{AdoptReply, AdoptRequest, AdoptedBody};
pub use checkpoint::{CheckpointBody, CheckpointReply, CheckpointSigned};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EventBody;

/// Where the journal ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeadReply {
    /// The journal's id.
    pub journal: String,
    /// The seq of its last event; 0 in an empty one.
    pub seq: u64,
    /// The hash of its last block.
    pub head: String,
    /// The record time of its last event.
    pub recorded_at: String,
    /// The public keys that its checkpoints were signed with, as verifiers of signed notes; the one in use
    /// last. Empty before the first checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// Verify the journal or a range of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    /// The first seq; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The last seq; the journal's last unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    /// Checkpoints to judge the journal by: one signed note, or several one behind the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Whose checkpoints are believed, as verifiers of signed notes. The journal's own keys if none is
    /// given: then a checkpoint shows only what somebody without that key could not have done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// What was verified and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReply {
    /// Whether nothing is wrong, and the journal goes on from every checkpoint that was given.
    pub ok: bool,
    /// What was checked.
    pub checked: CheckedBody,
    /// What is wrong; at most 1,000 are listed.
    pub faults: Vec<FaultBody>,
    /// What became of the journal since each checkpoint that was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointBody>,
}

/// How much was verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedBody {
    /// Events decoded, chained and counted.
    pub events: u64,
    /// Payloads read back whole.
    pub payloads: u64,
    /// Bytes of them.
    pub payload_bytes: u64,
    /// Blocks whose hash the next one confirms.
    pub blocks: u64,
    /// Snapshots compared with the fold of their events.
    pub snapshots: u64,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultBody {
    /// Where, if it has a seq.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What was found.
    pub what: String,
}

/// Figures about the journal and its daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsReply {
    /// The journal's id.
    pub journal: String,
    /// The release of the daemon.
    pub release: String,
    /// The seq of the last event.
    pub seq: u64,
    /// Sessions ever opened.
    pub sessions: u64,
    /// Commits that wrote events.
    pub blocks: u64,
    /// Packs of payloads.
    pub packs: u64,
    /// Snapshots kept.
    pub snapshots: u64,
    /// Size of the journal's file.
    pub file_bytes: u64,
    /// Commits since the start.
    pub commits: u64,
    /// Commands that shared them.
    pub commands: u64,
    /// Events that they wrote.
    pub events: u64,
    /// Commands waiting for the writer now.
    pub waiting: u64,
    /// Sessions that readers hold in memory.
    pub cached_sessions: u64,
    /// Uploads that are open.
    pub uploads: u64,
    /// Seconds since the daemon started.
    pub uptime_seconds: u64,
    /// What the scrub does, which reads every copy back now and then; null if there is none.
    #[serde(default)]
    pub scrub: Option<ScrubBody>,
    /// How far the feed is; null where no daemon publishes one.
    #[serde(default)]
    pub feed: Option<FeedBody>,
}

/// How far the feed is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedBody {
    /// The stream.
    pub stream: String,
    /// `live` (all is published), `behind` (being published), `away` (the broker is, or does not answer),
    /// `unavailable` (the broker has no such stream to give), or `refused` (what stands in the stream does
    /// not go together with this journal); in the last three nothing is published, and `problems` tells why.
    pub state: String,
    /// The seq of the last event that the stream has acknowledged.
    pub published_seq: u64,
    /// Where the stream holds it.
    pub stream_seq: u64,
    /// Events that are recorded and not published.
    pub lag_events: u64,
    /// How long the oldest of them has been recorded, in milliseconds; 0 if there is none.
    pub lag_ms: u64,
    /// Messages that the stream has acknowledged since the daemon started.
    pub messages: u64,
    /// How often publishing began anew behind what the stream held, since the daemon started.
    pub resumed: u64,
    /// Events that could not be read from the journal and were passed over, since the daemon started.
    pub unreadable: u64,
    /// What is not as it should be, and what it costs; empty if nothing is.
    pub problems: Vec<String>,
}

/// How far the scrub is, and what it has found since the daemon started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubBody {
    /// When the round that goes on began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_started: Option<String>,
    /// The last seq that it has passed; 0 between rounds.
    pub position: u64,
    /// The last seq that it goes to; 0 between rounds.
    pub end: u64,
    /// When the last completed round began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_round_started: Option<String>,
    /// Copies found whole.
    pub verified: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Copies found damaged or missing, whose loss was recorded.
    pub damaged: u64,
    /// Copies whose store gave no answer.
    pub unanswered: u64,
}

/// Read the events of all of the tenant's sessions, in the journal's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsRequest {
    /// The first seq; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The most events to give; 1,000 unless given. Fewer come if more would not fit, or if many events
    /// of others lie between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The last event that was read: a journal that does not hold it any more, since it was restored
    /// from an older copy, is a `version_conflict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<EventRef>,
}

/// An event by its place and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventRef {
    /// Its position in the journal.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// Events of the tenant, in the journal's order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventsReply {
    /// The events; none where those of others lie between.
    pub events: Vec<EventBody>,
    /// The seq to go on from.
    pub next: u64,
    /// Whether the journal went on there when this was read.
    pub more: bool,
}

/// List the tenant's sessions, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionsRequest {
    /// List those behind this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The most names to give; 1,000 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The tenant's sessions, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsReply {
    /// The names; go on behind the last one if there are as many as asked for.
    pub sessions: Vec<String>,
}

/// Copy the journal as of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupRequest {
    /// The folder, which must not hold a journal yet. A daemon takes only folders below the one
    /// that its configuration names.
    pub dir: String,
}

/// The copy is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupReply {
    /// The folder.
    pub dir: String,
    /// The seq of the last event in it.
    pub seq: u64,
    /// Rows copied.
    pub rows: u64,
    /// Bytes copied.
    pub bytes: u64,
}
