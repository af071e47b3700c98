//! The golden events: bytes that were written once, with readable twins, in `schemas/golden/events`.
//! They are what an old journal looks like; if one of these tests fails, old journals cannot be read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use lacuna_codec::{KINDS, decode_event, encode_event, event_hash};
use lacuna_core::Recorded;

use crate::{blessing, json, samples, schemas};

fn folder() -> PathBuf {
    schemas().join("golden/events")
}

#[test]
fn golden_events_decode_to_their_values_and_encode_to_their_bytes() {
    for (name, mut expected) in samples::golden() {
        let mut encoded = Vec::new();
        encode_event(&mut expected, &mut encoded).unwrap();
        let (bin, twin) =
            (folder().join(format!("{name}.bin")), folder().join(format!("{name}.json")));
        if blessing() {
            let pretty = serde_json::to_string_pretty(&json::recorded(&expected)).unwrap();
            std::fs::write(&bin, &encoded).unwrap();
            std::fs::write(&twin, pretty + "\n").unwrap();
        }
        let stored = std::fs::read(&bin).unwrap_or_else(|error| panic!("{name}.bin: {error}"));
        let decoded = decode_event(&stored).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded, expected, "{name} decodes to another value");
        assert_eq!(json::hex(&encoded), json::hex(&stored), "{name} encodes to other bytes");
        let twin: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&twin).unwrap()).unwrap();
        assert_eq!(json::recorded(&decoded), twin, "{name} does not say what its twin says");
        assert_eq!(event_hash(&stored).to_string(), twin["hash"], "{name} has another hash");
    }
}

/// Version 1 of a summary held its claims itself. They are counted; what they cite is known.
#[test]
fn golden_summaries_of_version_1_are_read() {
    for (name, expected) in samples::summaries_of_version_1() {
        let stored = std::fs::read(folder().join(format!("{name}.bin"))).unwrap();
        let twin = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        let twin: serde_json::Value = serde_json::from_slice(&twin).unwrap();
        let decoded = decode_event(&stored).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded, Recorded { hash: decoded.hash, ..expected }, "{name}");
        assert_eq!(event_hash(&stored).to_string(), twin["hash"], "{name} has another hash");
        let (read, body) = (json::recorded(&decoded), &twin["body"]);
        for field in ["span", "covers", "digest", "bytes", "tokens"] {
            assert_eq!(read["body"][field], body[field], "{name}: {field}");
        }
        let claims = body["claims"].as_array().unwrap();
        assert_eq!(read["body"]["claims"]["count"], claims.len(), "{name}");
        let sources = claims.iter().flat_map(|claim| claim["sources"].as_array().unwrap());
        let cited: BTreeSet<&str> = sources.map(|s| s["span"].as_str().unwrap()).collect();
        let cites = read["body"]["cites"].as_array().unwrap();
        assert_eq!(cites.iter().map(|s| s.as_str().unwrap()).collect::<BTreeSet<_>>(), cited);
    }
}

/// Version 1 of a loss knew two causes; what it says is the same.
#[test]
fn golden_losses_of_version_1_are_read() {
    for (name, expected) in samples::lossy_of_version_1() {
        let stored = std::fs::read(folder().join(format!("{name}.bin"))).unwrap();
        let twin = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        let twin: serde_json::Value = serde_json::from_slice(&twin).unwrap();
        let decoded = decode_event(&stored).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded, Recorded { hash: decoded.hash, ..expected }, "{name}");
        assert_eq!(event_hash(&stored).to_string(), twin["hash"], "{name} has another hash");
        for field in ["spans", "cause"] {
            let read = json::recorded(&decoded);
            assert_eq!(read["body"][field], twin["body"][field], "{name}: {field}");
        }
    }
}

#[test]
fn every_kind_and_version_has_three_golden_files_and_none_stands_alone() {
    let expected: BTreeSet<String> = samples::golden()
        .into_iter()
        .chain(samples::summaries_of_version_1())
        .chain(samples::lossy_of_version_1())
        .flat_map(|(name, _)| [format!("{name}.bin"), format!("{name}.json")])
        .collect();
    let entries = std::fs::read_dir(folder()).unwrap();
    let found: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, expected);
    for kind in KINDS {
        for version in 1..=kind.version {
            let prefix = format!("{}.v{version}.", kind.name);
            let files = found.iter().filter(|n| n.starts_with(&prefix) && n.ends_with(".bin"));
            assert!(files.count() >= 3, "{prefix} has too few golden files");
        }
    }
}

#[test]
fn a_flip_of_any_byte_of_a_golden_event_changes_its_hash() {
    for (name, _) in samples::golden() {
        let mut stored = std::fs::read(folder().join(format!("{name}.bin"))).unwrap();
        let hash = event_hash(&stored);
        // All of a short event; of a long one the header and a sample of the rest.
        let step = |at: usize| if at < 1_024 { 1 } else { 997 };
        let mut at = 0;
        while at < stored.len() {
            stored[at] ^= 1 << (at % 8);
            assert_ne!(event_hash(&stored), hash, "{name}, byte {at}");
            if let Ok(mut decoded) = decode_event(&stored) {
                assert_ne!(decoded.hash, hash);
                // What decodes can be written: nothing in it is out of bounds.
                encode_event(&mut decoded, &mut Vec::new()).unwrap();
            }
            stored[at] ^= 1 << (at % 8);
            at += step(at);
        }
    }
}
