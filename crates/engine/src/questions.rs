//! Questions to a journal: what an address leads to, the window, which copies exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use lacuna_codec::decode_claims;
use lacuna_core::render::Shown;
use lacuna_core::retention::{held, outcome as standing, promised};
use lacuna_core::{
    Address, Candidate, Claim, Command, EntryKind, Event, Outcome, Principal, Reply, SessionKey,
    SessionState, SpanId, SpanState, Summarize, Timestamp, candidates, findings_said, tags_text,
};
use lacuna_store::{PayloadReader, Stored};

use crate::answers::{self, CopyAt, Expanded, Lookup, SpanDurability, SummaryAccount};
use crate::copies::{Copies, Copy, is_outside, unanswered};
use crate::evidence;
use crate::past::place;
use crate::{EngineError, Journal, Request};

/// Identifiers left out by a summary that an account of it tells.
const ACCOUNT: usize = 100_000;
/// Times that suggestions are made anew because a copy could not be read back, before every copy is
/// looked at.
const SUGGESTIONS: usize = 4;
/// What the window shows behind a summary whose claims cannot be read.
const NO_CLAIMS: &str = "[its claims cannot be read; nothing in it is established]";

impl Journal {
    /// The copies of spans, wherever they are.
    pub(crate) fn copies(&self) -> Copies<'_> {
        Copies::anywhere(&self.store, &self.stores)
    }

    /// Answers what an address leads to, with up to `limit` bytes of content from `offset` on.
    /// A copy that turns out missing or damaged is recorded as lost, and the answer says so. Where an
    /// external store gives no answer, that is an error: nothing is known then.
    pub fn expand(
        &self,
        key: &SessionKey,
        address: &Address,
        offset: u64,
        limit: u64,
    ) -> Result<Expanded, EngineError> {
        let state = self.state(key)?;
        let (retention, _) = self.retention(&key.tenant)?;
        let answer = |state, lookup, outcome, content| {
            let (erases_at, retention) = (None, Arc::clone(&retention));
            Expanded { state, lookup, outcome, content, erases_at, retention }
        };
        let mut lookup = answers::look_up(&state, address)?;
        if let Lookup::Directive(number, spans) = &mut lookup
            && let Some(refused) = state.directive(*number).filter(|d| !d.executed)
        {
            *spans = self.refused_spans(&state, refused.version)?;
        }
        let span = match &lookup {
            Lookup::NeverRecorded => {
                return Ok(answer(state, lookup, Outcome::NeverRecorded, None));
            }
            Lookup::Directive(_, spans) => {
                let outcome = answers::directive_outcome(&state, spans);
                return Ok(answer(state, lookup, outcome, None));
            }
            Lookup::Span(id) => state.find(id).expect("it was looked up in this state"),
        };
        if !answers::is_kept(&state, span) {
            let outcome = state.outcome(span);
            return Ok(answer(state, lookup, outcome, None));
        }
        let read = answers::slice(&mut self.copies(), span, offset, limit)?;
        match read {
            Ok(content) => {
                let (outcome, erases_at) = standing(&state, span, Some(&retention));
                Ok(Expanded { erases_at, ..answer(state, lookup, outcome, Some(content)) })
            }
            Err(Copy::Unanswered(why)) => Err(unanswered(span, why)),
            Err(Copy::Whole(_)) => unreachable!("a whole copy has a slice"),
            Err(Copy::Lost(found)) => {
                let id = span.id.clone();
                let state = self.report_damage(key, std::slice::from_ref(&id), &found)?;
                let outcome = state.find(&id).map_or(Outcome::Lossy, |span| state.outcome(span));
                if outcome != Outcome::Lossy {
                    // Nobody has recorded a loss, so this is none that could be told.
                    let state = state.find(&id).expect("it was looked up in an older state");
                    return Err(unanswered(state, not_here(&found)));
                }
                Ok(answer(state, lookup, outcome, None))
            }
        }
    }

    /// The spans that a refused directive named; the state keeps only its version.
    fn refused_spans(
        &self,
        state: &SessionState,
        version: u64,
    ) -> Result<Vec<SpanId>, EngineError> {
        let recorded = self.store.history(state.number, version, 1)?;
        Ok(match recorded.first().map(|recorded| &recorded.event) {
            Some(Event::PruneRejected(event)) => {
                event.spans.iter().map(|span| span.span.clone()).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The window's entries at this state, with the contents of spans and summaries until
    /// `byte_limit` bytes are read; entries that would exceed it come without, and the flag says so.
    /// Damaged copies are recorded as lost, and the window is read again: the newest as it is then, one
    /// of the past with what has been lost since. Contents whose store gives no answer are left out, and
    /// said to be unreadable now.
    pub fn window(
        &self,
        key: &SessionKey,
        mut state: Arc<SessionState>,
        byte_limit: u64,
    ) -> Result<(Arc<SessionState>, Vec<Shown>, bool), EngineError> {
        let mut newest = self.state(key)?;
        let past = state.version < newest.version;
        loop {
            let (shown, damaged, cut) = self.show(&state, &newest, byte_limit)?;
            let Some((span, found)) = damaged.first() else { return Ok((state, shown, cut)) };
            tracing::warn!(session = %key, %span, %found, "a copy cannot be read; it is looked at again");
            let spans: Vec<SpanId> = damaged.iter().map(|(span, _)| span.clone()).collect();
            let after = self.report_damage(key, &spans, found)?;
            if after.version == newest.version {
                let (mut shown, missing) = (shown, spans);
                for shown in &mut shown {
                    let span = shown.entry.spans.first().map(|&index| &state.span(index).id);
                    if shown.content.is_none() && span.is_some_and(|id| missing.contains(id)) {
                        shown.unreadable = Some(not_here(found));
                    }
                }
                return Ok((state, shown, cut));
            }
            if !past {
                state = Arc::clone(&after);
            }
            newest = after;
        }
    }

    /// `newest` knows what has been lost since.
    #[allow(clippy::type_complexity, reason = "a local triple, named where it is bound")]
    fn show(
        &self,
        state: &SessionState,
        newest: &SessionState,
        byte_limit: u64,
    ) -> Result<(Vec<Shown>, Vec<(SpanId, String)>, bool), EngineError> {
        let mut copies = self.copies();
        let (mut shown, mut damaged, mut bytes, mut cut) = (Vec::new(), Vec::new(), 0_u64, false);
        for mut entry in state.entries() {
            let (mut content, mut unreadable, mut lost_since) = (None, None, None);
            if matches!(entry.kind, EntryKind::Span | EntryKind::Summary)
                && let Some(&index) = entry.spans.first()
            {
                let span = state.span(index);
                if answers::is_kept(state, span) {
                    let now = newest.spans().get(index as usize);
                    lost_since = now.and_then(|span| newest.tombstone(span));
                }
                if answers::is_kept(state, span) && lost_since.is_none() {
                    if bytes.saturating_add(span.bytes) > byte_limit {
                        cut = true;
                    } else {
                        bytes += span.bytes;
                        match copies.read(span)? {
                            Copy::Whole(read) => content = Some(read),
                            Copy::Lost(found) => damaged.push((span.id.clone(), found)),
                            Copy::Unanswered(why) => unreadable = Some(why),
                        }
                    }
                }
            }
            if entry.kind == EntryKind::Summary
                && content.is_some()
                && let Some(&index) = entry.spans.first()
            {
                let tags = self.tags(copies.payloads()?, state, state.span(index))?;
                let behind: Vec<String> = tags.into_iter().chain(entry.text.take()).collect();
                entry.text = (!behind.is_empty()).then(|| behind.join("\n"));
            }
            shown.push(Shown { entry, content, unreadable, lost_since: lost_since.cloned() });
        }
        Ok((shown, damaged, cut))
    }

    /// Reads the copies of these spans back and says what is there now.
    pub fn durability(
        &self,
        key: &SessionKey,
        spans: &[SpanId],
    ) -> Result<(Arc<SessionState>, Vec<SpanDurability>), EngineError> {
        let state = self.state(key)?;
        let (retention, _) = self.retention(&key.tenant)?;
        let mut copies = self.copies();
        let now = (self.clock)();
        let mut found = Vec::with_capacity(spans.len());
        let mut damaged = Vec::new();
        for id in spans {
            let Some(span) = state.find(id) else {
                found.push(SpanDurability::never_recorded(id));
                continue;
            };
            let (mut outcome, _) = standing(&state, span, Some(&retention));
            let mut copy = None;
            if answers::is_kept(&state, span) {
                let place = place(span);
                let at = |verified_at, unanswered| CopyAt { store: place, verified_at, unanswered };
                match copies.read_part(span, 0..0)? {
                    Copy::Whole(_) => copy = Some(at(Some(now), None)),
                    Copy::Unanswered(why) => copy = Some(at(self.verified_at(span), Some(why))),
                    Copy::Lost(found) => {
                        tracing::warn!(session = %key, span = %id, %found, "a copy cannot be read; it is looked at again");
                        damaged.push(id.clone());
                        outcome = Outcome::Lossy;
                    }
                }
            }
            found.push(SpanDurability {
                span: id.clone(),
                outcome,
                digest: Some(span.digest),
                durable_until: match copy.is_some() {
                    true => promised(&state, span, Some(&retention), now),
                    false => None,
                },
                copy,
                holds: held(&state, span, Some(&retention)).iter().map(|h| h.name()).collect(),
            });
        }
        let state = match damaged.is_empty() {
            true => state,
            false => self.report_damage(key, &damaged, "found by a durability check")?,
        };
        Ok((state, found))
    }

    /// When a span's copy was last read back whole, as far as is on record.
    fn verified_at(&self, span: &SpanState) -> Option<Timestamp> {
        let scrubbed = self.scrubbed.as_ref();
        let scrubbed = scrubbed.and_then(|s| s.verified_at(span.seq, is_outside(span)));
        span.verified_at.max(scrubbed)
    }

    /// Has the writer confirm damage and record the loss; returns the state after it.
    pub(crate) fn report_damage(
        &self,
        key: &SessionKey,
        spans: &[SpanId],
        found: &str,
    ) -> Result<Arc<SessionState>, EngineError> {
        let done = self.execute(damage_report(key, spans.to_vec()))?;
        if let Reply::DamageReported { lost, .. } = &done.reply
            && !lost.is_empty()
        {
            tracing::error!(session = %key, lost = lost.len(), %found, "copies were lost");
        }
        self.state(key)
    }

    /// A summary's claims; none where they cannot be read any more.
    pub fn claims(&self, summary: &SpanState) -> Result<Option<Vec<Claim>>, EngineError> {
        read_claims(&mut self.store.payloads()?, summary)
    }

    /// The tags behind a summary's text.
    fn tags(
        &self,
        payloads: &mut PayloadReader,
        state: &SessionState,
        summary: &SpanState,
    ) -> Result<Option<String>, EngineError> {
        Ok(match read_claims(payloads, summary)? {
            Some(claims) => tags_text(state, &claims),
            None => Some(NO_CLAIMS.to_owned()),
        })
    }

    /// What a summary says and leaves out, examined anew; none if the span is no summary.
    pub fn account(
        &self,
        state: &SessionState,
        summary: &SpanState,
    ) -> Result<Option<SummaryAccount>, EngineError> {
        let events = self.store.history(state.number, summary.version, 1)?;
        let Some(Event::SummaryRecorded(event)) = events.first().map(|recorded| &recorded.event)
        else {
            return Ok(None);
        };
        // Its own words are always in the journal.
        let text = match self.copies().read(summary)? {
            Copy::Whole(text) => Some(text),
            Copy::Lost(_) | Copy::Unanswered(_) => None,
        };
        let said = text.zip(self.claims(summary)?);
        let readable = said.is_some();
        let (text, claims) = said.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let summarize = Summarize {
            id: Some(event.span.clone()),
            covers: event.covers.clone(),
            text,
            digest: event.digest,
            claims,
        };
        let stores = Some(&self.stores);
        let (examined, identifiers) = if readable {
            let examined =
                evidence::examine(&self.store, stores, state, &summarize, Some(ACCOUNT))?;
            let identifiers = examined.identifiers();
            (examined, identifiers)
        } else {
            (lacuna_core::Examination::default(), (event.identifiers, event.identifiers_kept))
        };
        let findings = findings_said(state, &summarize, &summary.by, &examined, &event.findings);
        let claims = readable.then_some(summarize.claims);
        Ok(Some(SummaryAccount { claims, examined, identifiers, findings }))
    }

    /// Prunes that are reversible now and free this many tokens, cheapest first, for this pruner: every
    /// copy was just read back.
    pub fn suggest(
        &self,
        key: &SessionKey,
        free_tokens: u64,
        pruner: &Principal,
    ) -> Result<(Arc<SessionState>, Vec<Candidate>), EngineError> {
        let state = self.state(key)?;
        let (mut without, mut sound) = (BTreeSet::new(), BTreeSet::new());
        for round in 1.. {
            let found = candidates(&state, free_tokens, pruner, &without, &self.limits);
            let mut new: BTreeSet<SpanId> =
                found.iter().flat_map(|candidate| &candidate.spans).cloned().collect();
            if round == SUGGESTIONS {
                // So much is damaged that looking at everything is the shorter way.
                let shown = state
                    .entries()
                    .filter(|entry| matches!(entry.kind, EntryKind::Span | EntryKind::Summary));
                new.extend(shown.map(|entry| state.span(entry.spans[0]).id.clone()));
            }
            new.retain(|id| !sound.contains(id));
            let new: Vec<SpanId> = new.into_iter().collect();
            let evidence = evidence::gather(&mut self.copies(), &state, &new)?;
            let before = without.len();
            for id in new {
                let copy = evidence.get(&id);
                match copy.is_some_and(|c| c.existence.is_ok() && c.provenance.is_ok()) {
                    true => drop(sound.insert(id)),
                    false => without.extend(state.index(&id)),
                }
            }
            if without.len() == before {
                return Ok((state, found));
            }
        }
        unreachable!("after a look at every copy no other one is found damaged")
    }
}

/// What is said of a content that is not there although no event says that it is lost.
fn not_here(found: &str) -> String {
    format!("{found}, and no event tells of it: if the session is being imported, wait for its end")
}

fn read_claims(
    payloads: &mut PayloadReader,
    summary: &SpanState,
) -> Result<Option<Vec<Claim>>, EngineError> {
    let Some(stored) = summary.stored_claims() else { return Ok(Some(Vec::new())) };
    Ok(match payloads.read_claims(summary.seq, summary.bytes, stored)? {
        None if stored.count == 0 => Some(Vec::new()),
        Some(Stored::Whole(bytes)) => decode_claims(&bytes).ok(),
        // Of an older format, or damaged.
        None | Some(Stored::Missing | Stored::Damaged(_)) => None,
    })
}

/// The command that has the writer look at copies that were found damaged.
pub(crate) fn damage_report(key: &SessionKey, spans: Vec<SpanId>) -> Request {
    Request {
        session: key.clone(),
        principal: runtime(),
        command_id: None,
        expected_version: None,
        command: Command::ReportDamage { spans, ended: false },
    }
}

/// The runtime's own name as a sender of commands.
pub(crate) fn runtime() -> Principal {
    "lacuna".parse().expect("a valid principal")
}
