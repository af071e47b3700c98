//! Over real transcripts, where they are present: everything imports, is accounted for, and can
//! be carried out.
#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use lacuna_core::Origin;
use serde_json::Value;

use crate::replay::{Replay, bytes, leaves};
use crate::{Format, SourceFile, Step, detect, import};

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
        (Format::Pi, "pi"),
        (Format::Atif, "atif"),
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
        if format == Format::Atif {
            // Alone, and with the sub-agents that are named in it.
            let together = groups.values().flatten().cloned().collect();
            out.push((format, "together".to_owned(), together));
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
                    "{name} {} records {} spans {} pruned {} summaries {} in window {} raw {:?} {:#?}",
                    session.name,
                    report.records,
                    report.spans,
                    report.pruned,
                    report.summaries,
                    replay.live.len(),
                    report.raw,
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
            Some("pi") => Some(Format::Pi),
            Some("atif") => Some(Format::Atif),
            _ => None,
        };
        for head in [65_536, 4_096] {
            let found = detect("some-file", &file.bytes[..file.bytes.len().min(head)]);
            // Chat messages in other tools' wrappers are chat messages.
            let wrapped = ["inspect_ai/", "mini_swe_agent/", "swe_agent/"];
            if wrapped.iter().any(|folder| file.name.starts_with(folder)) {
                continue;
            }
            // A short head may say too little, but nothing wrong about the formats.
            let silent = head < 65_536 && (found.is_none() || expected.is_none());
            if found != expected && !silent {
                wrong.push((file.name.clone(), head, found));
            }
        }
    }
    assert_eq!(wrong, []);
}

/// The texts of the summaries that a file holds, found in its JSON and not by the importer.
fn summaries(format: Format, file: &SourceFile) -> Vec<String> {
    let text = String::from_utf8_lossy(&file.bytes);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    match format {
        Format::ClaudeCode => lines
            .filter(|record| record["isCompactSummary"] == true)
            .filter_map(|record| plain(&record["message"]["content"]))
            .collect(),
        Format::Pi => {
            lines.filter_map(|entry| Some(entry["summary"].as_str()?.to_owned())).collect()
        }
        Format::Atif => {
            let whole: Value = serde_json::from_str(&text).unwrap();
            let steps = whole["steps"].as_array().unwrap();
            let agent = whole["agent"]["name"].as_str().unwrap();
            // What the summarising sub-agent wrote, and what followed the summarisation.
            let last = steps.last().filter(|_| agent.ends_with("-summarization-summary"));
            let handoffs = steps.windows(2).filter_map(|pair| {
                let said = pair[0]["message"].as_str()?.contains("summarization");
                (said && pair[0]["source"] == "system").then_some(&pair[1])
            });
            let found = last.into_iter().chain(handoffs);
            found.filter_map(|step| plain(&step["message"])).collect()
        }
        Format::OpenaiChat | Format::Openhands => Vec::new(),
    }
}

fn plain(content: &Value) -> Option<String> {
    let parts = || content.as_array()?.iter().find_map(|part| part["text"].as_str());
    content.as_str().or_else(parts).map(str::to_owned)
}

#[test]
fn no_summary_is_a_users_words() {
    let Some(root) = root() else { return };
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for format in [Format::ClaudeCode, Format::Pi, Format::Atif] {
        let mut sources = Vec::new();
        let folder = root.join(format.word().replace('-', "_"));
        files(&folder, &folder, &mut sources);
        let told: Vec<_> = sources.iter().map(|file| (file, summaries(format, file))).collect();
        let all: HashSet<&String> = told.iter().flat_map(|(_, texts)| texts).collect();
        for (file, texts) in &told {
            found.insert(format!("{format}/{}", file.name), texts.len());
            if file.bytes.is_empty() {
                continue;
            }
            let sessions = import(format, &[(*file).clone()]).unwrap();
            let replays: Vec<_> = sessions.iter().map(Replay::of).collect();
            for replay in &replays {
                for span in replay.spans.iter().filter(|span| span.origin == Origin::User) {
                    let content = String::from_utf8_lossy(bytes(span));
                    let stolen = all.iter().find(|text| content.contains(text.as_str()));
                    assert_eq!(stolen, None, "{}: {:?}", file.name, span.id);
                }
            }
            // Each is there, as a summary or as a note of the harness; the sub-agent that wrote
            // one said it as its own words.
            for text in texts {
                let there = replays.iter().any(|replay| {
                    let said = |span: &lacuna_core::NewSpan| {
                        let own = span.origin == Origin::Model && format == Format::Atif;
                        (span.labels.contains_key("summary") || own)
                            && bytes(span) == text.as_bytes()
                    };
                    replay.summaries.contains(text) || replay.spans.iter().any(said)
                });
                assert!(there, "{}: {}", file.name, text.chars().take(80).collect::<String>());
            }
        }
    }
    eprintln!("{found:#?}");
    for (name, least) in [
        ("claude-code/two-compactions.jsonl", 2),
        ("pi/before-compaction.jsonl", 2),
        ("pi/branch-and-compaction-summary.jsonl", 2),
        ("pi/schema-coverage.jsonl", 2),
        ("atif/harbor_terminus2_summarization.json", 1),
        ("atif/harbor_terminus2_sub_summary.json", 1),
    ] {
        assert!(found[name] >= least, "{name}: {}", found[name]);
    }
}

#[test]
fn a_microcompaction_takes_the_results_that_it_names() {
    let Some(root) = root() else { return };
    let path = root.join("claude_code/microcompact.jsonl");
    let file = SourceFile { name: "m.jsonl".to_owned(), bytes: std::fs::read(path).unwrap() };
    let text = String::from_utf8_lossy(&file.bytes);
    let mut named = Vec::new();
    for record in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let ids = record["microcompactMetadata"]["compactedToolIds"].as_array();
        let ids = ids.into_iter().flatten();
        named.extend(ids.map(|id| format!("{}.result", id.as_str().unwrap())));
    }
    assert_eq!(named.len(), 11);
    let sessions = import(Format::ClaudeCode, &[file]).unwrap();
    let mut pruned: Vec<_> = sessions
        .iter()
        .flat_map(|session| &session.steps)
        .filter_map(|step| match step {
            Step::Prune { spans, replace_with: None, .. } => Some(spans),
            _ => None,
        })
        .flatten()
        .map(ToString::to_string)
        .collect();
    pruned.sort();
    named.sort();
    assert_eq!(pruned, named);
}
