//! Summaries: text and claims share a payload, and each part answers for itself.

use std::sync::Arc;

use lacuna_codec::{PackBuilder, decode_claims, decode_event, encode_claims};
use lacuna_core::event::{SummaryRecorded, SummaryStatus};
use lacuna_core::{
    Claim, ClaimOrigin, ClaimSource, Digest, Event, SessionNo, SessionState, SpanState,
    StoredClaims, Timestamp,
};
use lacuna_store::{Commit, Store, StoreOptions, Stored, VerifyOptions};
use redb::{Database, ReadableTable as _, TableDefinition};

use crate::journal::{Draft, Journal, lost, noise, span};

const PAYLOADS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");
const CHUNKS: TableDefinition<'static, (u64, u32), &[u8]> = TableDefinition::new("chunks");
const CHUNK: usize = 255 << 10;

fn claims(count: usize) -> Vec<Claim> {
    let claim = |n: usize| Claim {
        text: format!("claim {n}"),
        origin: ClaimOrigin::ALL[n % ClaimOrigin::ALL.len()],
        sources: vec![ClaimSource { span: "a".parse().unwrap(), quote: Some(format!("{n}")) }],
    };
    (0..count).map(claim).collect()
}

/// A summary `sum` of span `a` with this text and these claims.
fn summary(text: &[u8], claims: &[Claim]) -> Draft {
    let (stored, behind) = encode_claims(claims).unwrap();
    let event = SummaryRecorded {
        span: "sum".parse().unwrap(),
        covers: vec!["a".parse().unwrap()],
        digest: Digest::of(text),
        bytes: text.len() as u64,
        tokens: 1,
        claims: stored,
        cites: vec!["a".parse().unwrap()],
        asked: None,
        status: SummaryStatus::Accepted,
        findings: Vec::new(),
        depth: 1,
        tag_tokens: 0,
        identifiers: 0,
        identifiers_kept: 0,
    };
    (S, Event::SummaryRecorded(event), Some([text, &behind].concat()))
}

/// A closed journal in a folder: a session, its span `a` (seq 2), its summary (seq 3), each in a
/// commit of its own.
struct Kept {
    folder: tempfile::TempDir,
    state: SessionState,
    payload: Vec<u8>,
    text: Vec<u8>,
    claims: Vec<Claim>,
}

const S: SessionNo = SessionNo(1);
const SEQ: u64 = 3;

impl Kept {
    fn new(text: &[u8], claims: &[Claim]) -> Self {
        Self::followed(text, claims, Vec::new())
    }

    /// The same with more events behind them.
    fn followed(text: &[u8], claims: &[Claim], more: Vec<Draft>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::in_folder(folder.path());
        assert_eq!(journal.open("s"), S);
        journal.commit(vec![span(S, "a", b"what it covers")]);
        let draft = summary(text, claims);
        let payload = draft.2.clone().unwrap();
        assert_eq!(journal.commit(vec![draft]), SEQ);
        if !more.is_empty() {
            journal.commit(more);
        }
        journal.store.close().unwrap();
        let state = journal.states.remove(&S).unwrap();
        Self { folder, state, payload, text: text.to_vec(), claims: claims.to_vec() }
    }

    fn open(&self) -> Store {
        Store::open(self.folder.path(), &StoreOptions::default()).unwrap()
    }

    fn span(&self) -> &SpanState {
        self.state.find(&"sum".parse().unwrap()).unwrap()
    }

    /// What reading the text and the claims back gives.
    fn read(&self, store: &Store) -> (Stored, Option<Stored>) {
        let mut reader = store.payloads().unwrap();
        let (span, stored) = (self.span(), self.span().stored_claims().unwrap());
        let claims = reader.read_claims(span.seq, span.bytes, stored).unwrap();
        // In this order, and again with the pack at hand.
        let text = reader.read_span(span).unwrap();
        assert_eq!(reader.read_claims(span.seq, span.bytes, stored).unwrap(), claims);
        (text, claims)
    }

    fn check_whole(&self, store: &Store) {
        let (text, claims) = self.read(store);
        assert_eq!(text, Stored::Whole(self.text.as_slice().into()), "the text and nothing else");
        match claims {
            Some(Stored::Whole(bytes)) => assert_eq!(decode_claims(&bytes).unwrap(), self.claims),
            None => assert_eq!(self.claims, []),
            other => panic!("{other:?}"),
        }
        assert_eq!(faults(store), Vec::<String>::new());
    }

    /// Stores another payload of the summary behind the store's back, in the same kind of place.
    fn store(&self, payload: Option<&[u8]>) -> Store {
        let db = Database::open(self.folder.path().join("journal.redb")).unwrap();
        let write = db.begin_write().unwrap();
        let pack = |part: &[u8]| {
            let mut pack = PackBuilder::default();
            pack.push(SEQ, part);
            pack.finish().1
        };
        {
            let mut packs = write.open_table(PAYLOADS).unwrap();
            let mut chunks = write.open_table(CHUNKS).unwrap();
            let was_a_pack = packs.remove(SEQ).unwrap().is_some();
            assert_eq!(was_a_pack, self.payload.len() <= CHUNK);
            let parts: Vec<u32> = chunks.iter().unwrap().map(|c| c.unwrap().0.value().1).collect();
            parts.iter().for_each(|&part| drop(chunks.remove((SEQ, part)).unwrap().unwrap()));
            match payload {
                Some(payload) if was_a_pack => {
                    packs.insert(SEQ, pack(payload).as_slice()).unwrap();
                }
                Some(payload) => {
                    for (number, part) in (0..).zip(payload.chunks(CHUNK)) {
                        chunks.insert((SEQ, number), pack(part).as_slice()).unwrap();
                    }
                }
                None => {}
            }
        }
        write.commit().unwrap();
        drop(db);
        self.open()
    }
}

fn faults(store: &Store) -> Vec<String> {
    let report = store.verify(&VerifyOptions::default(), |_| {}).unwrap();
    report
        .faults
        .into_iter()
        .map(|fault| format!("{}: {}", fault.seq.map_or(0, |seq| seq), fault.what))
        .collect()
}

#[test]
fn text_and_claims_come_back_each_by_itself_whatever_their_sizes() {
    let sizes = [0, 1, 200, 65_536, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, (2 * CHUNK) + 77];
    for size in sizes {
        // Many only behind some of them: they take most of the time.
        for count in [0, 3, 40_000].into_iter().filter(|&n| n < 9 || size % CHUNK == 0) {
            let kept = Kept::new(&noise(size as u64 + 1, size), &claims(count));
            assert_eq!(kept.span().stored_claims().unwrap().count as usize, count);
            let store = kept.open();
            let copy = tempfile::tempdir().unwrap();
            store.backup(copy.path(), |_| {}).unwrap();
            let copied = Store::open(copy.path(), &StoreOptions::default()).unwrap();
            for store in [store, copied] {
                kept.check_whole(&store);
                assert_eq!(store.load(S).unwrap().as_ref(), Some(&kept.state));
            }
        }
    }
}

/// A text in a pack, one in chunks, one whose claims begin with a chunk, one with claims over many.
fn kinds() -> Vec<Kept> {
    vec![
        Kept::new(&noise(1, 500), &claims(3)),
        Kept::new(&noise(2, CHUNK + 10), &claims(3)),
        Kept::new(&noise(3, CHUNK), &claims(3)),
        Kept::new(&noise(4, 100), &claims(40_000)),
    ]
}

const DAMAGED: &str = "the stored copy does not match its digest";

#[test]
fn a_summary_is_whole_only_with_its_claims() {
    for kept in kinds() {
        let (text, behind) = kept.payload.split_at(kept.text.len());
        let flipped = |bytes: &[u8], at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1;
            bytes
        };
        for at in [0, text.len() / 2, text.len() - 1] {
            let store = kept.store(Some(&[&flipped(text, at), behind].concat()));
            let (read, claims) = kept.read(&store);
            assert_eq!(read, Stored::Damaged(DAMAGED.into()), "byte {at}");
            assert_eq!(claims, Some(Stored::Whole(behind.into())), "byte {at}");
            assert_eq!(faults(&store), [format!("3: sum: {DAMAGED}, and no event says so")]);
            store.close().unwrap();
        }
        for at in [0, behind.len() / 2, behind.len() - 1] {
            let store = kept.store(Some(&[text, &flipped(behind, at)].concat()));
            let (read, claims) = kept.read(&store);
            let why = format!("its claims: {DAMAGED}");
            assert_eq!(read, Stored::Damaged(why), "byte {at} of the claims");
            assert_eq!(claims, Some(Stored::Damaged(DAMAGED.into())), "byte {at} of the claims");
            let what = format!("3: sum: its claims: {DAMAGED}, and no event says so");
            assert_eq!(faults(&store), [what]);
            store.close().unwrap();
        }
    }
}

#[test]
fn what_is_cut_short_or_run_on_is_damage_of_what_is_concerned() {
    for kept in kinds() {
        let (text, payload) = (kept.text.len(), &kept.payload);
        for left in [0, text / 2, text - 1, text, text + 1, payload.len() - 1] {
            let store = kept.store(Some(&payload[..left]));
            let (read, claims) = kept.read(&store);
            assert!(!matches!(read, Stored::Whole(_)), "{left} of {}", payload.len());
            assert!(!matches!(claims, None | Some(Stored::Whole(_))), "{left}: {claims:?}");
            assert_eq!(faults(&store).len(), 1, "{left}");
            store.close().unwrap();
        }
        let store = kept.store(Some(&[payload.as_slice(), b"more"].concat()));
        assert_eq!(kept.read(&store).1, Some(Stored::Damaged(DAMAGED.into())));
        assert_eq!(faults(&store).len(), 1);
        store.close().unwrap();
        let store = kept.store(None);
        assert_eq!(kept.read(&store), (Stored::Missing, Some(Stored::Missing)));
        assert_eq!(faults(&store), ["3: sum: its payload is missing, and no event says so"]);
    }
}

#[test]
fn a_loss_of_a_summary_is_explained_by_its_lossy_commitment() {
    for kept in kinds() {
        let lost = vec![lost(S, "sum", &kept.text)];
        let kept = Kept::followed(&kept.text, &kept.claims, lost);
        assert_eq!(faults(&kept.store(None)), Vec::<String>::new());
    }
}

#[test]
fn verifying_counts_a_summary_as_one_payload() {
    let kept = Kept::new(b"in short", &claims(3));
    let report = kept.open().verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!((report.events, report.payloads), (3, 2));
    // Its text; whether the claims are counted too is not promised, but not less.
    let least = (b"what it covers".len() + b"in short".len()) as u64;
    assert!((least..=least + 200).contains(&report.payload_bytes), "{report:?}");
}

/// The stored event of version 1 in the golden files, as the next one of this session.
fn of_version_1(journal: &Journal, session: SessionNo) -> Vec<u8> {
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schemas/golden/events/summary-recorded.v1.2.bin"
    );
    let mut stored = std::fs::read(golden).unwrap();
    let (head, state) = (journal.store.head(), &journal.states[&session]);
    stored[8..16].copy_from_slice(&(head.seq + 1).to_le_bytes());
    stored[16..24].copy_from_slice(&(state.version + 1).to_le_bytes());
    stored[24..32].copy_from_slice(&session.0.to_le_bytes());
    stored[32..40].copy_from_slice(&head.at.0.to_le_bytes());
    stored[56..88].copy_from_slice(&state.head.0);
    stored
}

/// A block of one stored event, as an older release wrote it.
fn block(seq: u64, previous: &Digest, event: &[u8]) -> Vec<u8> {
    let raw = [&u32::try_from(event.len()).unwrap().to_le_bytes(), event].concat();
    let mut block = [&b"LCB1\0\0\0\0"[..], &seq.to_le_bytes(), &1_u32.to_le_bytes()].concat();
    block.extend_from_slice(&u32::try_from(raw.len()).unwrap().to_le_bytes());
    block.extend_from_slice(&previous.0);
    let mut hasher = blake3::Hasher::new_derive_key("lacuna 2026-11 block check v1");
    let check = hasher.update(&block).update(&raw).finalize();
    block.extend_from_slice(&check.as_bytes()[..16]);
    block.extend_from_slice(&raw);
    block
}

#[test]
fn a_journal_with_summaries_of_version_1_opens_loads_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let session = journal.open("s");
    journal.commit(vec![span(session, "s1", b"it failed"), span(session, "s2", b"maybe")]);
    let stored = of_version_1(&journal, session);
    let recorded = decode_event(&stored).unwrap();
    let head = journal.store.head();
    let commit = Commit {
        first: recorded.seq,
        last: recorded.seq,
        at: recorded.at,
        block: block(recorded.seq, &head.block, &stored),
        sessions: vec![(session, recorded.version)],
        payloads: journal.store.pack(&[(recorded.seq, Arc::from(&b"summary"[..]))]).unwrap(),
        ..Commit::default()
    };
    journal.store.append(commit.clone()).unwrap();
    journal.states.get_mut(&session).unwrap().evolve(&recorded);
    journal.events.push(recorded);
    journal.commit(vec![span(session, "s3", b"later")]);
    journal.snapshot(session);
    let then = journal.folded(session, 4);
    let copy = tempfile::tempdir().unwrap();
    journal.store.backup(copy.path(), |_| {}).unwrap();
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    for folder in [folder.path(), copy.path()] {
        let store = Store::open(folder, &StoreOptions::default()).unwrap();
        assert_eq!(faults(&store), Vec::<String>::new());
        assert_eq!(store.history(session, 1, 99).unwrap(), events);
        let state = store.load(session).unwrap().unwrap();
        assert_eq!(state, states[&session]);
        assert_eq!(store.load_at(session, 4, Timestamp(u64::MAX)).unwrap().as_ref(), Some(&then));
        let sum = state.find(&"sum_1".parse().unwrap()).unwrap();
        let mut reader = store.payloads().unwrap();
        assert_eq!(reader.read_span(sum).unwrap(), Stored::Whole(b"summary"[..].into()));
        // Its three claims are in its event alone; there is nothing to read behind the text.
        let stored = sum.stored_claims().unwrap();
        assert_eq!(*stored, StoredClaims { count: 3, ..StoredClaims::default() });
        assert_eq!(reader.read_claims(sum.seq, sum.bytes, stored).unwrap(), None);
    }
}
