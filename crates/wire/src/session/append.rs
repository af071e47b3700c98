//! `append`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_core::{AppendedSpan, Content, Digest, NewSpan, Origin, Role, Source, SpanKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{span_id, span_ids, word};
use crate::common::request;
use crate::{BudgetBody, WireError};

request! {
    /// Record spans, all or none.
    AppendRequest {
        /// The spans, in order; at most 1,000 unless configured otherwise.
        #[serde(deserialize_with = "crate::json::object::list")]
        spans: Vec<SpanBody>,
    }
}

/// A span to record. Exactly one of `content`, `content_b64`, `upload`, `withheld` and `external`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpanBody {
    /// Its id; assigned (`s1`, `s2`, …) if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// `user`, `tool`, `model`, `harness` or `system`.
    pub origin: String,
    /// `message` (default), `tool_call`, `tool_result`, `thinking`, `file`, `note`, `constraint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The content, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The content, as base64 (standard alphabet, padded).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_b64: Option<String>,
    /// The content, uploaded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<String>,
    /// The content is known but never stored.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::json::object::optional"
    )]
    pub withheld: Option<WithheldBody>,
    /// The content lives in a configured store.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::json::object::optional"
    )]
    pub external: Option<ExternalBody>,
    /// Media type of the content; `text/plain` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its size in tokens, as the client counted; estimated if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Whether its author hedges.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hedged: bool,
    /// Whether it may never leave the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The turn, as the client counts turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// For a `tool_result`: the `tool_call` that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Spans that it contradicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<String>,
    /// The span that it takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// Free labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Where it stood before.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::json::object::optional"
    )]
    pub source: Option<SourceBody>,
    /// False for a record that the model was never shown: kept, but not in the window.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub in_window: bool,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// Content that is known but never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithheldBody {
    /// BLAKE3 of the content, lower-case hex.
    pub digest: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Why it is withheld.
    pub reason: String,
}

/// Content in a configured store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalBody {
    /// The store's name in the daemon's configuration.
    pub store: String,
    /// The key there.
    pub key: String,
    /// BLAKE3 of the content, lower-case hex.
    pub digest: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Where a span stood before it came here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceBody {
    /// The transcript format or the system.
    pub format: String,
    /// Its id there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The id of its parent there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The time it bears there, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

impl SpanBody {
    /// The span of the domain. Takes the contents out of the body, so that what is left can be
    /// fingerprinted; `upload` finds the bytes of an upload.
    pub fn take(
        &mut self,
        upload: impl FnOnce(&str) -> Result<Arc<[u8]>, WireError>,
    ) -> Result<NewSpan, WireError> {
        let (content, digest) = self.take_content(upload)?;
        let kind = match &self.kind {
            None => SpanKind::Message,
            Some(text) => word("kind", text, SpanKind::from_word)?,
        };
        let id = |text: &Option<String>| text.as_deref().map(span_id).transpose();
        Ok(NewSpan {
            id: id(&self.id)?,
            role: word("role", &self.role, Role::from_word)?,
            origin: word("origin", &self.origin, Origin::from_word)?,
            kind,
            content,
            digest,
            media_type: media_type(self.media_type.as_deref())?,
            tokens: self.tokens,
            hedged: self.hedged,
            pinned: self.pinned,
            turn: self.turn,
            answers: id(&self.answers)?,
            contradicts: span_ids(&self.contradicts)?,
            supersedes: id(&self.supersedes)?,
            labels: self.labels.clone(),
            source: self.source.as_ref().map(|source| Source {
                format: source.format.clone(),
                id: source.id.clone(),
                parent: source.parent.clone(),
                time: source.time.clone(),
            }),
            in_window: self.in_window,
        })
    }

    fn take_content(
        &mut self,
        upload: impl FnOnce(&str) -> Result<Arc<[u8]>, WireError>,
    ) -> Result<(Content, Digest), WireError> {
        let given = [
            self.content.is_some(),
            self.content_b64.is_some(),
            self.upload.is_some(),
            self.withheld.is_some(),
            self.external.is_some(),
        ];
        if given.iter().filter(|&&given| given).count() != 1 {
            return Err(WireError::bad_request(
                "a span has exactly one of content, content_b64, upload, withheld and external",
            ));
        }
        let bytes: Arc<[u8]> = if let Some(text) = self.content.take() {
            text.into_bytes().into()
        } else if let Some(text) = self.content_b64.take() {
            let decoded = BASE64_STANDARD.decode(text.as_bytes());
            decoded.map_err(|error| WireError::bad_request(format!("content_b64: {error}")))?.into()
        } else if let Some(name) = self.upload.take() {
            upload(&name)?
        } else if let Some(withheld) = &self.withheld {
            let digest = digest(&withheld.digest)?;
            let (bytes, reason) = (withheld.bytes, withheld.reason.clone());
            return Ok((Content::Withheld { digest, bytes, reason }, digest));
        } else if let Some(external) = &self.external {
            let digest = digest(&external.digest)?;
            let (store, key) = (external.store.clone(), external.key.clone());
            return Ok((Content::External { store, key, digest, bytes: external.bytes }, digest));
        } else {
            unreachable!("one of the five is given");
        };
        let digest = Digest::of(&bytes);
        Ok((Content::Bytes(bytes), digest))
    }

    /// The body of a span of the domain, for sending it. Contents that are not text travel as
    /// base64.
    pub fn from_span(span: &NewSpan) -> Self {
        let mut body = Self {
            id: span.id.as_ref().map(ToString::to_string),
            role: span.role.word().to_owned(),
            origin: span.origin.word().to_owned(),
            kind: Some(span.kind.word().to_owned()),
            media_type: Some(span.media_type.clone()),
            tokens: span.tokens,
            hedged: span.hedged,
            pinned: span.pinned,
            turn: span.turn,
            answers: span.answers.as_ref().map(ToString::to_string),
            contradicts: span.contradicts.iter().map(ToString::to_string).collect(),
            supersedes: span.supersedes.as_ref().map(ToString::to_string),
            labels: span.labels.clone(),
            source: span.source.as_ref().map(|source| SourceBody {
                format: source.format.clone(),
                id: source.id.clone(),
                parent: source.parent.clone(),
                time: source.time.clone(),
            }),
            in_window: span.in_window,
            ..Self::default()
        };
        match &span.content {
            Content::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => body.content = Some(text.to_owned()),
                Err(_) => body.content_b64 = Some(BASE64_STANDARD.encode(bytes)),
            },
            Content::Withheld { digest, bytes, reason } => {
                let (digest, reason) = (digest.to_string(), reason.clone());
                body.withheld = Some(WithheldBody { digest, bytes: *bytes, reason });
            }
            Content::External { store, key, digest, bytes } => {
                body.external = Some(ExternalBody {
                    store: store.clone(),
                    key: key.clone(),
                    digest: digest.to_string(),
                    bytes: *bytes,
                });
            }
        }
        body
    }
}

fn media_type(text: Option<&str>) -> Result<String, WireError> {
    const MAX: usize = 255;
    let text = text.unwrap_or("text/plain");
    if text.is_empty() || text.len() > MAX || text.chars().any(char::is_control) {
        return Err(WireError::bad_request(
            "media_type is 1 to 255 characters, such as text/plain",
        ));
    }
    Ok(text.to_owned())
}

fn digest(text: &str) -> Result<Digest, WireError> {
    text.parse().map_err(|error| WireError::bad_request(format!("digest: {error}")))
}

/// The spans are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppendReply {
    /// The session's version.
    pub version: u64,
    /// The spans, in the order of the request.
    pub spans: Vec<AppendedBody>,
    /// Spans left out at the end of `spans` because the reply would not fit into one message: they
    /// are recorded all the same, and `expand` or `history` tells about them.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub spans_omitted: u64,
    /// The budget after them.
    pub budget: BudgetBody,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// A recorded span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppendedBody {
    /// Its id.
    pub id: String,
    /// Journal position of the event that recorded it.
    pub seq: u64,
    /// Its handle.
    pub handle: String,
    /// BLAKE3 of its content.
    pub digest: String,
    /// Its size in tokens.
    pub tokens: u32,
    /// `declared`, `counted` or `estimated`.
    pub tokens_from: String,
    /// Until when its copy lives; null: for ever. For a withheld span, when it was recorded.
    pub durable_until: Option<String>,
    /// Set if it was recorded before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl From<&AppendedSpan> for AppendedBody {
    fn from(span: &AppendedSpan) -> Self {
        Self {
            id: span.id.to_string(),
            seq: span.seq,
            handle: span.handle.to_string(),
            digest: span.digest.to_string(),
            tokens: span.tokens,
            tokens_from: span.tokens_from.word().to_owned(),
            durable_until: span.durable_until.map(|time| time.to_string()),
            duplicate: span.duplicate,
        }
    }
}
