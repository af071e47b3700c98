//! Golden blocks, packs and snapshots, in `schemas/golden/storage`.
//!
//! What the codec lays out itself is compared byte for byte. What went through zstd is not: another
//! release of zstd may compress the same bytes otherwise, and both are right. For those files it
//! is the committed bytes that must decode to the expected value, and what is encoded today too.

use std::path::PathBuf;

use lacuna_codec::{
    Block, BlockBuilder, LogFront, Pack, PackBuilder, PackHeader, SNAPSHOT_FORMAT, Seal,
    block_hash, decode_claims, decode_snapshot, encode_claims,
};
use lacuna_core::{Claim, ClaimOrigin, ClaimSource, Digest, Event, Recorded};
use serde_json::{Value, json};

use crate::{blessing, blocks, json, log_records, samples, schemas, sealed, snapshots};

const ZSTD: u8 = 1;

fn path(file: &str) -> PathBuf {
    schemas().join("golden/storage").join(file)
}

/// The committed bytes, after comparing their twin with what they are read as.
fn committed(name: &str, encoded: &[u8], read: impl Fn(&[u8]) -> Value) -> Vec<u8> {
    let (bin, twin) = (path(&format!("{name}.bin")), path(&format!("{name}.json")));
    if blessing() {
        std::fs::write(&bin, encoded).unwrap();
        let pretty = serde_json::to_string_pretty(&read(encoded)).unwrap();
        std::fs::write(&twin, pretty + "\n").unwrap();
    }
    let stored = std::fs::read(&bin).unwrap_or_else(|error| panic!("{name}.bin: {error}"));
    let twin: Value = serde_json::from_slice(&std::fs::read(twin).unwrap()).unwrap();
    assert_eq!(read(&stored), twin, "{name}");
    stored
}

fn read_block(stored: &[u8]) -> Value {
    let block = Block::open(stored).unwrap();
    json!({
        "first": block.first,
        "count": block.count,
        "previous": block.previous.to_string(),
        "hash": block_hash(stored).to_string(),
        "events": block.events().map(|e| json::recorded(&e.unwrap())).collect::<Vec<_>>(),
    })
}

/// The second golden event of every kind, one behind the other. Those of other journals came later.
fn events() -> Vec<Recorded> {
    let second = samples::golden().into_iter().filter(|(name, _)| name.ends_with(".2"));
    let second = second.filter(|(_, recorded)| recorded.imported.is_none());
    (65_536..).zip(second).map(|(seq, (_, recorded))| Recorded { seq, ..recorded }).collect()
}

/// Blocks as earlier releases wrote them: eleven kinds, summaries in version 1; then thirteen; losses
/// in version 1 in both; then nineteen.
#[test]
fn golden_blocks_of_fewer_kinds_are_read() {
    for (name, kinds) in [("block.v1.1", 11), ("block.v1.3", 13), ("block.v1.4", 19)] {
        let mut expected = events();
        expected.truncate(kinds);
        if kinds == 11 {
            expected[2].event = samples::summaries_of_version_1().swap_remove(1).1.event;
        }
        if kinds < 19 {
            expected[5].event = samples::lossy_of_version_1().swap_remove(1).1.event;
        }
        golden_block_of(name, &expected);
    }
}

fn golden_block_of(name: &str, expected: &[Recorded]) {
    let stored = std::fs::read(path(&format!("{name}.bin"))).unwrap();
    let block = Block::open(&stored).unwrap();
    let read: Vec<Recorded> = block.events().collect::<Result<_, _>>().unwrap();
    let unhashed = |event: &Recorded| Recorded { hash: Digest::default(), ..event.clone() };
    let read: Vec<Recorded> = read.iter().map(unhashed).collect();
    assert_eq!(read, expected);
    let twin: Value =
        serde_json::from_slice(&std::fs::read(path(&format!("{name}.json"))).unwrap()).unwrap();
    assert_eq!(twin["hash"], block_hash(&stored).to_string());
    let count = expected.len() as u64;
    assert_eq!((twin["count"].as_u64(), twin["first"].as_u64()), (Some(count), Some(65_536)));
}

#[test]
fn a_golden_block_of_every_kind_is_read() {
    let mut expected = events();
    let mut builder = BlockBuilder::default();
    expected.iter_mut().for_each(|recorded| builder.push(recorded).unwrap());
    let encoded = builder.finish(&Digest::of(b"previous block"));
    let stored = committed("block.v1.5", &encoded, read_block);
    assert_eq!(stored[4], ZSTD);
    let read: Vec<_> = Block::open(&stored).unwrap().events().collect::<Result<_, _>>().unwrap();
    assert_eq!(read, expected);
    // Compressed this way or another, what does not depend on it is the same.
    assert_eq!(stored[..56], encoded[..56]);
}

/// A block as `schemas/storage.md` draws it, put together without the codec's builder.
pub(crate) fn plain_block(recorded: &mut Recorded) -> Vec<u8> {
    let mut event = Vec::new();
    lacuna_codec::encode_event(recorded, &mut event).unwrap();
    let mut out = b"LCB1\0\0\0\0".to_vec();
    out.extend_from_slice(&recorded.seq.to_le_bytes());
    out.extend_from_slice(&1_u32.to_le_bytes());
    out.extend_from_slice(&(event.len() as u32 + 4).to_le_bytes());
    out.extend_from_slice(&[0; 32]);
    // Filled in below.
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(&(event.len() as u32).to_le_bytes());
    out.extend_from_slice(&event);
    blocks::sealed(out)
}

#[test]
fn a_golden_block_without_compression_is_read() {
    let mut expected = samples::recorded(1, Event::SessionClosed);
    let encoded = plain_block(&mut expected);
    let stored = committed("block.v1.2", &encoded, read_block);
    assert_eq!(stored, encoded);
    let read: Vec<_> = Block::open(&stored).unwrap().events().collect::<Result<_, _>>().unwrap();
    assert_eq!(read, [expected]);
}

fn read_pack(stored: &[u8]) -> Value {
    let pack = Pack::open(stored).unwrap();
    let payload = |seq| json!({ "seq": seq, "bytes": json::hex(pack.get(seq).unwrap()) });
    json!({ "payloads": pack.seqs().map(payload).collect::<Vec<_>>() })
}

fn pack(payloads: &[(u64, &[u8])]) -> Vec<u8> {
    let mut builder = PackBuilder::default();
    payloads.iter().for_each(|(seq, payload)| builder.push(*seq, payload));
    builder.finish().1
}

#[test]
fn golden_packs_are_read() {
    // Compressed: an empty payload among others, gaps between the seqs, the largest delta.
    let text = "the same words again and again; ".repeat(20);
    let payloads: [(u64, &[u8]); 5] = [
        (1 << 40, text.as_bytes()),
        ((1 << 40) + 1, b""),
        ((1 << 40) + 251, samples::TEXT.as_bytes()),
        ((1 << 40) + 65_536, text.as_bytes()),
        ((1 << 40) + u64::from(u32::MAX), b"last"),
    ];
    let stored = committed("pack.v1.1", &pack(&payloads), read_pack);
    assert_eq!(stored[4], ZSTD);
    let opened = Pack::open(&stored).unwrap();
    for (seq, payload) in payloads {
        assert_eq!(opened.get(seq), Some(payload), "{seq}");
    }
    // Too small to be compressed: these bytes are the codec's own, all of them.
    let encoded = pack(&[(7, b"payload"), (9, b"\0\xff")]);
    let stored = committed("pack.v1.2", &encoded, read_pack);
    assert_eq!(stored, encoded);
    assert_eq!(stored[4], 0);
    // Nothing but an empty payload.
    let encoded = pack(&[(1, b"")]);
    assert_eq!(committed("pack.v1.3", &encoded, read_pack), encoded);
}

fn read_sealed(stored: &[u8]) -> Value {
    let header = PackHeader::read(stored).unwrap();
    let leaf = header.leaf().unwrap();
    let pack = header.open(Some(&sealed::KEY)).unwrap();
    let payload = |seq| json!({ "seq": seq, "bytes": json::hex(pack.get(seq).unwrap()) });
    json!({
        "key": json::hex(&sealed::KEY),
        "leaf": leaf,
        "nonce": json::hex(&sealed::NONCE),
        "payloads": pack.seqs().map(payload).collect::<Vec<_>>(),
    })
}

fn seal(leaf: u64, payloads: &[(u64, &[u8])]) -> Vec<u8> {
    let mut builder = PackBuilder::default();
    payloads.iter().for_each(|(seq, payload)| builder.push(*seq, payload));
    builder.seal(&Seal { leaf, nonce: sealed::NONCE, key: &sealed::KEY }).1
}

#[test]
fn golden_encrypted_packs_are_read() {
    let text = "the same words again and again; ".repeat(20);
    let payloads: [(u64, &[u8]); 3] =
        [(1 << 40, text.as_bytes()), ((1 << 40) + 1, b""), ((1 << 40) + 251, b"last")];
    let encoded = seal(1 << 33, &payloads);
    let stored = committed("pack.v2.1", &encoded, read_sealed);
    assert_eq!(stored[4], ZSTD | 2);
    // Compressed this way or another, header and directory are the same.
    assert_eq!(stored[..60 + 24], encoded[..60 + 24]);
    // Too small to be compressed: all of these bytes are fixed by what went in.
    let encoded = seal(0, &[(7, b"payload"), (9, b"\0\xff")]);
    let stored = committed("pack.v2.2", &encoded, read_sealed);
    assert_eq!(stored, encoded);
    assert_eq!(stored[4], 2);
}

#[test]
fn a_golden_snapshot_is_read() {
    let expected = snapshots::ordinary();
    let encoded = snapshots::encode_snapshot(&expected).unwrap();
    let name = format!("snapshot.v{SNAPSHOT_FORMAT}.1");
    let read = |stored: &[u8]| {
        json::state(&decode_snapshot(stored).unwrap().expect("it is of this release's format"))
    };
    let stored = committed(&name, &encoded, read);
    // If this fails, the state has changed its shape: raise SNAPSHOT_FORMAT and bless, so that
    // snapshots of the old shape are passed over instead of misread.
    assert_eq!(decode_snapshot(&stored), Ok(Some(expected)));
}

#[test]
fn a_golden_snapshot_of_an_older_format_is_passed_over() {
    for format in 1..SNAPSHOT_FORMAT {
        let stored = std::fs::read(path(&format!("snapshot.v{format}.1.bin"))).unwrap();
        assert_eq!(decode_snapshot(&stored), Ok(None));
    }
}

fn read_claims(stored: &[u8]) -> Value {
    let claims = decode_claims(stored).unwrap();
    json!(
        claims
            .iter()
            .map(|claim| json!({
                "text": claim.text,
                "origin": claim.origin.word(),
                "sources": claim.sources.iter().map(|source| json!({
                    "span": source.span.as_str(),
                    "quote": source.quote,
                })).collect::<Vec<_>>(),
            }))
            .collect::<Vec<_>>()
    )
}

#[test]
fn golden_claims_are_read() {
    let source = |span: &str, quote: Option<&str>| ClaimSource {
        span: samples::id(span),
        quote: quote.map(Into::into),
    };
    let claim = |text: &str, origin, sources| Claim { text: text.into(), origin, sources };
    let claims = vec![
        claim("It failed.", ClaimOrigin::ToolOutput, vec![source("s1", Some("failed"))]),
        claim(samples::TEXT, ClaimOrigin::Hedged, vec![source("s1", None), source("s2", Some(""))]),
        claim("", ClaimOrigin::UserSaid, Vec::new()),
        claim(&"n".repeat(65_536), ClaimOrigin::Inferred, vec![source("a", None); 251]),
    ];
    let (at, encoded) = encode_claims(&claims).unwrap();
    assert_eq!((at.count, at.bytes, at.digest), (4, encoded.len() as u64, Digest::of(&encoded)));
    let stored = committed("claims.v1.1", &encoded, read_claims);
    assert_eq!(stored, encoded);
    assert_eq!(decode_claims(&stored), Ok(claims));
}

fn read_log_record(stored: &[u8]) -> Value {
    let record = log_records::read(stored).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    json!({
        "journal": log_records::JOURNAL,
        "first": record.first,
        "block": text(record.block),
        "touched": record.touched.iter().map(|(s, version)| json!([s.0, version])).collect::<Vec<_>>(),
        "opened": record.opened.iter().map(|(key, s)| json!([s.0, key.to_string()])).collect::<Vec<_>>(),
        "forks": record.forks.iter().map(|(p, c, at)| json!([p.0, c.0, at])).collect::<Vec<_>>(),
        "losses": record
            .losses
            .iter()
            .map(|(seq, tenant, s, spans)| json!([seq, tenant.as_str(), s.0, spans]))
            .collect::<Vec<_>>(),
        "packs": record.packs.iter().map(|(base, p)| json!([base, text(p)])).collect::<Vec<_>>(),
        "chunks": record
            .chunks
            .iter()
            .map(|(seq, part, p)| json!([seq, part, text(p)]))
            .collect::<Vec<_>>(),
    })
}

#[test]
fn a_golden_record_of_the_log_is_read() {
    let record = log_records::sample();
    let mut encoded = Vec::new();
    record.encode(log_records::JOURNAL, &mut encoded).unwrap();
    let stored = committed("log.v1.1", &encoded, read_log_record);
    assert_eq!(stored, encoded);
    assert_eq!(log_records::read(&stored), Ok(record));
}

#[test]
fn a_golden_front_of_the_log_is_read() {
    let front = log_records::front();
    let read = |stored: &[u8]| {
        let front = LogFront::read(stored, log_records::JOURNAL).unwrap();
        let id = String::from_utf8(front.id.to_vec()).unwrap();
        json!({ "journal": log_records::JOURNAL, "id": id, "length": front.length })
    };
    let stored = committed("log-front.v1.1", &front.encode(log_records::JOURNAL), read);
    assert_eq!(stored, front.encode(log_records::JOURNAL));
}

#[test]
fn no_golden_file_stands_alone() {
    let entries = std::fs::read_dir(path("")).unwrap();
    let mut found: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let names = [
        "block.v1.1",
        "block.v1.2",
        "block.v1.3",
        "block.v1.4",
        "block.v1.5",
        "claims.v1.1",
        "log-front.v1.1",
        "log.v1.1",
        "pack.v1.1",
        "pack.v1.2",
        "pack.v1.3",
        "pack.v2.1",
        "pack.v2.2",
        "snapshot.v1.1",
        "snapshot.v2.1",
        "snapshot.v3.1",
        "snapshot.v4.1",
        "snapshot.v5.1",
        "snapshot.v6.1",
    ];
    let expected: Vec<String> =
        names.iter().flat_map(|name| [format!("{name}.bin"), format!("{name}.json")]).collect();
    assert_eq!(found, expected);
}
