//! Sessions under the contract, and summaries that keep or break it: what several modules use.

use std::sync::mpsc::{SyncSender, sync_channel};

use lacuna_codec::PackBuilder;
use lacuna_core::{
    Audit, AuditReply, Claim, ClaimOrigin, ClaimSource, Command, Contract, Digest, FindingCode,
    NewSpan, Purpose, Reply, Summarize, SummaryReply,
};
use lacuna_engine::{Done, EngineError, Journal, Options, Request};
use lacuna_store::Keys;
use redb::{Database, ReadableTable as _, TableDefinition};

use crate::rig::{Rig, ids, key, open, principal, request, span};

pub(crate) type Answer = Result<Done, EngineError>;

/// Opens a session in which findings refuse, with a window that holds anything.
pub(crate) fn enforced(rig: &Rig, session: &str) {
    let Command::Open(mut open) = open() else { panic!("it opens") };
    open.contract = Contract::Enforce;
    open.window_tokens = 100_000_000;
    rig.send(session, Command::Open(open)).unwrap();
}

/// A span of the user with this many bytes of prose in front of some words.
pub(crate) fn large(id: &str, bytes: usize, words: &str) -> NewSpan {
    let prose = "so it went on and on. ".repeat(bytes / 22 + 1);
    span(Some(id), &format!("{prose}{words}"))
}

pub(crate) fn claim(text: &str, origin: ClaimOrigin, source: &str, quote: Option<&str>) -> Claim {
    let source = ClaimSource { span: source.parse().unwrap(), quote: quote.map(Into::into) };
    Claim { text: text.into(), origin, sources: vec![source] }
}

pub(crate) fn summary(id: &str, covers: &[&str], text: &str, claims: Vec<Claim>) -> Command {
    Command::Summarize(Summarize {
        id: Some(id.parse().unwrap()),
        covers: ids(covers),
        text: text.into(),
        digest: Digest::of(text.as_bytes()),
        claims,
    })
}

/// A summary of `a` that is true to what [`large`] puts there.
pub(crate) fn honest(id: &str, source: &str) -> Command {
    let text = "The port is 5433.";
    summary(id, &[source], text, vec![claim(text, ClaimOrigin::UserSaid, source, None)])
}

pub(crate) fn summarized(answer: Answer) -> SummaryReply {
    match answer.unwrap().reply {
        Reply::Summarized(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn codes(reply: &SummaryReply) -> Vec<FindingCode> {
    reply.findings.iter().map(|(finding, _)| finding.code).collect()
}

pub(crate) fn by(who: &str, session: &str, command: Command) -> Request {
    Request { principal: who.parse().unwrap(), ..request(session, None, command) }
}

/// Somebody reads these spans for an audit and gives a verdict.
pub(crate) fn audited(
    rig: &Rig,
    who: &str,
    summary: &str,
    read: &[&str],
    pass: bool,
) -> AuditReply {
    for id in ids(read) {
        rig.journal
            .record_read(&key("s"), &who.parse().unwrap(), None, id, Purpose::Audit)
            .unwrap();
    }
    let audit = Audit { summary: summary.parse().unwrap(), pass, notes: Vec::new() };
    match rig.journal.execute(by(who, "s", Command::Audit(audit))).unwrap().reply {
        Reply::Audited(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

/// Sends a command without waiting; what it is answered comes out of the receiver.
pub(crate) fn submit(rig: &Rig, request: Request, answers: &SyncSender<Answer>) {
    let answers = answers.clone();
    rig.journal.submit(request, Box::new(move |answer| answers.send(answer).unwrap())).unwrap();
}

/// Holds the writer up until it is let go: what is sent meanwhile waits together.
pub(crate) struct Held(SyncSender<()>);

impl Held {
    /// Another session's opening, for which the writer asks the time and is told nothing.
    pub(crate) fn up(rig: &Rig) -> Self {
        let session = format!("held-{}", rig.journal.head().seq);
        let (entered, inside) = sync_channel(1);
        let (release, gate) = sync_channel::<()>(1);
        *rig.gate.lock().unwrap() = Some((entered, gate));
        let callback = Box::new(|answer: Answer| assert!(answer.is_ok()));
        rig.journal.submit(request(&session, None, open()), callback).unwrap();
        inside.recv().unwrap();
        Self(release)
    }

    /// Waits until this many messages stand before the writer.
    pub(crate) fn until_waiting(&self, rig: &Rig, messages: u64) {
        while rig.journal.stats().unwrap().waiting < messages {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    pub(crate) fn let_go(self) {
        self.0.send(()).unwrap();
    }
}

const PAYLOADS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");
const CHUNKS: TableDefinition<'static, (u64, u32), &[u8]> = TableDefinition::new("chunks");

/// Flips a bit at the end of the stored copies of these spans and opens the journal again.
pub(crate) fn damaged(rig: Rig, session: &str, spans: &[&str]) -> Rig {
    let state = rig.journal.state(&key(session)).unwrap();
    let seqs: Vec<u64> = ids(spans).iter().map(|id| state.find(id).unwrap().seq).collect();
    let Rig { folder, journal, .. } = rig;
    journal.close().unwrap();
    drop(journal);
    let keys = Keys::in_folder(folder.path()).unwrap();
    let db = Database::open(folder.path().join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let mut packs = write.open_table(PAYLOADS).unwrap();
        let mut chunks = write.open_table(CHUNKS).unwrap();
        for seq in seqs {
            let first = chunks.get((seq, 0)).unwrap().map(|stored| stored.value().to_vec());
            match first {
                Some(stored) => {
                    drop(chunks.insert((seq, 0), flipped(&keys, &stored, seq).as_slice()))
                }
                None => {
                    let (base, stored) = {
                        let row = packs.range(..=seq).unwrap().next_back().unwrap().unwrap();
                        (row.0.value(), row.1.value().to_vec())
                    };
                    packs.insert(base, flipped(&keys, &stored, seq).as_slice()).unwrap();
                }
            }
        }
    }
    write.commit().unwrap();
    drop(db);
    let journal = Journal::open(folder.path(), Options::default()).unwrap();
    Rig::of(folder, journal)
}

/// The same pack with one bit of one payload changed. It is plain, as the first release wrote them:
/// one that is encrypted shows any change before a content is looked at.
pub(crate) fn flipped(keys: &Keys, stored: &[u8], seq: u64) -> Vec<u8> {
    let pack = keys.open_pack(stored).unwrap().expect("its key is there");
    let mut builder = PackBuilder::default();
    for other in pack.seqs() {
        let mut payload = pack.get(other).unwrap().to_vec();
        if other == seq {
            *payload.last_mut().unwrap() ^= 1;
        }
        builder.push(other, &payload);
    }
    builder.finish().1
}

/// The state of a session says what its events say, and what was stored is whole.
pub(crate) fn check_folded(rig: &Rig, session: &str) {
    let events = rig.journal.history(&key(session), 1, usize::MAX).unwrap();
    let mut folded = lacuna_core::SessionState::open(&events[0]).unwrap();
    events[1..].iter().for_each(|event| folded.evolve(event));
    assert_eq!(folded, *rig.journal.state(&key(session)).unwrap());
    assert_eq!(events[0].principal, principal());
}
