//! What is read: files as bytes.

/// One file of a transcript.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path relative to what is imported; gives sessions their names where the content does
    /// not.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}
