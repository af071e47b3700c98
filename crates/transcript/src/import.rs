//! From files to sessions.

use crate::{Format, Session, SourceFile, atif, claude_code, names, openai_chat, openhands, pi};

/// Why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// There is no file, or no file holds anything.
    #[error("nothing to import: {files} files, all of them empty")]
    Empty {
        /// How many files were given.
        files: usize,
    },
    /// The input holds no record that could be read, and is not even text.
    #[error(
        "{name:?} is not a transcript: no JSON value in it, and it is not text; give the file that the agent wrote, uncompressed"
    )]
    NotATranscript {
        /// The first such file.
        name: String,
    },
}

/// Reads transcript files of one format into sessions, in a fixed order: the same files give the
/// same steps whatever order they are given in.
///
/// # Errors
/// Only if there is nothing at all to import. Damage, unknown records and strange orders are kept
/// and reported, never refused.
pub fn import(format: Format, files: &[SourceFile]) -> Result<Vec<Session>, ImportError> {
    let mut sorted: Vec<&SourceFile> = files.iter().collect();
    sorted.sort_by(|a, b| names::natural(&a.name, &b.name));
    let (filled, empty): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|file| file.bytes.iter().any(|b| !b.is_ascii_whitespace()));
    let Some(first) = filled.first() else {
        return Err(ImportError::Empty { files: files.len() });
    };
    let mut sessions = match format {
        Format::OpenaiChat => openai_chat::import(&filled),
        Format::ClaudeCode => claude_code::import(&filled),
        Format::Openhands => openhands::import(&filled),
        Format::Pi => pi::import(&filled),
        Format::Atif => atif::import(&filled),
    };
    if sessions.is_empty() {
        return Err(ImportError::Empty { files: files.len() });
    }
    let text = filled.iter().any(|file| is_text(&file.bytes));
    if !text && sessions.iter().all(only_broken) {
        return Err(ImportError::NotATranscript { name: first.name.clone() });
    }
    if let Some(session) = sessions.first_mut() {
        if let Some(name) = empty.first().map(|file| &file.name) {
            let (count, name) = (empty.len(), name.chars().take(80).collect::<String>());
            session
                .report
                .notes
                .push(format!("empty files in this import: {count} (first: {name})"));
        }
        let marks = filled.iter().filter(|file| file.bytes.starts_with(b"\xef\xbb\xbf")).count();
        if marks > 0 {
            session.report.notes.push(format!("files with a byte-order mark, not kept: {marks}"));
        }
    }
    Ok(sessions)
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

fn only_broken(session: &Session) -> bool {
    let raw = &session.report.raw;
    let broken = ["unparsable", "not-utf8", "nul-run", "torn-tail"];
    session.report.understood == 0 && raw.keys().all(|kind| broken.contains(&kind.as_str()))
}
