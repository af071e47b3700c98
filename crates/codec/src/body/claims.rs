//! The stored form of a summary's claims. They stand behind the summary's text in one payload.
//!
//! ```text
//! offset size
//!      0    1  version: 1
//!      1    …  the claims: bincode 2, standard configuration
//! ```

use lacuna_core::{Claim, ClaimSource, Digest, SpanId, StoredClaims};

use super::read_whole;
use super::v1::{ClaimSourceV1, ClaimV1, ClaimsV1};
use super::words::Numbered;
use crate::CodecError;

const WHAT: &str = "claims";
const VERSION: u8 = 1;
/// Limits keep claims far below this.
const MAX_RAW: usize = 1 << 26;

/// Encodes claims, and says where an event finds them. No claims take no bytes.
pub fn encode_claims(claims: &[Claim]) -> Result<(StoredClaims, Vec<u8>), CodecError> {
    if claims.is_empty() {
        return Ok((StoredClaims::default(), Vec::new()));
    }
    let source = |source: &ClaimSource| ClaimSourceV1 {
        span: source.span.to_string(),
        quote: source.quote.clone(),
    };
    let claim = |claim: &Claim| ClaimV1 {
        text: claim.text.clone(),
        origin: claim.origin.number(),
        sources: claim.sources.iter().map(source).collect(),
    };
    let body = ClaimsV1 { claims: claims.iter().map(claim).collect() };
    let mut stored = vec![VERSION];
    let body = bincode::encode_to_vec(body, bincode::config::standard())
        .map_err(|error| CodecError::damaged(WHAT, error.to_string()))?;
    stored.extend_from_slice(&body);
    let size = stored.len();
    if size > MAX_RAW {
        return Err(CodecError::TooLarge { what: WHAT, size, limit: MAX_RAW });
    }
    let count = u32::try_from(claims.len()).unwrap_or(u32::MAX);
    Ok((StoredClaims { count, bytes: size as u64, digest: Digest::of(&stored) }, stored))
}

/// Decodes claims.
pub fn decode_claims(stored: &[u8]) -> Result<Vec<Claim>, CodecError> {
    let Some((&version, body)) = stored.split_first() else { return Ok(Vec::new()) };
    if version == 0 {
        return Err(CodecError::damaged(WHAT, "version 0"));
    }
    if version != VERSION {
        let (found, known) = (u32::from(version), u32::from(VERSION));
        return Err(CodecError::Newer { what: WHAT, found, known });
    }
    let body: ClaimsV1 = read_whole(WHAT, body)?;
    let id = |text: String| {
        text.parse::<SpanId>().map_err(|error| CodecError::damaged(WHAT, error.to_string()))
    };
    let source = |s: ClaimSourceV1| Ok(ClaimSource { span: id(s.span)?, quote: s.quote });
    let claim = |claim: ClaimV1| {
        Ok(Claim {
            text: claim.text,
            origin: Numbered::from_number(claim.origin)?,
            sources: claim.sources.into_iter().map(source).collect::<Result<_, CodecError>>()?,
        })
    };
    body.claims.into_iter().map(claim).collect()
}
