//! One commit in the making: decisions become sealed events, payloads and replies to send later.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lacuna_codec::{BlockBuilder, encode_claims};
use lacuna_core::{
    Adopted, Command, CommandStamp, Content, Digest, Event, Imported, Principal, Recorded, Reply,
    SessionKey, SessionNo, SessionState, Timestamp,
};
use lacuna_store::{Commit, ForkRow, Loss, Packing, Removal, Snapshot, StoreError, Unsealed};

use crate::{Callback, Done, EngineError};

/// Answers to send once a commit is durable.
pub(crate) type Replies = Vec<(Callback, Result<Done, EngineError>)>;

/// The commit that the writer is filling.
pub(crate) struct Batch {
    first: u64,
    next_seq: u64,
    at: Timestamp,
    block: BlockBuilder,
    touched: HashMap<SessionNo, u64>,
    opened: Vec<(SessionKey, SessionNo)>,
    forks: Vec<ForkRow>,
    packing: Packing,
    /// Packs that are full.
    full: Vec<Unsealed>,
    payload_bytes: usize,
    /// The lossy commitments, for the tenants' ledgers.
    losses: Vec<Loss>,
    removal: Option<Removal>,
    residues: Vec<(u64, Vec<u8>)>,
    snapshots: Vec<Snapshot>,
    replies: Replies,
}

/// A batch to which nothing more is added.
pub(crate) struct Closed {
    /// All of the commit but its block and its payloads.
    pub(crate) commit: Commit,
    /// Its events; none if it only answers.
    pub(crate) block: Option<BlockBuilder>,
    /// The payloads that have filled no pack.
    pub(crate) last_pack: Option<Unsealed>,
    pub(crate) replies: Replies,
}

/// Who caused events, and under which identity.
pub(crate) struct Author<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) command: Option<&'a CommandStamp>,
    /// The journal that the events come from, if they are taken over, and what they were there.
    pub(crate) adopted: Option<(&'a str, &'a [Adopted])>,
}

impl Author<'_> {
    /// Where an event was recorded first; `left` counts it and those behind it.
    fn origin(&self, left: usize) -> Option<(Principal, Box<Imported>)> {
        let (journal, adopted) = self.adopted?;
        let adopted = adopted.get(adopted.len().checked_sub(left)?)?;
        let there = adopted.recorded();
        let key = match &there.event {
            Event::SessionOpened(opened) => Some(opened.key.clone()),
            _ => None,
        };
        let imported = Imported {
            journal: journal.to_owned(),
            key,
            stored: Arc::clone(adopted.stored()),
            seq: there.seq,
            at: there.at,
            session: there.session,
            command: there.command.clone(),
            previous: there.previous,
            hash: there.hash,
            by: self.principal.clone(),
            passed: there.imported.as_ref().map_or(0, |before| before.passed) + 1,
        };
        Some((there.principal.clone(), Box::new(imported)))
    }
}

impl Batch {
    /// One that begins behind this event, at this time or later.
    pub(crate) fn after(seq: u64, at: Timestamp, packing: Packing) -> Self {
        Self {
            first: seq + 1,
            next_seq: seq + 1,
            at,
            block: BlockBuilder::default(),
            touched: HashMap::new(),
            opened: Vec::new(),
            forks: Vec::new(),
            packing,
            full: Vec::new(),
            payload_bytes: 0,
            losses: Vec::new(),
            removal: None,
            residues: Vec::new(),
            snapshots: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// Takes it out and begins the next one behind it.
    pub(crate) fn take(&mut self) -> Self {
        let next = Self::after(self.next_seq - 1, self.at, self.packing.another());
        std::mem::replace(self, next)
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    pub(crate) fn commands(&self) -> usize {
        self.replies.len()
    }

    pub(crate) fn events(&self) -> u64 {
        self.next_seq - self.first
    }

    /// Whether there is nothing to write and nobody to answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.events() == 0 && self.replies.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.payload_bytes + self.block.len()
    }

    /// Whether a session has events here that are not committed yet.
    pub(crate) fn touches(&self, session: SessionNo) -> bool {
        self.touched.contains_key(&session)
    }

    /// The sessions that have events here.
    pub(crate) fn sessions(&self) -> HashSet<SessionNo> {
        self.touched.keys().copied().collect()
    }

    /// Whether a fork begins here that the store does not know yet.
    pub(crate) fn forks(&self) -> bool {
        !self.forks.is_empty()
    }

    /// Record time: what the clock says, but never before the last event.
    pub(crate) fn tick(&mut self, clock: Timestamp) -> Timestamp {
        self.at = self.at.max(clock);
        self.at
    }

    pub(crate) fn reply(&mut self, callback: Callback, answer: Result<Done, EngineError>) {
        self.replies.push((callback, answer));
    }

    /// Seals the events of one decision and folds them into the session's staged state.
    pub(crate) fn stage(
        &mut self,
        state: &mut SessionState,
        author: &Author<'_>,
        events: Vec<Event>,
    ) -> Result<(), StoreError> {
        let all = events.len();
        for (event, before) in events.into_iter().zip(0..) {
            let left = all - before;
            let place = (state.number, state.version + 1, state.head);
            let recorded = self.seal(place, author, event, left)?;
            if let Event::LossyCommitted(event) = &recorded.event {
                let (tenant, session) = (state.key.tenant.clone(), state.number);
                let spans = event.spans.len() as u64;
                self.losses.push(Loss { tenant, seq: recorded.seq, session, spans });
            }
            state.evolve(&recorded);
        }
        Ok(())
    }

    /// Seals the events that open a session, or that begin it as a fork of `parent`. None if they do
    /// neither.
    pub(crate) fn open(
        &mut self,
        key: &SessionKey,
        author: &Author<'_>,
        events: Vec<Event>,
        parent: Option<&SessionState>,
    ) -> Result<Option<SessionState>, StoreError> {
        let all = events.len();
        let mut events = events.into_iter();
        let Some(first) = events.next() else { return Ok(None) };
        let session = SessionNo(self.next_seq);
        let mut state = match (&first, parent) {
            (Event::SessionForked(_), Some(parent)) => {
                let (version, head) = (parent.version + 1, parent.head);
                let recorded = self.seal((session, version, head), author, first, all)?;
                let row = ForkRow { parent: parent.number, child: session, at: parent.version };
                self.forks.push(row);
                let mut state = parent.clone();
                state.evolve(&recorded);
                state
            }
            _ => {
                let recorded = self.seal((session, 1, Digest::default()), author, first, all)?;
                let Some(state) = SessionState::open(&recorded) else { return Ok(None) };
                state
            }
        };
        self.opened.push((key.clone(), session));
        self.stage(&mut state, author, events.collect())?;
        Ok(Some(state))
    }

    fn seal(
        &mut self,
        (session, version, previous): (SessionNo, u64, Digest),
        author: &Author<'_>,
        event: Event,
        left: usize,
    ) -> Result<Recorded, StoreError> {
        let (principal, imported) = match author.origin(left) {
            Some((principal, imported)) => (principal, Some(imported)),
            None => (author.principal.clone(), None),
        };
        let mut recorded = Recorded {
            seq: self.next_seq,
            version,
            at: self.at,
            session,
            principal,
            command: author.command.cloned(),
            previous,
            hash: Digest::default(),
            event,
            imported,
        };
        self.block.push(&mut recorded)?;
        self.touched.entry(session).or_insert(version);
        self.next_seq += 1;
        Ok(recorded)
    }

    /// Files the contents that a command brought under the seqs of the events that record them.
    pub(crate) fn file_payloads(
        &mut self,
        command: &Command,
        reply: &Reply,
        first_seq: u64,
    ) -> Result<(), StoreError> {
        match (command, reply) {
            (Command::Append { spans }, Reply::Appended { spans: replies, .. }) => {
                for (span, reply) in spans.iter().zip(replies) {
                    if let (Content::Bytes(content), false) = (&span.content, reply.duplicate) {
                        self.file(reply.seq, content);
                    }
                }
            }
            (Command::Summarize(summarize), Reply::Summarized(_)) => {
                let mut payload = summarize.text.clone().into_bytes();
                payload.extend_from_slice(&encode_claims(&summarize.claims)?.1);
                self.file(first_seq, &payload.into());
            }
            (Command::Adopt { events, .. }, Reply::Adopted { events: new, .. }) => {
                let new = &events[events.len().saturating_sub(*new)..];
                for (seq, adopted) in (first_seq..).zip(new) {
                    if let Some(payload) = adopted.payload() {
                        self.file(seq, payload);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn file(&mut self, seq: u64, payload: &Arc<[u8]>) {
        self.payload_bytes += payload.len();
        self.full.extend(self.packing.push(seq, payload));
    }

    /// Packs that have become full since this was asked last.
    pub(crate) fn full(&mut self) -> impl Iterator<Item = Unsealed> {
        self.full.drain(..)
    }

    /// Takes snapshots along.
    pub(crate) fn keep(&mut self, snapshots: Vec<Snapshot>) {
        self.snapshots = snapshots;
    }

    /// Takes payloads out in the same transaction, and keeps residues of some.
    pub(crate) fn remove(&mut self, removal: Removal, residues: Vec<(u64, Vec<u8>)>) {
        self.removal = Some(removal);
        self.residues = residues;
    }

    /// Adds nothing more.
    pub(crate) fn finish(self) -> Closed {
        let commit = Commit {
            first: self.first,
            last: self.next_seq - 1,
            at: self.at,
            block: Vec::new(),
            sessions: self.touched.into_iter().collect(),
            opened: self.opened,
            forks: self.forks,
            payloads: Default::default(),
            losses: self.losses,
            removal: self.removal,
            residues: self.residues,
            snapshots: self.snapshots,
        };
        let block = (!self.block.is_empty()).then_some(self.block);
        Closed { commit, block, last_pack: self.packing.finish(), replies: self.replies }
    }

    /// Those who wait.
    pub(crate) fn into_replies(self) -> Replies {
        self.replies
    }
}
