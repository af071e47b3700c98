//! Reading fixed layouts from bytes that may be anything.

use crate::CodecError;

/// A cursor over untrusted bytes; every read is checked.
pub(crate) struct Reader<'a> {
    what: &'static str,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, bytes }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or_else(|| {
            self.damaged(format!("{length} bytes wanted, {} left", self.bytes.len()))
        })?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, CodecError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, CodecError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn end(&self) -> Result<(), CodecError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(self.damaged(format!("{} bytes too many", self.bytes.len())))
    }

    pub(crate) fn damaged(&self, why: impl Into<String>) -> CodecError {
        CodecError::damaged(self.what, why)
    }
}
