//! The way out of bincode, which nobody maintains any more: wincode reads and writes the same
//! bytes, given `with_varint_encoding()`. Everything else stays as it is by default: little endian,
//! lengths and enum tags through the integer encoding, one byte for an option.
//!
//! One setting differs, and only in what it refuses: wincode allocates at most 4 MiB for one
//! sequence unless `with_preallocation_size_limit` says otherwise, also when writing.

use std::fmt::Debug;
use std::path::Path;

use wincode::config::{Config, Configuration};
use wincode::{SchemaRead, SchemaWrite};

use super::{MAX_BODY, v1, v2};
use crate::registry::KINDS;

/// Decodes with both, compares, encodes with both, compares.
fn same<T, C: Config + Copy>(config: C, name: &str, body: &[u8])
where
    T: bincode::Encode + bincode::Decode<()> + PartialEq + Debug,
    T: for<'de> SchemaRead<'de, C, Dst = T> + SchemaWrite<C, Src = T>,
{
    let standard = bincode::config::standard();
    let (value, read): (T, usize) = bincode::decode_from_slice(body, standard).unwrap();
    assert_eq!(read, body.len(), "{name}");
    let other: T = wincode::config::deserialize_exact(body, config)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(other, value, "{name}");
    assert_eq!(wincode::config::serialize(&value, config).unwrap(), body, "{name}");
    assert_eq!(bincode::encode_to_vec(&other, standard).unwrap(), body, "{name}");
}

fn same_of_kind<C: Config + Copy>(config: C, kind: &str, name: &str, body: &[u8]) {
    match kind {
        "summary-recorded" if name.contains(".v2.") => {
            same::<v2::SummaryRecordedV2, C>(config, name, body);
        }
        "lossy-committed" if name.contains(".v2.") => {
            same::<v2::LossyCommittedV2, C>(config, name, body);
        }
        "policy-set" => same::<v1::PolicySetV1, C>(config, name, body),
        "hold-placed" => same::<v1::HoldPlacedV1, C>(config, name, body),
        "hold-released" => same::<v1::HoldReleasedV1, C>(config, name, body),
        "notice-given" => same::<v1::NoticeGivenV1, C>(config, name, body),
        "run-opened" => same::<v1::RunOpenedV1, C>(config, name, body),
        "run-closed" => same::<v1::RunClosedV1, C>(config, name, body),
        "window-receipted" => same::<v1::WindowReceiptedV1, C>(config, name, body),
        "session-forked" => same::<v1::SessionForkedV1, C>(config, name, body),
        "summary-audited" => same::<v1::SummaryAuditedV1, C>(config, name, body),
        "alert-raised" => same::<v1::AlertRaisedV1, C>(config, name, body),
        "event-imported" => same::<v1::EventImportedV1, C>(config, name, body),
        "session-opened" => same::<v1::SessionOpenedV1, C>(config, name, body),
        "span-recorded" => same::<v1::SpanRecordedV1, C>(config, name, body),
        "summary-recorded" => same::<v1::SummaryRecordedV1, C>(config, name, body),
        "prune-executed" => same::<v1::PruneExecutedV1, C>(config, name, body),
        "prune-rejected" => same::<v1::PruneRejectedV1, C>(config, name, body),
        "lossy-committed" => same::<v1::LossyCommittedV1, C>(config, name, body),
        "span-restored" => same::<v1::SpanRestoredV1, C>(config, name, body),
        "span-read" => same::<v1::SpanReadV1, C>(config, name, body),
        "contradiction-noted" => same::<v1::ContradictionNotedV1, C>(config, name, body),
        "contradiction-resolved" => same::<v1::ContradictionResolvedV1, C>(config, name, body),
        "session-closed" => assert_eq!(body, b"", "{name} has no body"),
        other => panic!("{other} has no frozen type here"),
    }
}

/// The body of a stored event: behind the header and its two texts.
fn body(stored: &[u8]) -> &[u8] {
    let command = u16::from_le_bytes([stored[90], stored[91]]);
    &stored[96 + usize::from(stored[88]) + usize::from(command)..]
}

#[test]
fn wincode_reads_and_writes_every_golden_body() {
    let config = Configuration::default().with_varint_encoding();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/golden/events");
    let mut proved = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some((kind, _)) = name.strip_suffix(".bin").and_then(|name| name.split_once('.')) {
            let stored = std::fs::read(folder.join(&name)).unwrap();
            same_of_kind(config, kind, &name, body(&stored));
            proved.push(kind.to_owned());
        }
    }
    for kind in KINDS {
        let files = proved.iter().filter(|name| *name == kind.name).count();
        assert!(files >= 3, "{} was proved {files} times", kind.name);
    }
}

#[test]
fn wincode_reads_and_writes_the_golden_claims() {
    let config = Configuration::default().with_varint_encoding();
    let golden = "../../schemas/golden/storage/claims.v1.1.bin";
    let stored = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(golden)).unwrap();
    same::<v1::ClaimsV1, _>(config, "claims", &stored[1..]);
}

#[test]
fn wincode_wants_its_limit_raised_for_sequences_beyond_4_mib() {
    let body = v1::ContradictionResolvedV1 { contradiction: 1, note: "n".repeat((4 << 20) + 1) };
    let stored = bincode::encode_to_vec(&body, bincode::config::standard()).unwrap();
    let usual = Configuration::default().with_varint_encoding();
    let refused =
        wincode::config::deserialize_exact::<v1::ContradictionResolvedV1, _>(&stored, usual);
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("4194305"), "{why}");
    let raised = usual.with_preallocation_size_limit::<MAX_BODY>();
    same::<v1::ContradictionResolvedV1, _>(raised, "raised", &stored);
}

#[test]
fn wincode_with_its_own_integers_is_another_format() {
    // What fixed integers would do to the same value: the setting is not optional.
    let body = v1::ContradictionResolvedV1 { contradiction: 1, note: "n".into() };
    let fixed = wincode::config::serialize(&body, Configuration::default()).unwrap();
    assert_eq!(fixed, b"\x01\0\0\0\x01\0\0\0\0\0\0\0n");
    let varint = Configuration::default().with_varint_encoding();
    assert_eq!(wincode::config::serialize(&body, varint).unwrap(), b"\x01\x01n");
}
