//! Over real transcripts, where they are present: everything imports, is accounted for, and can
//! be carried out.
#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::replay::{Replay, leaves};
use crate::{Format, SourceFile, detect, import};

fn root() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/transcripts");
    let present = root.is_dir();
    if !present {
        eprintln!("real transcripts not present: skipped");
    }
    present.then_some(root)
}

fn files(dir: &Path, base: &Path, out: &mut Vec<SourceFile>) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, base, out);
        } else {
            let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
            out.push(SourceFile { name, bytes: std::fs::read(&path).unwrap() });
        }
    }
}

/// The imports to make: single files, and folders that belong together.
fn imports(root: &Path) -> Vec<(Format, String, Vec<SourceFile>)> {
    let mut out = Vec::new();
    let folders = [
        (Format::OpenaiChat, "openai_chat"),
        (Format::ClaudeCode, "claude_code"),
        (Format::Openhands, "openhands"),
    ];
    for (format, folder) in folders {
        let mut all = Vec::new();
        files(&root.join(folder), &root.join(folder), &mut all);
        let mut groups: BTreeMap<String, Vec<SourceFile>> = BTreeMap::new();
        for file in all {
            let top = file.name.split('/').next().unwrap().to_owned();
            let key = if top == "fixtures" { file.name.clone() } else { top };
            groups.entry(key).or_default().push(file);
        }
        out.extend(groups.into_iter().map(|(name, files)| (format, name, files)));
    }
    out
}

#[test]
fn every_real_file_imports_and_loses_nothing() {
    let Some(root) = root() else { return };
    let (mut records, mut spans, mut in_window, mut sessions) = (0, 0, 0, 0);
    let mut raw: BTreeMap<(Format, String), u64> = BTreeMap::new();
    for (format, name, files) in imports(&root) {
        let found = import(format, &files).unwrap_or_else(|error| panic!("{name}: {error}"));
        let names: HashSet<_> = found.iter().map(|session| session.name.clone()).collect();
        assert_eq!(names.len(), found.len(), "{name}: names repeat");
        let mut kept = HashSet::new();
        for session in &found {
            let replay = Replay::of(session);
            replay.strings(&mut kept);
            kept.extend(session.report.source_session.clone());
            records += session.report.records;
            spans += session.report.spans;
            in_window += session.report.in_window;
            for (kind, count) in &session.report.raw {
                *raw.entry((format, kind.clone())).or_default() += count;
            }
            if found.len() < 20 {
                let report = &session.report;
                eprintln!(
                    "{name} {} records {} spans {} pruned {} summaries {} {:#?}",
                    session.name,
                    report.records,
                    report.spans,
                    report.pruned,
                    report.summaries,
                    report.notes
                );
            }
        }
        sessions += found.len();
        for file in &files {
            nothing_lost(&name, file, &kept);
        }
    }
    eprintln!("records {records} spans {spans} in window {in_window} sessions {sessions}");
    eprintln!("raw {raw:#?}");
    assert!(records > 10_000, "{records}");
}

/// Every string of some length that the file says is somewhere in the journal.
fn nothing_lost(name: &str, file: &SourceFile, kept: &HashSet<String>) {
    let text = String::from_utf8_lossy(&file.bytes);
    let values: Vec<Value> = match serde_json::from_str(&text) {
        Ok(value) => vec![value],
        Err(_) => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    };
    for value in &values {
        leaves(value, &mut |leaf| {
            let short = leaf.len() < 24;
            assert!(
                short || kept.contains(leaf),
                "{name}: lost {:?}",
                &leaf.chars().take(200).collect::<String>()
            );
        });
    }
}

#[test]
fn formats_are_told_apart() {
    let Some(root) = root() else { return };
    let mut wrong = Vec::new();
    let mut all = Vec::new();
    files(&root, &root, &mut all);
    for file in all.iter().filter(|file| !file.bytes.is_empty()) {
        let expected = match file.name.split('/').next() {
            Some("openai_chat") => Some(Format::OpenaiChat),
            Some("claude_code") => Some(Format::ClaudeCode),
            Some("openhands") => Some(Format::Openhands),
            _ => None,
        };
        for head in [65_536, 4_096] {
            let found = detect("some-file", &file.bytes[..file.bytes.len().min(head)]);
            // Chat messages in other tools' wrappers are chat messages.
            let wrapped = ["inspect_ai/", "mini_swe_agent/", "swe_agent/"];
            if wrapped.iter().any(|folder| file.name.starts_with(folder)) {
                continue;
            }
            // A short head may say too little, but nothing wrong about the three formats.
            let silent = head < 65_536 && (found.is_none() || expected.is_none());
            if found != expected && !silent {
                wrong.push((file.name.clone(), head, found));
            }
        }
    }
    assert_eq!(wrong, []);
}
