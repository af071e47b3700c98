//! Encrypting what a pack holds: XChaCha20-Poly1305, with the pack's header and directory bound in.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, Tag, XChaCha20Poly1305, XNonce};

/// Bytes of a pack's key.
pub(crate) const KEY: usize = 32;
/// Bytes of a pack's nonce.
pub(crate) const NONCE: usize = 24;
/// Bytes that stand behind the ciphertext and vouch for it and for what is in front of it.
pub(crate) const TAG: usize = 16;

/// What a pack is encrypted with.
///
/// The caller makes key and nonce: nothing here is random. A key may serve for several packs; a nonce
/// must never come twice under one key, which 24 random bytes give.
#[derive(Clone, Copy)]
pub struct Seal<'a> {
    /// The number of the key among the journal's keys. It stands in the pack, readable.
    pub leaf: u64,
    /// The nonce. It stands in the pack, readable.
    pub nonce: [u8; NONCE],
    /// The key itself, which stands nowhere in the pack.
    pub key: &'a [u8; KEY],
}

impl std::fmt::Debug for Seal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").field("leaf", &self.leaf).finish_non_exhaustive()
    }
}

/// Encrypts what stands behind the first `clear` bytes, which are bound in, and appends the tag.
pub(crate) fn encrypt(seal: &Seal<'_>, stored: &mut Vec<u8>, clear: usize) {
    let (bound, body) = stored.split_at_mut(clear);
    let tag = XChaCha20Poly1305::new(seal.key.into())
        .encrypt_inout_detached(&XNonce::from(seal.nonce), bound, body.into())
        .expect("a pack is far below what one nonce may encrypt");
    stored.extend_from_slice(&tag);
}

/// Undoes [`encrypt`]; none if key, header, directory or body are not what they were.
pub(crate) fn decrypt(
    key: &[u8; KEY],
    nonce: [u8; NONCE],
    bound: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let (body, tag) = sealed.split_last_chunk::<TAG>()?;
    let mut body = body.to_vec();
    XChaCha20Poly1305::new(key.into())
        .decrypt_inout_detached(
            &XNonce::from(nonce),
            bound,
            body.as_mut_slice().into(),
            &Tag::from(*tag),
        )
        .ok()?;
    Some(body)
}
