//! `checkpoint`, and what `verify` says of one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the journal ends, signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointReply {
    /// The signed note, to be kept where nobody who can write to the journal can.
    pub note: String,
    /// The journal's id.
    pub journal: String,
    /// The seq of the last event that it covers.
    pub seq: u64,
    /// The hash of the block that ends with it.
    pub head: String,
    /// When it was signed.
    pub at: String,
    /// The public key, as a verifier of signed notes: give it to `verify`.
    pub key: String,
}

/// What the feed says of a checkpoint, behind the last event that it covers; its kind on the feed is
/// `checkpoint-signed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointSigned {
    /// The journal's id.
    pub journal: String,
    /// The seq of the last event that it covers.
    pub seq: u64,
    /// `checkpoint-signed`.
    pub kind: String,
    /// When it was signed.
    pub at: String,
    /// The hash of the block that ends with that event.
    pub head: String,
    /// The signed note.
    pub note: String,
}

impl CheckpointSigned {
    /// Its kind.
    pub const KIND: &str = "checkpoint-signed";
}

/// What became of the journal since a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointBody {
    /// `extends`: the journal goes on from it. `rewritten`: something else stands there now, and the chain
    /// was made to fit. `truncated`: the journal ends before it. `broken`: the chain does not hold.
    /// `other_journal`. `bad_signature`: it is not what the key has signed. `key_unknown`: nobody who is
    /// believed has signed it. `no_checkpoint`: it is signed, and no checkpoint.
    pub verdict: String,
    /// The verdict in a sentence.
    pub message: String,
    /// The seq that it ends with; for genuine checkpoints, like the two that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The hash of the block that it ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// When it was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The key that has signed it, or whose name it bears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether the key was given with the request rather than found beside the journal.
    pub key_given: bool,
    /// Events that the journal has gained since; with `extends`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_since: Option<u64>,
    /// The last seq up to which another checkpoint shows the journal unchanged; with `rewritten`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_to: Option<u64>,
    /// Where the journal ends; with `truncated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<u64>,
}
