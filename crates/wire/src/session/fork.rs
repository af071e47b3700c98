//! `fork`: another window from a moment of a session's past on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AtBody;
use crate::common::request;

request! {
    /// Begin the session as a fork of another one: it has all that happened there up to a moment, and
    /// goes its own way from there. Forking again at the same version changes nothing.
    ForkRequest {
        /// The session to fork.
        from: String,
        /// The moment of its past; now unless given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        at: Option<AtBody>,
    }
}

/// The session is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkReply {
    /// Its name.
    pub session: String,
    /// Its version: its versions go on from those that it shares.
    pub version: u64,
    /// The journal's id.
    pub journal: String,
    /// The session that it was forked from.
    pub from: String,
    /// The last version that both share.
    pub at: u64,
    /// When it was forked.
    pub opened_at: String,
    /// Set if it was forked before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}
