//! Packs, plain and encrypted: as they are, and encrypted with a key that is known.
#![no_main]

use lacuna_codec::{Pack, PackBuilder, PackHeader, Seal};
use lacuna_fuzz::forge::{self, KEY};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&forge::pack(bytes));
});

fn read(stored: &[u8]) {
    let Ok(header) = PackHeader::read(stored) else {
        assert!(Pack::open(stored).is_err());
        return;
    };
    let seqs: Vec<u64> = header.seqs().collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "seqs ascend");
    let leaf = header.leaf();
    assert!(leaf.is_none() || Pack::open(stored).is_err(), "no key, no payload");
    let Ok(pack) = header.open(Some(&KEY)) else { return };
    assert!(pack.seqs().eq(seqs.iter().copied()));
    for absent in [0, u64::MAX, seqs.last().map_or(0, |last| last.wrapping_add(1))] {
        assert_eq!(pack.get(absent).is_some(), seqs.contains(&absent));
    }
    let payloads: Vec<(u64, &[u8])> =
        seqs.iter().map(|seq| (*seq, pack.get(*seq).expect("it is listed"))).collect();
    if payloads.is_empty() {
        return;
    }
    again(&payloads, |builder| builder.finish().1);
    let seal = Seal { leaf: leaf.unwrap_or(7), nonce: [5; 24], key: &KEY };
    again(&payloads, |builder| builder.seal(&seal).1);
    let middle = payloads.iter().map(|(_, payload)| payload.len()).sum::<usize>() / 2;
    let Some([front, behind]) = filled(&payloads).compress().parted(middle) else { return };
    let parts = [front.seal(&seal).1, behind.finish().1];
    let opened =
        parts.map(|part| PackHeader::read(&part).and_then(|h| h.open(Some(&KEY))).expect("a part"));
    assert!(opened.iter().flat_map(|part| part.seqs()).eq(seqs));
    for (seq, payload) in payloads {
        assert!(
            opened.iter().any(|part| part.get(seq) == Some(payload)),
            "{seq} is in one of them"
        );
    }
}

fn filled(payloads: &[(u64, &[u8])]) -> PackBuilder {
    let mut builder = PackBuilder::default();
    payloads.iter().for_each(|(seq, payload)| builder.push(*seq, payload));
    builder
}

fn again(payloads: &[(u64, &[u8])], write: impl FnOnce(PackBuilder) -> Vec<u8>) {
    let stored = write(filled(payloads));
    let header = PackHeader::read(&stored).expect("what was written can be read");
    let pack = header.open(Some(&KEY)).expect("what was written can be opened");
    assert!(payloads.iter().all(|(seq, payload)| pack.get(*seq) == Some(payload)));
}
