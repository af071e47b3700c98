//! The events of a session, found by version, forwards and backwards.

use lacuna_client::EventBody;
use lacuna_wire::session::{AtBody, DiffReply, DiffRequest, HistoryReply, HistoryRequest};

use super::super::Context;
use crate::args;
use crate::failure::Failure;

/// Events read at a time.
const PAGE: u64 = 256;

/// The part of a session that is replayed. It holds one page of events.
pub(super) struct Reel<'a> {
    context: &'a Context<'a>,
    session: &'a str,
    /// The first version that is replayed.
    pub(super) first: u64,
    /// The last one. The session may go on behind it.
    pub(super) last: u64,
    kinds: &'a [String],
    page: Vec<EventBody>,
}

impl<'a> Reel<'a> {
    /// The part that the arguments name.
    pub(super) fn open(context: &'a Context<'a>, args: &'a args::Replay) -> Result<Self, Failure> {
        let session = context.session()?;
        let mut reel =
            Self { context, session, first: 1, last: 0, kinds: &args.kinds, page: Vec::new() };
        let now = reel.read(1, 1)?.evidence.version;
        reel.last = match &args.to {
            Some(at) => reel.version_at(&at.0)?,
            None => now,
        };
        if let Some(at) = &args.from {
            reel.first = reel.version_at(&at.0)?;
        }
        if reel.first > reel.last {
            return Err(Failure::Usage(format!(
                "--from is version {} and --to is version {}: give the earlier moment as --from",
                reel.first, reel.last
            )));
        }
        Ok(reel)
    }

    /// The session's version at a moment.
    fn version_at(&self, at: &AtBody) -> Result<u64, Failure> {
        let at = Some(at.clone());
        let request = DiffRequest { from: at.clone(), to: at, ..DiffRequest::default() };
        let reply: DiffReply = self.context.backend.session(self.session, "diff", &request)?;
        Ok(reply.to.version)
    }

    fn read(&self, from: u64, limit: u64) -> Result<HistoryReply, Failure> {
        let request = HistoryRequest {
            from_version: Some(from),
            limit: Some(limit),
            ..HistoryRequest::default()
        };
        self.context.backend.session(self.session, "history", &request)
    }

    /// The event of a version.
    pub(super) fn event(&mut self, version: u64) -> Result<&EventBody, Failure> {
        if self.place(version).is_none() {
            // Whole pages, so that going backwards does not read every one again.
            let behind = self.page.last().is_some_and(|last| last.version + 1 == version);
            let begin = if behind { version } else { (version - 1) / PAGE * PAGE + 1 };
            self.page = self.read(begin, PAGE)?.events;
            if self.place(version).is_none() {
                // The page was too long for one message.
                self.page = self.read(version, PAGE)?.events;
            }
        }
        let place = self.place(version);
        place.and_then(|place| self.page.get(place)).ok_or_else(|| {
            Failure::Other(format!("version {version} is not in the session's history any more"))
        })
    }

    fn place(&self, version: u64) -> Option<usize> {
        let place = version.checked_sub(self.page.first()?.version)?;
        let place = usize::try_from(place).ok()?;
        self.page.get(place).filter(|event| event.version == version).map(|_| place)
    }

    /// The first event behind this version that is wanted: of this kind, or of those that the arguments name.
    pub(super) fn next(
        &mut self,
        version: u64,
        kind: Option<&str>,
    ) -> Result<Option<EventBody>, Failure> {
        self.find(version + 1..=self.last, kind)
    }

    /// The last wanted event before this version.
    pub(super) fn before(&mut self, version: u64) -> Result<Option<EventBody>, Failure> {
        self.find((self.first..version).rev(), None)
    }

    fn find(
        &mut self,
        versions: impl Iterator<Item = u64>,
        kind: Option<&str>,
    ) -> Result<Option<EventBody>, Failure> {
        let kinds = self.kinds;
        for version in versions {
            let event = self.event(version)?;
            let wanted = match kind {
                Some(kind) => event.kind == kind,
                None => kinds.is_empty() || kinds.contains(&event.kind),
            };
            if wanted {
                return Ok(Some(event.clone()));
            }
        }
        Ok(None)
    }

    /// Says on standard error that no event is wanted.
    pub(super) fn say_nothing_found(&self) {
        let (kinds, first, last) = (self.kinds.join(" or "), self.first, self.last);
        anstream::eprintln!("no event from version {first} to {last} is of kind {kinds}");
    }
}
