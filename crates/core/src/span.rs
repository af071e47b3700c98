//! Spans: the unit of context, as a client gives them and as the journal describes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Digest, SpanId};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word of the wire contract.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value that this word of the wire contract names.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The role under which a span is sent to a provider; separate from its origin.
    Role {
        /// Standing instructions.
        System = "system",
        /// The application's own instructions.
        Developer = "developer",
        /// The user's side.
        User = "user",
        /// The model's side.
        Assistant = "assistant",
        /// A tool's side.
        Tool = "tool",
    }
}

words! {
    /// Where a span's content came from. Set when recorded, never rewritten.
    Origin {
        /// A person said it.
        User = "user",
        /// A tool printed it.
        Tool = "tool",
        /// The model wrote it.
        Model = "model",
        /// The agent's own machinery wrote it.
        Harness = "harness",
        /// It is a standing instruction.
        System = "system",
        /// It is a summary of other spans. Only `summarize` makes these.
        Summary = "summary",
    }
}

words! {
    /// What a span is.
    SpanKind {
        /// Text from any side.
        Message = "message",
        /// A call of a tool; leaves the window only together with its results.
        ToolCall = "tool_call",
        /// A tool's answer.
        ToolResult = "tool_result",
        /// The model's reasoning, possibly signed by its provider.
        Thinking = "thinking",
        /// A file or an image.
        File = "file",
        /// A remark of the agent's machinery.
        Note = "note",
        /// A rule that the agent must keep.
        Constraint = "constraint",
        /// A summary of other spans.
        Summary = "summary",
    }
}

words! {
    /// Where a token count came from.
    TokensFrom {
        /// The client counted.
        Declared = "declared",
        /// The daemon counted with a tokenizer.
        Counted = "counted",
        /// The daemon guessed from the length.
        Estimated = "estimated",
    }
}

/// Where a span stood before it came here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// The transcript format or the system.
    pub format: String,
    /// Its id there.
    pub id: Option<String>,
    /// The id of its parent there.
    pub parent: Option<String>,
    /// The time it bears there, as written; data, never order.
    pub time: Option<String>,
}

/// Where a span's content is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Storage {
    /// In the journal's own payload table.
    Journal,
    /// Nowhere, by request: known but never stored.
    Withheld {
        /// Why.
        reason: String,
    },
    /// In a store that the daemon's configuration names.
    External {
        /// The store's name.
        store: String,
        /// The key there.
        key: String,
    },
}

/// A span's content as it arrives with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes themselves.
    Bytes(Arc<[u8]>),
    /// A digest and a length only.
    Withheld {
        /// Digest of the content that is withheld.
        digest: Digest,
        /// Its length in bytes.
        bytes: u64,
        /// Why it is withheld.
        reason: String,
    },
    /// Content in an outside store.
    External {
        /// The store's name.
        store: String,
        /// The key there.
        key: String,
        /// Digest of the content.
        digest: Digest,
        /// Its length in bytes.
        bytes: u64,
    },
}

/// A span as a client asks to record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSpan {
    /// Its id, or none to have one assigned.
    pub id: Option<SpanId>,
    /// Role towards the provider.
    pub role: Role,
    /// Where the content came from.
    pub origin: Origin,
    /// What it is.
    pub kind: SpanKind,
    /// Its content.
    pub content: Content,
    /// BLAKE3 of the content: computed when `content` is bytes, given otherwise.
    pub digest: Digest,
    /// Media type of the content.
    pub media_type: String,
    /// Tokens as the client counted them.
    pub tokens: Option<u32>,
    /// Whether its author hedges.
    pub hedged: bool,
    /// Whether it may never leave the window.
    pub pinned: bool,
    /// The turn in which it was said, as the client counts turns.
    pub turn: Option<u64>,
    /// The tool call that it answers.
    pub answers: Option<SpanId>,
    /// Spans that it contradicts.
    pub contradicts: Vec<SpanId>,
    /// The span that it takes the place of.
    pub supersedes: Option<SpanId>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// Where it stood before.
    pub source: Option<Source>,
    /// False for a record that the model was never shown: it is kept and can be looked up, but
    /// takes no place in the window.
    pub in_window: bool,
}

impl NewSpan {
    /// The content's length in bytes.
    pub fn bytes(&self) -> u64 {
        match &self.content {
            Content::Bytes(content) => content.len() as u64,
            Content::Withheld { bytes, .. } | Content::External { bytes, .. } => *bytes,
        }
    }

    /// Where the content will be kept.
    pub fn storage(&self) -> Storage {
        match &self.content {
            Content::Bytes(_) => Storage::Journal,
            Content::Withheld { reason, .. } => Storage::Withheld { reason: reason.clone() },
            Content::External { store, key, .. } => {
                Storage::External { store: store.clone(), key: key.clone() }
            }
        }
    }
}

/// Estimates the tokens of a text of this many bytes: a quarter of them, rounded up.
///
/// English prose under o200k_base measures 4 to 4.5 bytes a token, code about 3.5.
pub fn estimate_tokens(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX)
}
