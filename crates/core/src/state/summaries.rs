//! What a session knows of its summaries: what they cover and stand for, who has read what.

use super::{
    AuditState, Key, Place, Reading, SessionState, Slot, SpanIndex, SpanState, SummaryState,
};
use crate::event::{Recorded, SpanRead, SummaryAudited, SummaryRecorded};
use crate::{
    Digest, DirectiveNo, Origin, Principal, Role, SpanId, SpanKind, Storage, StoredClaims,
    SummaryStatus, TokensFrom,
};

impl SessionState {
    /// The directives that put this summary in the place of spans.
    pub fn stands_for(&self, summary: &SpanState) -> Vec<DirectiveNo> {
        summary.summary.as_ref().map(|s| s.directives.clone()).unwrap_or_default()
    }

    /// The spans that a summary covers; empty for other spans.
    pub fn covers(&self, summary: &SpanState) -> Vec<SpanId> {
        let covers = summary.summary.as_ref().map(|s| s.covers.as_slice()).unwrap_or_default();
        covers.iter().map(|&index| self.span(index).id.clone()).collect()
    }

    /// The spans that a summary stands for now, in the place of which it is shown.
    pub fn replaced_by(&self, summary: &SpanState) -> Vec<SpanId> {
        let index = self.index(&summary.id);
        let replaced = index.into_iter().flat_map(|index| self.replaced(index));
        replaced.map(|(index, _)| self.span(index).id.clone()).collect()
    }

    /// The version at which a principal last read a span as evidence; none if it never did.
    pub(crate) fn read_by(&self, span: SpanIndex, principal: &Principal) -> Option<u64> {
        let readings = self.readings.get(&span)?;
        readings.iter().find(|reading| reading.by == *principal).map(|reading| reading.version)
    }

    /// Whether a span stands in the window as itself.
    pub(crate) fn stands(&self, index: SpanIndex) -> bool {
        let span = self.span(index);
        span.place == Place::Window && span.loss.is_none()
    }

    /// The tokens that a standing span takes in the window.
    pub(crate) fn shown_tokens(&self, index: SpanIndex) -> u64 {
        let slot = self.span(index).slot.and_then(|key| self.window.get(&key));
        slot.map_or(0, |slot| u64::from(self.slot_tokens(slot)))
    }

    /// How many attempts to summarise these spans were refused.
    pub(crate) fn refused_attempts(&self, covers: &[SpanId]) -> u32 {
        self.attempts.get(&covered_set(covers)).map_or(0, |(refused, _)| *refused)
    }

    /// The last refused attempt to summarise these spans.
    pub(crate) fn last_refused(&self, covers: &[SpanId]) -> Option<&SpanState> {
        self.attempts.get(&covered_set(covers)).map(|(_, last)| self.span(*last))
    }

    /// The summary of this id; of an id that only refused attempts have asked for, the last of them.
    pub(crate) fn find_summary(&self, id: &SpanId) -> Option<&SpanState> {
        let index = self.index(id).or_else(|| self.refused.get(id).copied())?;
        Some(self.span(index)).filter(|span| span.is_summary())
    }
}

/// How events about summaries change the state.
impl SessionState {
    /// The fails of summaries that say the same over the same spans: another id sheds none of them
    /// until somebody passes it.
    fn fails_of(
        &self,
        digest: Digest,
        claims: &StoredClaims,
        covers: &[SpanIndex],
    ) -> Vec<AuditState> {
        let same = self.spans.iter().filter(|span| span.digest == digest);
        let same = same.filter_map(|span| span.summary.as_ref());
        let same = same.filter(|own| own.claims == *claims && own.covers == covers);
        let fails = same.flat_map(|own| &own.audits).filter(|audit| !audit.pass);
        let inherited =
            |audit: &AuditState| AuditState { by: audit.by.clone(), pass: false, inherited: true };
        let mut fails: Vec<AuditState> = fails.map(inherited).collect();
        fails.sort_by(|one, other| one.by.cmp(&other.by));
        fails.dedup();
        fails
    }

    pub(super) fn summary_recorded(&mut self, recorded: &Recorded, event: &SummaryRecorded) {
        let known = |ids: &[SpanId]| -> Vec<SpanIndex> {
            ids.iter().filter_map(|id| self.index(id)).collect()
        };
        let (covers, cites) = (known(&event.covers), known(&event.cites));
        let set = covered_set(&event.covers);
        if event.status == SummaryStatus::Rejected {
            let last = self.next_index();
            let refused = self.attempts.entry(set).or_default();
            *refused = (refused.0.saturating_add(1), last);
            if let Some(asked) = &event.asked {
                self.refused.insert(asked.clone(), self.next_index());
            }
        } else {
            self.attempts.remove(&set);
        }
        let key = Key::of(self.next_index());
        let audits = self.fails_of(event.digest, &event.claims, &covers);
        self.register(SpanState {
            id: event.span.clone(),
            seq: recorded.seq,
            version: recorded.version,
            at: recorded.at,
            by: recorded.principal.clone(),
            role: Role::User,
            origin: Origin::Summary,
            kind: SpanKind::Summary,
            storage: Storage::Journal,
            digest: event.digest,
            bytes: event.bytes,
            media_type: "text/plain".into(),
            tokens: event.tokens,
            tokens_from: TokensFrom::Estimated,
            hedged: false,
            pinned: false,
            turn: None,
            answers: None,
            results: Vec::new(),
            open_contradictions: 0,
            verified_at: None,
            loss: None,
            notice: None,
            labels: Default::default(),
            place: Place::Outside,
            key,
            slot: None,
            summary: Some(Box::new(SummaryState {
                covers,
                cites,
                claims: event.claims,
                status: event.status,
                findings: match event.status {
                    SummaryStatus::Rejected => event.findings.clone(),
                    SummaryStatus::Accepted | SummaryStatus::NeedsAudit => Vec::new(),
                },
                depth: event.depth,
                tag_tokens: event.tag_tokens,
                audits,
                directives: Vec::new(),
                standing_for: 0,
            })),
        });
    }

    pub(super) fn span_read(&mut self, recorded: &Recorded, event: &SpanRead) {
        self.verified(&event.span, recorded);
        let Some(index) = self.index(&event.span) else { return };
        let readings = self.readings.entry(index).or_default();
        let version = recorded.version;
        match readings.iter_mut().find(|reading| reading.by == recorded.principal) {
            Some(reading) => reading.version = version,
            None => readings.push(Reading { by: recorded.principal.clone(), version }),
        }
    }

    pub(super) fn summary_audited(&mut self, recorded: &Recorded, event: &SummaryAudited) {
        let Some(index) = self.index(&event.summary).filter(|_| event.accepted) else { return };
        // What the window says about the summary may change with the verdict.
        let shown = self.span(index).slot.filter(
            |key| matches!(self.window.get(key), Some(Slot::Summary(shown)) if *shown == index),
        );
        if let Some(key) = shown {
            self.remove_slot(key);
        }
        if let Some(own) = &mut self.spans[index as usize].summary {
            let (by, pass) = (&recorded.principal, event.pass);
            own.audits.retain(|audit| audit.by != *by && !(pass && audit.inherited));
            own.audits.push(AuditState { by: by.clone(), pass, inherited: false });
        }
        if let Some(key) = shown {
            self.insert_slot(key, Slot::Summary(index));
        }
    }
}

impl SpanState {
    /// Whether it is a summary.
    pub fn is_summary(&self) -> bool {
        self.summary.is_some()
    }

    /// Where a summary's claims are kept.
    pub fn stored_claims(&self) -> Option<&StoredClaims> {
        self.summary.as_ref().map(|own| &own.claims)
    }

    /// What became of a summary: what its check said, or what its audits have said since.
    pub fn summary_status(&self) -> Option<SummaryStatus> {
        let own = self.summary.as_ref()?;
        Some(match own.status {
            SummaryStatus::NeedsAudit if own.audited() => SummaryStatus::Accepted,
            _ if own.failed_by().is_some() => SummaryStatus::Rejected,
            status => status,
        })
    }

    /// How many summaries deep a summary is: 1 over primary spans.
    pub fn depth(&self) -> Option<u32> {
        self.summary.as_ref().map(|own| own.depth)
    }
}

/// The name of a set of spans, whatever the order in which they are named.
fn covered_set(covers: &[SpanId]) -> [u8; 16] {
    let mut ids: Vec<&str> = covers.iter().map(SpanId::as_str).collect();
    ids.sort_unstable();
    ids.dedup();
    let digest = Digest::of(ids.join("\n").as_bytes());
    let mut name = [0; 16];
    name.copy_from_slice(&digest.0[..16]);
    name
}
