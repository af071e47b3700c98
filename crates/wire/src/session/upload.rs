//! `put-open`, `put-chunk`, `put-close`: content that is larger than a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::request;

request! {
    /// Begin an upload.
    PutOpenRequest {
        /// The length of the content.
        bytes: u64,
    }
}

/// The upload is open; it is forgotten if it is not used within ten minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PutOpenReply {
    /// Its name.
    pub upload: String,
    /// The most bytes of content that fit into one `put-chunk`.
    pub chunk_bytes: u64,
}

request! {
    /// Send a part of the content, in order. A part that was received before may be sent again.
    PutChunkRequest {
        /// The upload.
        upload: String,
        /// Where the part begins, in bytes.
        offset: u64,
        /// The part, as base64.
        data_b64: String,
    }
}

/// The part is received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PutChunkReply {
    /// Bytes received so far: the next part begins there.
    pub received: u64,
}

request! {
    /// End the upload.
    PutCloseRequest {
        /// The upload.
        upload: String,
        /// BLAKE3 of the content; one that does not match is refused and the upload forgotten.
        digest: String,
    }
}

/// The upload is whole; an `append` may name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PutCloseReply {
    /// BLAKE3 of the content.
    pub digest: String,
}
