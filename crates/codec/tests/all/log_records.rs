//! The log: records, each what one commit writes, and its front.

use lacuna_codec::{CodecError, LogFront, LogHeader, LogRecord};
use lacuna_core::{SessionKey, SessionNo};
use proptest::prelude::*;

pub(crate) const JOURNAL: &str = "0123456789abcdef0123456789abcdef";

/// One with something of each kind.
pub(crate) fn sample() -> LogRecord<'static> {
    let key = |session: &str| SessionKey {
        tenant: "acme".parse().unwrap(),
        session: session.parse().unwrap(),
    };
    LogRecord {
        first: 65_536,
        block: b"a block of three events",
        touched: vec![(SessionNo(3), 17), (SessionNo(65_536), 1)],
        opened: vec![(key("run-1"), SessionNo(65_536)), (key("run-2"), SessionNo(65_537))],
        forks: vec![(SessionNo(3), SessionNo(65_537), 16)],
        losses: vec![(65_538, "acme".parse().unwrap(), SessionNo(3), 2)],
        packs: vec![(65_536, b"a pack"), (65_538, b"")],
        chunks: vec![(65_537, 0, b"the first part"), (65_537, 1, b"the second")],
    }
}

pub(crate) fn front() -> LogFront {
    LogFront { id: *b"an id of 16 byte", length: 1 << 20 }
}

fn encoded(record: &LogRecord<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    record.encode(JOURNAL, &mut out).unwrap();
    out
}

pub(crate) fn read(stored: &[u8]) -> Result<LogRecord<'_>, CodecError> {
    let header = LogHeader::read(stored, JOURNAL).expect("it begins a record of this journal");
    header.open(&stored[LogHeader::SIZE..])
}

#[test]
fn a_record_is_read_as_it_was_written() {
    for record in [sample(), LogRecord::default()] {
        let stored = encoded(&record);
        let header = LogHeader::read(&stored, JOURNAL).unwrap();
        assert_eq!((header.first, header.length), (record.first, stored.len() - LogHeader::SIZE));
        assert_eq!(read(&stored).unwrap(), record);
    }
    // Behind whatever stands in front of it.
    let mut out = b"something".to_vec();
    sample().encode(JOURNAL, &mut out).unwrap();
    assert_eq!(read(&out[9..]).unwrap(), sample());
}

#[test]
fn a_record_of_another_journal_is_none() {
    let stored = encoded(&sample());
    assert_eq!(LogHeader::read(&stored, "0123456789abcdef0123456789abcdee"), None);
    assert_eq!(LogHeader::read(&stored[..LogHeader::SIZE - 1], JOURNAL), None);
    assert_eq!(LogHeader::read(&[0; 4_096], JOURNAL), None);
}

#[test]
fn any_bit_flipped_and_any_byte_missing_is_noticed() {
    let stored = encoded(&sample());
    for at in 0..stored.len() {
        for bit in 0..8 {
            let mut flipped = stored.clone();
            flipped[at] ^= 1 << bit;
            let whole = LogHeader::read(&flipped, JOURNAL)
                .is_some_and(|header| header.open(&flipped[LogHeader::SIZE..]).is_ok());
            assert!(!whole, "bit {bit} of byte {at}");
        }
        if at >= LogHeader::SIZE {
            assert!(read(&stored[..at]).is_err(), "cut at {at}");
        }
    }
}

#[test]
fn a_front_is_read_as_it_was_written_and_only_then() {
    let front = front();
    let bytes = front.encode(JOURNAL);
    assert_eq!(LogFront::read(&bytes, JOURNAL), Some(front));
    let page = [bytes.as_slice(), &[7; 4_000]].concat();
    assert_eq!(LogFront::read(&page, JOURNAL), Some(front), "whatever stands behind it");
    assert_eq!(LogFront::read(&bytes, "0123456789abcdef0123456789abcdee"), None);
    for at in 0..bytes.len() {
        assert_eq!(LogFront::read(&bytes[..at], JOURNAL), None, "cut at {at}");
        for bit in 0..8 {
            let mut flipped = bytes;
            flipped[at] ^= 1 << bit;
            assert_eq!(LogFront::read(&flipped, JOURNAL), None, "bit {bit} of byte {at}");
        }
    }
}

proptest! {
    /// Also a check that fits says nothing of what stands behind it: it is anybody's.
    #[test]
    fn a_body_with_a_check_that_fits_is_read_or_refused(
        body in prop::collection::vec(any::<u8>(), 0..300),
        counts in prop::array::uniform6(0_u32..3),
        counted in any::<bool>(),
    ) {
        let mut forged = Vec::new();
        if counted {
            counts.iter().for_each(|count| forged.extend_from_slice(&count.to_le_bytes()));
            forged.extend_from_slice(&0_u32.to_le_bytes());
        }
        forged.extend_from_slice(&body);
        let mut stored = encoded(&LogRecord::default());
        stored.truncate(LogHeader::SIZE);
        stored[4..8].copy_from_slice(&u32::try_from(forged.len()).unwrap().to_le_bytes());
        let mut hasher = blake3::Hasher::new_derive_key("lacuna 2026-11 log record v1");
        hasher.update(&stored[..48]).update(&forged);
        stored[48..80].copy_from_slice(hasher.finalize().as_bytes());
        stored.extend_from_slice(&forged);
        match read(&stored) {
            // Every form of it has one encoding.
            Ok(record) => prop_assert_eq!(encoded(&record), stored),
            Err(error) => prop_assert!(matches!(error, CodecError::Damaged { .. }), "{error:?}"),
        }
    }
}
