//! Makes the seeds that follow from the golden files, and some that no golden file has: parts that are not
//! compressed, frames that claim much. `ops/fuzz --golden` runs it.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use lacuna_codec::{Block, KINDS, StoredSnapshot, encode_claims};
use lacuna_core::{Claim, ClaimOrigin, ClaimSource};
use lacuna_fuzz::forge;

/// Larger files teach a fuzzer nothing that smaller ones do not.
const LARGEST: usize = 3 << 10;

fn main() -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = |target: &str, name: &str, bytes: &[u8]| -> Result<()> {
        let folder = here.join("seeds").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)
    };
    let golden = here.join("../../schemas/golden");
    for (name, bytes) in files(&golden.join("events"))? {
        seeds("event", &format!("golden-{name}"), &bytes)?;
        seeds("event_body", &format!("golden-{name}"), &body(&bytes))?;
    }
    for (name, bytes) in files(&golden.join("storage"))? {
        let target = match name.split('.').next() {
            Some("log") => "log_record",
            Some("log-front") => "log_front",
            Some(target @ ("block" | "pack" | "claims" | "snapshot")) => target,
            _ => continue,
        };
        seeds(target, &format!("golden-{name}"), &bytes)?;
        if target == "block" {
            seeds(target, &format!("made-plain-{name}"), &plain_block(&bytes)?)?;
        }
        if let ("snapshot", Some(bytes)) = (target, plain_snapshot(&bytes)?) {
            seeds(target, &format!("made-plain-{name}"), &bytes)?;
        }
    }
    let span = "a".parse().map_err(Error::other)?;
    let sources = vec![ClaimSource { span, quote: Some("5433".into()) }];
    let claim = Claim { text: "The port is 5433.".into(), origin: ClaimOrigin::UserSaid, sources };
    let claims = [claim.clone(), Claim { sources: Vec::new(), ..claim }];
    seeds("claims", "made-two", &encode_claims(&claims).map_err(Error::other)?.1)?;
    let bomb = zstd::bulk::compress(&vec![0; 1 << 24], 1)?;
    let mut block = b"LCB1\x01\0\0\0".to_vec();
    block.resize(72, 0);
    block[20..24].copy_from_slice(&(1_u32 << 24).to_le_bytes());
    seeds("block", "made-bomb", &[&block, bomb.as_slice()].concat())?;
    let pack = [&b"LCP1\x01\0\x01\0"[..], &[0; 8], &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], &bomb];
    seeds("pack", "made-bomb", &pack.concat())?;
    let (root, one) = (node(0, 0), [node(0, 63), node(2, 63), node(1 << 63, 1)].concat());
    for (name, nodes) in [("made-root", root), ("made-three", one)] {
        let file = [&[1][..], &[0; 16], forge::JOURNAL.as_bytes(), &[0; 8], &nodes].concat();
        seeds("key_file", name, &file)?;
        seeds(
            "key_file",
            &format!("{name}-whole"),
            &[&[0][..], &forge::key_file(&file[1..])].concat(),
        )?;
    }
    let leaves: Vec<u8> = [2, 1, 5, 6, u64::MAX].map(u64::to_be_bytes).concat();
    seeds("key_file", "made-leaves", &[&[2][..], &leaves].concat())
}

/// The stored forms in a folder that are small enough, by name.
fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let bytes = std::fs::read(&path)?;
        if name.ends_with(".bin") && bytes.len() <= LARGEST {
            found.push((name.trim_end_matches(".bin").to_owned(), bytes));
        }
    }
    Ok(found)
}

/// An event as the target for bodies reads it.
fn body(stored: &[u8]) -> Vec<u8> {
    let number = u16::from_le_bytes([stored[2], stored[3]]);
    let kind = KINDS.iter().position(|kind| kind.number == number).unwrap_or(0) as u8;
    let at = 96 + usize::from(stored[88]) + usize::from(stored[90]);
    [&[kind, stored[4] - 1, 1], &stored[at..]].concat()
}

fn plain_block(stored: &[u8]) -> Result<Vec<u8>> {
    let block = Block::open(stored).map_err(Error::other)?;
    let mut plain = stored[..72].to_vec();
    plain[4] = 0;
    for event in block.stored_events() {
        let event = event.map_err(Error::other)?;
        plain.extend_from_slice(&(event.len() as u32).to_le_bytes());
        plain.extend_from_slice(event);
    }
    Ok(forge::block(&plain))
}

/// A snapshot whose parts are not compressed; none if it is of an older format.
fn plain_snapshot(stored: &[u8]) -> Result<Option<Vec<u8>>> {
    let Ok(Some(snapshot)) = StoredSnapshot::read(stored) else { return Ok(None) };
    let part = |compressed: bool, bytes: &[u8]| match compressed {
        true => zstd::bulk::decompress(bytes, 1 << 20),
        false => Ok(bytes.to_vec()),
    };
    let (front, second) = stored.split_at(stored.len() - snapshot.rest_bytes());
    let first = part(stored[6] & 1 != 0, &front[108..])?;
    let second = part(stored[6] & 2 != 0, second)?;
    let mut plain = stored[..108].to_vec();
    plain[6] = 0;
    plain[68..72].copy_from_slice(&(first.len() as u32).to_le_bytes());
    plain.extend_from_slice(&first);
    plain.extend_from_slice(&second);
    Ok(Some(forge::snapshot(&plain)))
}

fn node(first: u64, depth: u8) -> Vec<u8> {
    [&first.to_le_bytes()[..], &[depth], &[depth; 32]].concat()
}
