//! Shapes that several replies share.

use lacuna_core::{Budget, Check, Cost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares a request: every one may carry the identity fields, and refuses unknown ones.
macro_rules! request {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: $type,)*
            /// The idempotency key within the session: 1 to 128 characters.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub command_id: Option<String>,
            /// The version that the session must have.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub expected_version: Option<u64>,
        }

        impl $crate::session::Identified for $name {
            fn take_identity(&mut self) -> (Option<String>, Option<u64>) {
                (self.command_id.take(), self.expected_version.take())
            }
        }
    };
}
pub(crate) use request;

/// Reads what is there: null is no way to leave a field out whose absence means something.
pub(crate) fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A request or reply without fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// How full the window is, in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetBody {
    /// The size of the model's window.
    pub window_tokens: u64,
    /// The part kept for re-reading primary spans.
    pub reserve_tokens: u64,
    /// What the live window takes.
    pub used_tokens: u64,
    /// What may still be added without eating into the reserve.
    pub free_tokens: u64,
    /// Whether more is used than the window less its reserve.
    pub over: bool,
}

impl From<Budget> for BudgetBody {
    fn from(b: Budget) -> Self {
        Self {
            window_tokens: b.window_tokens,
            reserve_tokens: b.reserve_tokens,
            used_tokens: b.used_tokens,
            free_tokens: b.free_tokens,
            over: b.over,
        }
    }
}

/// What the runtime established about one span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckBody {
    /// A durable copy was read back and its digest matched.
    pub existence: bool,
    /// The window after the prune holds a handle that resolves to that copy.
    pub addressability: bool,
    /// Looking the handle up is distinguishable from "no such thing".
    pub provenance: bool,
    /// What failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl From<&Check> for CheckBody {
    fn from(c: &Check) -> Self {
        Self {
            existence: c.existence,
            addressability: c.addressability,
            provenance: c.provenance,
            why: c.why.clone(),
        }
    }
}

/// What a prune costs at the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostBody {
    /// Tokens before the first change: a provider's prefix cache keeps them.
    pub prefix_kept_tokens: u64,
    /// Tokens after it: they are read anew.
    pub prefix_rewritten_tokens: u64,
    /// Reasoning that stays in a turn from which something else leaves.
    pub thinking_invalidated: Vec<String>,
}

impl From<&Cost> for CostBody {
    fn from(c: &Cost) -> Self {
        Self {
            prefix_kept_tokens: c.prefix_kept_tokens,
            prefix_rewritten_tokens: c.prefix_rewritten_tokens,
            thinking_invalidated: c.thinking_invalidated.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What an answer about the past rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceBody {
    /// The journal's id.
    pub journal: String,
    /// The session's version.
    pub version: u64,
    /// The hash of the session's event at that version.
    pub head: String,
    /// How many spans the session has recorded: all of them were considered.
    pub spans_recorded: u64,
}
