//! Receipts and forks between the frozen bodies and the domain.

use lacuna_core::event::{SessionForked, WindowReceipted};
use lacuna_core::{Digest, SessionKey, SessionNo};

use super::v1::{SessionForkedV1, WindowReceiptedV1};
use super::words::Numbered;
use crate::CodecError;

const FORK: &str = "session-forked";

impl From<&WindowReceipted> for WindowReceiptedV1 {
    fn from(e: &WindowReceipted) -> Self {
        Self {
            receipt: e.receipt,
            window_version: e.window_version,
            turn: e.turn,
            entries: e.entries,
            entries_digest: e.entries_digest.0,
            form: e.rendered.map_or(0, |(form, _)| form.number()),
            rendered_digest: e.rendered.map_or([0; 32], |(_, digest)| digest.0),
            sent_digest: e.sent_digest.map(|digest| digest.0),
        }
    }
}

impl TryFrom<WindowReceiptedV1> for WindowReceipted {
    type Error = CodecError;
    fn try_from(b: WindowReceiptedV1) -> Result<Self, CodecError> {
        let rendered = match b.form {
            0 if b.rendered_digest == [0; 32] => None,
            form => Some((Numbered::from_number(form)?, Digest(b.rendered_digest))),
        };
        Ok(Self {
            receipt: b.receipt,
            window_version: b.window_version,
            turn: b.turn,
            entries: b.entries,
            entries_digest: Digest(b.entries_digest),
            rendered,
            sent_digest: b.sent_digest.map(Digest),
        })
    }
}

impl From<&SessionForked> for SessionForkedV1 {
    fn from(e: &SessionForked) -> Self {
        Self {
            tenant: e.key.tenant.to_string(),
            session: e.key.session.to_string(),
            parent: e.parent.session.to_string(),
            parent_number: e.parent_number.0,
            at: e.at,
        }
    }
}

impl TryFrom<SessionForkedV1> for SessionForked {
    type Error = CodecError;
    fn try_from(b: SessionForkedV1) -> Result<Self, CodecError> {
        let wrong = |error: lacuna_core::InvalidName| CodecError::damaged(FORK, error.to_string());
        let tenant: lacuna_core::Tenant = b.tenant.parse().map_err(wrong)?;
        let session = b.session.parse().map_err(wrong)?;
        let parent = b.parent.parse().map_err(wrong)?;
        Ok(Self {
            key: SessionKey { tenant: tenant.clone(), session },
            parent: SessionKey { tenant, session: parent },
            parent_number: SessionNo(b.parent_number),
            at: b.at,
        })
    }
}
