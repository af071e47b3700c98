//! A small writer: makes commits as the engine would, without deciding anything.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use lacuna_codec::BlockBuilder;
use lacuna_core::event::{LossyCommitted, LostSpan, SessionOpened, SpanRecorded};
use lacuna_core::{
    Cause, CommandStamp, Contract, Digest, Event, Origin, Recorded, Role, SessionKey, SessionNo,
    SessionState, SpanKind, Storage, Timestamp, TokensFrom,
};
use lacuna_store::{Commit, Head, PayloadReader, Removal, Snapshot, Store, StoreOptions, Stored};
use redb::backends::InMemoryBackend;

/// An event to be committed, and the payload that it brings.
/// Payloads by the seq of their event.
pub(crate) type Payloads = Vec<(u64, Arc<[u8]>)>;

pub(crate) type Draft = (SessionNo, Event, Option<Vec<u8>>);

/// Stands for a session that is opened by the event itself.
pub(crate) const NEW: SessionNo = SessionNo(0);

pub(crate) struct Journal {
    pub(crate) store: Store,
    /// What each session's events so far fold into.
    pub(crate) states: BTreeMap<SessionNo, SessionState>,
    /// Every event committed.
    pub(crate) events: Vec<Recorded>,
}

pub(crate) fn key(name: &str) -> SessionKey {
    SessionKey { tenant: "acme".parse().unwrap(), session: name.parse().unwrap() }
}

pub(crate) fn opened(name: &str) -> Draft {
    let event = SessionOpened {
        key: key(name),
        window_tokens: 200_000,
        reserve_ppm: 150_000,
        contract: Contract::Record,
        labels: BTreeMap::new(),
    };
    (NEW, Event::SessionOpened(event), None)
}

pub(crate) fn span(session: SessionNo, id: &str, payload: &[u8]) -> Draft {
    let event = SpanRecorded {
        span: id.parse().unwrap(),
        role: Role::Tool,
        origin: Origin::Tool,
        kind: SpanKind::ToolResult,
        storage: Storage::Journal,
        digest: Digest::of(payload),
        bytes: payload.len() as u64,
        media_type: "text/plain".into(),
        tokens: 1,
        tokens_from: TokensFrom::Estimated,
        hedged: false,
        pinned: false,
        turn: None,
        answers: None,
        supersedes: None,
        labels: BTreeMap::new(),
        source: None,
        in_window: true,
    };
    (session, Event::SpanRecorded(event), Some(payload.to_vec()))
}

/// The lossy commitment for a span whose copy is gone.
pub(crate) fn lost(session: SessionNo, id: &str, payload: &[u8]) -> Draft {
    let (span, digest) = (id.parse().unwrap(), Digest::of(payload));
    let spans = vec![LostSpan { span, digest, bytes: payload.len() as u64, tokens: 1 }];
    let cause = Cause::Damage { found: "it is gone".into() };
    (session, Event::LossyCommitted(LossyCommitted { spans, cause, residue: false }), None)
}

/// What reading the payload of an event shows.
pub(crate) fn read(reader: &mut PayloadReader, events: &[Recorded], seq: u64) -> Stored {
    let Event::SpanRecorded(e) = &events[seq as usize - 1].event else { panic!("no payload") };
    reader.read(seq, &e.digest, e.bytes).unwrap()
}

/// Bytes that zstd makes nothing of, different for each seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| byte()).collect()
}

impl Journal {
    pub(crate) fn on(store: Store) -> Self {
        assert_eq!(store.head().seq, 0, "this writer begins with an empty journal");
        Self { store, states: BTreeMap::new(), events: Vec::new() }
    }

    pub(crate) fn memory() -> Self {
        let (database, log) = (InMemoryBackend::new(), InMemoryBackend::new());
        Self::on(Store::open_backends(database, log, &StoreOptions::default()).unwrap())
    }

    pub(crate) fn in_folder(path: &Path) -> Self {
        Self::on(Store::open(path, &StoreOptions::default()).unwrap())
    }

    /// Makes a commit of these events, without writing it.
    pub(crate) fn prepare(&mut self, drafts: Vec<Draft>) -> Commit {
        let (mut commit, payloads) = self.draw(self.store.head(), drafts);
        commit.payloads = self.store.pack(&payloads).unwrap();
        commit
    }

    /// Makes a commit of these events for another store.
    pub(crate) fn prepare_on(&mut self, store: &Store, drafts: Vec<Draft>) -> Commit {
        let (mut commit, payloads) = self.draw(store.head(), drafts);
        commit.payloads = store.pack(&payloads).unwrap();
        commit
    }

    /// All of a commit behind this head but its payloads, and these.
    pub(crate) fn draw(&mut self, head: Head, drafts: Vec<Draft>) -> (Commit, Payloads) {
        let mut block = BlockBuilder::default();
        let mut touched: HashMap<SessionNo, u64> = HashMap::new();
        let mut commit = Commit { first: head.seq + 1, last: head.seq, ..Commit::default() };
        let mut payloads = Payloads::new();
        for (session, event, payload) in drafts {
            commit.last += 1;
            let seq = commit.last;
            let session = if session == NEW { SessionNo(seq) } else { session };
            let state = self.states.get(&session);
            let mut recorded = Recorded {
                seq,
                version: state.map_or(1, |state| state.version + 1),
                // A tenth of a second between events: times can be asked for.
                at: Timestamp(1_796_018_400_000 + 100 * seq),
                session,
                principal: "worker-1".parse().unwrap(),
                command: Some(CommandStamp {
                    id: format!("cmd-{seq}").parse().unwrap(),
                    request: [seq as u8; 16],
                }),
                previous: state.map_or(Digest::default(), |state| state.head),
                hash: Digest::default(),
                event,
                imported: None,
            };
            block.push(&mut recorded).unwrap();
            commit.at = recorded.at;
            touched.entry(session).or_insert(recorded.version);
            if let Event::SessionOpened(opened) = &recorded.event {
                commit.opened.push((opened.key.clone(), session));
            }
            match self.states.get_mut(&session) {
                Some(state) => state.evolve(&recorded),
                None => {
                    let state = SessionState::open(&recorded).expect("the first event opens it");
                    self.states.insert(session, state);
                }
            }
            payloads.extend(payload.map(|payload| (seq, Arc::from(payload))));
            self.events.push(recorded);
        }
        commit.sessions = touched.into_iter().collect();
        commit.block = block.finish(&head.block);
        (commit, payloads)
    }

    /// Commits these events; gives the seq of the first.
    pub(crate) fn commit(&mut self, drafts: Vec<Draft>) -> u64 {
        let commit = self.prepare(drafts);
        self.store.append(commit.clone()).unwrap();
        commit.first
    }

    /// Removes the payloads of these events, in a commit that says so.
    pub(crate) fn remove(&mut self, seqs: &[u64]) {
        let removal = self.store.prepare_removal(seqs, u64::MAX).unwrap();
        assert_eq!((removal.taken(), removal.removes()), (seqs.len(), seqs));
        self.commit_removal(removal);
    }

    /// Commits a removal with the lossy commitments that explain it.
    pub(crate) fn commit_removal(&mut self, removal: Removal) {
        let drafts = removal.removes().iter().map(|seq| self.lost(*seq)).collect();
        let mut commit = self.prepare(drafts);
        commit.removal = Some(removal);
        self.store.append(commit.clone()).unwrap();
    }

    /// The lossy commitment for the payload of this event.
    pub(crate) fn lost(&self, seq: u64) -> Draft {
        let recorded = &self.events[seq as usize - 1];
        let Event::SpanRecorded(e) = &recorded.event else { panic!("event {seq} has no payload") };
        let spans =
            vec![LostSpan { span: e.span.clone(), digest: e.digest, bytes: e.bytes, tokens: 1 }];
        let cause = Cause::Damage { found: "it was removed".into() };
        (
            recorded.session,
            Event::LossyCommitted(LossyCommitted { spans, cause, residue: false }),
            None,
        )
    }

    /// What reading the payload of an event shows now.
    pub(crate) fn read(&self, seq: u64) -> Stored {
        read(&mut self.store.payloads().unwrap(), &self.events, seq)
    }

    /// Opens a session in a commit of its own.
    pub(crate) fn open(&mut self, name: &str) -> SessionNo {
        SessionNo(self.commit(vec![opened(name)]))
    }

    /// Stores a session's state as a shortcut.
    pub(crate) fn snapshot(&self, session: SessionNo) {
        self.store.write_snapshots(&[Snapshot::of(&self.states[&session]).unwrap()]).unwrap();
    }

    /// The events of one session.
    pub(crate) fn of(&self, session: SessionNo) -> Vec<Recorded> {
        self.events.iter().filter(|event| event.session == session).cloned().collect()
    }

    /// The state that a session had at a version.
    pub(crate) fn folded(&self, session: SessionNo, version: u64) -> SessionState {
        let events = self.of(session);
        let mut state = SessionState::open(&events[0]).unwrap();
        events[1..version as usize].iter().for_each(|event| state.evolve(event));
        state
    }
}

/// Two sessions in six commits, events 1 to 12: small payloads, a large one, a snapshot of one
/// session. What the tests of damage and of copies begin with.
pub(crate) fn ordinary(journal: &mut Journal) -> (SessionNo, SessionNo) {
    let (a, b) = (journal.open("a"), journal.open("b"));
    journal.commit(vec![span(a, "a1", b"first"), span(b, "b1", b"second"), span(a, "a2", b"")]);
    journal.commit(vec![span(a, "a3", &noise(3, 300 << 10)), span(b, "b2", b"third")]);
    journal.snapshot(a);
    journal.commit(vec![span(b, "b3", &noise(4, 5_000)), span(b, "b4", &noise(5, 5_000))]);
    journal.commit(vec![
        span(a, "a4", &noise(6, 40_000)),
        span(a, "a5", &noise(7, 40_000)),
        span(b, "b5", b"last"),
    ]);
    (a, b)
}
