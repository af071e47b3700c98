//! A journal in a temporary folder, and short ways to command it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};

use lacuna_core::{
    Command, CommandStamp, Content, Contract, Digest, NewSpan, Open, Origin, Principal, Prune,
    PruneMode, PruneReply, Reply, Role, SessionKey, SpanId, SpanKind, Summarize,
};
use lacuna_engine::{Done, EngineError, Journal, Options, Request};
use tempfile::TempDir;

pub(crate) struct Rig {
    pub(crate) folder: TempDir,
    pub(crate) journal: Journal,
    pub(crate) gate: Gate,
}

/// Where the writer stops once when it asks for the time: it says that it is there, and waits for word.
pub(crate) type Gate = Arc<Mutex<Option<(SyncSender<()>, Receiver<()>)>>>;

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let gate = Gate::default();
        let (at_gate, told) = (Arc::clone(&gate), Arc::clone(&options.clock));
        let clock = move || {
            let writer = std::thread::current().name() == Some("lacuna-writer");
            let stops = writer.then(|| at_gate.lock().unwrap().take()).flatten();
            if let Some((there, word)) = stops {
                there.send(()).unwrap();
                word.recv().unwrap();
            }
            told()
        };
        let options = Options { clock: Arc::new(clock), ..options };
        let journal = Journal::open(folder.path(), options).unwrap();
        Self { folder, journal, gate }
    }

    /// A journal that was opened elsewhere.
    pub(crate) fn of(folder: TempDir, journal: Journal) -> Self {
        Self { folder, journal, gate: Gate::default() }
    }

    /// Closes the journal cleanly and opens it again.
    pub(crate) fn reopened(self) -> Self {
        self.reopened_with(Options::default())
    }

    /// The same with other options.
    pub(crate) fn reopened_with(self, options: Options) -> Self {
        let Self { folder, journal, .. } = self;
        journal.close().unwrap();
        drop(journal);
        let journal = Journal::open(folder.path(), options).unwrap();
        Self::of(folder, journal)
    }

    /// Opens what a `kill -9` would leave now.
    pub(crate) fn killed(self) -> Self {
        let folder = as_killed(self.path());
        let journal = Journal::open(folder.path(), Options::default()).unwrap();
        Self::of(folder, journal)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn send(&self, session: &str, command: Command) -> Result<Done, EngineError> {
        self.journal.execute(request(session, None, command))
    }

    pub(crate) fn opened(&self, session: &str) {
        let reply = self.send(session, open()).unwrap().reply;
        assert!(matches!(reply, Reply::Opened { version: 1, duplicate: false, .. }), "{reply:?}");
    }

    pub(crate) fn append(&self, session: &str, spans: &[(&str, &str)]) -> Done {
        self.send(session, append(spans)).unwrap()
    }

    pub(crate) fn prune(&self, session: &str, spans: &[&str], accept_lossy: bool) -> PruneReply {
        match self.send(session, prune(spans, accept_lossy)).unwrap().reply {
            Reply::Pruned(reply) => *reply,
            other => panic!("{other:?}"),
        }
    }
}

/// What is in a journal's folder now, as it would be found if the process ended here. Nothing else may be
/// on its way.
pub(crate) fn as_killed(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    to
}

pub(crate) fn key(session: &str) -> SessionKey {
    SessionKey { tenant: "t".parse().unwrap(), session: session.parse().unwrap() }
}

pub(crate) fn principal() -> Principal {
    "tester".parse().unwrap()
}

pub(crate) fn request(session: &str, command_id: Option<(&str, u8)>, command: Command) -> Request {
    Request {
        session: key(session),
        principal: principal(),
        command_id: command_id
            .map(|(id, request)| CommandStamp { id: id.parse().unwrap(), request: [request; 16] }),
        expected_version: None,
        command,
    }
}

pub(crate) fn open() -> Command {
    Command::Open(Open {
        window_tokens: 100_000,
        reserve_ppm: 150_000,
        contract: Contract::Record,
        labels: BTreeMap::new(),
    })
}

pub(crate) fn span(id: Option<&str>, text: &str) -> NewSpan {
    NewSpan {
        id: id.map(|id| id.parse().unwrap()),
        role: Role::User,
        origin: Origin::User,
        kind: SpanKind::Message,
        content: Content::Bytes(Arc::from(text.as_bytes())),
        digest: Digest::of(text.as_bytes()),
        media_type: "text/plain".into(),
        tokens: None,
        hedged: false,
        pinned: false,
        turn: None,
        answers: None,
        contradicts: Vec::new(),
        supersedes: None,
        labels: BTreeMap::new(),
        source: None,
        in_window: true,
    }
}

pub(crate) fn append(spans: &[(&str, &str)]) -> Command {
    Command::Append { spans: spans.iter().map(|(id, text)| span(Some(id), text)).collect() }
}

pub(crate) fn prune(spans: &[&str], accept_lossy: bool) -> Command {
    Command::Prune(Prune {
        spans: ids(spans),
        mode: PruneMode::Drop,
        replace_with: None,
        accept_lossy,
        min_durability_ms: None,
        reason: None,
        dry_run: false,
    })
}

pub(crate) fn summarize(id: &str, covers: &[&str], text: &str) -> Command {
    Command::Summarize(Summarize {
        id: Some(id.parse().unwrap()),
        covers: ids(covers),
        text: text.into(),
        digest: Digest::of(text.as_bytes()),
        claims: Vec::new(),
    })
}

pub(crate) fn ids(texts: &[&str]) -> Vec<SpanId> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}
