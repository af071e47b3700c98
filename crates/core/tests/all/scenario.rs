//! Given, when, then: a session that is sent commands, folds what they make, and holds every reply
//! to the laws of [`crate::laws`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lacuna_core::render::Shown;
use lacuna_core::retention::RetentionState;
use lacuna_core::{
    Command, CommandStamp, Content, Context, CopyEvidence, Digest, EntryKind, Event, Examination,
    Examiner, Limits, NewSpan, Outcome, Principal, Prune, PruneReply, Recorded, Refusal, Reply,
    SessionNo, SessionState, SpanId, Storage, StoredClaims, Timestamp, decide,
};

pub(crate) use crate::given::*;
use crate::laws;

/// Not 1, so that a version in the place of a `seq` is noticed.
const FIRST_SEQ: u64 = 41;

/// One session with its journal.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) state: Option<SessionState>,
    pub(crate) log: Vec<Recorded>,
    /// What the payload table would hold.
    pub(crate) contents: BTreeMap<SpanId, Arc<[u8]>>,
    /// Evidence that differs from what the span's storage suggests.
    pub(crate) evidence: HashMap<SpanId, CopyEvidence>,
    pub(crate) expected_version: Option<u64>,
    pub(crate) limits: Limits,
    /// The tenant's retention.
    pub(crate) retention: Option<Arc<RetentionState>>,
    /// Who sends the next command.
    pub(crate) principal: Principal,
    next_seq: u64,
    now: u64,
}

impl Scenario {
    /// Where nothing was ever opened.
    pub(crate) fn nothing() -> Self {
        Self {
            state: None,
            log: Vec::new(),
            contents: BTreeMap::new(),
            evidence: HashMap::new(),
            expected_version: None,
            limits: Limits::default(),
            retention: None,
            principal: "worker-1".parse().unwrap(),
            next_seq: FIRST_SEQ,
            now: 1_796_018_400_000,
        }
    }

    /// A session with a window of 10,000 tokens, of which 1,500 are kept in reserve.
    pub(crate) fn open() -> Self {
        let mut scenario = Self::nothing();
        scenario.send(open_command()).unwrap();
        scenario
    }

    /// An open session that holds these spans.
    pub(crate) fn given(spans: Vec<NewSpan>) -> Self {
        let mut scenario = Self::open();
        scenario.append(spans);
        scenario
    }

    pub(crate) fn state(&self) -> &SessionState {
        self.state.as_ref().expect("the session is open")
    }

    /// Record time of the next command.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.now + 1_000)
    }

    /// What a decision on this command may know.
    pub(crate) fn context(&self, command: &Command) -> Context {
        let number = self.log.len();
        Context {
            now: self.now(),
            next_seq: self.next_seq,
            session: key(),
            principal: self.principal.clone(),
            command: Some(CommandStamp {
                id: format!("c{number}").parse().unwrap(),
                request: [7; 16],
            }),
            expected_version: self.expected_version,
            limits: self.limits.clone(),
            evidence: command
                .needs_evidence()
                .iter()
                .filter_map(|id| Some((id.clone(), self.copy_of(id)?)))
                .collect(),
            examination: self.examine(command),
            lost_since: Vec::new(),
            retention: self.retention.clone(),
        }
    }

    /// What reading the contents shows about a summary.
    pub(crate) fn examine(&self, command: &Command) -> Option<Examination> {
        let (Command::Summarize(summarize), Some(state)) = (command, &self.state) else {
            return None;
        };
        let mut examiner = Examiner::new(state, summarize);
        for index in examiner.wanted().to_vec() {
            let id = &state.span(index).id;
            let found = self.copy_of(id).unwrap().existence;
            let content = found.map(|()| &*self.contents[id]);
            examiner.see(state, index, content);
        }
        // Any name of the claims will do that differs with them.
        let claims = format!("{:?}", summarize.claims);
        let stored = StoredClaims {
            count: summarize.claims.len() as u32,
            bytes: if summarize.claims.is_empty() { 0 } else { claims.len() as u64 },
            digest: Digest::of(claims.as_bytes()),
        };
        Some(examiner.finish(stored))
    }

    fn copy_of(&self, id: &SpanId) -> Option<CopyEvidence> {
        let span = self.state.as_ref()?.find(id)?;
        Some(match (self.evidence.get(id), &span.storage) {
            (Some(evidence), _) => evidence.clone(),
            (None, Storage::Journal) => CopyEvidence::verified(),
            (None, Storage::Withheld { .. }) => CopyEvidence::missing("withheld"),
            (None, Storage::External { .. }) => CopyEvidence {
                provenance: Err("no such store".into()),
                ..CopyEvidence::missing("no such store")
            },
        })
    }

    /// Decides a command, folds its events and checks every law; a refusal changes nothing.
    pub(crate) fn send(&mut self, command: Command) -> Result<Reply, Refusal> {
        let context = self.context(&command);
        let before = self.state.clone();
        let decision = decide(before.as_ref(), &command, &context)?;
        self.now = context.now.0;
        let from = self.log.len();
        for event in decision.events {
            self.fold(event, &context);
        }
        self.keep(&command, &decision.reply);
        // Other sessions write to the journal too.
        self.next_seq += 3;
        laws::hold(self, before.as_ref(), &command, &context, &decision.reply, from);
        Ok(decision.reply)
    }

    fn fold(&mut self, event: Event, context: &Context) {
        let previous = self.log.last().map(|last| last.hash).unwrap_or_default();
        let recorded = Recorded {
            seq: self.next_seq,
            version: self.log.len() as u64 + 1,
            at: context.now,
            session: SessionNo(FIRST_SEQ),
            principal: context.principal.clone(),
            command: context.command.clone(),
            previous,
            hash: Digest::of(&[&previous.0[..], event.kind().as_bytes()].concat()),
            event,
            imported: None,
        };
        self.next_seq += 1;
        match &mut self.state {
            Some(state) => state.evolve(&recorded),
            None => self.state = SessionState::open(&recorded),
        }
        self.log.push(recorded);
    }

    fn keep(&mut self, command: &Command, reply: &Reply) {
        match (command, reply) {
            (Command::Append { spans }, Reply::Appended { spans: replies, .. }) => {
                for (span, reply) in spans.iter().zip(replies) {
                    if let (Content::Bytes(bytes), false) = (&span.content, reply.duplicate) {
                        self.contents.insert(reply.id.clone(), bytes.clone());
                    }
                }
            }
            (Command::Summarize(summarize), Reply::Summarized(reply)) => {
                self.contents.insert(reply.summary.clone(), summarize.text.as_bytes().into());
            }
            _ => {}
        }
    }

    pub(crate) fn append(&mut self, spans: Vec<NewSpan>) -> Reply {
        self.send(Command::Append { spans }).unwrap()
    }

    pub(crate) fn prune(&mut self, prune: Prune) -> PruneReply {
        match self.send(Command::Prune(prune)).unwrap() {
            Reply::Pruned(reply) => *reply,
            other => panic!("a prune was answered by {other:?}"),
        }
    }

    /// Records a summary of 25 tokens.
    pub(crate) fn summarize(&mut self, id: &str, covers: &[&str]) {
        self.send(Command::Summarize(summary(id, covers))).unwrap();
    }

    pub(crate) fn restore(&mut self, spans: &[&str]) -> Result<Reply, Refusal> {
        self.send(Command::Restore { spans: ids(spans) })
    }

    /// Lets the copies of these spans be damaged, and the runtime report it.
    pub(crate) fn lose(&mut self, spans: &[&str]) -> Reply {
        for span in spans {
            self.evidence.insert(id(span), CopyEvidence::missing("its stored copy is missing"));
        }
        self.send(Command::ReportDamage { spans: ids(spans), ended: false }).unwrap()
    }

    /// The window in one line: `a stub(b c) summary(S: d e) tombstone(f)`.
    pub(crate) fn window(&self) -> String {
        let state = self.state();
        let entries = state.entries().map(|entry| {
            let names: Vec<&str> =
                entry.spans.iter().map(|&index| state.span(index).id.as_str()).collect();
            let names = names.join(" ");
            match entry.kind {
                EntryKind::Span => names,
                EntryKind::Stub => format!("stub({names})"),
                EntryKind::Tombstone => format!("tombstone({names})"),
                EntryKind::Summary => {
                    let replaced = state.replaced_by(state.span(entry.spans[0]));
                    let replaced: Vec<&str> = replaced.iter().map(SpanId::as_str).collect();
                    format!("summary({names}: {})", replaced.join(" "))
                }
            }
        });
        entries.collect::<Vec<_>>().join(" ")
    }

    /// The window with contents, as a renderer gets it; damaged copies cannot be shown.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let state = self.state();
        let shown = state.entries().map(|entry| {
            let whole = matches!(entry.kind, EntryKind::Span | EntryKind::Summary);
            let span = state.span(entry.spans[0]);
            let readable = self.evidence.get(&span.id).is_none_or(|e| e.existence.is_ok());
            let content = self.contents.get(&span.id).filter(|_| whole && readable).cloned();
            Shown { entry, content, unreadable: None, lost_since: None }
        });
        shown.collect()
    }

    pub(crate) fn outcome(&self, span: &str) -> Outcome {
        let state = self.state();
        state.find(&id(span)).map_or(Outcome::NeverRecorded, |span| state.outcome(span))
    }

    /// The kinds of all events so far, from this version on.
    pub(crate) fn kinds(&self, from_version: usize) -> Vec<&'static str> {
        self.log[from_version - 1..].iter().map(|recorded| recorded.event.kind()).collect()
    }

    /// The ledger as `span:cause`.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let state = self.state();
        let entry = |entry: &lacuna_core::Tombstone| {
            let cause = match &entry.cause {
                lacuna_core::Cause::Directive { directive, by } => format!("{directive} {by}"),
                lacuna_core::Cause::Damage { found } => format!("damage {found}"),
                lacuna_core::Cause::Retention { run, policy, rule } => {
                    format!("run {run} policy {policy} {rule}")
                }
                lacuna_core::Cause::Erasure { by, reason } => format!("erased {by} {reason}"),
            };
            format!("{}: {cause}", state.span(entry.span).id)
        };
        state.ledger().iter().map(entry).collect()
    }
}
