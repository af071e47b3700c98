//! Real transcripts: every span of every session, in the groups in which the agents made them.

use std::path::Path;

use lacuna_core::NewSpan;
use lacuna_transcript::{SourceFile, Step, detect, import};

use crate::Failure;

/// A session's appends.
pub(super) type Appends = Vec<Vec<NewSpan>>;

/// Spans of one append at most.
const SPANS: usize = 200;

/// Reads what it can of a folder; files in no known format are passed over.
pub(super) fn read(folder: &Path) -> Result<Vec<Appends>, Failure> {
    let mut sessions = Vec::new();
    collect(folder, &mut sessions)?;
    if sessions.is_empty() {
        return Err(format!("{} holds no transcripts that are recognised", folder.display()).into());
    }
    Ok(sessions)
}

fn collect(path: &Path, sessions: &mut Vec<Appends>) -> Result<(), Failure> {
    if path.is_dir() {
        let mut inside: Vec<_> = std::fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_, Failure>>()?;
        inside.sort();
        return inside.iter().try_for_each(|path| collect(path, sessions));
    }
    if path.extension().is_none_or(|ext| ext != "json" && ext != "jsonl") {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = SourceFile { name, bytes: std::fs::read(path)? };
    let Some(format) = detect(&file.name, &file.bytes) else { return Ok(()) };
    let Ok(read) = import(format, &[file]) else { return Ok(()) };
    for session in read {
        let mut appends = Vec::new();
        for step in session.steps {
            if let Step::Append(spans) = step {
                appends.extend(spans.chunks(SPANS).map(<[NewSpan]>::to_vec));
            }
        }
        if !appends.is_empty() {
            sessions.push(appends);
        }
    }
    Ok(())
}
