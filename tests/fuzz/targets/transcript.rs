//! Transcripts of every format: whatever the files hold, the steps are such as a journal carries out, and the
//! order in which files are given does not matter.
//!
//! Input: a digit for the format, then files with a line of `---` between them; a first line `@…` names one.
#![no_main]

use std::collections::BTreeSet;

use lacuna_fuzz::{first, steps::carried_out};
use lacuna_transcript::{Format, SourceFile, detect, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (digit, rest) = first(bytes);
    let format = Format::ALL[usize::from(digit.wrapping_sub(b'0')) % Format::ALL.len()];
    let mut files = files(rest);
    for file in &files {
        for end in [file.bytes.len(), file.bytes.len() / 2] {
            detect(&file.name, &file.bytes[..end]);
        }
    }
    let Ok(sessions) = import(format, &files) else { return };
    assert!(!sessions.is_empty());
    sessions.iter().for_each(carried_out);
    let names: BTreeSet<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names.len(), sessions.len(), "every session has a name of its own");

    let different: BTreeSet<&String> = files.iter().map(|file| &file.name).collect();
    if different.len() < files.len() {
        return;
    }
    files.reverse();
    let again = import(format, &files).expect("the same files");
    assert_eq!(again.len(), sessions.len());
    for (a, b) in again.iter().zip(&sessions) {
        assert_eq!((&a.name, &a.steps, &a.report), (&b.name, &b.steps, &b.report));
    }
});

fn files(mut rest: &[u8]) -> Vec<SourceFile> {
    const BETWEEN: &[u8] = b"\n---\n";
    let mut files = Vec::new();
    while files.len() < 4 {
        let end = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        let piece = &rest[..end.unwrap_or(rest.len())];
        files.push(file(files.len(), piece));
        let Some(end) = end else { break };
        rest = &rest[end + BETWEEN.len()..];
    }
    files
}

fn file(number: usize, piece: &[u8]) -> SourceFile {
    let named = piece.strip_prefix(b"@").and_then(|piece| {
        let end = piece.iter().position(|byte| *byte == b'\n')?;
        Some((String::from_utf8(piece[..end].to_vec()).ok()?, &piece[end + 1..]))
    });
    let (name, bytes) = named.unwrap_or_else(|| (format!("a/file{number}.jsonl"), piece));
    SourceFile { name, bytes: bytes.to_vec() }
}
