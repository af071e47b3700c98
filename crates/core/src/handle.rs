//! Handles: what stands in the window so that a reader can get a span back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::unhex;
use crate::{Digest, SpanId};

/// A span's address and digest prefix, printed `block_7@9f3a01c2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    /// The span.
    pub span: SpanId,
    /// The first four bytes of its content's digest.
    pub prefix: [u8; 4],
}

/// A directive's number within its session; printed `p7@prune`, which is also a handle for all of
/// the directive's spans. `@prune` can be no digest prefix, so the two forms never collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DirectiveNo(pub u32);

/// Whatever a reader may present to look something up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A span with the digest prefix that its content must have.
    Handle(Handle),
    /// A prune directive: all of its spans.
    Directive(DirectiveNo),
    /// A bare span id.
    Span(SpanId),
}

/// A text that is none of the forms of an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no handle: give a span id (block_7), a handle (block_7@9f3a01c2) or a directive (p7@prune)"
)]
pub struct InvalidAddress(pub String);

impl Handle {
    /// The handle of a span whose content has this digest.
    pub fn new(span: &SpanId, digest: &Digest) -> Self {
        Self { span: span.clone(), prefix: digest.prefix() }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.prefix;
        write!(f, "{}@{a:02x}{b:02x}{c:02x}{d:02x}", self.span)
    }
}

impl fmt::Display for DirectiveNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}@prune", self.0)
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.chars().take(80).collect());
        let Some((name, suffix)) = text.rsplit_once('@') else {
            return text.parse().map(Address::Span).map_err(|_| invalid());
        };
        if suffix == "prune" {
            let digits = name.strip_prefix('p').ok_or_else(invalid)?;
            let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
            let number = digits.parse().map_err(|_| invalid())?;
            return if plain {
                Ok(Address::Directive(DirectiveNo(number)))
            } else {
                Err(invalid())
            };
        }
        let span = name.parse().map_err(|_| invalid())?;
        let prefix = unhex(suffix).ok_or_else(invalid)?;
        Ok(Address::Handle(Handle { span, prefix }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back_as_itself() {
        let span: SpanId = "block_7".parse().unwrap();
        let handle = Handle { span: span.clone(), prefix: [0x9f, 0x3a, 0x01, 0xc2] };
        assert_eq!(handle.to_string(), "block_7@9f3a01c2");
        assert_eq!(handle.to_string().parse(), Ok(Address::Handle(handle)));
        assert_eq!(DirectiveNo(7).to_string().parse(), Ok(Address::Directive(DirectiveNo(7))));
        assert_eq!("block_7".parse(), Ok(Address::Span(span)));
        // A span that is named like a directive's first half stays a span.
        assert!(matches!("p7".parse(), Ok(Address::Span(s)) if s.as_str() == "p7"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in
            ["", "@", "a@", "@9f3a01c2", "a@9f3a", "a@9F3A01C2", "a@b@c", "p@prune", "p07@prune"]
        {
            assert!(bad.parse::<Address>().is_err(), "{bad:?} was accepted");
        }
    }
}
