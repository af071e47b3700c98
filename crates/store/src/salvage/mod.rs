//! Salvage: what can still be read in a journal's files, whatever has become of them. Nothing is asked of the
//! database: rows are found by what they are, and each verifies by itself, so that damage costs what it hit
//! and no more.

mod carve;
mod chain;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use lacuna_codec::{Block, LogFront, Pack, block_hash};
use lacuna_core::{
    Cause, Digest, Event, Recorded, SessionKey, SessionNo, SessionState, SpanId, Storage,
    StoredClaims,
};

use self::carve::Carved;
use self::chain::{Chain, Found};
use crate::StoreError;
use crate::folder::Folder;
use crate::keys::Keys;
use crate::log::{self, LogId};
use crate::sessions::fold;
use crate::standing::meta_in;

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Whether in the log; else in the database's file.
    log: bool,
    at: u64,
    length: u32,
}

/// What is known about the end of a damaged journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing that was acknowledged is missing behind the last event that was found, unless a page was lost there.
    Known,
    /// The log that the database needs is not there, or not whole: what it alone had is missing.
    LogMissing,
    /// The database cannot say whether it needs a log, so nobody can tell what is missing.
    Unknown,
}

/// What can still be read in a journal's folder. The folder is not changed.
#[derive(Debug)]
pub struct Remains {
    journal: String,
    end: End,
    database: Option<File>,
    log: Option<File>,
    keys: Option<Keys>,
    chain: Chain,
    sessions: BTreeMap<SessionNo, Session>,
    /// Spans of which any event that was found says that their content was removed, or lost.
    removed: HashSet<(SessionNo, SpanId)>,
    /// Packs by the first seq in them, each with the last one.
    packs: BTreeMap<u64, Vec<(u64, Place)>>,
    chunks: BTreeMap<(u64, u32), Vec<Place>>,
    /// How far a pack reaches from its first seq on, at the most.
    reach: u64,
    /// The pack that was read last: neighbours share one.
    last: RefCell<Option<(Place, Pack)>>,
}

#[derive(Debug, Default)]
struct Session {
    key: Option<SessionKey>,
    /// Where it begins, for a fork.
    parent: Option<(SessionNo, u64)>,
    /// The blocks with events of it, by their places in the chain.
    blocks: Vec<usize>,
}

/// An event of a session as it was found.
#[derive(Debug)]
pub struct FoundEvent {
    /// What it says.
    pub recorded: Recorded,
    /// Its stored form.
    pub stored: Arc<[u8]>,
    /// Whether it follows those before it, from the session's first one on.
    pub follows: bool,
}

impl Remains {
    /// Looks through the files in a journal's folder. `progress` gets the bytes looked through and those
    /// that there are. Memory grows with the number of blocks and packs, by about 200 bytes for each.
    pub fn in_folder(path: &Path, mut progress: impl FnMut(u64, u64)) -> Result<Self, StoreError> {
        let folder = Folder::of_remains(path)?;
        let (database, length) = open(&folder.journal())?;
        if let Some(file) = &database
            && file.try_lock_shared().is_err()
        {
            return Err(StoreError::InUse(path.to_owned()));
        }
        let (mut log, mut log_length) = open(&folder.log())?;
        let io = |what: &Path| {
            let doing = format!("reading {}", what.display());
            move |source| StoreError::Io { doing, source }
        };
        let fronts = match &log {
            Some(file) => fronts(file, log_length).map_err(io(&folder.log()))?,
            None => Vec::new(),
        };
        // Whatever the database can still say for itself counts first.
        let said = meta_in(&folder.journal()).ok();
        let known = said.as_ref().map(|meta| &meta.journal);
        let known = known.or_else(|| fronts.first().map(|(journal, _)| journal)).cloned();
        // Without keys no content can be read; events can.
        let (keys, journal) = match (Keys::of_folder(&folder, known.as_deref()), known) {
            (Ok((keys, journal)), _) => (Some(keys), journal),
            (Err(lost @ StoreError::KeysLost { .. }), Some(journal)) => {
                tracing::warn!(%lost, "no content can be salvaged");
                (None, journal)
            }
            // Or nothing says which journal it is.
            (Err(error), _) => return Err(error),
        };
        let end = match &said {
            None => End::Unknown,
            Some(meta) => match meta.log {
                Some(id) if !is_there(&fronts, &journal, id, log_length) => End::LogMissing,
                _ => End::Known,
            },
        };
        if said.is_some_and(|meta| !meta.needs_what_lies_there()) {
            // It is of another time, or has nothing that the database has not.
            (log, log_length) = (None, 0);
        }
        let (mut gathered, total) = (Gathered::default(), length + log_length);
        if let Some(file) = &database {
            let take = |at, found: Carved<'_>| gathered.take(false, at, found);
            carve::database(file, length, take, |at| progress(at, total))
                .map_err(io(&folder.journal()))?;
        }
        if let Some(file) = &log {
            let take = |at, found: Carved<'_>| gathered.take(true, at, found);
            carve::log(file, log_length, &journal, take).map_err(io(&folder.log()))?;
        }
        progress(total, total);
        let Gathered { blocks, packs, chunks, reach, .. } = gathered;
        let mut remains = Self {
            journal,
            end,
            database,
            log,
            keys,
            chain: Chain::of(blocks),
            sessions: BTreeMap::new(),
            removed: HashSet::new(),
            packs,
            chunks,
            reach,
            last: RefCell::default(),
        };
        remains.index()?;
        Ok(remains)
    }

    /// The journal's id.
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// What is known about its end.
    pub fn end(&self) -> End {
        self.end
    }

    /// First and last seq of events that are nowhere, behind the last one that was found excepted.
    pub fn gaps(&self) -> &[(u64, u64)] {
        &self.chain.gaps
    }

    /// The seq of the last event that was found; 0 if none was.
    pub fn last(&self) -> u64 {
        self.chain.blocks.last().map_or(0, |block| block.end - 1)
    }

    /// The sessions with events that were found, a fork behind its parent, and their names where the event
    /// that gives one was found.
    pub fn sessions(&self) -> Vec<(SessionNo, Option<SessionKey>)> {
        self.sessions.iter().map(|(number, session)| (*number, session.key.clone())).collect()
    }

    /// Hands out a session's events in their order, of a fork also those that it shares with its parent;
    /// gives the state after the last one that follows those before it.
    pub fn events<E: From<StoreError>>(
        &self,
        session: SessionNo,
        mut take: impl FnMut(FoundEvent) -> Result<(), E>,
    ) -> Result<Option<SessionState>, E> {
        let mut state = None;
        let mut broken = false;
        for (number, upto) in self.lineage(session) {
            for &block in self.sessions.get(&number).map_or(&[][..], |found| &found.blocks) {
                let block = self.block(block)?;
                for (recorded, stored) in block.events().zip(block.stored_events()) {
                    let (Ok(recorded), Ok(stored)) = (recorded, stored) else { continue };
                    if recorded.session != number || recorded.version > upto {
                        continue;
                    }
                    broken = broken || fold(&mut state, &recorded).is_err();
                    // What it shares with its parent is told there.
                    if number == session || !broken {
                        take(FoundEvent { recorded, stored: stored.into(), follows: !broken })?;
                    }
                }
            }
        }
        Ok(state)
    }

    /// The sessions whose events a session consists of, from the first on, each with its last version.
    fn lineage(&self, session: SessionNo) -> Vec<(SessionNo, u64)> {
        let mut lineage = vec![(session, u64::MAX)];
        let mut known = HashSet::from([session]);
        let mut at = session;
        while let Some((parent, upto)) = self.sessions.get(&at).and_then(|found| found.parent) {
            // Numbers are seqs, so a parent has a smaller one; but who knows what was found.
            if !known.insert(parent) {
                break;
            }
            lineage.push((parent, upto.min(lineage.last().map_or(u64::MAX, |(_, upto)| *upto))));
            at = parent;
        }
        lineage.reverse();
        lineage
    }

    /// What an event committed to: a span's content, or a summary's text and claims. None if it is not there
    /// whole, if the event commits to nothing in the journal, or if another event says that it was removed: a
    /// removal that was cut off may have left the key.
    pub fn content(&self, recorded: &Recorded) -> Result<Option<Arc<[u8]>>, StoreError> {
        let none = StoredClaims { count: 0, bytes: 0, digest: Digest::default() };
        let (span, bytes, digest, claims) = match &recorded.event {
            Event::SpanRecorded(e) if e.storage == Storage::Journal => {
                (&e.span, e.bytes, e.digest, &none)
            }
            Event::SummaryRecorded(e) => (&e.span, e.bytes, e.digest, &e.claims),
            _ => return Ok(None),
        };
        if self.removed.contains(&(recorded.session, span.clone())) {
            return Ok(None);
        }
        let whole = |content: &[u8]| {
            let text = usize::try_from(bytes).unwrap_or(usize::MAX);
            content.len() as u64 == bytes.saturating_add(claims.bytes)
                && Digest::of(&content[..text]) == digest
                && (claims.bytes == 0 || Digest::of(&content[text..]) == claims.digest)
        };
        let seq = recorded.seq;
        let near = self.packs.range(seq.saturating_sub(self.reach)..=seq);
        let packs: Vec<Place> = near
            .flat_map(|(_, packs)| packs)
            .filter(|(last, _)| *last >= seq)
            .map(|(_, place)| *place)
            .collect();
        for place in packs {
            if let Some(content) = self.packed(place, seq)?.filter(|found| whole(found)) {
                return Ok(Some(content));
            }
        }
        let mut content = Vec::new();
        for part in 0.. {
            let Some(places) = self.chunks.get(&(seq, part)).cloned() else { break };
            for place in places {
                if let Some(found) = self.packed(place, seq)? {
                    content.extend_from_slice(&found);
                    break;
                }
            }
        }
        Ok((!content.is_empty() && whole(&content)).then(|| content.into()))
    }

    /// What the pack there holds for an event.
    fn packed(&self, place: Place, seq: u64) -> Result<Option<Arc<[u8]>>, StoreError> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(last, _)| *last != place) {
            *last = None;
            let Some(keys) = &self.keys else { return Ok(None) };
            // One that does not open is damaged, or its key is gone: it is not here, and others may be.
            let pack = keys.open_pack(&self.read(place)?);
            let Ok(Some(pack)) = pack else { return Ok(None) };
            *last = Some((place, pack));
        }
        let pack = last.as_ref().map(|(_, pack)| pack);
        Ok(pack.and_then(|pack| pack.get(seq)).map(Into::into))
    }

    fn block(&self, at: usize) -> Result<Block, StoreError> {
        Ok(Block::open(&self.read(self.chain.blocks[at].place)?)?)
    }

    fn read(&self, place: Place) -> Result<Vec<u8>, StoreError> {
        let file = if place.log { &self.log } else { &self.database };
        let file = file.as_ref().expect("it was found there");
        let mut stored = vec![0; place.length as usize];
        let doing = || format!("reading {} bytes at {} once more", place.length, place.at);
        file.read_exact_at(&mut stored, place.at)
            .map_err(|source| StoreError::Io { doing: doing(), source })?;
        Ok(stored)
    }

    /// Finds out which session each event is of.
    fn index(&mut self) -> Result<(), StoreError> {
        let mut sessions = BTreeMap::<SessionNo, Session>::new();
        for at in 0..self.chain.blocks.len() {
            // An event that is none is of no session.
            for recorded in self.block(at)?.events().flatten() {
                let session = sessions.entry(recorded.session).or_default();
                if session.blocks.last() != Some(&at) {
                    session.blocks.push(at);
                }
                match &recorded.event {
                    Event::SessionOpened(opened) if session.key.is_none() => {
                        session.key = Some(opened.key.clone());
                    }
                    Event::SessionForked(forked) if recorded.session.0 == recorded.seq => {
                        session.key = Some(forked.key.clone());
                        session.parent = Some((forked.parent_number, forked.at));
                    }
                    // A window that gave a span up says nothing about its content.
                    Event::LossyCommitted(e) if !matches!(e.cause, Cause::Directive { .. }) => {
                        let spans =
                            e.spans.iter().map(|lost| (recorded.session, lost.span.clone()));
                        self.removed.extend(spans);
                    }
                    _ => {}
                }
            }
        }
        self.sessions = sessions;
        Ok(())
    }
}

/// What was found so far, each thing once: the database copies rows when their neighbours change.
#[derive(Default)]
struct Gathered {
    /// Also by what part it is: a leaf can be taken for one with the other keys, and a pack for a part.
    known: HashSet<(Digest, Option<u32>)>,
    blocks: Vec<Found>,
    packs: BTreeMap<u64, Vec<(u64, Place)>>,
    chunks: BTreeMap<(u64, u32), Vec<Place>>,
    reach: u64,
}

impl Gathered {
    fn take(&mut self, log: bool, at: u64, found: Carved<'_>) {
        let (Carved::Block(_, stored) | Carved::Pack(_, stored) | Carved::Chunk(_, _, stored)) =
            &found;
        let Ok(length) = u32::try_from(stored.len()) else { return };
        let (place, hash) = (Place { log, at, length }, block_hash(stored));
        let part = match &found {
            Carved::Chunk(_, part, _) => Some(*part),
            Carved::Block(..) | Carved::Pack(..) => None,
        };
        if !self.known.insert((hash, part)) {
            return;
        }
        match found {
            Carved::Block(block, _) => {
                let (first, end, previous) = (block.first, block.end(), block.previous);
                self.blocks.push(Found { first, end, hash, previous, place });
            }
            Carved::Pack(pack, _) => {
                let Some(first) = pack.seqs().min() else { return };
                let last = pack.seqs().max().unwrap_or(first);
                self.reach = self.reach.max(last - first);
                self.packs.entry(first).or_default().push((last, place));
            }
            Carved::Chunk(pack, part, _) => {
                if let Some(seq) = pack.seqs().next() {
                    self.chunks.entry((seq, part)).or_default().push(place);
                }
            }
        }
    }
}

/// The fronts of a log that are whole, each with the journal that it was written for.
fn fronts(log: &File, length: u64) -> std::io::Result<Vec<(String, LogFront)>> {
    let mut fronts = Vec::new();
    for page in 0..log::FRONTS.min(length / log::PAGE) {
        let mut bytes = [0; LogFront::SIZE];
        log.read_exact_at(&mut bytes, page * log::PAGE)?;
        if let Some(journal) = log::written_for(&bytes)
            && let Some(front) = LogFront::read(&bytes, &journal)
        {
            fronts.push((journal, front));
        }
    }
    Ok(fronts)
}

/// Whether this is the whole log of this id.
fn is_there(fronts: &[(String, LogFront)], journal: &str, id: LogId, length: u64) -> bool {
    let ours = fronts.iter().filter(|(of, front)| of == journal && front.id == id);
    ours.map(|(_, front)| front.length).max().is_some_and(|least| length >= least)
}

fn open(path: &Path) -> Result<(Option<File>, u64), StoreError> {
    let failed = |source| StoreError::Io { doing: format!("opening {}", path.display()), source };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((None, 0)),
        Err(error) => Err(failed(error)),
        // Opening a pipe waits for its other end.
        Ok(meta) if !meta.is_file() => Err(failed(std::io::Error::other("it is no regular file"))),
        Ok(meta) => Ok((Some(File::open(path).map_err(failed)?), meta.len())),
    }
}
