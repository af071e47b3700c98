//! `receipt`: what was shown to the model.

use lacuna_core::Digest;
use lacuna_core::event::{Rendering, WindowReceipted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AtBody, word};
use crate::WireError;
use crate::common::request;

request! {
    /// Record what was shown to the model at one call.
    ReceiptRequest {
        /// The turn, as you count turns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// How the window was put before the model: `entries`, `text`, `openai` or `anthropic`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rendered: Option<String>,
        /// BLAKE3 of what was sent in that form: of the text; of `{"messages":…}` or
        /// `{"messages":…,"system":…}` as JSON with sorted keys and without white space; for `entries`,
        /// of the entries' digests, one after the other. One that differs is recorded as a discrepancy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_digest: Option<String>,
        /// The version of the window that was sent; the last one unless given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        at: Option<AtBody>,
    }
}

impl ReceiptRequest {
    /// How it was shown.
    pub fn rendering(&self) -> Result<Option<Rendering>, WireError> {
        self.rendered
            .as_deref()
            .map(|text| word("rendering", text, Rendering::from_word))
            .transpose()
    }

    /// What was sent.
    pub fn sent(&self) -> Result<Option<Digest>, WireError> {
        let read = |text: &str| {
            text.parse().map_err(|error| WireError::bad_request(format!("sent_digest: {error}")))
        };
        self.sent_digest.as_deref().map(read).transpose()
    }
}

/// What was shown is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptReply {
    /// Its name: a moment that `window` can be asked for.
    pub receipt: String,
    /// The session's version.
    pub version: u64,
    /// The version whose window was shown.
    pub window_version: u64,
    /// How many entries that window has.
    pub entries: u32,
    /// BLAKE3 over the digests of its entries, one after the other.
    pub entries_digest: String,
    /// How it was shown; missing where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered: Option<String>,
    /// The digest of it in that form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_digest: Option<String>,
    /// Whether something else was sent than the window that is named.
    pub discrepancy: bool,
    /// Set if this very command was carried out before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl ReceiptReply {
    /// What the event says.
    pub fn of(receipt: &WindowReceipted, version: u64, duplicate: bool) -> Self {
        Self {
            receipt: receipt_name(receipt.receipt),
            version,
            window_version: receipt.window_version,
            entries: receipt.entries,
            entries_digest: receipt.entries_digest.to_string(),
            rendered: receipt.rendered.map(|(form, _)| form.word().to_owned()),
            rendered_digest: receipt.rendered.map(|(_, digest)| digest.to_string()),
            discrepancy: receipt.is_discrepant(),
            duplicate,
        }
    }
}

/// The name of a receipt.
pub fn receipt_name(number: u32) -> String {
    format!("w{number}")
}

/// The number of a receipt, from its name.
pub fn receipt_number(name: &str) -> Result<u32, WireError> {
    let number = name.strip_prefix('w').and_then(|digits| digits.parse().ok());
    number.filter(|number| *number > 0).ok_or_else(|| {
        let name: String = name.chars().take(40).collect();
        WireError::bad_request(format!("{name:?} is no receipt: they are w1, w2, and so on"))
    })
}
